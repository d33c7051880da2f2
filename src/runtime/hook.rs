//! What the hooks of agent CLIs report, and how they are answered.
//!
//! An agent CLI runs a command on certain events, with a JSON object on its standard input, and may
//! take JSON from its standard output. claude, codex and gemini use the same field names. What the
//! events mean is part of the runtime's definition ([`Runtime::hooks`]).
//!
//! [`Runtime::hooks`]: crate::model::Runtime::hooks

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// How many bytes of a long text are kept: a hook call is one line on the control socket.
const MAX: usize = 8 * 1024;

/// The data of a hook call that tx needs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HookCall {
    /// The event.
    #[serde(rename = "hook_event_name")]
    pub event: String,
    /// The session of the agent CLI.
    #[serde(rename = "session_id")]
    pub session: Option<String>,
    /// The text that it has accepted.
    pub prompt: Option<String>,
    /// The tool that it wants to use.
    #[serde(rename = "tool_name")]
    pub tool: Option<String>,
    /// The tool's input, as JSON.
    #[serde(rename = "tool_input")]
    pub input: Option<Value>,
    /// The transcript of the conversation.
    #[serde(rename = "transcript_path")]
    pub transcript: Option<String>,
    /// The agent's last message.
    #[serde(rename = "last_assistant_message")]
    pub said: Option<String>,
}

impl HookCall {
    /// Parse what an agent CLI wrote; `None` if that is not a JSON object.
    pub fn read(text: &str) -> Option<HookCall> {
        let call: HookCall = serde_json::from_str(text).ok()?;
        Some(HookCall {
            prompt: call.prompt.map(shortened),
            input: call.input.map(|input| match input.to_string() {
                long if long.len() > MAX => Value::String(shortened(long)),
                _ => input,
            }),
            said: call.said.map(shortened),
            ..call
        })
    }

    /// What the agent wants to do, as a text for the human who decides.
    pub fn request_text(&self) -> String {
        let tool = self.tool.as_deref().unwrap_or("a tool");
        let Some(input) = &self.input else {
            return tool.into();
        };
        let mut text = format!("{tool}\n");
        match input {
            Value::Object(fields) => {
                for (name, value) in fields {
                    let value = match value {
                        Value::String(value) => value.clone(),
                        value => value.to_string(),
                    };
                    text += &format!("  {name}: {value}\n");
                }
            }
            Value::String(value) => text += &format!("  {value}\n"),
            value => text += &format!("  {value}\n"),
        }
        text
    }
}

/// What a hook prints, and how it exits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HookOutput {
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
    /// Its exit code.
    pub code: i32,
}

impl HookOutput {
    /// Let the program go on as it would without a hook.
    pub fn nothing() -> HookOutput {
        HookOutput::default()
    }

    /// At the end of a turn: give the agent more to do.
    pub fn more(text: &str) -> HookOutput {
        let stdout = json!({"decision": "block", "reason": text}).to_string();
        HookOutput {
            stdout,
            ..HookOutput::default()
        }
    }

    /// Wake a waiting program with a text.
    pub fn wake(text: &str) -> HookOutput {
        HookOutput {
            stderr: text.into(),
            code: 2,
            ..HookOutput::default()
        }
    }

    /// The decision on a permission. `Err` denies it, with a text for the model.
    pub fn decision(decision: Result<(), &str>) -> HookOutput {
        let decision = match decision {
            Ok(()) => json!({"behavior": "allow"}),
            Err("") => json!({"behavior": "deny", "message": "The human said no."}),
            Err(text) => json!({
                "behavior": "deny",
                "message": format!("The human said no: {text}"),
            }),
        };
        let output = json!({"hookSpecificOutput": {
            "hookEventName": "PermissionRequest",
            "decision": decision,
        }});
        HookOutput {
            stdout: output.to_string(),
            ..HookOutput::default()
        }
    }
}

fn shortened(text: String) -> String {
    match text.char_indices().nth(MAX) {
        Some((end, _)) => text[..end].to_owned() + " …",
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_read_whatever_else_it_says() {
        let call = HookCall::read(
            r#"{"hook_event_name":"PermissionRequest","session_id":"s","cwd":"/p","tool_name":"Bash",
                "tool_input":{"command":"rm x","timeout":5},"permission_mode":"default"}"#,
        )
        .unwrap();
        assert_eq!(call.event, "PermissionRequest");
        assert_eq!(call.session.as_deref(), Some("s"));
        assert_eq!(call.request_text(), "Bash\n  command: rm x\n  timeout: 5\n");
        assert_eq!(HookCall::read("garbage"), None);
        assert_eq!(HookCall::read("[1]"), None);
    }

    #[test]
    fn a_long_text_is_cut_where_a_character_ends() {
        let prompt = "ä".repeat(MAX + 5);
        let text = json!({"hook_event_name": "UserPromptSubmit", "prompt": prompt}).to_string();
        let call = HookCall::read(&text).unwrap();
        assert_eq!(call.prompt.unwrap().chars().count(), MAX + 2);
    }

    #[test]
    fn no_decision_is_ever_a_yes() {
        assert_eq!(HookOutput::nothing(), HookOutput::default());
        for text in ["", "use mv"] {
            let denied = HookOutput::decision(Err(text)).stdout;
            assert!(
                denied.contains("deny") && !denied.contains("allow"),
                "{denied}"
            );
        }
        assert!(HookOutput::decision(Ok(())).stdout.contains("allow"));
    }
}
