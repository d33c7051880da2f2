//! What a runtime cannot do, derived from its definition. `tx mesh check`, `tx doctor` and `tx
//! runtime show` all use this.

use super::template::uses_session;
use crate::model::{HookMeaning, Mode, Runtime, UsageFormat};

/// Whether an agent of this runtime asks the human for permissions through `tx asks`.
pub fn asks(runtime: &Runtime, mode: Mode) -> bool {
    let mut meanings = runtime.hooks.values();
    let by_hook = meanings.any(|meaning| *meaning == HookMeaning::Asks);
    match mode {
        Mode::Pane => by_hook || !runtime.answers.is_empty(),
        Mode::Turn => by_hook && runtime.asks_in_turns,
    }
}

/// What it cannot do in this mode, each as the end of "it cannot …"; `None` if it has no such mode.
pub fn cannot(runtime: &Runtime, mode: Mode) -> Option<Vec<&'static str>> {
    let run = match mode {
        Mode::Pane => &runtime.run,
        Mode::Turn => &runtime.turn,
    };
    if run.is_empty() {
        return None;
    }
    let has = |wanted: &[&str]| runtime.has_place_in(run, wanted);
    let is_woken = {
        let mut files = runtime.files.values().map(ToString::to_string);
        !runtime.send.is_empty() || files.any(|file| file.contains("--wake"))
    };
    // In a pane, a hook names the transcript.
    let usage = runtime
        .usage
        .filter(|_| mode == Mode::Turn || !runtime.hooks.is_empty());
    let cost = usage.map(UsageFormat::has_cost);
    let missing = [
        (!asks(runtime, mode), "ask you for a permission"),
        (
            mode == Mode::Pane && !is_woken,
            "take a message while it waits, unless it is typed",
        ),
        (!uses_session(run), "continue its conversation"),
        (!has(&["permissions"]), "be told what it may do"),
        (
            !has(&["tools", "denied_tools"]),
            "be told which tools it may use",
        ),
        (
            !has(&["mcp_file", "mcp_toml"]),
            "use the MCP servers of a mesh",
        ),
        (cost.is_none(), "say what it uses"),
        (cost == Some(false), "say what it costs"),
    ];
    let missing = missing.into_iter().filter(|(is, _)| *is);
    Some(missing.map(|(_, what)| what).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::Runtimes;

    #[test]
    fn what_each_cannot_do_follows_from_its_definition() {
        let cannot = |name: &str, mode: Mode| {
            let runtime = Runtimes::builtin().get(name).unwrap();
            cannot(runtime, mode).map(|what| what.join("; "))
        };
        let none = Some(String::new());
        assert_eq!(cannot("claude", Mode::Pane), none);
        assert_eq!(cannot("claude", Mode::Turn), none);
        assert_eq!(cannot("command", Mode::Turn), None, "each names its own");
        for (name, mode, asks) in [
            ("codex", Mode::Pane, true),
            ("codex", Mode::Turn, false),
            ("opencode", Mode::Pane, true),
            ("opencode", Mode::Turn, false),
            ("gemini", Mode::Pane, true),
            ("gemini", Mode::Turn, false),
            ("aider", Mode::Pane, true),
            ("pi", Mode::Pane, false),
        ] {
            let said = cannot(name, mode).unwrap();
            assert_eq!(
                !said.contains("a permission"),
                asks,
                "{name} {mode:?}: {said}"
            );
        }
        let typed = "unless it is typed";
        assert!(cannot("gemini", Mode::Pane).unwrap().contains(typed));
        assert!(!cannot("opencode", Mode::Pane).unwrap().contains(typed));
        assert!(!cannot("codex", Mode::Pane).unwrap().contains(typed));
        assert!(cannot("pi", Mode::Turn).unwrap().contains("what it may do"));
    }
}
