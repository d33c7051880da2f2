//! Events and effects in words, a line each.

use super::Time;
use super::usage::usage_in_words;
use crate::engine::{
    Command, Decision, Effect, Event, JobEnd, JobOwner, JobResult, MessageNo, ProcessExit, Sent,
    State, Timer,
};
use crate::format::report::many;
use crate::journal::Record;

/// A record in a few words.
pub(super) fn event_in_words(record: &Record) -> String {
    let event = match record.event() {
        Ok(event) => event,
        Err(_) => return format!("{}, of a form that this tx does not know", record.kind),
    };
    let turn = |attempt: u32, turn: u32| format!("process {attempt}, turn {turn}");
    match event {
        Event::Arrived(arrived) => {
            // The name of its file would fill the line.
            let (id, from) = (&arrived.envelope.id, &arrived.envelope.from);
            format!("{id} from {from} arrived")
        }
        Event::Rejected(rejected) => format!("{} was rejected", rejected.path),
        Event::PaneStarted { pane, .. } => {
            format!("{} started, process {}", pane.worker, pane.attempt)
        }
        Event::PaneSession { pane, session } => {
            format!("{} has session {session}", pane.worker)
        }
        Event::PaneSaid { pane, .. } => format!("{} said something", pane.worker),
        Event::PaneReady { pane, .. } => {
            format!("{} was ready, process {}", pane.worker, pane.attempt)
        }
        Event::PaneIdle { pane, turn: t, .. } => {
            format!("{} was idle, {}", pane.worker, turn(pane.attempt, t))
        }
        Event::PaneBusy { pane, .. } => {
            format!("{} was busy, process {}", pane.worker, pane.attempt)
        }
        Event::PaneAsked { pane, .. } => format!("{} showed a dialog", pane.worker),
        Event::PaneLimited { pane, until, .. } => {
            format!("{} has hit its limit, until {}", pane.worker, Time(until))
        }
        Event::PaneExited { pane, exit } => {
            let how = exit_in_words(&exit);
            format!("{} {how}, process {}", pane.worker, pane.attempt)
        }
        Event::PaneUsed(used) => format!(
            "{} has used {}, by counter {}",
            used.pane.worker,
            usage_in_words(&used.usage),
            used.id
        ),
        Event::Delivered { pane, turn: t } => {
            format!("delivered to {}, {}", pane.worker, turn(pane.attempt, t))
        }
        Event::DeliveryFailed {
            pane, sent, why, ..
        } => {
            let how = match sent {
                Sent::Nothing => "not delivered",
                Sent::Perhaps => "perhaps delivered",
            };
            format!("{how} to {}: {why}", pane.worker)
        }
        Event::TimerFired { timer, .. } => timer_in_words(&timer),
        Event::JobsFinished { owner, results, .. } => {
            let ends: Vec<String> = results.iter().map(end_of_job).collect();
            format!(
                "gates or hooks of {} ended: {}",
                owner_in_words(&owner),
                ends.join(", ")
            )
        }
        Event::MeshLoaded(loaded) => format!("mesh {} was loaded", loaded.mesh.name),
        Event::MeshRemoved { mesh } => format!("mesh {mesh} was removed"),
        Event::Command(command) => command_in_words(&command),
        Event::Recovered { .. } => "tx was started".into(),
    }
}

fn exit_in_words(exit: &ProcessExit) -> String {
    match exit {
        ProcessExit::Code { code, .. } => format!("exited with {code}"),
        ProcessExit::Lost { why } | ProcessExit::CutOff { why } => format!("was lost: {why}"),
        ProcessExit::SessionGone { why } => format!("could not resume its session: {why}"),
        ProcessExit::NotStarted { why } => format!("did not start: {why}"),
        ProcessExit::Unstartable { why } => format!("cannot be started with this: {why}"),
    }
}

fn timer_in_words(timer: &Timer) -> String {
    match timer {
        Timer::State(who) => format!("the timer of {who} fired"),
        Timer::Pause(who) => format!("{who} had asked, and was busy too long"),
        Timer::Silence(who) => format!("{who} was silent too long"),
        Timer::Ask(_, who) => format!("{who} did not answer in time"),
        Timer::Expires(_) => "the human did not answer in time".into(),
        Timer::Check(who, _) => format!("the gates of a late outcome of {who} took too long"),
        Timer::Member(_, index) => format!("member {index} took too long"),
        Timer::Idle(who) => format!("{who} was idle long enough"),
        Timer::Job(owner) => format!("gates or hooks of {} took too long", owner_in_words(owner)),
    }
}

