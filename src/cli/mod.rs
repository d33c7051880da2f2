//! The commands of tx, one file each. Answers go to stdout, everything else to stderr.

mod answer;
mod asks;
mod attach;
mod check;
mod completions;
mod demo;
mod dlq;
mod doctor;
mod exit;
mod gates;
mod git_job;
mod greet;
mod help;
mod hook;
mod inbox;
mod init;
mod layout;
mod line_input;
mod machines;
mod man;
mod mesh;
mod output;
mod popup;
mod prune;
mod quality;
mod reference;
mod replay;
mod run;
mod runs;
mod runtime;
mod schema;
mod send;
mod show;
mod spy;
mod start;
mod status;
mod stop;
mod trace;
mod turn;
mod wait;
mod why;
mod worker;
mod worktree;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anstream::ColorChoice;
use clap::{FromArgMatches, Parser, Subcommand};

use crate::daemon::running;
use crate::format::message::MAX_FILE;
use crate::project::{Catalogue, NotAProject, Project};
use crate::view::{FoldedJournal, Refused, nothing_yet, waiting_files};
pub use exit::Exit;
use output::Output;
pub use reference::reference;
pub use schema::schema;

/// Run the command that the arguments name.
pub fn main() -> Exit {
    if let Some(exit) = completions::answer_shell() {
        return exit;
    }
    let parsed = help::command().try_get_matches();
    let args = match parsed.and_then(|matches| Args::from_arg_matches(&matches)) {
        Ok(args) => args,
        Err(error) => return exit::wrong_words(&error),
    };
    args.color.write_global();
    let context = Context::new(args.root, args.json);
    let Some(verb) = args.verb else {
        return alone(&context);
    };
    let result = match verb {
        Verb::Init(verb) => init::run(&context, verb),
        Verb::Send(verb) => send::run(&context, verb),
        Verb::Check(verb) => check::run(&context, verb),
        Verb::Mesh(verb) => mesh::run(&context, verb.verb.unwrap_or(mesh::MeshArgs::List)),
        Verb::Status(verb) => status::run(&context, &verb),
        Verb::Runs(verb) => runs::run(&context, &verb),
        Verb::Show(verb) => show::run(&context, &verb),
        Verb::Inbox(verb) => inbox::run(&context, &verb),
        Verb::Asks(verb) => asks::run(&context, &verb),
        Verb::Answer(verb) => answer::run(&context, verb),
        Verb::Worker(verb) => worker::run(&context, &verb.verb.unwrap_or(worker::WorkerArgs::List)),
        Verb::Stop(verb) => stop::run(&context, &verb),
        Verb::Why(verb) => why::run(&context, &verb),
        Verb::Worktree(verb) => {
            worktree::run(&context, &verb.verb.unwrap_or(worktree::WorktreeArgs::List))
        }
        Verb::Quality(verb) => quality::run(&context, &verb),
        Verb::Trace(verb) => trace::run(&context, &verb),
        Verb::Spy(verb) => spy::run(&context, &verb),
        Verb::Dlq(verb) => dlq::run(&context, &verb.verb.unwrap_or(dlq::DlqArgs::List)),
        Verb::Replay(verb) => replay::run(&context, &verb),
        Verb::Prune(verb) => prune::run(&context, &verb),
        Verb::Start(verb) => start::run(&context, &verb),
        Verb::Run(verb) => run::run(&context, &verb),
        Verb::Attach(verb) => attach::run(&context, &verb),
        Verb::Greet => greet::run(&context),
        Verb::Turn(verb) => turn::run(&verb),
        Verb::GitJob(_) => git_job::run(),
        Verb::Hook(verb) => hook::run(&context, &verb),
        Verb::Runtime(verb) => {
            runtime::run(&context, &verb.verb.unwrap_or(runtime::RuntimeArgs::List))
        }
        Verb::Doctor(verb) => doctor::run(&context, &verb),
        Verb::Completions(verb) => completions::run(&verb),
        Verb::Man(verb) => man::run(&verb),
        Verb::Demo(verb) => demo::run(&context, &verb),
    };
    result.unwrap_or_else(|refused| exit::report(&context.output, refused))
}

/// Without a command: the status inside a project, otherwise the help.
fn alone(context: &Context) -> Exit {
    match context.find() {
        Ok(Ok(_)) => status::run(context, &status::StatusArgs::default())
            .unwrap_or_else(|refused| exit::report(&context.output, refused)),
        Ok(Err(NotAProject::Here(_))) if context.named.is_none() => {
            let _ = help::command().print_help();
            Exit::Usage
        }
        Ok(Err(error)) => exit::report(&context.output, error.into()),
        Err(refused) => exit::report(&context.output, refused),
    }
}

/// A mesh orchestrator for coding agents.
///
/// Agents and people drop markdown messages into .ai/tx/msgs/; the routing table of
/// a mesh says where each outcome goes.
#[derive(Parser)]
#[command(name = "tx", version)]
struct Args {
    // The help of a command does not repeat the options of all commands: `help::EVERYWHERE` has
    // them.
    /// The project's folder, or TX_ROOT [default: the nearest with .ai/tx or meshes]
    #[arg(
        short = 'C',
        long = "root",
        value_name = "DIR",
        global = true,
        hide = true
    )]
    root: Option<PathBuf>,

    /// Answer in JSON
    #[arg(long, global = true, hide = true)]
    json: bool,

    /// When to use colours
    #[arg(long, global = true, hide = true, value_name = "WHEN", default_value = "auto",
          value_parser = colour_choice)]
    color: ColorChoice,

    #[command(subcommand)]
    verb: Option<Verb>,
}

