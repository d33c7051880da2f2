//! The instructions for an agent: its role, how to communicate here, and its messages.
//!
//! Data comes in, one text goes out. A model reads it, so it is short and says each thing once.
//! Text that others wrote is shown byte for byte, between marks that it does not contain.

mod given;
mod routes;
mod stage;
mod system;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::fmt::Write;

use indexmap::IndexMap;

use super::render::yaml_block;
use crate::model::{Agent, Feature, Manifest, Mesh, Name, Target, Workspace};

pub use given::{Given, original, prompt, prompt_at};
pub(crate) use stage::decisions;
pub use stage::{Stage, first_values, member, stage, with_place};
pub use system::{line, system};

/// What a briefing is made of.
#[derive(Clone, Copy, Debug)]
pub struct Briefing<'a> {
    /// The mesh.
    pub mesh: &'a Mesh,
    /// The agent that is briefed.
    pub agent: &'a Agent,
    /// Its output is its outcome.
    pub prints: bool,
    /// The text of its prompt.
    pub prompt: Option<&'a str>,
    /// The folder that messages are dropped into.
    pub messages_folder: &'a str,
    /// The folder that it works in.
    pub workdir: &'a str,
    /// Its output folder, if its mesh has one.
    pub workspace: Option<&'a str>,
    /// The feature that it works on.
    pub feature: Option<&'a Feature>,
    /// The files that are included before the message.
    pub loaded: &'a [PromptFile],
}

/// A file that is included before the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptFile {
    /// Its path as the mesh writes it.
    pub path: String,
    /// Its text, or why there is none.
    pub text: Result<String, String>,
}

/// How many other agents are named. An agent with more knows them from its prompt.
const NAMED: usize = 12;

/// Everything that an agent is told before its first message.
pub fn brief(briefing: &Briefing) -> String {
    let mut text = intro(briefing);
    workspace(&mut text, briefing);
    manifest(&mut text, briefing);
    loaded(&mut text, briefing.loaded);
    messages(&mut text, briefing);
    text
}

/// The files of the manifest that an agent reads and writes.
fn manifest(text: &mut String, briefing: &Briefing) {
    let Briefing { mesh, agent, .. } = briefing;
    let own = Manifest::default_workspace(&mesh.name);
    let workspace = briefing.workspace.unwrap_or(&own);
    let entries = mesh.manifest.entries.iter();
    let reads = entries
        .clone()
        .filter(|entry| entry.reads.contains(&agent.name));
    let writes = entries.filter(|entry| entry.writes.contains(&agent.name));
    if reads.clone().chain(writes.clone()).next().is_none() {
        return;
    }
    *text += "\n# Files of the mesh\n\n";
    for (verb, entry) in reads
        .map(|entry| ("read", entry))
        .chain(writes.map(|entry| ("write", entry)))
    {
        let path = with_feature(&entry.path.within(workspace), briefing.feature);
        let _ = write!(text, "- {verb} `{}`", one_line(&path));
        if verb == "read" && !entry.writes.is_empty() {
            let names: Vec<&str> = entry.writes.iter().map(Name::as_str).collect();
            let _ = write!(text, ", which {} writes", names.join(" or "));
        }
        let _ = match one_line(&entry.description) {
            about if about.is_empty() => writeln!(text),
            about => writeln!(text, ": {about}"),
        };
    }
}

/// The agent's role and its own prompt.
fn intro(briefing: &Briefing) -> String {
    let Briefing { mesh, agent, .. } = briefing;
    let mut text = format!(
        "You are the agent `{name}` of the mesh `{mesh}`; your address is `{mesh}/{name}`.\n",
        name = agent.name,
        mesh = mesh.name
    );
    for (who, what) in [
        ("The mesh is for", &mesh.description),
        ("You are for", &agent.description),
    ] {
        if !what.trim().is_empty() {
            let _ = writeln!(text, "{who}: {}", one_line(what));
        }
    }
    let _ = writeln!(text, "You work in `{}`.", briefing.workdir);
    if let Some(prompt) = briefing.prompt.filter(|prompt| !prompt.trim().is_empty()) {
        let _ = write!(text, "\n{}\n", prompt.trim_end());
    }
    text
}

