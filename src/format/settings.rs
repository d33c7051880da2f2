//! Parses `.ai/tx/config.yaml`. If it has a mistake, the mistake is reported and no setting is
//! used, because a setting must never look as if it worked.

use serde_json::Value;

use super::SourceText;
use super::yaml::{self, PathSegment, Places};
use crate::model::{Code, Diagnostic, Settings, did_you_mean};
use crate::runtime::Runtimes;

/// The settings in a text, or what is wrong with it.
pub fn parse(text: &str) -> Result<Settings, Diagnostic> {
    let at = SourceText(text);
    let mut value = yaml::parse(text).map_err(|fault| {
        let hint = fault
            .hint
            .as_deref()
            .unwrap_or("settings are YAML, `key: value`");
        at.diagnose(
            Code::NotYaml,
            at.line_at(fault.at),
            fault.message.clone(),
            hint,
        )
    })?;
    if value == Value::Null {
        return Ok(Settings::default());
    }
    let wrong = |path: &[PathSegment], message, hint| {
        let place = Places::of(text).key(path);
        at.diagnose(Code::WrongSetting, place, message, hint)
    };
    complete_runtimes(&mut value);
    let read: Result<Settings, _> = serde_path_to_error::deserialize(&value);
    let settings = read.map_err(|error| {
        let path: Vec<PathSegment> = error.path().iter().filter_map(step).collect();
        let message = format!("{}: {}", error.path(), error.inner());
        wrong(&path, message, "docs/operations.md lists the settings")
    })?;
    let core = &settings.core;
    for (key, needs, message) in [
        (
            "idle",
            core.idle.is_some() && core.run.is_empty(),
            "core.idle: nothing is typed into a plain shell, which would run it",
        ),
        (
            "busy",
            core.busy.is_some() && core.idle.is_none(),
            "core.busy: without `core.idle` nothing is ever typed there",
        ),
    ] {
        if needs {
            let path = ["core", key].map(|key| PathSegment::Key(key.into()));
            let hint = "docs/human.md tells what each is for";
            return Err(wrong(&path, message.into(), hint));
        }
    }
    let runtimes = Runtimes::with(&settings);
    if let Some(name) = &settings.runtime
        && runtimes.get(name).is_none()
    {
        let hint = did_you_mean(name, runtimes.names(), || {
            "`tx runtime list` lists them".into()
        });
        let message = format!("runtime: there is no runtime `{name}`");
        return Err(wrong(&[PathSegment::Key("runtime".into())], message, &hint));
    }
    Ok(settings)
}

/// An entry of `runtimes` that has the name of a built-in runtime and no command line changes that
/// runtime: it gets all fields that it does not have. With a command line it replaces the built-in
/// one.
fn complete_runtimes(settings: &mut Value) {
    let runtimes = settings.get_mut("runtimes").and_then(Value::as_object_mut);
    for (name, own) in runtimes.into_iter().flatten() {
        let Some(builtin) = Runtimes::builtin_text(name) else {
            continue;
        };
        let replaces = ["run", "turn"].iter().any(|key| own.get(key).is_some());
        if let (false, Ok(builtin)) = (replaces, yaml::parse(builtin)) {
            add_missing(own, builtin);
        }
    }
}

fn add_missing(own: &mut Value, from: Value) {
    if let (Value::Object(own), Value::Object(from)) = (own, from) {
        for (key, value) in from {
            match own.get_mut(&key) {
                Some(own) => add_missing(own, value),
                None => {
                    own.insert(key, value);
                }
            }
        }
    }
}

fn step(segment: &serde_path_to_error::Segment) -> Option<PathSegment> {
    use serde_path_to_error::Segment;
    match segment {
        Segment::Seq { index } => Some(PathSegment::Index(*index)),
        Segment::Map { key } => Some(PathSegment::Key(key.clone())),
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
    fn what_is_idle_is_matched_at_the_end_and_in_whole_lines() {
        let settings = parse("core: { run: [x], idle: '^[>❯]$|-+\\n\\| >' }\n").unwrap();
        let idle = settings.core.idle.unwrap();
        for (text, is_idle) in [
            (">", true),
            ("hello\n❯", true),
            ("-----\n| >", true),
            ("\n| >", false),
            ("> x", false),
            ("x >", false),
            (">\nx", false),
            ("", false),
        ] {
            assert_eq!(idle.ends(text), is_idle, "{text:?}");
        }
    }

    #[test]
    fn a_built_in_runtime_is_changed_in_part_or_replaced() {
        let text =
            "runtimes:\n  claude: { models: { opus: my-opus } }\n  codex: { run: [my-codex] }\n";
        let runtimes = parse(text).unwrap().runtimes;
        let builtin = |name| Runtimes::builtin().get(name).unwrap().clone();
        let (claude, codex) = (&runtimes["claude"], &runtimes["codex"]);
        assert_eq!(claude.models["opus"], "my-opus");
        assert_eq!(claude.run, builtin("claude").run);
        assert!(codex.hooks.is_empty() && codex.turn.is_empty());
        let text = "runtime: mine\nruntimes: { mine: { run: [x] } }\n";
        assert_eq!(parse(text).unwrap().runtime.as_deref(), Some("mine"));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        for (text, line, says) in [
            ("core:\n  rum: [x]\n", 2, "unknown field `rum`"),
            ("notify:\n  command: 7\n", 2, "expected a sequence"),
            ("core:\n  run: x\n", 2, "expected a sequence"),
            ("core:\n  run: [x]\n  idle: '('\n", 3, "unclosed group"),
            ("core:\n  idle: '>'\n", 2, "plain shell"),
            ("core:\n  run: [x]\n  busy: '>'\n", 3, "core.idle"),
            ("core: {}\nruntime: cluade\n", 2, "no runtime `cluade`"),
            ("runtimes: { claude: { modles: {} } }\n", 1, "`modles`"),
            ("core: [\n", 2, ""),
        ] {
            let wrong = parse(text).unwrap_err();
            assert!(wrong.message.contains(says), "{}", wrong.message);
            assert!(!wrong.message.contains('\n'), "{}", wrong.message);
            assert_eq!(wrong.place.line, line, "{text}");
        }
    }
}
