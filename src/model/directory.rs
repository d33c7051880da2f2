//! The directory: the known meshes and agents, and what an address refers to.

use indexmap::IndexMap;

use super::{Address, Mesh, Name, OutcomeWord, Pool, Recipient, nearest};

/// The known meshes, with what is needed to look up addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Directory {
    meshes: IndexMap<Name, Listing>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Listing {
    agents: Vec<Name>,
    /// The agents that have numbered workers.
    pooled: Vec<Name>,
    entry_point: Option<Name>,
    /// Messages for the mesh go to its machine.
    has_machine: bool,
    disabled: bool,
}

/// What a recipient refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolved {
    /// This agent, core, or the machine of a mesh (`mesh/dispatch`).
    To(Address),
    /// "Route this for me": the sender's own mesh decides.
    Dispatch,
}

/// Why a recipient could not be resolved. tx never guesses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unresolved {
    /// No mesh or agent of that name.
    #[error("there is no agent or mesh `{wanted}`")]
    Unknown {
        /// The recipient as written.
        wanted: String,
        /// The names nearest to it, best first.
        nearest: Vec<String>,
    },
    /// The mesh has several agents and names no entry point.
    #[error("mesh `{mesh}` has no entry point")]
    NoEntryPoint {
        /// The mesh that was named.
        mesh: Name,
        /// Its agents, one of which must be named.
        agents: Vec<Name>,
    },
    /// The mesh is disabled.
    #[error("mesh `{0}` is disabled")]
    Disabled(Name),
    /// `system/*` is tx itself and takes no mail.
    #[error("`{0}` is tx itself and takes no messages")]
    System(Address),
}

impl<'a> FromIterator<&'a Mesh> for Directory {
    fn from_iter<I: IntoIterator<Item = &'a Mesh>>(meshes: I) -> Self {
        let listing = |mesh: &Mesh| Listing {
            agents: mesh.agents.keys().cloned().collect(),
            pooled: mesh.pooled().cloned().collect(),
            entry_point: mesh.entry_point.clone(),
            has_machine: mesh.machine.is_some(),
            disabled: mesh.disabled,
        };
        let meshes = meshes.into_iter().map(|m| (m.name.clone(), listing(m)));
        Directory {
            meshes: meshes.collect(),
        }
    }
}

impl Directory {
    /// Whether there is a mesh of this name.
    pub fn has_mesh(&self, name: &str) -> bool {
        self.meshes.keys().any(|known| known.as_str() == name)
    }

    /// Whether this is core or a known agent.
    pub fn knows(&self, address: &Address) -> bool {
        address.is_core()
            || self.meshes.get(&address.mesh).is_some_and(|mesh| {
                let pooled = mesh.pooled.contains(&address.agent);
                let is_slot = |slot| pooled && slot <= Pool::MAX;
                mesh.agents.contains(&address.agent) && address.slot.is_none_or(is_slot)
            })
    }

    /// Look up what `sender` meant by `to`. With a status, the sender's own mesh
    /// means "route this for me".
    pub fn resolve(
        &self,
        to: &Recipient,
        sender: &Address,
        status: Option<&OutcomeWord>,
    ) -> Result<Resolved, Unresolved> {
        let resolved = self.look_up(to, sender, status)?;
        match &resolved {
            Resolved::To(address) if self.is_disabled(&address.mesh) => {
                Err(Unresolved::Disabled(address.mesh.clone()))
            }
            Resolved::To(_) | Resolved::Dispatch => Ok(resolved),
        }
    }

    fn is_disabled(&self, mesh: &Name) -> bool {
        self.meshes
            .get(mesh)
            .is_some_and(|listing| listing.disabled)
    }

    fn look_up(
        &self,
        to: &Recipient,
        sender: &Address,
        status: Option<&OutcomeWord>,
    ) -> Result<Resolved, Unresolved> {
        match to {
            Recipient::Full(address) if address.is_system() => {
                Err(Unresolved::System(address.clone()))
            }
            Recipient::Full(address) if self.knows(address) => Ok(Resolved::To(address.clone())),
            Recipient::Full(address) if address.is_dispatch() => {
                if address.mesh == sender.mesh {
                    Ok(Resolved::Dispatch)
                } else {
                    self.entry_point(&address.mesh, to)
                }
            }
            Recipient::Full(_) => Err(self.unknown(to)),
            Recipient::Bare(name) => {
                let local = Address::new(sender.mesh.clone(), name.clone());
                if self.knows(&local) {
                    Ok(Resolved::To(local))
                } else if *name == sender.mesh && status.is_some() {
                    Ok(Resolved::Dispatch)
                } else {
                    self.entry_point(name, to)
                }
            }
        }
    }

    fn entry_point(&self, mesh: &Name, written: &Recipient) -> Result<Resolved, Unresolved> {
        let listing = self.meshes.get(mesh).ok_or_else(|| self.unknown(written))?;
        if listing.has_machine {
            return Ok(Resolved::To(Address::dispatch(mesh)));
        }
        match &listing.entry_point {
            Some(agent) => Ok(Resolved::To(Address::new(mesh.clone(), agent.clone()))),
            None => Err(Unresolved::NoEntryPoint {
                mesh: mesh.clone(),
                agents: listing.agents.clone(),
            }),
        }
    }