/// A text of the mesh with the feature filled in.
pub fn with_feature(text: &str, feature: Option<&Feature>) -> String {
    match feature {
        Some(feature) => text.replace("{feature}", &feature.to_string()),
        None => text.into(),
    }
}

fn workspace(text: &mut String, briefing: &Briefing) {
    let own = briefing.agent.workspace.as_ref();
    let Some(Workspace {
        locations,
        note,
        structure,
        ..
    }) = own.or(briefing.mesh.workspace.as_ref())
    else {
        return;
    };
    let filled = |text: &str| with_feature(text, briefing.feature);
    let note = filled(note);
    *text += "\n# Your files\n\n";
    if let Some(folder) = briefing.workspace {
        *text += &output_folder(folder);
    }
    if !locations.is_empty() {
        *text += "\n";
    }
    for (name, place) in locations {
        let _ = writeln!(text, "- {}: `{}`", one_line(name), one_line(&filled(place)));
    }
    if let Some(structure) = structure {
        let expected = serde_json::Map::from_iter([("structure".to_owned(), structure.clone())]);
        let expected = filled(&yaml_block(&expected));
        let _ = write!(text, "\nWhat is expected there:\n\n{}", indented(&expected));
    }
    if !note.trim().is_empty() {
        let _ = writeln!(text, "\n{}", note.trim());
    }
}

/// The line about the output folder.
pub fn output_folder(folder: &str) -> String {
    format!("Put the files that you make in `{folder}` (TX_WORKSPACE).\n")
}

fn loaded(text: &mut String, files: &[PromptFile]) {
    if files.is_empty() {
        return;
    }
    let texts = files.iter().filter_map(|file| file.text.as_deref().ok());
    let tag = tag_around("file", texts);
    *text += "\n# Files\n";
    for PromptFile { path, text: found } in files {
        let path = one_line(path);
        let _ = match found {
            Ok(found) => {
                let end = if found.ends_with('\n') { "" } else { "\n" };
                writeln!(text, "\n<{tag} path=\"{path}\">\n{found}{end}</{tag}>")
            }
            Err(why) => writeln!(text, "\n{path} {why}."),
        };
    }
}

fn messages(text: &mut String, briefing: &Briefing) {
    let Briefing { mesh, agent, .. } = briefing;
    let status = routes::first_word(mesh, agent);
    let _ = write!(
        text,
        "\n# Messages\n\n\
         Agents and the human, who is `core`, write to each other with markdown files in `{folder}`. \
         One of yours:\n\n\
         {example}\n\
         Write it under a name that begins with a dot, then rename it to a new one that ends in `.md`. \
         Or let tx write it, with the body on standard input:\n\n    \
         tx send {mesh}/dispatch --status {status} --headline \"{HEADLINE}\" -\n",
        folder = briefing.messages_folder,
        example = indented(&example(mesh, agent, &status)),
        mesh = mesh.name,
    );
    *text += "\n## Your outcome\n\n";
    if briefing.prints {
        *text += "What you print is your outcome: `complete`, or `error` if your exit code is not 0. \
                  Or you write one:\n\n";
    }
    *text += &routes::in_words(mesh, agent);
    let _ = write!(
        text,
        "\n## Questions\n\n\
         A message with a `to` and no `status` is a question: {} for the human. Ask all you need, then \
         end your turn; you go on when the answers are there.\n",
        whom(mesh, agent)
    );
}

const HEADLINE: &str = "One line that says it";
const BODY: &str = "The body, in markdown.";

/// A message file as this agent would write it, without a time: the file's own time is more
/// reliable than one that a model makes up.
fn example(mesh: &Mesh, agent: &Agent, status: &str) -> String {
    let mut text = format!(
        "---\nfrom: {}/{}\nmsg-id: a-new-id-each-time\nheadline: {HEADLINE}\nstatus: {status}\n---\n\n{BODY}\n",
        mesh.name, agent.name
    );
    if mesh.rearmatter.enabled {
        text += "\n---\n";
        for (field, sample) in sample_fields(mesh) {
            let _ = writeln!(text, "{field}: {sample}");
        }
        text += "---\n";
    }
    text
}

