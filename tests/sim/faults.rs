//! What goes wrong by itself, now and then, and how everything gets calm.

use std::collections::BTreeMap;

use tx::engine::{
    AttemptId, Command, Dialog, DialogKind, Event, JobEnd, JobOwner, JobResult, LoadedMesh, Phase,
    ProcessExit, Timer,
};
use tx::model::{Address, Name};

use crate::coverage::STAYS_AWAY;
use crate::files::envelope;
use crate::meshes;
use crate::panes::{Process, Way};
use crate::programs::{Doing, Hand};
use crate::settings::Fault;
use crate::world::{Thing, World};

impl World {
    /// One thing goes wrong, and another one later.
    pub(crate) fn chaos(&mut self) {
        let works = |worker: &tx::engine::Worker| {
            worker.status.work().is_some() || !worker.inbox.is_empty()
        };
        let over = self.tasks_left == 0 && !self.state().workers().any(|(_, w)| works(w));
        if self.calm || over {
            return;
        }
        let delay = self.rng.within(500, 60_000);
        self.after(delay, Thing::Chaos);
        let faults: Vec<Fault> = self.settings.faults.iter().copied().collect();
        let Some(fault) = self.rng.pick(&faults).copied() else {
            return;
        };
        if self.go_wrong(fault) {
            self.seen.fault(fault);
        }
    }

    /// Does it go wrong by itself?
    fn go_wrong(&mut self, fault: Fault) -> bool {
        if self.is_stalled()
            && !matches!(
                fault,
                Fault::CrashBeforeCommit | Fault::Reboot | Fault::Death
            )
        {
            return false;
        }
        match fault {
            // It goes wrong at the next commit.
            Fault::DiskFull => {
                self.fill_disk();
                return false;
            }
            Fault::Prune => return self.rng.percent(10) && self.prune(),
            Fault::CrashBeforeCommit => self.crash(),
            Fault::Reboot => {
                for pane in self.alive(|_| true) {
                    self.gone(&pane);
                }
                self.crash();
            }
            Fault::OldAttempt => return self.lie(fault),
            // More than one at a time, so that those of rare states meet everything.
            Fault::Spurious => return (0..4).all(|_| self.lie(fault)),
            Fault::Death => {
                let alive = self.alive(|_| true);
                let Some(pane) = self.rng.pick(&alive).cloned() else {
                    return false;
                };
                self.shoot(&pane);
            }
            Fault::OwnTurn => return self.person_comes(Process::stands),
            Fault::Draft => return self.person_comes(|process| process.way == Way::Typed),
            Fault::StaleTimer => {
                let Some(who) = self.somebody_rare() else {
                    return false;
                };
                let timer = match self.rng.below(4) {
                    0 => Timer::State(who),
                    1 => Timer::Pause(who),
                    2 => Timer::Silence(who),
                    _ => Timer::Ask(tx::engine::MessageNo(self.rng.below(50)), who),
                };
                let due = self.now - self.rng.within(0, 1_000_000);
                self.take(Event::TimerFired { timer, due });
            }
            Fault::ClockForward => self.now += 86_400_000,
            Fault::Reload | Fault::Toggle | Fault::Removed => return self.reload(fault),
            Fault::Stop | Fault::Restart => {
                let Some(worker) = self.somebody(None) else {
                    return false;
                };
                let command = match fault {
                    Fault::Stop => Command::Stop { worker },
                    _ => Command::Restart { worker },
                };
                self.take(Event::Command(command));
            }
            Fault::Retry | Fault::Drop => {
                // A person sees what is durable.
                self.commit_all();
                if self.is_stalled() {
                    return false;
                }
                let parked = self.book.parked();
                let Some(facts) = self.rng.pick(&parked).cloned() else {
                    return false;
                };
                // One member of a block, or all that was parked.
                let members = facts.deliveries.iter();
                let members = members.filter(|d| d.step() == tx::engine::Step::Parked);
                let members = members.filter_map(|d| Some(d.member()?.index));
                let members: Vec<u32> = members.collect();
                let one = self.rng.percent(50);
                let member = self.rng.pick(&members).copied().filter(|_| one);
                let facts = Box::new(facts);
                let command = match fault {
                    Fault::Drop => Command::Drop { facts, member },
                    _ => {
                        for process in self.panes.values_mut() {
                            process.again.insert(facts.number);
                        }
                        let written = self.record.envelope(&facts).cloned();
                        let envelope =
                            Box::new(written.unwrap_or_else(|| {
                                envelope(&facts.from, facts.id.as_str(), self.now)
                            }));
                        let first = facts.run.and_then(|run| self.book.facts(run));
                        Command::Retry {
                            facts,
                            envelope,
                            rearmatter: tx::model::Rearmatter::default(),
                            known: first.into_iter().collect(),
                            member,
                        }
                    }
                };
                self.take(Event::Command(command));
            }
            Fault::CrashBeforeEffects
            | Fault::Twice
            | Fault::LateNews
            | Fault::LateFile
            | Fault::Overtaken
            | Fault::Misread
            | Fault::NotStarted
            | Fault::NotDelivered
            | Fault::Unconfirmed
            | Fault::Dialog
            | Fault::Limit
            | Fault::KillIgnored
            | Fault::Hang
            | Fault::HookFails
            | Fault::HookCrashes
            | Fault::HookHangs
            | Fault::ClockBackward
            | Fault::OwnFile
            | Fault::LimitedExit
            | Fault::Disagree
            | Fault::LateEffect => return false,
        }
        true
    }

