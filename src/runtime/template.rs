//! The program of an agent: its arguments, with the placeholders filled in.
//!
//! The author's text is split into arguments before anything is filled in, and values are not
//! expanded again. So a value cannot become several arguments, a placeholder or an option: one that
//! begins with `-` is refused.

use std::borrow::Cow;

use serde_json::Value;

use crate::model::{Argument, Piece, Placeholder, did_you_mean, pieces};

/// The values of the placeholders in one call. An empty text counts as no value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Values<'a> {
    /// The mesh's folder.
    pub mesh_dir: Option<&'a str>,
    /// A file with the agent's prompt.
    pub prompt_file: Option<&'a str>,
    /// The message file.
    pub msg_file: Option<&'a str>,
    /// The agent's session.
    pub session: Option<&'a str>,
    /// The model.
    pub model: Option<&'a str>,
    /// The agent, `mesh/agent`.
    pub agent: Option<&'a str>,
    /// The folder that it works in.
    pub workdir: Option<&'a str>,
    /// The session id, if the session is new.
    pub new_session: Option<&'a str>,
    /// The session id, if the session is resumed.
    pub old_session: Option<&'a str>,
    /// The line that points it at its messages.
    pub text: Option<&'a str>,
    /// The file with its messages, which that line names.
    pub turn_file: Option<&'a str>,
    /// The system prompt.
    pub system: Option<&'a str>,
    /// A file with the system prompt.
    pub system_file: Option<&'a str>,
    /// The folder with the files of its runtime.
    pub files: Option<&'a str>,
    /// The folder that messages are dropped into.
    pub messages: Option<&'a str>,
    /// A shell command for the hooks of the agent CLI.
    pub hook: Option<&'a str>,
    /// The same for a hook that asks for the human's decision.
    pub ask: Option<&'a str>,
    /// The tools that it may use without asking.
    pub tools: Option<&'a str>,
    /// The tools that it may not use.
    pub denied_tools: Option<&'a str>,
    /// A file with the agent's MCP servers, as JSON.
    pub mcp_file: Option<&'a str>,
    /// The same as an inline table of TOML.
    pub mcp_toml: Option<&'a str>,
    /// How often the model may be called in one turn.
    pub max_turns: Option<&'a str>,
    /// The model's thinking level.
    pub thinking: Option<&'a str>,
    /// The arguments for the agent's permissions.
    pub permissions: &'a [String],
}

/// Why a `run` cannot be filled in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfilled {
    /// There is no such placeholder, and it has no default.
    #[error("`{{{0}}}` is not a placeholder of `run`; {hint}", hint = instead_of(.0))]
    Unknown(String),
    /// An argument cannot contain a zero byte.
    #[error("the value of `{{{0}}}` has a zero byte in it")]
    ZeroByte(String),
    /// The program would take the value for an option.
    #[error("the value of `{{{name}}}` begins with `-`, like an option: {value:?}")]
    LikeAnOption {
        /// The placeholder.
        name: String,
        /// Its value.
        value: String,
    },
}

/// The command line of an agent: its arguments, or a shell and its text.
pub fn arguments(run: &[Argument], shell: bool, values: &Values) -> Result<Vec<String>, Unfilled> {
    if shell {
        let texts: Vec<&str> = run.iter().flat_map(Argument::texts).collect();
        super::shell(&texts.join(" "), values)
    } else {
        fill(run, values)
    }
}

/// Fill in the arguments of a program, one by one.
///
/// A placeholder without a value becomes an empty text; if it is the whole argument, the argument
/// is left out. So `{session}` can be missing, and an author who wants `--model NAME` or nothing
/// writes `--model={model}` or gives a default.
pub fn fill(run: &[Argument], values: &Values) -> Result<Vec<String>, Unfilled> {
    let mut arguments = Vec::new();
    for argument in run {
        match argument {
            Argument::One(text) if text == "{permissions}" => {
                arguments.extend_from_slice(values.permissions);
            }
            Argument::One(text) => {
                let texts = filled(text, values, true)?;
                if texts != [None] {
                    arguments.push(texts.into_iter().flatten().collect());
                }
            }
            Argument::Group(group) => {
                let group: Result<Vec<_>, _> = group
                    .iter()
                    .map(|text| filled(text, values, true))
                    .collect();
                let group = group?;
                if group.iter().flatten().all(Option::is_some) {
                    let texts = group.into_iter();
                    arguments.extend(texts.map(|texts| texts.into_iter().flatten().collect()));
                }
            }
        }
    }
    Ok(arguments)
}

/// The pieces of a text with values filled in; `None` if there is no value.
fn filled<'a>(
    text: &'a str,
    values: &Values<'a>,
    is_argument: bool,
) -> Result<Vec<Option<Cow<'a, str>>>, Unfilled> {
    let fill = |piece: &Piece<'a>| match *piece {
        Piece::Text(text) => Ok(Some(Cow::Borrowed(text))),
        Piece::Slot {
            name: "permissions",
            ..
        } if !is_argument => Ok(Some(Cow::Owned(values.permissions.join(" ")))),
        Piece::Slot {
            name,
            default,
            json,
        } => {
            let value = match is_argument {
                true => values.fill(name, default)?,
                false => values.find(name, default)?,
            };
            Ok(value.map(|value| match json {
                true => Cow::Owned(Value::from(value).to_string()),
                false => Cow::Borrowed(value),
            }))
        }
    };
    pieces(text).iter().map(fill).collect()
}

