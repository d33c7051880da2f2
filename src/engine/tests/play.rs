//! A stage for sequences: it drops files, plays the panes, and remembers what left.

use std::collections::BTreeMap;

use chrono::DateTime;

use crate::engine::{
    Alive, Arrived, AttemptId, Command, Dialog, DialogKind, Effect, Event, JobEnd, JobOwner,
    JobResult, LoadedMesh, MessageNo, MessageRecord, OpenMessage, Phase, ProcessExit, Rejected,
    Sent, State, Step, SystemMessage, Timer, Traits,
};
use crate::format::mesh::parse;
use crate::model::{
    Address, Check, Envelope, Gate, GateTime, Kind, Line, Mesh, Mode, MsgId, OnGateError, Part,
    Program, Rearmatter, Recipient, Seconds,
};

/// What the one gate of a mesh finds.
pub(super) enum Verdict {
    Pass,
    Fail { findings: String },
    Error { why: String },
}

/// The stage.
#[derive(Clone)]
pub(super) struct Play {
    pub(super) state: State,
    pub(super) at: i64,
    /// Every effect so far.
    pub(super) effects: Vec<Effect>,
    /// What has left the state.
    pub(super) left: BTreeMap<MessageNo, MessageRecord>,
    files: u32,
}

/// A message to be dropped.
#[derive(Clone)]
pub(super) struct Msg {
    pub(super) envelope: Envelope,
    pub(super) path: Option<String>,
    /// The last turn that its author had begun to be given.
    pub(super) turn: Option<u32>,
    pub(super) text: String,
    pub(super) rearmatter: Rearmatter,
    /// The parts that its text is divided into.
    pub(super) parts: Vec<Part>,
}

pub(super) fn who(address: &str) -> Address {
    address.parse().unwrap()
}

/// A message from this sender.
pub(super) fn from(sender: &str) -> Msg {
    Msg {
        envelope: Envelope::new(
            who(sender),
            "m".parse().unwrap(),
            Line::from("a message".to_owned()),
            DateTime::default(),
        ),
        path: None,
        turn: None,
        text: "text".into(),
        rearmatter: Rearmatter::default(),
        parts: Vec::new(),
    }
}

impl Msg {
    pub(super) fn to(mut self, to: &str) -> Msg {
        let to = to.split(',').map(|to| to.parse::<Recipient>().unwrap());
        self.envelope.to = to.collect();
        self
    }
    pub(super) fn id(mut self, id: &str) -> Msg {
        self.envelope.id = id.parse().unwrap();
        self
    }
    pub(super) fn status(mut self, status: &str) -> Msg {
        self.envelope.status = Some(status.parse().unwrap());
        self
    }
    pub(super) fn kind(mut self, kind: Kind) -> Msg {
        self.envelope.kind = Some(kind);
        self
    }
    pub(super) fn reply(mut self, id: &str) -> Msg {
        self.envelope.in_reply_to.push(id.parse().unwrap());
        self
    }
    pub(super) fn path(mut self, path: &str) -> Msg {
        self.path = Some(path.into());
        self
    }
    /// When it was written, by the last turn that its author had begun to be given.
    pub(super) fn in_turn(mut self, turn: u32) -> Msg {
        self.turn = Some(turn);
        self
    }
    pub(super) fn text(mut self, text: &str) -> Msg {
        self.text = text.into();
        self
    }
    /// With this rearmatter, as JSON.
    pub(super) fn says(mut self, rearmatter: serde_json::Value) -> Msg {
        self.rearmatter = serde_json::from_value(rearmatter).unwrap();
        self
    }
    pub(super) fn parts(mut self, numbers: &[u32]) -> Msg {
        let part = |number: &u32| Part {
            number: *number,
            title: format!("part {number}"),
        };
        self.parts = numbers.iter().map(part).collect();
        self
    }
    pub(super) fn with(mut self, change: impl FnOnce(&mut Envelope)) -> Msg {
        change(&mut self.envelope);
        self
    }
}

