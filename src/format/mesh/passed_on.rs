//! The settings that tx passes on to an agent CLI: permissions, MCP servers and the like.
//!
//! The runtime's command line has a placeholder for each setting that it supports. A setting that
//! it does not support is a warning, because a setting must never look as if it worked.

use serde_json::{Map, Value};

use super::document::{Document, at};
use super::raw::RawPermissions;
use super::shapes::Scalar;
use crate::format::findings::path_name;
use crate::format::yaml::PathSegment;
use crate::model::{Agent, Code, Mode, Permissions, Runtime, did_you_mean};

pub(super) fn permissions(raw: Option<RawPermissions>) -> Permissions {
    let raw = raw.unwrap_or_default();
    let denied = raw.deny.into_iter().chain(raw.disallowed_tools);
    let texts = |tools: Vec<Scalar>| tools.into_iter().map(|tool| tool.0);
    Permissions {
        mode: raw.mode.map(|mode| mode.0),
        allowed_tools: raw.allowed_tools.map(texts).into_iter().flatten().collect(),
        denied_tools: denied.flat_map(texts).collect(),
    }
}

/// A thinking level; `true` is the level that every agent CLI has.
pub(super) fn thinking(raw: Option<Scalar>) -> Option<String> {
    match raw?.0 {
        flag if flag == "true" => Some("high".into()),
        flag if flag == "false" => None,
        level => Some(level),
    }
}

pub(super) fn mcp_servers(
    document: &mut Document,
    index: usize,
    raw: Option<Map<String, Value>>,
) -> Map<String, Value> {
    let mut servers = raw.unwrap_or_default();
    servers.retain(|name, server| {
        let good = server.is_object();
        if !good {
            let at = at!["agents", index, "mcpServers", name.as_str()];
            let message = format!("{}: expected a map", path_name(&at));
            let hint = "write `{ command: program, args: [] }`; until then it is ignored";
            document.about_value(Code::WrongShape, &at, message, hint);
        }
        good
    });
    servers
}

/// Report settings that the runtime of an agent cannot pass on.
pub(super) fn check_passed_on(
    document: &mut Document,
    index: usize,
    agent: &Agent,
    runtime: &Runtime,
) {
    let permissions = &agent.permissions;
    let fields = [
        (
            at!["permissions", "mode"].to_vec(),
            permissions.mode.is_some(),
            &["permissions"][..],
        ),
        (
            at!["permissions", "allowedTools"].to_vec(),
            !permissions.allowed_tools.is_empty(),
            &["tools"],
        ),
        (
            at!["permissions", "deny"].to_vec(),
            !permissions.denied_tools.is_empty(),
            &["denied_tools"],
        ),
        (
            at!["mcpServers"].to_vec(),
            !agent.mcp_servers.is_empty(),
            &["mcp_file", "mcp_toml"],
        ),
        (
            at!["max_turns"].to_vec(),
            agent.max_turns.is_some(),
            &["max_turns"],
        ),
        (
            at!["thinking"].to_vec(),
            agent.thinking.is_some(),
            &["thinking"],
        ),
    ];
    let (name, mode) = (&agent.runtime, runtime.mode_of(agent));
    let mode = match mode {
        Mode::Pane => "pane",
        Mode::Turn => "turn",
    };
    for (field, is_set, placeholders) in fields {
        if is_set && !runtime.has_place_for(agent, placeholders) {
            let at = [&at!["agents", index][..], &field].concat();
            let message = format!(
                "`{}` is not obeyed: a `{name}` agent in mode `{mode}` cannot be told",
                path_name(&at)
            );
            let hint = "the mesh runs as if it were not there";
            document.about_key(Code::NotObeyedYet, &at, message, hint);
        }
    }
    let modes = runtime.permissions.keys().map(String::as_str);
    let mode_at = at!["agents", index, "permissions", "mode"];
    check_word(document, &mode_at, permissions.mode.as_deref(), name, modes);
    let levels = runtime.thinking_levels.iter().map(String::as_str);
    let level_at = at!["agents", index, "thinking"];
    check_word(document, &level_at, agent.thinking.as_deref(), name, levels);
}

/// Report a word that the runtime does not know. A runtime without any words was already reported.
fn check_word<'a>(
    document: &mut Document,
    at: &[PathSegment],
    word: Option<&str>,
    runtime: &str,
    known: impl Iterator<Item = &'a str> + Clone,
) {
    let Some(word) = word.filter(|word| known.clone().all(|known| known != *word)) else {
        return;
    };
    let words: Vec<&str> = known.clone().collect();
    if words.is_empty() {
        return;
    }
    let list = format!("`{runtime}` has {}", words.join(", "));
    let message = format!("{}: `{word}` is unknown; {list}", path_name(at));
    let hint = did_you_mean(word, known, || "until then it is ignored".into());
    document.about_value(Code::WrongShape, at, message, hint);
}
