//! Placeholders: `{name}`, `{name=default}` and `{name:json}` in what a mesh author writes.
//!
//! Texts with braces of their own (JSON, awk, shell) stay as they are: only a
//! lower-case name alone in braces is a placeholder, `${name}` belongs to the
//! shell, and `{{name}}` is the text `{name}`.

use super::BadWord;

/// What a placeholder in `run` stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Placeholder {
    /// The mesh's folder.
    MeshDir,
    /// A file with the agent's prompt.
    PromptFile,
    /// The message file.
    MsgFile,
    /// The agent's session.
    Session,
    /// The model.
    Model,
    /// The agent, `mesh/agent`.
    Agent,
    /// The folder that it works in.
    Workdir,
    /// The session id, if the session is new.
    NewSession,
    /// The session id, if the session is resumed.
    OldSession,
    /// The line that points it at its messages.
    Text,
    /// The file with its messages, which that line names.
    TurnFile,
    /// The system prompt.
    System,
    /// A file with the system prompt.
    SystemFile,
    /// The folder with the files of its runtime's `files`.
    Files,
    /// The folder that messages are dropped into.
    Messages,
    /// A shell command for the hooks of the agent CLI.
    Hook,
    /// The same for a hook that asks for the human's decision.
    Ask,
    /// The tools that it may use without asking, with commas.
    Tools,
    /// The tools that it may not use, with commas.
    DeniedTools,
    /// A file with the agent's MCP servers, as JSON.
    McpFile,
    /// The same as an inline table of TOML.
    McpToml,
    /// How often the model may be called in one turn.
    MaxTurns,
    /// The model's thinking level.
    Thinking,
}

/// A part of a text with placeholders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Literal text.
    Text(&'a str),
    /// `{name}`, `{name=default}` or `{name:json}`.
    Slot {
        /// The name, known or not.
        name: &'a str,
        /// The text to use if there is no value.
        default: Option<&'a str>,
        /// `{name:json}`: the value is written as a JSON string.
        json: bool,
    },
}

impl Placeholder {
    /// Every placeholder.
    pub const ALL: [Placeholder; 23] = [
        Placeholder::MeshDir,
        Placeholder::PromptFile,
        Placeholder::MsgFile,
        Placeholder::Session,
        Placeholder::Model,
        Placeholder::Agent,
        Placeholder::Workdir,
        Placeholder::NewSession,
        Placeholder::OldSession,
        Placeholder::Text,
        Placeholder::TurnFile,
        Placeholder::System,
        Placeholder::SystemFile,
        Placeholder::Files,
        Placeholder::Messages,
        Placeholder::Hook,
        Placeholder::Ask,
        Placeholder::Tools,
        Placeholder::DeniedTools,
        Placeholder::McpFile,
        Placeholder::McpToml,
        Placeholder::MaxTurns,
        Placeholder::Thinking,
    ];

    /// The name between the braces.
    pub fn as_str(self) -> &'static str {
        match self {
            Placeholder::MeshDir => "mesh_dir",
            Placeholder::PromptFile => "prompt_file",
            Placeholder::MsgFile => "msg_file",
            Placeholder::Session => "session",
            Placeholder::Model => "model",
            Placeholder::Agent => "agent",
            Placeholder::Workdir => "workdir",
            Placeholder::NewSession => "new_session",
            Placeholder::OldSession => "old_session",
            Placeholder::Text => "text",
            Placeholder::TurnFile => "turn_file",
            Placeholder::System => "system",
            Placeholder::SystemFile => "system_file",
            Placeholder::Files => "files",
            Placeholder::Messages => "messages",
            Placeholder::Hook => "hook",
            Placeholder::Ask => "ask",
            Placeholder::Tools => "tools",
            Placeholder::DeniedTools => "denied_tools",
            Placeholder::McpFile => "mcp_file",
            Placeholder::McpToml => "mcp_toml",
            Placeholder::MaxTurns => "max_turns",
            Placeholder::Thinking => "thinking",
        }
    }

    /// All names, for error messages.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Placeholder::ALL.into_iter().map(Placeholder::as_str)
    }
}

impl std::str::FromStr for Placeholder {
    type Err = BadWord;