/// The content of a runtime's file: a text as it is, anything else as JSON, with placeholders
/// filled in. A missing value becomes an empty text.
pub fn file(content: &Value, values: &Values) -> Result<String, Unfilled> {
    match in_value(content, values)? {
        Value::String(text) => Ok(text),
        value => Ok(format!("{value:#}\n")),
    }
}

fn in_value(value: &Value, values: &Values) -> Result<Value, Unfilled> {
    Ok(match value {
        Value::String(text) => Value::String(text_with(text, values)?),
        Value::Array(items) => {
            let items: Result<_, _> = items.iter().map(|item| in_value(item, values)).collect();
            Value::Array(items?)
        }
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(name, value)| Ok((text_with(name, values)?, in_value(value, values)?)));
            Value::Object(fields.collect::<Result<_, Unfilled>>()?)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    })
}

/// A text that is not an argument, with its placeholders filled in.
pub fn text_with(text: &str, values: &Values) -> Result<String, Unfilled> {
    let texts = filled(text, values, false)?;
    Ok(texts.into_iter().flatten().collect())
}

/// Whether the program gets its session id. Otherwise it cannot resume a session.
pub fn uses_session(run: &[Argument]) -> bool {
    let sessions = [Placeholder::Session, Placeholder::OldSession].map(Placeholder::as_str);
    let is_session = |piece: &Piece| match piece {
        Piece::Text(_) => false,
        Piece::Slot { name, .. } => sessions.contains(name),
    };
    let mut texts = run.iter().flat_map(Argument::texts);
    texts.any(|text| pieces(text).iter().any(is_session))
}

impl<'a> Values<'a> {
    /// The value of `{name=default}` in a command line, if there is one.
    pub(super) fn fill(
        &self,
        name: &str,
        default: Option<&'a str>,
    ) -> Result<Option<&'a str>, Unfilled> {
        match self.find(name, default)? {
            Some(value) if value.starts_with('-') && default != Some(value) => {
                Err(Unfilled::LikeAnOption {
                    name: name.into(),
                    value: value.into(),
                })
            }
            value => Ok(value),
        }
    }

    /// The same in any text.
    fn find(&self, name: &str, default: Option<&'a str>) -> Result<Option<&'a str>, Unfilled> {
        let value = match (name.parse(), default) {
            (Ok(placeholder), _) => self.get(placeholder),
            (Err(_), Some(_)) => None,
            (Err(_), None) => return Err(Unfilled::Unknown(name.into())),
        };
        match value {
            Some(value) if value.contains('\0') => Err(Unfilled::ZeroByte(name.into())),
            Some(value) => Ok(Some(value)),
            None => Ok(default),
        }
    }

    fn get(&self, placeholder: Placeholder) -> Option<&'a str> {
        let value = match placeholder {
            Placeholder::MeshDir => self.mesh_dir,
            Placeholder::PromptFile => self.prompt_file,
            Placeholder::MsgFile => self.msg_file,
            Placeholder::Session => self.session,
            Placeholder::Model => self.model,
            Placeholder::Agent => self.agent,
            Placeholder::Workdir => self.workdir,
            Placeholder::NewSession => self.new_session,
            Placeholder::OldSession => self.old_session,
            Placeholder::Text => self.text,
            Placeholder::TurnFile => self.turn_file,
            Placeholder::System => self.system,
            Placeholder::SystemFile => self.system_file,
            Placeholder::Files => self.files,
            Placeholder::Messages => self.messages,
            Placeholder::Hook => self.hook,
            Placeholder::Ask => self.ask,
            Placeholder::Tools => self.tools,
            Placeholder::DeniedTools => self.denied_tools,
            Placeholder::McpFile => self.mcp_file,
            Placeholder::McpToml => self.mcp_toml,
            Placeholder::MaxTurns => self.max_turns,
            Placeholder::Thinking => self.thinking,
        };
        value.filter(|value| !value.is_empty())
    }
}

