//! `lifecycle` and `worktree`: hooks before and after work, in the shapes that people write. The
//! gates among them are read with `quality`.

use serde_json::Value;

use super::document::{Document, at};
use super::raw::RawLifecycle;
use super::scalars::{COMMAND_TIME, duration};
use super::shapes::FlagOrMap;
use crate::format::findings::found;
use crate::format::yaml::PathSegment;
use crate::model::{
    Code, HookAction, Lifecycle, LifecycleHook, Program, WORKTREES, Worktree, did_you_mean,
};

/// The hooks that are not gates.
const BEFORE: [&str; 3] = ["worktree:create", "command:", "quality:preflight"];
const AFTER: [&str; 4] = [
    "commit:auto",
    "worktree:cleanup",
    "brain-update",
    "command:",
];

/// The worktree and the hooks of a mesh.
pub(super) fn lifecycle(
    document: &mut Document,
    worktree: Option<FlagOrMap>,
    raw: Option<&RawLifecycle>,
) -> (Option<Worktree>, Lifecycle) {
    let mut worktree = worktree.and_then(|raw| of_field(document, raw));
    let mut lifecycle = Lifecycle::default();
    let lists = raw.map(|raw| [("pre", &raw.pre), ("post", &raw.post)]);
    for (moment, list) in lists.into_iter().flatten() {
        for (index, entry) in list.iter().flatten().enumerate() {
            let at = at!["lifecycle", moment, index];
            let Some(hook) = hook(document, &at, moment, entry) else {
                continue;
            };
            match (&hook.action, moment) {
                (HookAction::CreateWorktree, _) => {
                    let path = WORKTREES.to_owned();
                    worktree.get_or_insert(Worktree { path });
                }
                (HookAction::RemoveWorktree | HookAction::UpdateBrain, _) => {
                    lifecycle.complete.push(hook);
                    continue;
                }
                (HookAction::Commit | HookAction::Command(_), _) => {}
            }
            match moment {
                "pre" => lifecycle.before.push(hook),
                _ => lifecycle.after.push(hook),
            }
        }
    }
    let creates = |hook: &LifecycleHook| hook.action == HookAction::CreateWorktree;
    if worktree.is_some() && !lifecycle.before.iter().any(creates) {
        let (name, action) = ("worktree:create".to_owned(), HookAction::CreateWorktree);
        lifecycle.before.insert(0, LifecycleHook { name, action });
    }
    let removes = |hook: &LifecycleHook| hook.action == HookAction::RemoveWorktree;
    if worktree.is_none() && lifecycle.complete.iter().any(removes) {
        let message = "`worktree:cleanup` has nothing to do: the mesh has no worktrees";
        let hint = "add `worktree: true`";
        document.about_key(Code::WrongShape, &at!["lifecycle", "post"], message, hint);
        lifecycle.complete.retain(|hook| !removes(hook));
    }
    (worktree, lifecycle)
}

/// `worktree: true`, or a map with the folder.
fn of_field(document: &mut Document, raw: FlagOrMap) -> Option<Worktree> {
    let path = WORKTREES.to_owned();
    let map = match raw {
        FlagOrMap::Flag(true) => return Some(Worktree { path }),
        FlagOrMap::Flag(false) => return None,
        FlagOrMap::Map(map) => map,
    };
    for name in map.keys().filter(|name| *name != "path") {
        let message = format!("worktree: `{name}` is unknown");
        let hint = did_you_mean(name, ["path"], || "there is only `path`".into());
        document.about_key(
            Code::UnknownField,
            &at!["worktree", name.as_str()],
            message,
            hint,
        );
    }
    let at = at!["worktree", "path"];
    let path = match map.get("path") {
        None => path,
        Some(Value::String(path)) => path.trim_end_matches('/').to_owned(),
        Some(other) => {
            let message = format!("expected a folder, found {}", found(other));
            document.about_value(Code::WrongShape, &at, message, "write a path");
            path
        }
    };
    if leads_out(&path) {
        let message = format!("worktree: `{path}` leads out of the project; it is ignored");
        let hint = "name a folder from the project's root, without `..`";
        document.about_value(Code::OutsideProject, &at, message, hint);
        let path = WORKTREES.to_owned();
        return Some(Worktree { path });
    }
    Some(Worktree {
        path: match path.contains("{feature}") {
            true => path,
            // Each feature needs its own folder.
            false => format!("{path}/{{feature}}"),
        },
    })
}

/// Whether a path leads out of the project.
pub(super) fn leads_out(path: &str) -> bool {
    path.starts_with('/') || path.split('/').any(|part| part == "..")
}

/// One entry; `None` for a gate or an unknown entry.
fn hook(
    document: &mut Document,
    at: &[PathSegment],
    moment: &str,
    entry: &Value,
) -> Option<LifecycleHook> {
    if let Value::Object(map) = entry
        && let Some(command) = map.get("command")
    {
        let program = program(document, at, command, map.get("shell"), map.get("timeout"))?;
        let name = map.get("name").and_then(Value::as_str);
        let name = name.map_or_else(|| in_words(&program), str::to_owned);
        let action = HookAction::Command(program);
        return Some(LifecycleHook { name, action });
    }
    let name = entry.as_str().unwrap_or_default();
    if name.starts_with("quality:") {
        return None;
    }
    if let Some(command) = name.strip_prefix("command:") {
        let command = Value::String(command.to_owned());
        let action = HookAction::Command(program(document, at, &command, None, None)?);
        let name = name.to_owned();
        return Some(LifecycleHook { name, action });
    }
    let action = match (moment, name) {
        ("pre", "worktree:create") => HookAction::CreateWorktree,
        ("post", "commit:auto") => HookAction::Commit,
        ("post", "worktree:cleanup") => HookAction::RemoveWorktree,
        ("post", "brain-update") => HookAction::UpdateBrain,
        (_, _) => {
            let shown = entry
                .as_str()
                .map_or_else(|| entry.to_string(), str::to_owned);
            let message = format!("lifecycle: `{shown}` is read but not supported");
            let known = if moment == "pre" { &BEFORE[..] } else { &AFTER };
            let hint = did_you_mean(name, known.iter().copied(), || {
                format!("`{moment}` knows {}", known.join(", "))
            });
            document.about_value(Code::NotObeyedYet, at, message, hint);
            return None;
        }
    };
    let name = name.to_owned();
    Some(LifecycleHook { name, action })
}

fn in_words(program: &Program) -> String {
    format!("command:{}", program.run.join(" "))
}

/// A program: a text that is split at spaces, or a list; with `shell`, one text.
fn program(
    document: &mut Document,
    at: &[PathSegment],
    value: &Value,
    shell: Option<&Value>,
    timeout: Option<&Value>,
) -> Option<Program> {
    let shell = shell == Some(&Value::Bool(true));
    let run = match value {
        Value::String(text) if shell => Some(vec![text.clone()]),
        Value::String(text) => shlex::split(text),
        Value::Array(all) => {
            let texts = all.iter().map(|one| one.as_str().map(str::to_owned));
            texts.collect::<Option<Vec<String>>>()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    };
    let Some(run) = run.filter(|run| !run.is_empty()) else {
        let message = format!("expected a command, found {}", found(value));
        let hint = "write `command:cargo fmt`, or `{command: [cargo, fmt]}`";
        document.about_value(Code::WrongShape, at, message, hint);
        return None;
    };
    let timeout = timeout.map(|value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    });
    let timeout = timeout.and_then(|text| duration(document, at, &text));
    Some(Program {
        run,
        shell,
        timeout: timeout.unwrap_or(COMMAND_TIME),
    })
}
