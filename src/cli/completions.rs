//! `tx completions`: a shell script that asks tx for completions while the user types.
//!
//! That way the project's meshes, agents, questions and ids are completed too.

use std::ffi::OsString;

use clap::Command;
use clap_complete::CompleteEnv;
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use clap_complete::env::Shells;

use super::help::command;
use super::init::example_names;
use super::{Context, Exit, Output, Refused, open_journal};
use crate::model::Kind;
use crate::project::Catalogue;
use crate::view::{self, FoldedJournal};

/// The variable that the script sets when it asks.
const ASKED: &str = "TX_COMPLETE";
/// How many ids are offered.
const IDS: usize = 40;

type Words = fn() -> Vec<CompletionCandidate>;

/// Which words are offered for which argument of a command.
const OFFERED: [(&[&str], &str, Words); 23] = [
    (&["send"], "to", recipients),
    (&["attach"], "agent", agents),
    (&["answer"], "id", asks),
    (&["runs"], "id", messages),
    (&["show"], "message", messages),
    (&["why"], "what", messages_and_agents),
    (&["trace"], "message", messages),
    (&["worker", "stop"], "agent", agents),
    (&["worker", "restart"], "agent", agents),
    (&["worker", "peek"], "agent", agents),
    (&["mesh", "show"], "mesh", meshes),
    (&["mesh", "graph"], "mesh", meshes),
    (&["mesh", "check"], "meshes", meshes),
    (&["mesh", "prompt"], "agent", agents),
    (&["dlq", "show"], "id", dead_letters),
    (&["dlq", "retry"], "id", dead_letters),
    (&["dlq", "drop"], "id", dead_letters),
    (&["quality"], "of", recipients),
    (&["worktree", "diff"], "feature", features),
    (&["worktree", "clean"], "features", features),
    (&["init"], "example", examples),
    (&["init"], "runtime", runtimes),
    (&["send"], "type", kinds),
];

/// Add the words of the project to a command line.
pub(super) fn offer(command: Command) -> Command {
    let offered = OFFERED.into_iter();
    offered.fold(command, |command, (verbs, argument, words)| {
        offer_at(command, verbs, argument, words)
    })
}

fn offer_at(command: Command, verbs: &[&str], argument: &'static str, words: Words) -> Command {
    match verbs {
        [] => command.mut_arg(argument, |arg| arg.add(ArgValueCandidates::new(words))),
        [verb, below @ ..] => {
            command.mut_subcommand(*verb, |command| offer_at(command, below, argument, words))
        }
    }
}

/// Print a script that completes verbs, meshes, agents and ids in your shell
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  bash: echo 'source <(tx completions bash)' >> ~/.bashrc\n  \
                  zsh:  echo 'source <(tx completions zsh)' >> ~/.zshrc\n  \
                  fish: tx completions fish > ~/.config/fish/completions/tx.fish"
)]
pub(super) struct CompletionsArgs {
    /// bash, zsh, fish, elvish or powershell
    #[arg(value_name = "SHELL", value_parser = ["bash", "zsh", "fish", "elvish", "powershell"])]
    shell: String,
}