fn instead_of(name: &str) -> String {
    did_you_mean(name, Placeholder::names(), || {
        let names: Vec<&str> = Placeholder::names().collect();
        format!(
            "there are {}; `{{{{{name}}}}}` is the text itself",
            names.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(run: &[&str], values: &Values) -> Result<Vec<String>, Unfilled> {
        let run = run.iter().map(|&text| Argument::One(text.into()));
        fill(&run.collect::<Vec<_>>(), values)
    }

    const VALUES: Values = Values {
        mesh_dir: Some("/p/meshes/my mesh"),
        prompt_file: Some("/p/prompt.md"),
        msg_file: Some("/p/{model} '; rm x; ' $(x) *.md\n"),
        session: None,
        model: Some("opus"),
        agent: Some("dev/coder"),
        workdir: Some(""),
        new_session: None,
        old_session: Some("s"),
        text: None,
        turn_file: None,
        system: Some("Say \"hi\"\n"),
        system_file: None,
        files: None,
        messages: None,
        hook: None,
        ask: None,
        tools: None,
        denied_tools: None,
        mcp_file: None,
        mcp_toml: None,
        max_turns: None,
        thinking: None,
        permissions: &[],
    };

    #[test]
    fn each_argument_is_filled_by_itself_and_once() {
        for (run, expected) in [
            (
                &["cat", "{msg_file}"][..],
                &["cat", "/p/{model} '; rm x; ' $(x) *.md\n"][..],
            ),
            (&["{mesh_dir}/a.py"], &["/p/meshes/my mesh/a.py"]),
            (&["{agent}:{model}{agent}"], &["dev/coder:opusdev/coder"]),
            (&["{model=haiku}", "{session=new}"], &["opus", "new"]),
            (&["{tone=dry}", "{{model}}"], &["dry", "{model}"]),
            (
                &["{\"m\": {\"n\": \"{model}\"}}"],
                &["{\"m\": {\"n\": \"opus\"}}"],
            ),
        ] {
            assert_eq!(filled(run, &VALUES).unwrap(), expected, "{run:?}");
        }
    }

    #[test]
    fn what_has_no_value_is_no_argument_or_no_text() {
        for (run, expected) in [
            (&["x", "{session}"][..], &["x"][..]),
            (&["x", "{workdir}"], &["x"]),
            (&["--resume={session}"], &["--resume="]),
            (&["{session}{session}"], &[""]),
            (&["{session=}", ""], &["", ""]),
        ] {
            assert_eq!(filled(run, &VALUES).unwrap(), expected, "{run:?}");
        }
    }

    #[test]
    fn a_value_that_would_be_more_than_a_value_is_refused() {
        let with = |model| Values {
            model: Some(model),
            ..Values::default()
        };
        let error = filled(&["{model}"], &with("--yolo")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the value of `{model}` begins with `-`, like an option: \"--yolo\""
        );
        let error = filled(&["{model}"], &with("a\0b")).unwrap_err();
        assert_eq!(error, Unfilled::ZeroByte("model".into()));
    }

    #[test]
    fn an_unknown_name_is_told_what_there_is() {
        let error = |run| filled(&[run], &VALUES).unwrap_err().to_string();
        assert_eq!(
            error("{msgfile}"),
            "`{msgfile}` is not a placeholder of `run`; did you mean `msg_file`?"
        );
        assert_eq!(
            error("{print}"),
            format!(
                "`{{print}}` is not a placeholder of `run`; there are {}; `{{{{print}}}}` is the text itself",
                Placeholder::names().collect::<Vec<_>>().join(", ")
            )
        );
    }

    #[test]
    fn a_program_uses_its_session_if_it_is_told_it() {
        let uses = |run: &[&str]| {
            uses_session(
                &run.iter()
                    .map(|&a| Argument::One(a.into()))
                    .collect::<Vec<_>>(),
            )
        };
        assert!(uses(&["x", "--resume={session}"]));
        assert!(uses(&["{session=new}"]));
        assert!(!uses(&["x", "{{session}}", "${session}", "session"]));
    }

    #[test]
    fn a_group_stands_or_falls_as_a_whole() {
        let run: Vec<Argument> = serde_yaml::from_str(
            "[cli, [--model, '{model}'], [--new, '{new_session}'], [resume, '{old_session}', x], \
             '{permissions}', [a, '{workdir}']]",
        )
        .unwrap();
        let permissions = ["-c".to_owned(), "a=b".to_owned()];
        let values = Values {
            permissions: &permissions,
            ..VALUES
        };
        let filled = fill(&run, &values).unwrap();
        let expected = ["cli", "--model", "opus", "resume", "s", "x", "-c", "a=b"];
        assert_eq!(filled, expected);
    }

    #[test]
    fn a_value_can_be_written_as_json_and_files_are_filled_in() {
        let say = filled(&["-c", "say={system:json}"], &VALUES).unwrap();
        assert_eq!(say[1], r#"say="Say \"hi\"\n""#);
        let content: Value =
            serde_yaml::from_str("{ '{model}': [{ say: '{system}', n: 1 }], none: '{text}' }")
                .unwrap();
        let json: Value = serde_json::from_str(&file(&content, &VALUES).unwrap()).unwrap();
        let expected = serde_json::json!({"opus": [{"say": "Say \"hi\"\n", "n": 1}], "none": ""});
        assert_eq!(json, expected);
        let permissions = ["{\"edit\":\"ask\"}".to_owned()];
        let values = Values {
            permissions: &permissions,
            ..VALUES
        };
        assert_eq!(
            text_with("{\"p\":{permissions},\"f\":{model:json}}", &values).unwrap(),
            r#"{"p":{"edit":"ask"},"f":"opus"}"#,
            "also in a variable or a file"
        );
        assert_eq!(
            file(&Value::from("# {agent}"), &VALUES).unwrap(),
            "# dev/coder"
        );
    }
}