    fn from_str(text: &str) -> Result<Self, BadWord> {
        let known = Placeholder::ALL.into_iter().find(|p| p.as_str() == text);
        known.ok_or_else(|| BadWord(text.into()))
    }
}

/// The pieces of a text, in order; no text among them is empty.
pub fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut from = 0; // the first byte that is in no piece yet
    let mut at = 0;
    while let Some(found) = text[at..].find('{') {
        let open = at + found;
        at = open + 1;
        if text[..open].ends_with('$') {
            continue;
        }
        let twice = slot(&text[at..]).filter(|(_, length)| text[at + length..].starts_with('}'));
        let once = slot(&text[open..]);
        let (piece, end) = match (twice, once) {
            (Some((_, length)), _) => (Piece::Text(&text[at..at + length]), at + length + 1),
            (None, Some((piece, length))) => (piece, open + length),
            (None, None) => continue,
        };
        pieces.extend([Piece::Text(&text[from..open]), piece]);
        from = end;
        at = end;
    }
    pieces.push(Piece::Text(&text[from..]));
    pieces.retain(|piece| *piece != Piece::Text(""));
    pieces
}

/// The placeholder at the start of a text, and its length with the braces.
fn slot(text: &str) -> Option<(Piece<'_>, usize)> {
    let (inner, _) = text.strip_prefix('{')?.split_once('}')?;
    let (name, default) = match inner.split_once('=') {
        Some((name, default)) => (name, Some(default)),
        None => (inner, None),
    };
    let (name, json) = match name.strip_suffix(":json") {
        Some(name) => (name, true),
        None => (name, false),
    };
    let is_name = !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    // A default is a single word. `{n = 1; print}` is code of the user's, not a default.
    let is_word = |b: u8| b.is_ascii_alphanumeric() || b"_-./:@%+,".contains(&b);
    let fits = is_name && default.is_none_or(|default| default.bytes().all(is_word));
    let slot = Piece::Slot {
        name,
        default,
        json,
    };
    fits.then_some((slot, inner.len() + 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_name_alone_in_braces_is_a_placeholder() {
        let shown = |text| -> Vec<String> {
            let show = |piece: &Piece| match piece {
                Piece::Text(text) => (*text).to_owned(),
                Piece::Slot {
                    name,
                    default,
                    json,
                } => {
                    let json = if *json { ":json" } else { "" };
                    format!("<{name}{json}|{default:?}>")
                }
            };
            pieces(text).iter().map(show).collect()
        };
        for (text, expected) in [
            ("", &[][..]),
            ("plain", &["plain"]),
            ("{model}", &["<model|None>"]),
            ("-m={model}.", &["-m=", "<model|None>", "."]),
            ("{model}{agent}", &["<model|None>", "<agent|None>"]),
            ("{model=haiku}", &["<model|Some(\"haiku\")>"]),
            ("{model=}", &["<model|Some(\"\")>"]),
            ("{wrong}", &["<wrong|None>"]),
            ("{hook:json}", &["<hook:json|None>"]),
            ("{hook:xml}", &["{hook:xml}"]),
            // The braces of others.
            ("{}", &["{}"]),
            ("${model} $1", &["${model} $1"]),
            ("{ echo; }", &["{ echo; }"]),
            ("{Model}", &["{Model}"]),
            ("{n=1; print $n}", &["{n=1; print $n}"]),
            ("{model", &["{model"]),
            ("model}", &["model}"]),
            ("{\"a\":{\"b\":1}}", &["{\"a\":{\"b\":1}}"]),
            ("{\"m\":\"{model}\"}", &["{\"m\":\"", "<model|None>", "\"}"]),
            ("{{{}}}", &["{{{}}}"]),
            // Said twice.
            ("{{model}}", &["{model}"]),
            ("a{{model=x}}b", &["a", "{model=x}", "b"]),
            ("{{model}", &["{", "<model|None>"]),
            ("{model}}", &["<model|None>", "}"]),
            ("ä{model}ä", &["ä", "<model|None>", "ä"]),
        ] {
            assert_eq!(shown(text), expected, "{text:?}");
        }
    }
}
