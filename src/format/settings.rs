//! The text of `.ai/tx/config.yaml`. One mistake in it is told and nothing of it is
//! used: a setting must never look as if it worked.

use serde_json::Value;

use super::Text;
use super::yaml::{self, Places, Step};
use crate::model::{Code, Diagnostic, Settings};

/// The settings that a text says, or what is wrong with it.
pub fn parse(text: &str) -> Result<Settings, Diagnostic> {
    let at = Text(text);
    let value = yaml::parse(text).map_err(|fault| {
        let hint = fault.hint.unwrap_or("settings are YAML, `key: value`");
        at.diagnose(Code::NotYaml, at.line_at(fault.at), fault.message, hint)
    })?;
    if value == Value::Null {
        return Ok(Settings::default());
    }
    let wrong = |path: &[Step], message, hint| {
        let place = Places::of(text).key(path);
        at.diagnose(Code::WrongSetting, place, message, hint)
    };
    let read: Result<Settings, _> = serde_path_to_error::deserialize(&value);
    let settings = read.map_err(|error| {
        let path: Vec<Step> = error.path().iter().filter_map(step).collect();
        let message = format!("{}: {}", error.path(), error.inner());
        wrong(&path, message, "docs/operations.md lists the settings")
    })?;
    if settings.core.idle.is_some() && settings.core.run.is_empty() {
        let path = ["core", "idle"].map(|key| Step::Key(key.into()));
        let message = "core.idle: nothing is typed into a plain shell, which would run it".into();
        return Err(wrong(&path, message, "say with `core.run` what runs there"));
    }
    Ok(settings)
}

fn step(segment: &serde_path_to_error::Segment) -> Option<Step> {
    use serde_path_to_error::Segment;
    match segment {
        Segment::Seq { index } => Some(Step::Index(*index)),
        Segment::Map { key } => Some(Step::Key(key.clone())),
        Segment::Enum { .. } | Segment::Unknown => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_and_nothing_is_a_setting_too() {
        assert_eq!(parse("# nothing\n"), Ok(Settings::default()));
        let text = "core:\n  run: [agent, --fast]\nnotify: { command: [say, '{headline}'] }\n";
        let settings = parse(text).unwrap();
        assert_eq!(settings.core.run, ["agent", "--fast"]);
        assert_eq!(settings.core.idle, None);
        assert_eq!(settings.notify.command, ["say", "{headline}"]);
    }

    #[test]
    fn an_idle_line_is_matched_as_a_whole() {
        let idle = parse("core: { run: [x], idle: '[>❯]|ready' }\n").unwrap();
        let idle = idle.core.idle.unwrap();
        for (line, is_idle) in [
            ("> ", true),
            ("❯", true),
            ("ready", true),
            ("> x", false),
            ("x >", false),
            ("", false),
        ] {
            assert_eq!(idle.matches(line), is_idle, "{line:?}");
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        for (text, line, says) in [
            ("core:\n  rum: [x]\n", 2, "unknown field `rum`"),
            ("notify:\n  command: 7\n", 2, "expected a sequence"),
            ("core:\n  run: x\n", 2, "expected a sequence"),
            ("core:\n  run: [x]\n  idle: '('\n", 3, "unclosed group"),
            ("core:\n  idle: '>'\n", 2, "plain shell"),
            ("core: [\n", 2, ""),
        ] {
            let wrong = parse(text).unwrap_err();
            assert!(wrong.message.contains(says), "{}", wrong.message);
            assert_eq!(wrong.place.line, line, "{text}");
        }
    }
}
