//! All runtimes: tx's own, one YAML file each, and those of the project's settings.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::model::{Agent, Mode, Runtime, Settings};

/// A definition that tx comes with. It is read when it is used for the first time: to build the
/// patterns of all of them takes longer than most commands.
struct Builtin {
    name: &'static str,
    text: &'static str,
    runtime: LazyLock<Runtime>,
}

macro_rules! builtin {
    ($name:literal) => {{
        const TEXT: &str = include_str!(concat!("builtin/", $name, ".yaml"));
        Builtin {
            name: $name,
            text: TEXT,
            runtime: LazyLock::new(|| serde_yaml::from_str(TEXT).expect("a test reads it")),
        }
    }};
}

/// In the order in which `tx init --runtime auto` tries them.
static BUILTIN: [Builtin; 7] = [
    builtin!("claude"),
    builtin!("codex"),
    builtin!("gemini"),
    builtin!("opencode"),
    builtin!("pi"),
    builtin!("aider"),
    builtin!("command"),
];

/// Every runtime of a project, by name.
#[derive(Clone, Debug, Default)]
pub struct Runtimes {
    /// Those of the project, which replace ours of the same name.
    own: BTreeMap<String, Runtime>,
    /// The project's `runtime` setting.
    preferred: Option<String>,
}

/// The runtime of an agent if neither its mesh nor the project names one.
const DEFAULT: &str = "claude";

static ONLY_BUILTIN: LazyLock<Runtimes> = LazyLock::new(Runtimes::default);

impl Runtimes {
    /// The runtimes that tx comes with.
    pub fn builtin() -> &'static Runtimes {
        &ONLY_BUILTIN
    }

    /// The same, with those of a project. The project's replace tx's own.
    pub fn with(settings: &Settings) -> Runtimes {
        Runtimes {
            own: settings.runtimes.clone(),
            preferred: settings.runtime.clone(),
        }
    }

    /// The YAML text of a definition that tx comes with.
    pub fn builtin_text(name: &str) -> Option<&'static str> {
        let builtin = BUILTIN.iter().find(|builtin| builtin.name == name);
        builtin.map(|builtin| builtin.text)
    }

    /// The agent CLIs, in the order in which `tx init --runtime auto` tries them.
    pub fn agent_clis(&self) -> impl Iterator<Item = (&str, &Runtime)> {
        let all = self
            .names()
            .filter_map(|name| Some((name, self.get(name)?)));
        all.filter(|(_, runtime)| runtime.program.is_some())
    }

    /// The runtime of an agent that names neither a runtime nor a program.
    pub fn preferred(&self) -> &str {
        self.preferred.as_deref().unwrap_or(DEFAULT)
    }

    /// The definition of this name.
    pub fn get(&self, name: &str) -> Option<&Runtime> {
        let builtin = || {
            let builtin = BUILTIN.iter().find(|builtin| builtin.name == name);
            builtin.map(|builtin| &*builtin.runtime)
        };
        self.own.get(name).or_else(builtin)
    }

    /// The runtime of an agent; `None` if it is unknown.
    pub fn of(&self, agent: &Agent) -> Option<&Runtime> {
        self.get(&agent.runtime)
    }

    /// Run the agents of a runtime in one process per turn, unless they set a mode, if the program
    /// can do that.
    pub fn run_for_one_turn(&mut self, name: &str) {
        let runtime = self.get(name).filter(|runtime| !runtime.turn.is_empty());
        if let Some(mut runtime) = runtime.cloned() {
            runtime.mode = Mode::Turn;
            self.own.insert(name.to_owned(), runtime);
        }
    }

    /// Every name that a mesh may use.
    pub fn names(&self) -> impl Iterator<Item = &str> + Clone {
        let own = self.own.keys().map(String::as_str);
        let is_new = |name: &&str| BUILTIN.iter().all(|builtin| builtin.name != *name);
        let builtin = BUILTIN.iter().map(|builtin| builtin.name);
        builtin.chain(own.filter(is_new))
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