/// The rearmatter fields that a mesh wants, and what each looks like.
fn sample_fields(mesh: &Mesh) -> Vec<(String, &'static str)> {
    let usual = || ["grade", "confidence", "gaps"].map(String::from).to_vec();
    let named = Some(mesh.rearmatter.fields.clone()).filter(|fields| !fields.is_empty());
    let fields = named.unwrap_or_else(usual).into_iter();
    fields
        .map(|field| (field.clone(), sample(&field)))
        .collect()
}

/// What a rearmatter field looks like.
fn sample(field: &str) -> &'static str {
    match field {
        "grade" => "B  # how good the work is, A to F",
        "confidence" => "0.8  # how likely it is right, 0.0 to 1.0",
        "status" => "draft",
        "iteration" => "1",
        "gaps" => "[]  # what is missing, one text each",
        "sources" => {
            "[{url: \"https://…\", title: …, type: first-party, verified: true}]  # or second-party, unknown"
        }
        "assumptions" | "speculation" | "toolCalls" | "limitations" => "[]",
        _ => "…",
    }
}

/// The agents that an agent can ask: the others of its mesh, and the human last.
fn whom(mesh: &Mesh, agent: &Agent) -> String {
    let asks = mesh.routing.asks.get(&agent.name);
    // A row with only the human says nothing about agents.
    if let Some(asks) = asks.filter(|asks| asks.keys().any(|to| *to != Target::Core)) {
        return brain(mesh) + &listed_asks(mesh, asks);
    }
    let others: Vec<&Name> = mesh
        .agents
        .keys()
        .filter(|name| **name != agent.name)
        .collect();
    let mut whom = brain(mesh);
    if others.len() > NAMED {
        whom += "`to: NAME` for an agent of your mesh, ";
    } else {
        for name in others {
            let _ = write!(whom, "`to: {name}`, ");
        }
    }
    if !whom.is_empty() {
        whom += "or ";
    }
    whom + "`to: core`"
}

/// The mesh that knows the project, if it may be asked.
fn brain(mesh: &Mesh) -> String {
    match mesh.brain {
        true => "`to: brain` (it knows this project), ".into(),
        false => String::new(),
    }
}

/// The agents that the table allows an agent to ask, with reasons. The human can always be asked.
fn listed_asks(mesh: &Mesh, asks: &IndexMap<Target, String>) -> String {
    let mut whom = String::new();
    for (to, reason) in asks.iter().filter(|(to, _)| **to != Target::Core) {
        let _ = write!(whom, "`to: {}`", to.within(&mesh.name));
        let _ = match one_line(reason) {
            reason if reason.is_empty() => write!(whom, ", "),
            reason => write!(whom, " ({reason}), "),
        };
    }
    if !whom.is_empty() {
        whom += "or ";
    }
    let human = asks.get(&Target::Core).map(|reason| one_line(reason));
    match human.filter(|reason| !reason.is_empty()) {
        Some(reason) => format!("{whom}`to: core` ({reason})"),
        None => whom + "`to: core`",
    }
}

/// A name for the marks around texts that occurs in none of them, so that a text cannot end early
/// or pretend to be more.
fn tag_around<'a>(word: &str, texts: impl Iterator<Item = &'a str>) -> String {
    // The numbers that are in use: `<word` and `<word-1` are no different.
    let mut taken = HashSet::new();
    for text in texts {
        for (at, mark) in text.match_indices(word) {
            if text[..at].ends_with(['<', '/']) {
                let after = text[at + mark.len()..].strip_prefix('-').unwrap_or("");
                let digits = after.trim_start_matches(|c: char| c.is_ascii_digit());
                let number = &after[..after.len() - digits.len()];
                taken.insert(number.parse::<usize>().unwrap_or(1));
            }
        }
    }
    match (1..).find(|number| !taken.contains(number)) {
        None | Some(1) => word.into(),
        Some(number) => format!("{word}-{number}"),
    }
}

fn indented(text: &str) -> String {
    let line = |line: &str| match line {
        "" => "\n".to_owned(),
        line => format!("    {line}\n"),
    };
    text.lines().map(line).collect()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