    fn unknown(&self, written: &Recipient) -> Unresolved {
        let wanted = written.to_string();
        let known: Vec<String> = self
            .meshes
            .iter()
            .flat_map(|(mesh, listing)| {
                let agents = listing.agents.iter().map(move |a| format!("{mesh}/{a}"));
                agents.chain([mesh.to_string()])
            })
            .chain(["core".into()])
            .collect();
        let mut close: Vec<String> = nearest(&wanted, known.iter().map(String::as_str))
            .into_iter()
            .map(str::to_owned)
            .collect();
        // `dev/wrker` is far from `dev/worker` only if the mesh is wrong too:
        // for a known mesh, its own agents are the best suggestion.
        if let (true, Recipient::Full(address)) = (close.is_empty(), written)
            && let Some(listing) = self.meshes.get(&address.mesh)
        {
            let agents = listing.agents.iter().take(5);
            close = agents.map(|a| format!("{}/{a}", address.mesh)).collect();
        }
        Unresolved::Unknown {
            wanted,
            nearest: close,
        }
    }
}

impl Unresolved {
    /// What the author can do about it.
    pub fn hint(&self) -> String {
        match self {
            Unresolved::Unknown { nearest, .. } if nearest.is_empty() => {
                "`tx mesh list` lists the meshes and their agents".into()
            }
            Unresolved::Unknown { nearest, .. } => {
                format!("did you mean `{}`?", nearest.join("` or `"))
            }
            Unresolved::NoEntryPoint { mesh, agents } => {
                let agents: Vec<String> = agents.iter().map(|a| format!("`{mesh}/{a}`")).collect();
                format!("name an agent: {}", agents.join(", "))
            }
            Unresolved::Disabled(mesh) => {
                format!("take `disable` out of the config of `{mesh}`, or write to another mesh")
            }
            Unresolved::System(_) => "write to `core` to reach the human".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory() -> Directory {
        let names = |names: &[&str]| names.iter().map(|n| n.parse().unwrap()).collect();
        let listing = |agents: &[&str], entry: Option<&str>| Listing {
            agents: names(agents),
            pooled: Vec::new(),
            entry_point: entry.map(|name| name.parse().unwrap()),
            has_machine: agents == ["stage"],
            disabled: agents == ["sleeper"],
        };
        let meshes = [
            (
                "dev",
                listing(&["implementer", "tester"], Some("implementer")),
            ),
            ("hello", listing(&["worker"], Some("worker"))),
            ("tester", listing(&["only"], Some("only"))),
            ("open", listing(&["a", "b"], None)),
            ("off", listing(&["sleeper"], Some("sleeper"))),
            ("flow", listing(&["stage"], None)),
        ];
        let meshes = meshes.map(|(name, listing)| (name.parse().unwrap(), listing));
        Directory {
            meshes: meshes.into_iter().collect(),
        }
    }

    #[test]
    fn a_recipient_is_resolved_from_where_its_sender_stands() {
        let directory = directory();
        for (from, to, expected) in [
            ("core/core", "dev/tester", Ok("dev/tester")),
            ("core/core", "DEV/Tester", Ok("dev/tester")),
            ("core/core", "dev", Ok("dev/implementer")),
            ("core/core", "hello", Ok("hello/worker")),
            ("core/core", "core", Ok("core/core")),
            ("dev/tester", "core/core", Ok("core/core")),
            ("dev/implementer", "tester", Ok("dev/tester")),
            ("core/core", "tester", Ok("tester/only")),
            ("hello/worker", "tester", Ok("tester/only")),
            ("dev/tester", "dev/dispatch", Ok("(dispatch)")),
            ("hello/worker", "dev/dispatch", Ok("dev/implementer")),
            ("core/core", "dev/dispatch", Ok("dev/implementer")),
            ("dev/tester", "dev", Ok("dev/implementer")),
            ("core/core", "flow", Ok("flow/dispatch")),
            ("dev/tester", "flow/dispatch", Ok("flow/dispatch")),
            ("core/core", "flow/stage", Ok("flow/stage")),
            ("core/core", "off", Err("`disable`")),
            ("core/core", "off/sleeper", Err("`disable`")),
            ("core/core", "worker", Err("`tx mesh list`")),
            ("core/core", "dve", Err("`dev`")),
            ("core/core", "dev/testr", Err("`dev/tester`")),
            (
                "core/core",
                "dev/zebra",
                Err("`dev/implementer` or `dev/tester`"),
            ),
            ("core/core", "zebra/dispatch", Err("`tx mesh list`")),
            ("core/core", "open", Err("`open/a`, `open/b`")),
            ("core/core", "system/consumer", Err("`core`")),
            ("core/core", "core/other", Err("`tx mesh list`")),
        ] {
            let resolved = directory.resolve(&to.parse().unwrap(), &from.parse().unwrap(), None);
            match (resolved, expected) {
                (Ok(Resolved::To(address)), Ok(expected)) => {
                    assert_eq!(address.to_string(), expected, "{from} to {to}");
                }
                (Ok(Resolved::Dispatch), Ok(expected)) => assert_eq!(expected, "(dispatch)"),
                (Err(unresolved), Err(hint)) => {
                    let said = unresolved.hint();
                    assert!(said.contains(hint), "{from} to {to}: {said}");
                }
                (resolved, _) => panic!("{from} to {to}: {resolved:?}"),
            }
        }
    }

    #[test]
    fn an_outcome_to_ones_own_mesh_is_for_the_table_to_route() {
        let status = Some("complete".parse().unwrap());
        let resolve = |from: &str| {
            directory().resolve(
                &"dev".parse().unwrap(),
                &from.parse().unwrap(),
                status.as_ref(),
            )
        };
        assert_eq!(resolve("dev/tester"), Ok(Resolved::Dispatch));
        let entry = Resolved::To("dev/implementer".parse().unwrap());
        assert_eq!(resolve("hello/worker"), Ok(entry));
    }
}