    fn alive(&self, those: fn(&Process) -> bool) -> Vec<AttemptId> {
        let alive = self.panes.iter();
        let alive = alive.filter(|(_, process)| process.alive && those(process));
        alive.map(|(pane, _)| pane.clone()).collect()
    }

    /// Somebody begins to use one of these terminals.
    fn person_comes(&mut self, those: fn(&Process) -> bool) -> bool {
        let panes = self.alive(those);
        let Some(pane) = self.rng.pick(&panes).cloned() else {
            return false;
        };
        let hand = match self.panes[&pane].way == Way::Typed && self.rng.percent(15) {
            true => Hand::Scrolls,
            false => Hand::Types,
        };
        self.use_terminal(&pane, hand);
        true
    }

    /// An event of an older process, or one that speaks of nothing that happened. What
    /// would be a lie about a process that lives is not told: nobody could know better.
    fn lie(&mut self, fault: Fault) -> bool {
        let Some(worker) = self.somebody_rare() else {
            return false;
        };
        let known = self.state().worker(&worker);
        let (attempt, turn) = known.map_or((0, 0), |known| (known.attempt, known.turn));
        let (live, seen) = known.map_or((false, 0), |known| (known.live, known.seen));
        let attempt = match fault {
            Fault::OldAttempt if attempt == 0 => return false,
            Fault::OldAttempt => attempt - 1,
            _ => attempt,
        };
        let pane = AttemptId { worker, attempt };
        let old = fault == Fault::OldAttempt;
        if live && !old && seen == 0 {
            return false;
        }
        // Nothing is newer than what was told last.
        let no = u32::try_from(self.rng.below(u64::from(seen.max(1)))).unwrap() + 1;
        let turn = turn.saturating_sub(u32::try_from(self.rng.below(3)).unwrap());
        let event = match self.rng.below(10) {
            8 => Event::JobsFinished {
                owner: JobOwner::Worker(pane.worker),
                job: u32::try_from(self.rng.below(4)).unwrap() + 90_000,
                results: vec![JobResult::of(JobEnd::Code(0), String::new())],
            },
            9 => Event::Delivered {
                pane,
                turn: turn + 7,
            },
            0 => Event::PaneStarted {
                pane,
                session: Some("spurious".into()),
            },
            1 => Event::PaneReady { pane, no },
            2 => Event::PaneIdle { pane, turn, no },
            3 => Event::PaneBusy {
                pane,
                turn: Some(turn),
                unchanged: false,
                no,
            },
            4 if old => Event::Delivered { pane, turn },
            5 if old => Event::PaneExited {
                pane,
                exit: ProcessExit::Lost { why: "late".into() },
            },
            6 => Event::PaneLimited {
                pane,
                until: self.now + 10_000,
                guessed: false,
                no,
            },
            7 => Event::PaneAsked {
                pane,
                dialog: Dialog {
                    kind: DialogKind::Question,
                    text: "?".into(),
                    request: None,
                },
                no,
            },
            _ => Event::DeliveryFailed {
                pane,
                turn: turn + 7,
                sent: tx::engine::Sent::Nothing,
                why: "late".into(),
            },
        };
        self.take(event);
        true
    }

    /// Somebody in a state that does not last, if there is one: any such state as likely
    /// as any other.
    fn somebody_rare(&mut self) -> Option<Address> {
        let mut rare: BTreeMap<Phase, Vec<Address>> = BTreeMap::new();
        for (address, worker) in self.state().workers() {
            let is = worker.status.is();
            if !matches!(is, Phase::Idle | Phase::Working) {
                rare.entry(is).or_default().push(address.clone());
            }
        }
        let rare: Vec<Vec<Address>> = rare.into_values().collect();
        match self.rng.below(4) {
            0 => self.somebody(None),
            _ => match self.rng.pick(&rare).cloned() {
                Some(workers) => self.rng.pick(&workers).cloned(),
                None => self.somebody(None),
            },
        }
    }

