//! A life: the engine and its journal among panes, scripted agents and a human,
//! by a clock that jumps to the next thing.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use tx::engine::{AttemptId, Event, LoadedMesh, MessageNo, MessageRecord, Phase, State};
use tx::model::{Address, MsgId, Name};
use tx::pane::Hook;

use crate::book::Book;
use crate::coverage::Seen;
use crate::effects::Order;
use crate::files::Files;
use crate::hooks::Waits;
use crate::human::Human;
use crate::machines;
use crate::memory::Memory;
use crate::meshes;
use crate::panes::Process;
use crate::programs::Hand;
use crate::record::Record;
use crate::rng::Rng;
use crate::settings::{Fault, Settings};
use crate::watch::Watch;

/// When every life begins, in milliseconds since 1970.
const BEGIN: i64 = 1_800_000_000_000;
/// What happens in the longest of lives before all gets calm.
const MOST_THINGS: u64 = 30_000;
/// The events and effects that are shown of a life that fails, unless `TX_SIM_LINES` says more.
const SHOWN: usize = 40;

/// Something that will happen.
#[derive(Clone, Debug)]
pub(crate) enum Thing {
    /// tx is told something; forgotten if tx is killed before.
    Event(Event),
    /// The consumer notices a file.
    File(String),
    /// A pane does the next thing of its script.
    Script(AttemptId),
    /// A pane wants to be looked after.
    Wake(AttemptId),
    /// A program says something of itself.
    Hook(AttemptId, Hook),
    /// A hook of a program begins to wait for an answer.
    Request(AttemptId, Waits),
    /// A person uses the terminal of a program.
    Person(AttemptId, Hand),
    /// A process ends because it was killed.
    Die(AttemptId),
    /// What is late for a pane is done.
    Obey(AttemptId),
    /// What a pane shows is told as it is.
    Correct(AttemptId),
    /// The human gives a task.
    Task,
    /// The human looks at what there is to answer.
    Look,
    /// There may be room on the disk again.
    Room,
    /// Something goes wrong.
    Chaos,
}

/// A life under way.
pub(crate) struct World {
    pub(crate) settings: Settings,
    pub(crate) rng: Rng,
    pub(crate) now: i64,
    pub(crate) book: Book,
    pub(crate) panes: BTreeMap<AttemptId, Process>,
    pub(crate) files: Files,
    pub(crate) record: Record,
    pub(crate) watch: Watch,
    /// What agents remember, by who they are and their sessions.
    pub(crate) memories: BTreeMap<(Address, String), Memory>,
    pub(crate) human: Human,
    /// The meshes as they are on disk; `None`: removed.
    pub(crate) meshes: BTreeMap<Name, Option<LoadedMesh>>,
    /// The messages of tx that were written.
    pub(crate) system_messages: BTreeSet<MsgId>,
    /// Faults are over, and everybody does what they should.
    pub(crate) calm: bool,
    pub(crate) seen: Seen,
    pub(crate) log: Option<VecDeque<String>>,
    schedule: BTreeMap<(i64, u64), Thing>,
    order: u64,
    /// How much of that was looking after panes.
    looked_after: u64,
    /// What is to be done with a pane, and is late.
    pub(crate) late: BTreeMap<AttemptId, VecDeque<Order>>,
    /// The disk is full.
    pub(crate) full: bool,
    /// What could not be remembered, with its times.
    pub(crate) untaken: VecDeque<(i64, Event)>,
    /// What has come since, and waits.
    pub(crate) unheard: VecDeque<Event>,
    /// What was put away.
    pub(crate) put_away: BTreeMap<MessageNo, MessageRecord>,
    /// Something was taken in, and is not durable yet.
    pub(crate) taken: bool,
    /// Events since everything is calm.
    calm_events: u64,
    /// The most that there may be.
    pub(crate) most_events: u64,
    pub(crate) tasks_left: usize,
    /// Somebody has sent more news than anybody keeps.
    pub(crate) flooded: bool,
    /// The last turn that each worker had begun to be given.
    pub(crate) begun: BTreeMap<Address, u32>,
}

impl World {
    pub(crate) fn new(settings: Settings, logged: bool) -> World {
        let mut rng = Rng::new(settings.seed ^ 0xabcd);
        let mut names: Vec<String> = Vec::new();
        let mut all = BTreeMap::new();
        for n in 0..settings.meshes {
            let name = format!("m{n}");
            let loaded = meshes::make(&mut rng, &name, settings.agents, &names, &settings);
            let loaded = match settings.machines {
                true => machines::with_machine(&mut rng, loaded),
                false => loaded,
            };
            all.insert(loaded.mesh.name.clone(), Some(loaded));
            names.push(name);
        }
        let tasks_left = settings.tasks;
        let book = Book::new();
        World {
            settings,
            rng,
            now: BEGIN,
            book,
            panes: BTreeMap::new(),
            files: Files::default(),
            record: Record::default(),
            watch: Watch::default(),
            memories: BTreeMap::new(),
            human: Human::default(),
            meshes: all,
            system_messages: BTreeSet::new(),
            calm: false,
            seen: Seen::default(),
            log: logged.then(VecDeque::new),
            schedule: BTreeMap::new(),
            order: 0,
            looked_after: 0,
            late: BTreeMap::new(),
            full: false,
            untaken: VecDeque::new(),
            unheard: VecDeque::new(),
            put_away: BTreeMap::new(),
            taken: false,
            calm_events: 0,
            most_events: 0,
            tasks_left,
            flooded: false,
            begun: BTreeMap::new(),
        }
    }

