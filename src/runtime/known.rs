//! All runtimes: tx's own, one YAML file each, and those of the project's settings.

use std::sync::LazyLock;

use indexmap::IndexMap;

use crate::model::{Agent, Mode, Runtime, Settings};

/// The definitions that tx comes with.
const BUILTIN: [(&str, &str); 7] = [
    ("claude", include_str!("builtin/claude.yaml")),
    ("codex", include_str!("builtin/codex.yaml")),
    ("gemini", include_str!("builtin/gemini.yaml")),
    ("opencode", include_str!("builtin/opencode.yaml")),
    ("pi", include_str!("builtin/pi.yaml")),
    ("aider", include_str!("builtin/aider.yaml")),
    ("command", include_str!("builtin/command.yaml")),
];

/// Every runtime of a project, by name.
#[derive(Clone, Debug)]
pub struct Runtimes {
    known: IndexMap<String, Runtime>,
    /// The project's `runtime` setting.
    preferred: Option<String>,
}

/// The runtime of an agent if neither its mesh nor the project names one.
const DEFAULT: &str = "claude";

static OWN: LazyLock<Runtimes> = LazyLock::new(|| {
    let read = |(name, text): (&str, &str)| {
        let runtime = serde_yaml::from_str(text);
        (name.to_owned(), runtime.expect("a test reads each of them"))
    };
    Runtimes {
        known: BUILTIN.into_iter().map(read).collect(),
        preferred: None,
    }
});

impl Runtimes {
    /// The runtimes that tx comes with.
    pub fn builtin() -> &'static Runtimes {
        &OWN
    }

    /// The same, with those of a project. The project's replace tx's own.
    pub fn with(settings: &Settings) -> Runtimes {
        let mut runtimes = OWN.clone();
        let own = settings.runtimes.iter();
        runtimes
            .known
            .extend(own.map(|(name, runtime)| (name.clone(), runtime.clone())));
        runtimes.preferred.clone_from(&settings.runtime);
        runtimes
    }

    /// The YAML text of a definition that tx comes with.
    pub fn builtin_text(name: &str) -> Option<&'static str> {
        let mut all = BUILTIN.into_iter();
        all.find_map(|(known, text)| (known == name).then_some(text))
    }

    /// The agent CLIs, in the order in which `tx init --runtime auto` tries them.
    pub fn agent_clis(&self) -> impl Iterator<Item = (&str, &Runtime)> {
        let all = self
            .known
            .iter()
            .map(|(name, runtime)| (name.as_str(), runtime));
        all.filter(|(_, runtime)| runtime.program.is_some())
    }

    /// The runtime of an agent that names neither a runtime nor a program.
    pub fn preferred(&self) -> &str {
        self.preferred.as_deref().unwrap_or(DEFAULT)
    }

    /// The definition of this name.
    pub fn get(&self, name: &str) -> Option<&Runtime> {
        self.known.get(name)
    }

    /// The runtime of an agent; `None` if it is unknown.
    pub fn of(&self, agent: &Agent) -> Option<&Runtime> {
        self.get(&agent.runtime)
    }

    /// Run the agents of a runtime in one process per turn, unless they set a mode, if the program
    /// can do that.
    pub fn run_for_one_turn(&mut self, name: &str) {
        if let Some(runtime) = self.known.get_mut(name)
            && !runtime.turn.is_empty()
        {
            runtime.mode = Mode::Turn;
        }
    }

    /// Every name that a mesh may use.
    pub fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.known.keys().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ScreenRules;

    #[test]
    fn every_definition_of_ours_can_be_read() {
        let command = Runtimes::builtin().get("command").unwrap();
        assert!(command.prints && command.run.is_empty());
        assert_eq!(command.mode, Mode::Turn);
        for name in Runtimes::builtin().names() {
            let definition = Runtimes::builtin().get(name).unwrap();
            assert!(definition.screen != ScreenRules::default(), "{name}");
        }
    }

    #[test]
    fn a_project_adds_its_own_and_may_replace_ours() {
        let text = "runtimes:\n  mine: { run: [x], mode: pane }\n  command: { prints: false }\n";
        let settings = crate::format::settings::parse(text).unwrap();
        let runtimes = Runtimes::with(&settings);
        assert_eq!(runtimes.get("mine").unwrap().mode, Mode::Pane);
        assert!(!runtimes.get("command").unwrap().prints);
        let names: Vec<&str> = runtimes.names().collect();
        assert_eq!(
            names,
            [
                "claude", "codex", "gemini", "opencode", "pi", "aider", "command", "mine"
            ]
        );
    }

    #[test]
    fn a_program_that_needs_a_pane_stays_in_it() {
        let settings = "runtimes: { mine: { run: [x], mode: pane } }";
        let settings = crate::format::settings::parse(settings).unwrap();
        let mut runtimes = Runtimes::with(&settings);
        for (name, mode) in [("claude", Mode::Turn), ("mine", Mode::Pane)] {
            assert_eq!(runtimes.get(name).unwrap().mode, Mode::Pane);
            runtimes.run_for_one_turn(name);
            assert_eq!(runtimes.get(name).unwrap().mode, mode, "{name}");
        }
    }
}
