//! `tx runtime`: the known runtimes, and what a captured screen means.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use super::output::read_stdin;
use super::{Context, Exit, Refused};
use crate::format::message::MAX_FILE;
use crate::format::report::printable_lines;
use crate::model::{Mode, did_you_mean};
use crate::project::NotAProject;
use crate::runtime::Runtimes;
use crate::runtime::screen::{Screen, classify};
use crate::view::{DialogWants, LookState, LookView, Reason, RuntimeLine, RuntimeView};

/// List the agent CLIs that tx knows, and show their definitions
#[derive(clap::Subcommand)]
pub(super) enum RuntimeArgs {
    /// List the runtimes (the default)
    #[command(after_help = "Example: tx runtime list")]
    List,
    /// Show the definition of a runtime
    #[command(after_help = "Example: tx runtime show claude")]
    Show {
        /// Its name
        name: String,
    },
    /// Say what a captured screen shows: idle, busy, a dialog, a limit
    #[command(after_help = "Example: tmux capture-pane -p | tx runtime classify claude")]
    Classify {
        /// The runtime that the screen is of
        name: String,
        /// A screen as `tmux capture-pane -p` prints it; `-` reads standard input [default: -]
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
        /// The title of the pane
        #[arg(long, default_value = "", hide_default_value = true)]
        title: String,
        /// The column and the line of the cursor, from 0
        #[arg(long, value_name = "X,Y", value_parser = place)]
        cursor: Option<[usize; 2]>,
    },
}

pub(super) fn run(context: &Context, verb: &RuntimeArgs) -> Result<Exit, Refused> {
    let runtimes = runtimes(context)?;
    match verb {
        RuntimeArgs::List => context
            .output
            .answer(&RuntimeLine::all(&runtimes), |lines| {
                lines.iter().map(line).collect()
            }),
        RuntimeArgs::Show { name } => {
            let runtime = find(&runtimes, name)?;
            let lines = RuntimeLine::all(&runtimes).into_iter();
            let line = lines.rev().find(|line| line.name == *name);
            let line = line.ok_or_else(|| Refused::no_such_thing("it has gone"))?;
            context
                .output
                .answer(&RuntimeView::of(line, runtime), definition)
        }
        RuntimeArgs::Classify {
            name,
            file,
            title,
            cursor,
        } => {
            let rules = &find(&runtimes, name)?.screen;
            let screen = Screen {
                title: title.clone(),
                lines: read(file.as_deref())?.lines().map(str::to_owned).collect(),
                cursor: *cursor,
                dead: false,
            };
            let look = LookView::from(classify(rules, &screen));
            context.output.answer(&look, judged)
        }
    }
}

/// The runtimes of the project; outside a project, tx's own.
fn runtimes(context: &Context) -> Result<Runtimes, Refused> {
    match context.find()? {
        Ok(project) => Ok(Runtimes::with(&project.settings()?)),
        Err(NotAProject::Here(_)) => Ok(Runtimes::builtin().clone()),
        Err(error @ (NotAProject::Named(_) | NotAProject::Others { .. })) => Err(error.into()),
    }
}

fn find<'a>(runtimes: &'a Runtimes, name: &str) -> Result<&'a crate::model::Runtime, Refused> {
    runtimes.get(name).ok_or_else(|| {
        let list = || "`tx runtime list` lists them".into();
        let hint = did_you_mean(name, runtimes.names(), list);
        Refused::no_such_thing(format!("there is no runtime `{name}`")).hint(hint)
    })
}

fn place(text: &str) -> Result<[usize; 2], String> {
    let numbers = text.split_once(',').and_then(|(x, y)| {
        let number = |text: &str| text.trim().parse().ok();
        Some([number(x)?, number(y)?])
    });
    numbers.ok_or_else(|| "two numbers are expected, as in 2,20".into())
}

fn read(file: Option<&Path>) -> Result<String, Refused> {
    let file = file.filter(|file| *file != Path::new("-"));
    let bytes = match file {
        Some(file) => std::fs::read(file),
        None => read_stdin(MAX_FILE),
    };
    let bytes = bytes.map_err(|error| {
        let what = file.map_or("standard input".into(), |file| file.display().to_string());
        Refused::new(format!("{what} cannot be read: {error}")).because(Reason::NoSuchThing)
    })?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn line(line: &RuntimeLine) -> String {
    let mut can = vec![format!("gets messages by {}", line.ways_in.join(", "))];
    can.extend(line.resumes.then(|| "resumes".into()));
    can.extend(line.asks.then(|| "asks you".into()));
    can.extend(line.reads_screen.then(|| "knows its screen".into()));
    format!(
        "{:<10} {}  {}\n",
        line.name,
        mode(line.mode),
        can.join("; ")
    )
}

fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Turn => "turn",
        Mode::Pane => "pane",
    }
}

fn definition(runtime: &RuntimeView) -> String {
    let mut text = line(&runtime.line);
    for (name, words) in [("run", &runtime.run), ("interrupt", &runtime.interrupt)] {
        if !words.is_empty() {
            let _ = writeln!(text, "{name}: {}", words.join(" "));
        }
    }
    for cannot in &runtime.cannot {
        let _ = writeln!(text, "{}", cannot.line());
    }
    for (name, rule) in &runtime.screen {
        let _ = writeln!(text, "screen {name}: {rule}");
    }
    printable_lines(&text)
}

fn judged(look: &LookView) -> String {
    let mut text = match (look.state, look.dialog) {
        (LookState::Dead, _) => "dead".into(),
        (LookState::Dialog, Some(DialogWants::Question)) => "dialog, a question".into(),
        (LookState::Dialog, _) => "dialog, a permission".into(),
        (LookState::Limited, _) => match &look.until {
            Some(until) => format!("limited until {until}"),
            None => "limited".into(),
        },
        (LookState::Busy, _) => "busy".into(),
        (LookState::Idle, _) => "idle".into(),
        (LookState::Unknown, _) => "unknown".to_owned(),
    };
    if let Some(more) = &look.text {
        let _ = write!(text, ":\n{more}");
    }
    printable_lines(&(text + "\n"))
}
