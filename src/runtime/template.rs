//! The program of an agent: its arguments, with the placeholders filled in.
//!
//! The author's text is split into arguments before anything is filled in, and a
//! value is never looked at again. So a value cannot become several arguments,
//! nor a placeholder, nor an option: one that begins with `-` is refused.

use crate::model::{Piece, Placeholder, did_you_mean, pieces};

/// What the placeholders stand for in one call. A text that is empty is no value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Values<'a> {
    /// The mesh's folder.
    pub mesh_dir: Option<&'a str>,
    /// A file with what the agent is told.
    pub prompt_file: Option<&'a str>,
    /// The message file.
    pub msg_file: Option<&'a str>,
    /// The agent's session.
    pub session: Option<&'a str>,
    /// The model.
    pub model: Option<&'a str>,
    /// The agent, `mesh/agent`.
    pub agent: Option<&'a str>,
    /// Where it works.
    pub workdir: Option<&'a str>,
}

/// Why a `run` cannot be filled in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfilled {
    /// There is no such placeholder, and it has no default.
    #[error("`{{{0}}}` is no placeholder of `run`; {hint}", hint = instead_of(.0))]
    Unknown(String),
    /// No argument of a program can hold a zero byte.
    #[error("the value of `{{{0}}}` has a zero byte in it")]
    ZeroByte(String),
    /// The program would take it for one of its options.
    #[error("the value of `{{{name}}}` begins with `-`, like an option: {value:?}")]
    LikeAnOption {
        /// The placeholder.
        name: String,
        /// Its value.
        value: String,
    },
}

/// What starts an agent's program: its arguments, or a shell and its text.
pub fn arguments(run: &[String], shell: bool, values: &Values) -> Result<Vec<String>, Unfilled> {
    if shell {
        super::shell(run, values)
    } else {
        fill(run, values)
    }
}

/// Fill in the arguments of a program, each by itself.
///
/// A placeholder without a value is nothing: within an argument, no text; alone,
/// no argument. So `{session}` can be left out of a call, and who wants
/// `--model NAME` or nothing writes `--model={model}` or gives a default.
pub fn fill(run: &[String], values: &Values) -> Result<Vec<String>, Unfilled> {
    let mut arguments = Vec::new();
    for argument in run {
        let pieces = pieces(argument);
        let texts = pieces.iter().map(|piece| match *piece {
            Piece::Text(text) => Ok(Some(text)),
            Piece::Slot { name, default } => values.fill(name, default),
        });
        let texts: Vec<Option<&str>> = texts.collect::<Result<_, _>>()?;
        if texts != [None] {
            arguments.push(texts.into_iter().flatten().collect());
        }
    }
    Ok(arguments)
}

/// Is the program told its session? One that is not cannot go on in it.
pub fn uses_session(run: &[String]) -> bool {
    let is_session = |piece: &Piece| match piece {
        Piece::Text(_) => false,
        Piece::Slot { name, .. } => *name == Placeholder::Session.as_str(),
    };
    run.iter()
        .any(|argument| pieces(argument).iter().any(is_session))
}

impl<'a> Values<'a> {
    /// What stands in place of `{name=default}`, if anything does.
    pub(super) fn fill(
        &self,
        name: &str,
        default: Option<&'a str>,
    ) -> Result<Option<&'a str>, Unfilled> {
        let value = match (name.parse(), default) {
            (Ok(placeholder), _) => self.get(placeholder),
            (Err(_), Some(_)) => None,
            (Err(_), None) => return Err(Unfilled::Unknown(name.into())),
        };
        match value {
            Some(value) if value.contains('\0') => Err(Unfilled::ZeroByte(name.into())),
            Some(value) if value.starts_with('-') => Err(Unfilled::LikeAnOption {
                name: name.into(),
                value: value.into(),
            }),
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
        let run: Vec<String> = run.iter().map(|&argument| argument.into()).collect();
        fill(&run, values)
    }

    const VALUES: Values = Values {
        mesh_dir: Some("/p/meshes/my mesh"),
        prompt_file: Some("/p/prompt.md"),
        msg_file: Some("/p/{model} '; rm x; ' $(x) *.md\n"),
        session: None,
        model: Some("opus"),
        agent: Some("dev/coder"),
        workdir: Some(""),
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
            "`{msgfile}` is no placeholder of `run`; did you mean `msg_file`?"
        );
        assert_eq!(
            error("{print}"),
            "`{print}` is no placeholder of `run`; there are mesh_dir, prompt_file, msg_file, \
             session, model, agent, workdir; `{{print}}` is the text itself"
        );
    }

    #[test]
    fn a_program_uses_its_session_if_it_is_told_it() {
        let uses = |run: &[&str]| uses_session(&run.iter().map(|&a| a.into()).collect::<Vec<_>>());
        assert!(uses(&["x", "--resume={session}"]));
        assert!(uses(&["{session=new}"]));
        assert!(!uses(&["x", "{{session}}", "${session}", "session"]));
    }
}