pub(super) fn run(verb: &CompletionsArgs) -> Result<Exit, Refused> {
    let shells = Shells::builtins();
    let shell = shells.completer(&verb.shell);
    let shell = shell.ok_or_else(|| Refused::new(format!("`{}` is unknown", verb.shell)))?;
    let mut script = Vec::new();
    shell
        .write_registration(ASKED, "tx", "tx", "tx", &mut script)
        .map_err(|error| Refused::new(format!("the script cannot be created: {error}")))?;
    // The script is text for a shell, even with --json.
    Output { json: false }.say(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}

/// Answer a shell that asks for words; `None` if this is not such a call.
pub(super) fn answer_shell() -> Option<Exit> {
    std::env::var_os(ASKED)?;
    let here = std::env::current_dir().ok();
    let asked = CompleteEnv::with_factory(|| offer(command()))
        .var(ASKED)
        .bin("tx");
    match asked.try_complete(std::env::args_os(), here.as_deref()) {
        Ok(true) => Some(Exit::Done),
        Ok(false) => None,
        Err(_) => Some(Exit::Usage),
    }
}

/// Meshes and agents.
fn recipients() -> Vec<CompletionCandidate> {
    let mut words = meshes();
    words.extend(agents());
    words.push(CompletionCandidate::new("core"));
    words
}

/// The names of meshes.
fn meshes() -> Vec<CompletionCandidate> {
    let catalogue = here().catalogue().ok();
    let entries = catalogue
        .into_iter()
        .flat_map(|catalogue| catalogue.entries);
    let word = |entry: crate::project::MeshEntry| {
        let about = entry.mesh.map(|mesh| mesh.description.clone());
        let about = about.filter(|about| !about.is_empty());
        CompletionCandidate::new(entry.name).help(about.map(Into::into))
    };
    entries.map(word).collect()
}

/// `mesh/agent`.
fn agents() -> Vec<CompletionCandidate> {
    let catalogue: Option<Catalogue> = here().catalogue().ok();
    let entries = catalogue
        .into_iter()
        .flat_map(|catalogue| catalogue.entries);
    let meshes = entries.filter_map(|entry| entry.mesh);
    let agents = meshes.flat_map(|mesh| {
        let names = mesh.agents.keys().map(ToString::to_string);
        let names: Vec<String> = names
            .map(|agent| format!("{}/{agent}", mesh.name))
            .collect();
        names
    });
    agents.map(CompletionCandidate::new).collect()
}

/// The questions that wait for the human.
fn asks() -> Vec<CompletionCandidate> {
    let asks = past().and_then(|past| view::asks(past.history()).ok());
    let asks = asks.unwrap_or_default().into_iter();
    asks.map(|ask| word(ask.id, &ask.headline)).collect()
}

/// The ids of the newest tasks and inbox messages.
fn messages() -> Vec<CompletionCandidate> {
    let Some(past) = past() else {
        return Vec::new();
    };
    let history = past.history();
    let tasks = history.tasks(IDS).unwrap_or_default();
    let mut come = history.inbox(true).unwrap_or_default();
    come.drain(..come.len().saturating_sub(IDS));
    let all = tasks.into_iter().chain(come.into_iter().rev());
    let mut words: Vec<CompletionCandidate> = Vec::new();
    for facts in all {
        let id = OsString::from(facts.id.as_str());
        if !words.iter().any(|word| word.get_value() == id) {
            words.push(word(facts.id.to_string(), facts.headline.as_str()));
        }
    }
    words
}

/// Messages and agents.
fn messages_and_agents() -> Vec<CompletionCandidate> {
    let mut words = messages();
    words.extend(agents());
    words
}

/// The ids of dead letters.
fn dead_letters() -> Vec<CompletionCandidate> {
    let letters = past().and_then(|past| past.history().dead_letters().ok());
    let letters = letters.unwrap_or_default().into_iter();
    letters
        .map(|facts| word(facts.id.to_string(), facts.headline.as_str()))
        .collect()
}

/// The features that have a worktree.
fn features() -> Vec<CompletionCandidate> {
    let project = here().project().ok();
    let found = project.and_then(|project| view::worktrees(&project, past().as_ref()).ok());
    let found = found.unwrap_or_default().into_iter();
    found
        .map(|one| CompletionCandidate::new(one.feature.to_string()))
        .collect()
}

fn examples() -> Vec<CompletionCandidate> {
    example_names().map(CompletionCandidate::new).collect()
}

/// The agent CLIs that a project can be made for.
fn runtimes() -> Vec<CompletionCandidate> {
    let catalogue = here().catalogue().ok();
    let names: Vec<String> = catalogue
        .iter()
        .flat_map(|catalogue| catalogue.runtimes.names())
        .filter(|name| *name != "command")
        .chain(["auto"])
        .map(ToOwned::to_owned)
        .collect();
    names.into_iter().map(CompletionCandidate::new).collect()
}

fn kinds() -> Vec<CompletionCandidate> {
    let kinds = Kind::ALL.iter().map(|kind| kind.as_str());
    kinds.map(CompletionCandidate::new).collect()
}

fn word(id: String, headline: &str) -> CompletionCandidate {
    CompletionCandidate::new(id).help(Some(headline.to_owned().into()))
}

/// The project in the current folder. `-C` is not known here.
fn here() -> Context {
    Context::new(None, false)
}

fn past() -> Option<FoldedJournal> {
    open_journal(&here().project().ok()?).ok()?
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `mut_arg` would add an argument that is not there.
    #[test]
    fn words_are_offered_for_arguments_that_exist() {
        for (verbs, argument, _) in OFFERED {
            let all = command();
            let verb = verbs.iter().fold(&all, |command, verb| {
                command.find_subcommand(verb).expect("the verb exists")
            });
            let mut arguments = verb.get_arguments();
            assert!(
                arguments.any(|arg| arg.get_id() == argument),
                "{verbs:?} {argument}"
            );
        }
        offer(command()).debug_assert();
    }

    #[test]
    fn words_are_offered_where_they_are_typed() {
        let typed = [
            (&["send", "dev-r"][..], "dev-review"),
            (&["send", "--type", "ask-h"], "ask-human"),
            (&["send", "dev-review", "--ty"], "--type"),
            (&["mesh", "show", "dev-r"], "dev-review"),
            (&["init", "--example", "pipe"], "pipeline"),
            (&["init", "--runtime", "cod"], "codex"),
        ];
        let nowhere = tempfile::tempdir().unwrap();
        for (words, offered) in typed {
            let line = ["tx"].iter().chain(words).map(OsString::from).collect();
            let mut all = offer(command());
            let at = words.len();
            let found = clap_complete::engine::complete(&mut all, line, at, Some(nowhere.path()));
            let found: Vec<OsString> = found
                .unwrap()
                .iter()
                .map(|word| word.get_value().to_owned())
                .collect();
            assert!(found.contains(&offered.into()), "{words:?}: {found:?}");
        }
    }

    /// Naming an argument that words are offered for must not move it behind the others.
    #[test]
    fn words_are_offered_for_the_first_argument() {
        let mut all = offer(command());
        all.build();
        for (verbs, argument, _) in OFFERED {
            let verb = verbs.iter().fold(&all, |command, verb| {
                command.find_subcommand(verb).expect("the verb exists")
            });
            let mut positionals = verb.get_positionals();
            let found = positionals.find(|arg| arg.get_id() == argument);
            if let Some(positional) = found {
                assert_eq!(positional.get_index(), Some(1), "{verbs:?} {argument}");
            }
        }
    }
}