impl Play {
    /// A stage with these meshes. An agent whose `runtime` is `command` prints its
    /// outcome; one whose `runtime` is `forgetful` cannot resume.
    pub(super) fn new(meshes: &[&str]) -> Play {
        let mut play = Play {
            state: State::default(),
            at: 1_000_000,
            effects: Vec::new(),
            left: BTreeMap::new(),
            files: 0,
        };
        for mesh in meshes {
            play.load(mesh, false);
        }
        play
    }

    /// One mesh `dev` of pane agents without a table.
    pub(super) fn team(agents: &[&str]) -> Play {
        Play::new(&[&mesh("dev", agents, "")])
    }

    pub(super) fn load(&mut self, text: &str, gates: bool) -> Vec<Effect> {
        self.load_with(text, gates, |_| {})
    }

    /// A mesh is loaded, after a change that its text does not say.
    pub(super) fn load_with(
        &mut self,
        text: &str,
        gates: bool,
        change: impl FnOnce(&mut Mesh),
    ) -> Vec<Effect> {
        let loaded = parse(text.as_bytes());
        let mut mesh = loaded
            .mesh
            .unwrap_or_else(|| panic!("{text}: {:?}", loaded.diagnostics));
        if gates {
            mesh.gates.push(gate());
        }
        change(&mut mesh);
        let traits = mesh.agents.values().map(|agent| Traits {
            mode: match agent.runtime.as_str() {
                "command" => Mode::Turn,
                _ => agent.mode.unwrap_or(Mode::Pane),
            },
            prints: agent.runtime == "command",
            resumes: !["forgetful", "command"].contains(&agent.runtime.as_str()),
            starts_with_turn: agent.runtime == "told-when-resumed",
            resumes_without_turn: agent.runtime == "told-when-resumed",
        });
        let traits = traits.collect();
        let text = text.to_owned();
        self.happen(Event::MeshLoaded(Box::new(LoadedMesh {
            mesh,
            text,
            traits,
        })))
    }

    /// Something happens; every promise holds after it.
    pub(super) fn happen(&mut self, event: Event) -> Vec<Effect> {
        self.at += 1;
        let told = format!("{event:?}");
        // The journal keeps events: what is read back is what was written.
        let written = serde_json::to_vec(&event).unwrap();
        assert_eq!(serde_json::from_slice::<Event>(&written).unwrap(), event);
        let effects = self.state.step(self.at, event);
        for effect in &effects {
            if let Effect::Archive(facts) = effect {
                self.left.insert(facts.number, (**facts).clone());
            }
        }
        for moved in self.state.transitions().iter().filter(|m| m.from != m.to) {
            let leads_to = moved.by.leads_to(moved.from);
            assert!(
                leads_to.contains(&moved.to),
                "{moved:?} is not in the table"
            );
        }
        if let Some(broken) = self.state.any_broken_promise() {
            panic!("{broken}\nafter {told}\n{:#?}", self.state);
        }
        self.effects.extend(effects.iter().cloned());
        effects
    }

    /// A file is dropped.
    pub(super) fn drop(&mut self, msg: Msg) -> Vec<Effect> {
        self.files += 1;
        let path = msg.path.unwrap_or_else(|| format!("{}.md", self.files));
        let envelope = msg.envelope;
        let names: Vec<&MsgId> = envelope.in_reply_to.iter().chain([&envelope.id]).collect();
        let mut known: Vec<MessageRecord> = self
            .left
            .values()
            .filter(|facts| {
                facts.path() == Some(path.as_str())
                    || names.contains(&&facts.id)
                    || facts.written.as_ref().is_some_and(|id| names.contains(&id))
            })
            .cloned()
            .collect();
        let mut runs: Vec<MessageNo> = known.iter().filter_map(|facts| facts.run).collect();
        runs.extend(self.state.speaks_of(&envelope));
        let roots = runs.iter().filter_map(|run| self.left.get(run)).cloned();
        known.extend(roots.collect::<Vec<_>>());
        known.sort_by_key(|facts| facts.number);
        known.dedup_by_key(|facts| facts.number);
        let hash = format!("{:?}{}", envelope, msg.text);
        self.happen(Event::Arrived(Box::new(Arrived {
            parts: msg.parts,
            path,
            hash,
            text: msg.text,
            envelope,
            body: 0..0,
            rearmatter: msg.rearmatter,
            warnings: Vec::new(),
            turn: msg.turn,
            known,
        })))
    }