    /// Live it to its end.
    pub(crate) fn live(&mut self) {
        let meshes: Vec<LoadedMesh> = self.meshes.values().flatten().cloned().collect();
        for loaded in meshes {
            self.take(Event::MeshLoaded(Box::new(loaded)));
        }
        self.take(Event::Recovered { alive: Vec::new() });
        self.commit();
        self.after(0, Thing::Task);
        self.after(5_000, Thing::Chaos);
        while self.next() {}
        self.be_calm();
        while self.next() {}
        self.check_end();
    }

    pub(crate) fn state(&self) -> &State {
        self.book.state()
    }

    /// Does this go wrong now, in so many of a hundred cases?
    pub(crate) fn fault(&mut self, fault: Fault, percent: u64) -> bool {
        let goes_wrong = !self.calm || fault.is_gentle();
        let happens =
            goes_wrong && self.settings.faults.contains(&fault) && self.rng.percent(percent);
        if happens {
            self.seen.fault(fault);
        }
        happens
    }

    pub(crate) fn after(&mut self, delay: i64, thing: Thing) {
        self.order += 1;
        self.schedule.insert((self.now + delay, self.order), thing);
    }

    /// The same at a given time, for a pane that wants to be looked after: its number.
    pub(crate) fn later(&mut self, at: i64, thing: Thing) -> u64 {
        self.looked_after += 1;
        self.after((at - self.now).max(0), thing);
        self.order
    }

    /// The files that are going to be noticed.
    pub(crate) fn files_to_come(&self) -> BTreeSet<&str> {
        let files = self.schedule.values().filter_map(|thing| match thing {
            Thing::File(path) => Some(path.as_str()),
            _ => None,
        });
        files.collect()
    }

    /// Tell tx something, soon.
    pub(crate) fn tell(&mut self, delay: i64, event: Event) {
        if self.fault(Fault::Twice, 5) {
            let again = delay + self.rng.within(0, 3_000);
            self.after(again, Thing::Event(event.clone()));
        }
        self.after(delay, Thing::Event(event));
    }

    /// The next thing happens. Is there one?
    fn next(&mut self) -> bool {
        let timer = match self.is_stalled() {
            true => None,
            false => self.state().next_timer(),
        };
        let thing = self.schedule.first_key_value().map(|(at, _)| at.0);
        let files = self.settings.files as u64;
        // Where everybody is stopped, little but faults goes on.
        let things = self.order - self.looked_after;
        let enough = self.files.count() as u64 >= files || things > (60 * files).min(MOST_THINGS);
        if !self.calm && enough && self.tasks_left == 0 {
            return false;
        }
        match (timer, thing) {
            (None, None) => {
                self.commit();
                return self.state().next_timer().is_some() || !self.schedule.is_empty();
            }
            (Some((due, timer)), thing) if thing.is_none_or(|at| due <= at) => {
                self.now = self.now.max(due);
                self.take(Event::TimerFired { timer, due });
            }
            (_, _) => {
                let ((at, number), thing) = self.schedule.pop_first().unwrap();
                self.now = self.now.max(at);
                let only_looks = matches!(thing, Thing::Wake(_));
                self.happen(thing, number);
                // There are many of them, and little happens in most.
                if only_looks && !self.taken && !self.rng.percent(10) {
                    return true;
                }
            }
        }
        if self.fault(Fault::CrashBeforeCommit, 1) {
            self.crash();
        } else if self.calm || self.rng.percent(70) {
            self.commit();
        }
        true
    }

    fn happen(&mut self, thing: Thing, number: u64) {
        match thing {
            Thing::Event(event) => self.take(event),
            Thing::File(path) => self.notice(&path),
            Thing::Script(pane) => self.act_on(&pane),
            Thing::Wake(pane) => self.wake(&pane, number),
            Thing::Hook(pane, hook) => self.hook(&pane, hook),
            Thing::Request(pane, waits) => self.request(&pane, waits),
            Thing::Person(pane, hand) => self.use_terminal(&pane, hand),
            Thing::Die(pane) => self.die(&pane, "it was killed"),
            Thing::Obey(pane) => self.obey_late(&pane),
            Thing::Correct(pane) => self.correct(&pane),
            Thing::Task => self.give_task(),
            Thing::Look => self.look(),
            Thing::Room => self.look_for_room(),
            Thing::Chaos => self.chaos(),
        }
    }