fn colour_choice(word: &str) -> Result<ColorChoice, String> {
    match word {
        "auto" => Ok(ColorChoice::Auto),
        "always" => Ok(ColorChoice::Always),
        "never" => Ok(ColorChoice::Never),
        _ => Err("auto, always or never".into()),
    }
}

#[derive(Subcommand)]
enum Verb {
    Init(init::InitArgs),
    Start(start::StartArgs),
    Run(run::RunArgs),
    Attach(attach::AttachArgs),
    Send(send::SendArgs),
    Check(check::CheckArgs),
    /// List, show, check and draw meshes, and show what their agents are told
    Mesh(OrList<mesh::MeshArgs>),
    Status(status::StatusArgs),
    Runs(runs::RunsArgs),
    Show(show::ShowArgs),
    Inbox(inbox::InboxArgs),
    Asks(asks::AsksArgs),
    Answer(answer::AnswerArgs),
    /// List, stop, restart and peek at workers
    Worker(OrList<worker::WorkerArgs>),
    Stop(stop::StopArgs),
    Why(why::WhyArgs),
    Quality(quality::QualityArgs),
    /// List, compare and remove the worktrees of features
    Worktree(OrList<worktree::WorktreeArgs>),
    Trace(trace::TraceArgs),
    Spy(spy::SpyArgs),
    /// List, show, retry and drop dead letters
    Dlq(OrList<dlq::DlqArgs>),
    Replay(replay::ReplayArgs),
    Prune(prune::PruneArgs),
    /// Greet the human in the core session (tx calls this itself)
    #[command(hide = true)]
    Greet,
    #[command(hide = true)]
    GitJob(git_job::GitJobArgs),
    #[command(hide = true)]
    Turn(turn::TurnArgs),
    #[command(hide = true)]
    Hook(hook::HookArgs),
    /// List the agent CLIs that tx knows, and show their definitions
    Runtime(OrList<runtime::RuntimeArgs>),
    Doctor(doctor::DoctorArgs),
    Demo(demo::DemoArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
}

/// A command with commands of its own. Alone it lists.
#[derive(clap::Args)]
struct OrList<T: Subcommand> {
    #[command(subcommand)]
    verb: Option<T>,
}

/// What every command gets.
struct Context {
    /// The folder named by `-C` or `TX_ROOT`.
    named: Option<PathBuf>,
    output: Output,
}

impl Context {
    fn new(root: Option<PathBuf>, json: bool) -> Context {
        let from_environment = std::env::var_os("TX_ROOT").filter(|root| !root.is_empty());
        Context {
            named: root.or(from_environment.map(PathBuf::from)),
            output: Output { json },
        }
    }

    fn project(&self) -> Result<Project, Refused> {
        Ok(self.find()??)
    }

    fn find(&self) -> Result<Result<Project, NotAProject>, Refused> {
        let here = std::env::current_dir()
            .map_err(|error| Refused::new(format!("the current folder cannot be read: {error}")))?;
        let named = self.named.as_deref().map(|dir| here.join(dir));
        Ok(Project::find(named.as_deref(), &here))
    }

    /// The meshes of the project; outside a project, only the shipped ones.
    fn catalogue(&self) -> Result<Catalogue, Refused> {
        match self.find()? {
            Ok(project) => Ok(Catalogue::load(Some(&project))),
            Err(NotAProject::Here(_)) => Ok(Catalogue::load(None)),
            Err(error @ (NotAProject::Named(_) | NotAProject::Others { .. })) => Err(error.into()),
        }
    }
}

/// The folded journal of a project; `None` if nothing has happened yet.
fn open_journal(project: &Project) -> Result<Option<FoldedJournal>, Refused> {
    Ok(FoldedJournal::open(&project.journal())?)
}

/// The folded journal of a project. An error if there is none.
fn require_journal(project: &Project) -> Result<FoldedJournal, Refused> {
    match open_journal(project)? {
        Some(past) => Ok(past),
        None => Err(match waiting_files(project, None)? {
            0 => nothing_yet(),
            count => nothing_yet().hint(format!(
                "{}: `tx start` starts it",
                status::waiting_files(count)
            )),
        }),
    }
}

/// The body of a message from standard input.
fn read_body() -> Result<String, Refused> {
    let bytes = output::read_stdin(MAX_FILE)
        .map_err(|error| Refused::new(format!("standard input cannot be read: {error}")))?;
    String::from_utf8(bytes).map_err(|_| Refused::new("standard input is not UTF-8 text"))
}

/// The agent whose environment this is; `None` for a person.
fn agent_here() -> Option<String> {
    let agent = std::env::var_os("TX_AGENT").filter(|agent| !agent.is_empty())?;
    Some(agent.to_string_lossy().into())
}

/// The PATH in which agents' programs are looked up: the daemon's, or that of this process, which
/// would start one.
fn daemon_path(project: &Project) -> OsString {
    let path = running(project).and_then(|running| running.path);
    path.map(OsString::from)
        .unwrap_or_else(|| std::env::var_os("PATH").unwrap_or_default())
}

/// A path as a person would type it from here.
fn short(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    let path = path.strip_prefix(&here).unwrap_or(path);
    crate::format::report::printable(&path.to_string_lossy())
}