    /// Core gives a task.
    pub(super) fn task(&mut self, to: &str, id: &str) -> Vec<Effect> {
        self.drop(from("core/core").to(to).id(id))
    }

    pub(super) fn reject(&mut self, author: Option<&str>) -> Vec<Effect> {
        self.files += 1;
        self.happen(Event::Rejected(Box::new(Rejected {
            path: format!("{}.md", self.files),
            hash: self.files.to_string(),
            author: author.map(who),
            report: "TX0101: there is no `to`".into(),
            known: Vec::new(),
            unsigned: None,
        })))
    }

    pub(super) fn pane(&self, worker: &str) -> AttemptId {
        let worker = who(worker);
        let attempt = self.state.worker(&worker).map_or(0, |w| w.attempt);
        AttemptId { worker, attempt }
    }

    /// The next number of what is told of a pane.
    pub(super) fn no(&self, worker: &str) -> u32 {
        self.state.worker(&who(worker)).map_or(1, |w| w.seen + 1)
    }

    pub(super) fn turn(&self, worker: &str) -> u32 {
        self.state.worker(&who(worker)).map_or(0, |w| w.turn)
    }

    /// The pane starts, if it must, and takes what it is given.
    pub(super) fn take_up(&mut self, worker: &str) -> Vec<Effect> {
        let pane = self.pane(worker);
        let turn = self.turn(worker);
        let mut effects = self.happen(Event::PaneStarted {
            pane: pane.clone(),
            session: Some("session".into()),
        });
        effects.extend(self.ready(worker));
        effects.extend(self.happen(Event::Delivered { pane, turn }));
        assert_eq!(self.is(worker), Phase::Working, "{worker} has its work");
        effects
    }

    pub(super) fn busy(&mut self, worker: &str) -> Vec<Effect> {
        let turn = Some(self.turn(worker));
        self.busy_with(worker, turn)
    }

    /// The pane is busy, with this turn if that is known.
    pub(super) fn busy_with(&mut self, worker: &str, turn: Option<u32>) -> Vec<Effect> {
        let (pane, no) = (self.pane(worker), self.no(worker));
        self.happen(Event::PaneBusy {
            pane,
            turn,
            unchanged: false,
            no,
        })
    }

    pub(super) fn ready(&mut self, worker: &str) -> Vec<Effect> {
        let (pane, no) = (self.pane(worker), self.no(worker));
        self.happen(Event::PaneReady { pane, no })
    }

    /// The pane shows a dialog.
    pub(super) fn ask(&mut self, worker: &str) -> Vec<Effect> {
        let (pane, no) = (self.pane(worker), self.no(worker));
        let dialog = Dialog {
            kind: DialogKind::Permission,
            text: "may I?".into(),
            request: None,
        };
        self.happen(Event::PaneAsked { pane, dialog, no })
    }

    /// Its account has no room.
    pub(super) fn limit(&mut self, worker: &str, until: i64) -> Vec<Effect> {
        let (pane, no) = (self.pane(worker), self.no(worker));
        self.happen(Event::PaneLimited {
            pane,
            until,
            guessed: false,
            no,
        })
    }

    pub(super) fn delivered(&mut self, worker: &str) -> Vec<Effect> {
        let (pane, turn) = (self.pane(worker), self.turn(worker));
        self.happen(Event::Delivered { pane, turn })
    }