    /// Whose process shows a dialog from now on, unless it is being ended.
    fn shows_dialog(&self, event: &Event) -> Option<Address> {
        let Event::PaneAsked { pane, no, .. } = event else {
            return None;
        };
        let worker = self.state().worker(&pane.worker)?;
        let current = worker.live && worker.attempt == pane.attempt && *no > worker.seen;
        let ends = worker.status.is() == Phase::Stopping;
        (current && !ends).then(|| pane.worker.clone())
    }

    /// tx takes an event in, unless something else could not be remembered.
    pub(crate) fn take(&mut self, event: Event) {
        if self.is_stalled() {
            return self.unheard.push_back(event);
        }
        let mut at = self.now;
        if self.fault(Fault::ClockBackward, 1) {
            at -= self.rng.within(1, 100_000_000);
        }
        self.take_in(at, event);
    }

    /// tx takes an event in, as of this time.
    pub(crate) fn take_in(&mut self, at: i64, event: Event) {
        if self.log.is_some() {
            let line = format!("{:>9} {event:?}", at - BEGIN);
            self.note(line);
        }
        self.taken = true;
        let asked = self.shows_dialog(&event);
        self.book.take(at, event.clone());
        self.seen.events += 1;
        let state = self.book.state();
        self.watch
            .took(state.seq(), &event, &state.touched().messages);
        if let Some(worker) = asked {
            let is = state.worker(&worker).map(|worker| worker.status.is());
            assert_eq!(
                is,
                Some(Phase::AwaitingHuman),
                "promise 3 is broken: {worker} shows a dialog, and could be given something"
            );
        }
        if let Some(broken) = state.broken_promise() {
            panic!("{broken}");
        }
        let often = if self.log.is_some() { 1 } else { 97 };
        if self.seen.events.is_multiple_of(often)
            && let Some(broken) = state.any_broken_promise()
        {
            panic!("{broken}");
        }
        if self.seen.events.is_multiple_of(often) {
            crate::oracle::check_asks(state);
        }
        self.seen.transitions(state.transitions());
        if self.log.is_some() {
            let state = self.book.state();
            let touched = state.touched().messages.iter();
            let held = touched.filter_map(|(number, _)| state.message(*number));
            let held: Vec<String> = held
                .map(|held| {
                    let facts = &held.facts;
                    format!(
                        "{} ({} hops, {})",
                        facts.id,
                        facts.hops,
                        facts.step().as_str()
                    )
                })
                .collect();
            self.note(format!("            == {}", held.join(", ")));
        }
        if self.calm {
            self.calm_events += 1;
            if self.calm_events >= self.most_events {
                self.commit_all();
                self.explain_endless();
                panic!("promise 6 is broken: it does not end");
            }
        }
    }

    /// tx is killed, and started again.
    pub(crate) fn crash(&mut self) {
        self.seen.crashes += 1;
        self.note("            !! killed".into());
        self.restart();
    }

    pub(crate) fn restart(&mut self) {
        // Where nothing was pending, the state is what was committed.
        let pending = std::mem::take(&mut self.taken);
        self.make_room();
        self.watch.forget();
        let durable = (!pending).then(|| self.book.state().snapshot());
        let system_messages = self.book.reopen();
        if let Some(durable) = durable {
            assert!(
                self.book.state().snapshot() == durable,
                "promise 4 is broken: what was opened again is not what was committed"
            );
        }
        // What was on its way to tx, and what it had not done yet, is lost.
        self.late.clear();
        self.untaken.clear();
        self.unheard.clear();
        self.schedule.retain(|_, thing| match thing {
            Thing::Event(_) | Thing::Wake(_) | Thing::Hook(..) | Thing::Obey(_) => false,
            Thing::File(_)
            | Thing::Script(_)
            | Thing::Request(..)
            | Thing::Person(..)
            | Thing::Die(_)
            | Thing::Correct(_)
            | Thing::Task
            | Thing::Look
            | Thing::Room
            | Thing::Chaos => true,
        });
        for system_message in system_messages {
            self.system_messages.insert(system_message.id.clone());
            self.record.system_message(system_message);
        }
        for path in self.files.uncommitted() {
            let delay = self.rng.within(0, 2_000);
            self.after(delay, Thing::File(path));
        }
        self.recover();
        for (number, asker) in std::mem::take(&mut self.human.missed) {
            self.notify(number, asker);
        }
    }

    pub(crate) fn note(&mut self, line: String) {
        if let Some(log) = &mut self.log {
            log.push_back(line);
            if log.len() > crate::run::set("TX_SIM_LINES").map_or(SHOWN, |n| n as usize) {
                log.pop_front();
            }
        }
    }
}