    fn reload(&mut self, fault: Fault) -> bool {
        let names: Vec<Name> = self.meshes.keys().cloned().collect();
        let Some(name) = self.rng.pick(&names).cloned() else {
            return false;
        };
        let others: Vec<String> = names
            .iter()
            .filter(|n| **n < name)
            .map(Name::to_string)
            .collect();
        let now = self.meshes.get(&name).cloned().flatten();
        let new = match (fault, now) {
            (Fault::Removed, Some(_)) => None,
            (Fault::Toggle, Some(mut loaded)) => {
                loaded.mesh.disabled = !loaded.mesh.disabled;
                Some(loaded)
            }
            (_, _) => {
                let most = self.settings.agents;
                let made =
                    meshes::make(&mut self.rng, name.as_str(), most, &others, &self.settings);
                Some(match self.settings.machines {
                    true => crate::machines::with_machine(&mut self.rng, made),
                    false => made,
                })
            }
        };
        self.meshes.insert(name, new);
        self.load_what_differs();
        true
    }

    /// tx loads the meshes that are not as it knows them.
    pub(crate) fn load_what_differs(&mut self) {
        let meshes = self.meshes.clone();
        for (name, wanted) in meshes {
            let known = self.state().meshes().find(|l| l.mesh.name == name).cloned();
            match (wanted, known) {
                (Some(wanted), known) if known.as_ref() != Some(&wanted) => {
                    self.take(Event::MeshLoaded(Box::new(wanted)));
                }
                (None, Some(_)) => self.take(Event::MeshRemoved { mesh: name }),
                (Some(_) | None, _) => {}
            }
        }
    }

    /// Faults are over: everything that was held up can go on.
    pub(crate) fn be_calm(&mut self) {
        self.calm = true;
        let held = self.state().open_messages().count() as u64;
        self.most_events = 10_000 + 1_000 * held;
        self.note("            == calm".into());
        self.make_room();
        self.take_untaken();
        self.commit();
        let names: Vec<Name> = self.meshes.keys().cloned().collect();
        for name in names {
            let others: Vec<String> = Vec::new();
            let loaded = self.meshes.get(&name).cloned().flatten();
            if loaded.is_none() && self.settings.removed_stay_away() {
                self.seen.met(STAYS_AWAY);
                continue;
            }
            let mut loaded: LoadedMesh = loaded.unwrap_or_else(|| {
                let most = self.settings.agents;
                meshes::make(&mut self.rng, name.as_str(), most, &others, &self.settings)
            });
            loaded.mesh.disabled = false;
            self.meshes.insert(name, Some(loaded));
        }
        self.load_what_differs();
        let stopped: Vec<Address> = self
            .state()
            .workers()
            .filter(|(_, worker)| worker.stopped)
            .map(|(who, _)| who.clone())
            .collect();
        for worker in stopped {
            self.take(Event::Command(Command::Restart { worker }));
        }
        // Who hangs comes to an end, and dialogs are answered.
        for pane in self.alive(|_| true) {
            let process = self.panes.get_mut(&pane).expect("it is alive");
            let ends = matches!(
                process.script.back(),
                Some((
                    _,
                    Doing::Idle | Doing::Exit(_) | Doing::Die | Doing::Ready | Doing::NotStart
                ))
            );
            let starts = matches!(process.script.back(), Some((_, Doing::Start)));
            if !ends && !starts && !process.stands() {
                let hung = process.script.is_empty();
                process.script.push_back((1_000, Doing::Busy));
                process.script.push_back((1_000, Doing::Think));
                process.script.push_back((2_000, Doing::Die));
                if hung {
                    self.go_on(&pane);
                }
            }
        }
        self.look_again();
        self.commit();
        self.go_on_without_failed();
    }

    /// Nobody waits for ever: the human goes on without the members of blocks that have failed.
    pub(crate) fn go_on_without_failed(&mut self) {
        if !self.settings.workflows || !self.calm {
            return;
        }
        self.commit_all();
        let held = self.state().open_messages().map(|held| held.facts.clone());
        let parked = held.filter(|facts| {
            let mut deliveries = facts.deliveries.iter();
            deliveries.any(|d| d.step() == tx::engine::Step::Parked)
        });
        let parked: Vec<_> = parked.chain(self.book.parked()).collect();
        for facts in parked {
            let of_a_block = facts.parked_members().next().is_some()
                || matches!(facts.way, Some(tx::engine::Forwarding::Join(_)));
            if of_a_block {
                let (facts, member) = (Box::new(facts), None);
                self.take(Event::Command(Command::Drop { facts, member }));
            }
        }
        self.commit_all();
    }
}