    /// The pane ends its turn.
    pub(super) fn idle(&mut self, worker: &str) -> Vec<Effect> {
        let turn = self.turn(worker);
        self.idle_after(worker, turn)
    }

    /// The pane is idle, and this turn was the last that it was given.
    pub(super) fn idle_after(&mut self, worker: &str, turn: u32) -> Vec<Effect> {
        let (pane, no) = (self.pane(worker), self.no(worker));
        self.happen(Event::PaneIdle { pane, turn, no })
    }

    pub(super) fn exit(&mut self, worker: &str, code: i32, stdout: &str) -> Vec<Effect> {
        let pane = self.pane(worker);
        let exit = ProcessExit::Code {
            code,
            stdout: stdout.into(),
            stderr: "the end of stderr".into(),
            rearmatter: Box::default(),
            parts: Vec::new(),
        };
        self.happen(Event::PaneExited { pane, exit })
    }

    pub(super) fn die(&mut self, worker: &str) -> Vec<Effect> {
        let pane = self.pane(worker);
        let why = "it was killed".into();
        let exit = ProcessExit::Lost { why };
        self.happen(Event::PaneExited { pane, exit })
    }

    pub(super) fn not_delivered(&mut self, worker: &str, sent: Sent) -> Vec<Effect> {
        let (pane, turn) = (self.pane(worker), self.turn(worker));
        let why = "the paste failed".into();
        self.happen(Event::DeliveryFailed {
            pane,
            turn,
            sent,
            why,
        })
    }

    pub(super) fn verdict(&mut self, worker: &str, verdict: Verdict) -> Vec<Effect> {
        let worker = who(worker);
        let work = self.state.worker(&worker).and_then(|w| w.status.work());
        let job = work.map_or(0, |work| work.job);
        self.jobs_finished(worker, job, verdict)
    }

    /// The one job of a check ends with this verdict.
    pub(super) fn jobs_finished(
        &mut self,
        worker: Address,
        job: u32,
        verdict: Verdict,
    ) -> Vec<Effect> {
        self.jobs_finished_with(worker, job, vec![verdict])
    }

    /// The jobs of a check end with these verdicts.
    pub(super) fn jobs_finished_with(
        &mut self,
        worker: Address,
        job: u32,
        verdicts: Vec<Verdict>,
    ) -> Vec<Effect> {
        let results = verdicts.into_iter().map(|verdict| {
            let (end, output) = match verdict {
                Verdict::Pass => (JobEnd::Code(0), String::new()),
                Verdict::Fail { findings } => (JobEnd::Code(1), findings),
                Verdict::Error { why } => (JobEnd::Failed { why }, String::new()),
            };
            JobResult::of(end, output)
        });
        self.happen(Event::JobsFinished {
            owner: JobOwner::Worker(worker),
            job,
            results: results.collect(),
        })
    }

    /// The next time that is set comes, and what it was set for.
    pub(super) fn next_time(&mut self) -> Timer {
        let (due, timer) = self.state.next_timer().expect("a time is set");
        self.at = self.at.max(due);
        self.happen(Event::TimerFired {
            timer: timer.clone(),
            due,
        });
        timer
    }

    /// Times come until one of this sort has come.
    pub(super) fn until(&mut self, wanted: impl Fn(&Timer) -> bool) {
        for _ in 0..50 {
            if wanted(&self.next_time()) {
                return;
            }
        }
        panic!("that time never came");
    }

    /// tx is killed and started again: the state is folded again, and this lives.
    pub(super) fn restart(&mut self, alive: &[(&str, u32)]) -> Vec<Effect> {
        let snapshot = self.state.snapshot();
        self.state = State::restore(&snapshot).unwrap();
        assert_eq!(self.state.snapshot(), snapshot);
        let alive = alive
            .iter()
            .map(|(worker, turn)| Alive {
                pane: self.pane(worker),
                turn: *turn,
            })
            .collect();
        self.happen(Event::Recovered { alive })
    }

