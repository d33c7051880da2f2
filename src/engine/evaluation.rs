//! Evaluations: an agent of the mesh judges the outcome of another. The evaluator gets an item
//! that owes a verdict. Its outcome is the verdict and is not routed.

use super::gates::{criteria, report, verdict};
use super::message_record::{MessageNo, Step};
use super::notes::Note;
use super::round::{Reporter, Round};
use super::state::State;
use super::work::{Item, Owes, VerdictFor, Work};
use crate::model::{
    Address, Evaluation, GateReport, GateTime, GateVerdict, Kind, Priority, Rearmatter,
};

impl State {
    /// Ask an evaluator for a verdict, or return why that is not possible.
    pub(super) fn ask_evaluator(
        &mut self,
        who: &Address,
        gate: &str,
        rules: &Evaluation,
        outcome: Option<MessageNo>,
        about: &[MessageNo],
    ) -> Result<Reporter, String> {
        let evaluator = Address::new(who.mesh.clone(), rules.evaluator.clone());
        if self.agent(&evaluator).is_none() {
            return Err(format!("there is no agent {evaluator}"));
        }
        let job = self.next_job(who);
        let on = outcome.or(about.first().copied());
        let headline = match outcome {
            Some(_) => format!("judge the work of {who}: {gate}"),
            None => format!("say what the work of {who} must fulfil: {gate}"),
        };
        let number = self.write_message(&Note {
            to: &evaluator,
            kind: Kind::Task,
            headline: &headline,
            body: rules.instructions.clone(),
            about: on,
            hops: 0,
        });
        let mut quotes: Vec<MessageNo> = Vec::new();
        for message in about {
            // If tx wrote the message, quote what it quotes instead.
            let own = self
                .messages
                .facts(*message)
                .map(|facts| facts.quotes.clone());
            match own.filter(|quotes| !quotes.is_empty()) {
                Some(own) => quotes.extend(own),
                None => quotes.push(*message),
            }
        }
        quotes.extend(outcome);
        if let Some(held) = self.messages.get_mut(number) {
            held.facts.quotes = quotes;
        }
        let item = Item {
            messages: vec![number],
            owes: Owes::Verdict,
            place: None,
            granted: false,
            verdict: Some(VerdictFor {
                author: who.clone(),
                gate: gate.to_owned(),
                job,
            }),
        };
        self.enqueue_item(&evaluator, item, Priority::Normal);
        Ok(Reporter::Evaluator {
            agent: evaluator,
            job,
        })
    }

    /// Withdraw the pending requests of a round. An evaluator that has already begun continues,
    /// but its verdict is ignored.
    pub(super) fn withdraw_evaluations(&mut self, who: &Address, round: &Round) {
        for (evaluator, job) in round.evaluators() {
            let Some(worker) = self.workers.get_mut(&evaluator) else {
                continue;
            };
            let is_meant = |item: &Item| {
                let verdict = item.verdict.as_ref();
                verdict.is_some_and(|verdict| verdict.job == job && verdict.author == *who)
            };
            let mut items = worker.inbox.iter();
            let place = items
                .find(|(_, item)| is_meant(item))
                .map(|(place, _)| *place);
            let item = place.and_then(|place| worker.inbox.remove(&place));
            for number in item.into_iter().flat_map(|item| item.messages) {
                let why = "its verdict is no longer needed";
                self.end(number, &evaluator, Step::Finished, Some(why.into()));
            }
        }
    }

    /// The gate that an agent's current work judges for, if any.
    pub(super) fn judges(&self, who: &Address) -> Option<&VerdictFor> {
        self.given(who).and_then(Work::verdict_for)
    }

    /// The first valid verdict among the outcomes of work. An `error` counts as no verdict.
    fn verdict_in(&self, who: &Address, work: &Work) -> Result<GateReport, String> {
        let Some(asked) = work.verdict_for() else {
            return Err("it judges nothing".into());
        };
        let mesh = self.mesh(&who.mesh);
        let mut gates = mesh.into_iter().flat_map(|mesh| &mesh.gates);
        let rules = gates.find_map(|gate| {
            let rules = gate.check.evaluation()?;
            (gate.name == asked.gate).then_some((gate, rules))
        });
        let mut wrong = "it gave no verdict".to_owned();
        for outcome in &work.outcomes {
            let held = self.messages.get(outcome.number);
            let Some(held) = held else {
                continue;
            };
            if held.facts.is_error() {
                let why = format!("{who}: {}", held.facts.headline);
                return Ok(report(&asked.gate, GateVerdict::Error, why));
            }
            let nothing = Rearmatter::default();
            let said = held
                .facts
                .status
                .as_ref()
                .map_or(&nothing, |_| &held.rearmatter);
            let is_before = rules.is_some_and(|(gate, _)| gate.time == GateTime::BeforeWork);
            let found = match is_before {
                true => criteria(&asked.gate, said),
                false => verdict(&asked.gate, rules.map(|(_, rules)| rules), said),
            };
            match found {
                Ok(report) => return Ok(report),
                Err(why) => wrong = why,
            }
        }
        Err(wrong)
    }

    /// An evaluator has ended its turn with an outcome. Without a verdict it is reminded once.
    pub(super) fn settle_evaluation(&mut self, who: &Address, mut work: Box<Work>) {
        match self.verdict_in(who, &work) {
            Err(wrong) if !work.reminded => {
                work.reminded = true;
                for outcome in std::mem::take(&mut work.outcomes) {
                    self.end_outcome(outcome.number, Step::Refused, "it has no verdict");
                }
                let note = self.write_message(&Note {
                    to: who,
                    kind: Kind::Lifecycle,
                    headline: "your verdict is missing",
                    body: format!(
                        "{wrong}. Give your outcome again, and end it with the rearmatter that you were asked for."
                    ),
                    about: work.messages().next(),
                    hops: 0,
                });
                self.record_step(note, who, Step::Queued, None);
                let mut new = std::mem::take(&mut work.waiting);
                new.push(note);
                self.next_turn(who, work, new, None);
            }
            Ok(_) | Err(_) => self.finish(who, work),
        }
    }

    /// The report for the gate that waits, when the evaluator's work is over.
    pub(super) fn verdict_for(
        &self,
        who: &Address,
        work: &Work,
    ) -> Option<(VerdictFor, GateReport)> {
        let asked = work.verdict_for()?.clone();
        let found = self.verdict_in(who, work).unwrap_or_else(|wrong| {
            let why = format!("{who}: {wrong}");
            report(&asked.gate, GateVerdict::Error, why)
        });
        Some((asked, found))
    }
}
