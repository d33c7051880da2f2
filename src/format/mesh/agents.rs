//! The agents of a mesh: their names, programs, prompts and variables.

use indexmap::IndexMap;

use super::document::{Document, at};
use super::passed_on::{mcp_servers, permissions, thinking};
use super::pool::pool;
use super::program::{check_runtime, run};
use super::raw::RawAgent;
use super::scalars::{duration, text};
use super::shapes::OneOrMany;
use super::workspace::workspace;
use crate::format::yaml::PathSegment;
use crate::model::{Agent, Code, Name, Prompt, Variables};
use crate::runtime::Runtimes;

/// The agents by name, or `None` if there are none that load.
pub(super) fn agents(
    document: &mut Document,
    raw: Option<Vec<Option<RawAgent>>>,
    runtimes: &Runtimes,
) -> Option<IndexMap<Name, Agent>> {
    let raw = raw.unwrap_or_default();
    let mut agents = IndexMap::new();
    for (index, raw) in raw.into_iter().enumerate() {
        // A list item that could not be read was already reported.
        let Some(raw) = raw else {
            continue;
        };
        let at = at!["agents", index];
        let name_at = at!["agents", index, "name"];
        let name = match raw.name.as_ref().map(|name| name.0.parse::<Name>()) {
            Some(Ok(name)) if !["dispatch", "core"].contains(&name.as_str()) => name,
            Some(Ok(name)) => {
                let message = format!("name: `{name}` is reserved");
                document.about_value(Code::BadName, &name_at, message, "choose another name");
                continue;
            }
            Some(Err(error)) => {
                let hint = "letters, digits, `_`, `.` and `-`, so that `mesh/agent` is an address";
                document.about_value(Code::BadName, &name_at, format!("name: {error}"), hint);
                continue;
            }
            None => {
                document.about_value(
                    Code::BadName,
                    &at,
                    "the agent has no `name`",
                    "add `name: worker`",
                );
                continue;
            }
        };
        if agents.contains_key(&name) {
            let message = format!("there are two agents `{name}`");
            document.about_value(
                Code::DuplicateAgent,
                &name_at,
                message,
                "rename one of them",
            );
            continue;
        }
        let agent = agent(document, index, name.clone(), raw, runtimes);
        check_runtime(document, index, &agent, runtimes);
        agents.insert(name, agent);
    }
    if agents.is_empty() && !document.findings.failed() {
        let message = "the mesh has no `agents`";
        let hint = "add `agents:` with at least one `- name: worker`";
        document.about_value(Code::MissingAgents, &at!["agents"], message, hint);
    }
    (!agents.is_empty()).then_some(agents)
}

fn agent(
    document: &mut Document,
    index: usize,
    name: Name,
    raw: RawAgent,
    runtimes: &Runtimes,
) -> Agent {
    let shell = raw.shell.unwrap_or(false);
    let run = run(document, index, shell, raw.run);
    if raw.prompt.is_none() && raw.command.is_none() && run.is_empty() {
        let message = format!("agent `{name}` has neither `prompt`, `command` nor `run`");
        let hint = "add `prompt: prompts/…md`, or `runtime: command` and `run: [program]`";
        document.about_value(
            Code::NothingToRun,
            &at!["agents", index, "name"],
            message,
            hint,
        );
    }
    let runtime = match raw.runtime {
        Some(runtime) => runtime.0,
        // A program without a runtime: the program is the agent.
        None if !run.is_empty() => "command".into(),
        None => runtimes.preferred().into(),
    };
    let timeout_at = at!["agents", index, "timeout"];
    Agent {
        description: text(raw.description),
        model: raw.model.map(|model| model.0),
        prompt: raw.prompt.map(|prompt| prompt_kind(prompt.0)),
        command: raw.command.map(|command| command.0),
        runtime,
        run,
        shell,
        timeout: raw
            .timeout
            .and_then(|text| duration(document, &timeout_at, &text.0)),
        mode: raw.mode,
        deliver: raw.deliver.unwrap_or_default(),
        batch: raw.batch.unwrap_or(false),
        load: raw.load.map(OneOrMany::into_vec).unwrap_or_default(),
        workspace: raw
            .workspace
            .and_then(|raw| workspace(document, &at!["agents", index, "workspace"], raw)),
        max_messages: raw.max_messages,
        env: raw
            .env
            .map(|env| variables(document, &at!["agents", index, "env"], env)),
        permissions: permissions(raw.permissions),
        mcp_servers: mcp_servers(document, index, raw.mcp_servers),
        max_turns: raw.max_turns,
        thinking: thinking(raw.thinking),
        pool: pool(document, index, raw.count, raw.tiers),
        name,
    }
}

/// Whether a prompt is a path or the text itself. A path ends in `.md` or `.txt`, or has a slash
/// and no white space. Anything else, such as the word `Greet.`, is the prompt.
fn prompt_kind(prompt: String) -> Prompt {
    let line = prompt.trim();
    let is_path = !line.contains('\n')
        && (line.ends_with(".md")
            || line.ends_with(".txt")
            || line.contains('/') && !line.contains(char::is_whitespace));
    if is_path {
        Prompt::File(line.into())
    } else {
        Prompt::Text(prompt)
    }
}

/// Entries such as `NAME`, to be passed on, and `NAME=value`.
pub(super) fn variables(document: &mut Document, at: &[PathSegment], raw: OneOrMany) -> Variables {
    let mut variables = Variables::default();
    for entry in raw.into_vec() {
        let (name, value) = match entry.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (entry.as_str(), None),
        };
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        let has_zero = value.as_ref().is_some_and(|value| value.contains('\0'));
        if !begins || !name.chars().all(is_name) || has_zero {
            let message = format!("expected `NAME` or `NAME=value`, found {entry:?}");
            let hint = "until then the agent does not get it";
            document.about_value(Code::WrongShape, at, message, hint);
            continue;
        }
        match value {
            Some(value) => variables.set.push((name.into(), value)),
            None => variables.passed.push(name.into()),
        }
    }
    variables
}