fn command_in_words(command: &Command) -> String {
    match command {
        Command::Stop { worker } => format!("a person stopped {worker}"),
        Command::Restart { worker } => format!("a person restarted {worker}"),
        Command::Retry { facts, .. } => format!("a person retried {}", facts.id),
        Command::Drop { facts, .. } => format!("a person dropped {}", facts.id),
        Command::Decide { pane, decision, .. } => match decision {
            Decision::Allow => format!("a person allowed what {} asked for", pane.worker),
            Decision::Deny { .. } => format!("a person denied what {} asked for", pane.worker),
        },
        Command::Read { facts } => format!("a person read {}", many(facts.len(), "message")),
    }
}

fn owner_in_words(owner: &JobOwner) -> String {
    match owner {
        JobOwner::Worker(worker) => worker.to_string(),
        JobOwner::Machine(id) => id.address().to_string(),
        JobOwner::Run(run) => format!("run {}", run.0),
        JobOwner::Block(block) => format!("the block of message {}", block.0),
    }
}

fn end_of_job(result: &JobResult) -> String {
    match &result.end {
        JobEnd::Code(code) => format!("exit {code}"),
        JobEnd::Failed { why } => why.clone(),
    }
}

/// An effect in a few words. `all`: the effects of the same step.
pub(super) fn effect_in_words(state: &State, all: &[Effect], effect: &Effect) -> String {
    // A message that left the state in the same step is found by its stored record.
    let id = |number: &MessageNo| {
        let held = state.message(*number).map(|held| &held.facts);
        let mut kept = all.iter().filter_map(Effect::archived);
        let facts = held.or_else(|| kept.find(|facts| facts.number == *number));
        facts.map_or_else(
            || format!("message {}", number.0),
            |facts| facts.id.to_string(),
        )
    };
    let ids = |numbers: &[MessageNo]| {
        let ids: Vec<String> = numbers.iter().map(id).collect();
        ids.join(", ")
    };
    match effect {
        Effect::Spawn { pane, turn, .. } => {
            let given = turn.as_ref();
            let given = given.map(|turn| format!(" with {}", ids(&turn.messages)));
            let given = given.unwrap_or_default();
            format!("spawn {}, process {}{given}", pane.worker, pane.attempt)
        }
        Effect::Deliver { pane, turn } => format!(
            "deliver {} to {}, process {}, turn {}",
            ids(&turn.messages),
            pane.worker,
            pane.attempt,
            turn.turn
        ),
        Effect::Interrupt { pane, .. } => {
            format!("interrupt {}, process {}", pane.worker, pane.attempt)
        }
        Effect::Look { pane } => format!("look at {}, process {}", pane.worker, pane.attempt),
        Effect::Kill { pane } => format!("kill {}, process {}", pane.worker, pane.attempt),
        Effect::Write(system_message) => {
            let to = system_message.to.as_ref().map(|to| format!(" to {to}"));
            let to = to.unwrap_or_default();
            format!(
                "write {}{to}: {}",
                system_message.id, system_message.headline
            )
        }
        Effect::NotifyHuman { number, kind, .. } => {
            format!("notify the human of {}: {kind}", id(number))
        }
        Effect::NotifyHeld { worker } => format!("tell the human what {worker} waits for"),
        Effect::Decide { pane, decision, .. } => match decision {
            Decision::Allow => format!("allow what {} asked for", pane.worker),
            Decision::Deny { .. } => format!("deny what {} asked for", pane.worker),
        },
        Effect::EndTurn { pane, turn } => format!("end turn {turn} of {}", pane.worker),
        Effect::RunJobs { owner, jobs, .. } => {
            let jobs = many(jobs.len(), "job");
            format!("run {jobs} for {}", owner_in_words(owner))
        }
        Effect::Archive(facts) => format!("archive {}: {}", facts.id, facts.step().as_str()),
    }
}