    /// It writes an outcome, and its turn ends.
    pub(super) fn finish(&mut self, worker: &str, outcome: &str) -> Vec<Effect> {
        let mut effects = self.drop(from(worker).id(outcome).status("complete"));
        effects.extend(self.idle(worker));
        effects
    }

    /// It ends its turn twice without an outcome: its work is parked.
    pub(super) fn park(&mut self, worker: &str) {
        self.idle(worker);
        self.take_up(worker);
        self.idle(worker);
    }

    pub(super) fn stop(&mut self, worker: &str) -> Vec<Effect> {
        let worker = who(worker);
        self.command(Command::Stop { worker })
    }

    pub(super) fn restart_worker(&mut self, worker: &str) -> Vec<Effect> {
        let worker = who(worker);
        self.command(Command::Restart { worker })
    }

    /// A person gives a dead letter another chance.
    pub(super) fn retry(&mut self, id: &str, msg: Msg) -> Vec<Effect> {
        self.retry_member(id, msg, None)
    }

    /// A person gives what was parked of one member, or all of it, another chance.
    pub(super) fn retry_member(&mut self, id: &str, msg: Msg, member: Option<u32>) -> Vec<Effect> {
        let facts = self.facts(id);
        let first = facts.run.and_then(|run| self.left.get(&run)).cloned();
        self.command(Command::Retry {
            known: first.into_iter().collect(),
            facts: Box::new(facts),
            envelope: Box::new(msg.envelope),
            rearmatter: msg.rearmatter,
            member,
        })
    }

    /// A person gives the work of one member another chance, or goes on without it.
    pub(super) fn of_member(&mut self, id: &str, member: u32, again: bool) -> Vec<Effect> {
        let facts = Box::new(self.facts(id));
        let held = self.state.message(facts.number);
        let envelope = held.and_then(|held| held.envelope.clone());
        let member = Some(member);
        self.command(match again {
            true => Command::Retry {
                known: Vec::new(),
                facts,
                envelope: envelope.expect("it is held"),
                rearmatter: Rearmatter::default(),
                member,
            },
            false => Command::Drop { facts, member },
        })
    }

    pub(super) fn command(&mut self, command: Command) -> Vec<Effect> {
        self.happen(Event::Command(command))
    }

    // What can be seen.

    pub(super) fn has_dialog(&self, worker: &str) -> bool {
        let worker = self.state.worker(&who(worker));
        worker.is_some_and(|worker| worker.status.has_dialog())
    }

    pub(super) fn is(&self, worker: &str) -> Phase {
        let worker = self.state.worker(&who(worker));
        worker.map_or(Phase::Idle, |worker| worker.status.is())
    }

    /// What is known of a message, held or gone.
    pub(super) fn facts(&self, id: &str) -> MessageRecord {
        let id: MsgId = id.parse().unwrap();
        let held = self
            .state
            .open_messages()
            .map(|held: &OpenMessage| &held.facts);
        let held = held.filter(|facts| facts.id == id).last();
        let left = self.left.values().rfind(|facts| facts.id == id);
        let facts = held.or(left);
        facts
            .unwrap_or_else(|| panic!("there is no `{id}`"))
            .clone()
    }

    /// The steps of a message to a recipient, in a line.
    pub(super) fn ladder(&self, id: &str, to: &str) -> String {
        let facts = self.facts(id);
        let delivery = facts
            .delivery(&who(to))
            .unwrap_or_else(|| panic!("`{id}` does not go to {to}: {facts:?}"));
        let steps: Vec<&str> = delivery
            .ladder
            .iter()
            .map(|entry| entry.step.as_str())
            .collect();
        steps.join(" ")
    }

    pub(super) fn step(&self, id: &str, to: &str) -> Step {
        self.facts(id).delivery(&who(to)).unwrap().step()
    }

    pub(super) fn kind(&self, id: &str, to: &str) -> Kind {
        self.facts(id).delivery(&who(to)).unwrap().kind
    }

    /// The ids and headlines of what a worker was given last.
    pub(super) fn given(&self, worker: &str) -> Vec<String> {
        let worker = who(worker);
        let mut turns = self.effects.iter().filter_map(|effect| match effect {
            Effect::Spawn {
                pane,
                turn: Some(turn),
                ..
            }
            | Effect::Deliver { pane, turn }
                if pane.worker == worker =>
            {
                Some(turn)
            }
            _ => None,
        });
        let last = turns.next_back().map(|turn| turn.messages.clone());
        let numbers = last.unwrap_or_default();
        numbers.iter().map(|number| self.name(*number)).collect()
    }

    /// A message's id; of tx's own, its headline.
    pub(super) fn name(&self, number: MessageNo) -> String {
        let held = self.state.message(number).map(|held| &held.facts);
        let facts = held.or(self.left.get(&number)).unwrap();
        match facts.from.is_system() {
            true => facts.headline.to_string(),
            false => facts.id.to_string(),
        }
    }

    /// What has come for the human, by name; of what tx tells, without what it is about.
    pub(super) fn core_has(&self) -> Vec<String> {
        let told = [
            "work was parked",
            "a message was parked",
            "an outcome was parked",
            "a file was refused",
            "a run is complete",
            "a run has failed",
        ];
        let short = |name: String| {
            let told = told.iter().find(|told| name.starts_with(**told));
            told.map_or(name, |told| (*told).to_owned())
        };
        let seen = self.effects.iter().filter_map(|effect| match effect {
            Effect::NotifyHuman { number, .. } => Some(short(self.name(*number))),
            _ => None,
        });
        seen.collect()
    }

    pub(super) fn is_complete(&self) -> bool {
        self.core_has().contains(&"a run is complete".to_owned())
    }

    pub(super) fn system_messages(&self) -> Vec<&SystemMessage> {
        let written = self.effects.iter().filter_map(|effect| match effect {
            Effect::Write(system_message) => Some(&**system_message),
            _ => None,
        });
        written.collect()
    }

    /// The body of the last system message to this recipient.
    pub(super) fn told(&self, to: &str) -> String {
        let to = who(to);
        let system_messages = self.system_messages().into_iter().rev();
        let mut system_messages =
            system_messages.filter(|system_message| system_message.to.as_ref() == Some(&to));
        system_messages
            .next()
            .map_or(String::new(), |system_message| system_message.body.clone())
    }

    pub(super) fn kills(&self, worker: &str) -> usize {
        let worker = who(worker);
        let killed = self.effects.iter().filter(|effect| match effect {
            Effect::Kill { pane } => pane.worker == worker,
            _ => false,
        });
        killed.count()
    }

    /// Nothing is held, and nothing was lost on the way.
    pub(super) fn all_over(&self) {
        let held: Vec<String> = self
            .state
            .open_messages()
            .map(|h| h.facts.id.to_string())
            .collect();
        assert!(held.is_empty(), "still held: {held:?}");
    }
}

/// A program that checks every `complete`.
pub(super) fn gate() -> Gate {
    Gate {
        name: "tests".into(),
        agent: None,
        time: GateTime::Outcome(vec!["complete".parse().unwrap()]),
        check: Check::Command(Program {
            run: vec!["test".into()],
            shell: false,
            timeout: Seconds(60),
        }),
        on_error: OnGateError::Block,
    }
}

/// A mesh config with agents that stay in their panes.
pub(super) fn mesh(name: &str, agents: &[&str], more: &str) -> String {
    let agents: Vec<String> = agents
        .iter()
        .map(|agent| match agent.split_once(' ') {
            Some((name, more)) => format!("  - {{ name: {name}, {more} }}\n"),
            None => format!("  - {{ name: {agent}, prompt: p, runtime: claude, mode: pane }}\n"),
        })
        .collect();
    format!("mesh: {name}\nagents:\n{}{more}\n", agents.concat())
}
