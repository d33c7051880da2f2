//! What gates found: on the ladder of an outcome, and back to its author, until it was sent back
//! often enough.

use super::accept::AcceptedMessage;
use super::explain::times;
use super::lines::{MAX_HEADLINE, headline_of};
use super::message_record::{MessageNo, Source, Step};
use super::notes::Note;
use super::round::{Reported, Round};
use super::state::State;
use super::work::Work;
use super::worker::WorkerState;
use crate::model::{
    Address, Envelope, GateReport, GateVerdict, Iteration, Kind, Line, MANIFEST_GATE, OnFail,
    OutcomeWord, Quality, Rearmatter, utc,
};

impl State {
    /// A report goes with its outcome: on its ladder, and with what is known of its quality.
    pub(super) fn note_report(&mut self, outcome: MessageNo, report: &GateReport) {
        let first = report.findings.lines().next().unwrap_or_default();
        let first: String = first.chars().take(MAX_HEADLINE).collect();
        let words = match first.is_empty() {
            true => format!("gate {}: {}", report.gate, report.verdict.as_str()),
            false => format!("gate {}: {}: {first}", report.gate, report.verdict.as_str()),
        };
        let Some(held) = self.messages.get_mut(outcome) else {
            return;
        };
        let quality = held
            .facts
            .quality
            .get_or_insert_with(Box::<Quality>::default);
        quality.reports.push(report.clone());
        self.note_on_outcome(outcome, &words);
    }

    /// A word on the ladder of an outcome that waits for its work.
    pub(super) fn note_on_outcome(&mut self, outcome: MessageNo, words: &str) {
        let Some(held) = self.messages.get(outcome) else {
            return;
        };
        let waits = held.facts.deliveries.iter().filter(|d| d.waits_for_work());
        let to: Vec<Address> = waits.map(|delivery| delivery.to.clone()).collect();
        for to in to {
            self.record_step(outcome, &to, Step::Accepted, Some(words.to_owned().into()));
        }
    }

    pub(super) fn note_reports(&mut self, reports: &[Reported]) {
        for reported in reports {
            self.note_report(reported.outcome, &reported.report);
            self.tell_of_files(reported);
        }
    }

    /// A missing file that does not fail the work: its author is told.
    fn tell_of_files(
        &mut self,
        Reported {
            outcome, report, ..
        }: &Reported,
    ) {
        let is_warning = report.gate == MANIFEST_GATE && report.verdict == GateVerdict::Pass;
        let from = self
            .messages
            .facts(*outcome)
            .map(|facts| facts.from.clone());
        if let Some(from) = from.filter(|_| is_warning && !report.findings.is_empty()) {
            self.warn(
                &from,
                &format!("your work should leave files:\n{}", report.findings),
                *outcome,
            );
        }
    }

    /// Gates failed: all findings go back to the author, unless that was done often enough.
    pub(super) fn send_back(&mut self, who: &Address, mut work: Box<Work>, round: &Round) {
        work.check_errors = 0;
        work.iteration += 1;
        for outcome in std::mem::take(&mut work.outcomes) {
            self.end_outcome(outcome.number, Step::Refused, "it failed its gates");
        }
        let findings = round.findings();
        work.findings.push(findings.clone());
        let rules = self
            .mesh(&who.mesh)
            .map(|mesh| match round.failed_by_files_alone() {
                // The manifest has its own rules.
                true => Iteration {
                    max: mesh.manifest.rules.max_retry,
                    on_fail: OnFail::Loop,
                },
                false => mesh.iteration,
            })
            .unwrap_or_default();
        if work.iteration > rules.max {
            let why = self.history(&work);
            return match rules.on_fail {
                OnFail::Loop => self.park_with(who, *work, &why, Some(&findings)),
                OnFail::Halt => self.halt(who, work, &why, &findings),
            };
        }
        let left = rules.max - work.iteration;
        let body = format!(
            "{findings}\n\nFix this, then give your outcome again. It was sent back {}; it is sent back {} more.",
            times(work.iteration),
            times(left)
        );
        let note = self.write_message(&Note {
            to: who,
            kind: Kind::Lifecycle,
            headline: "your outcome failed its gates",
            body,
            about: work.messages().next(),
            hops: 0,
        });
        self.record_step(note, who, Step::Queued, None);
        work.waiting.push(note);
        self.settle(who, work, None);
    }

    /// What the gates found, round by round.
    fn history(&self, work: &Work) -> String {
        let rounds = work.findings.iter().enumerate();
        let rounds: Vec<String> = rounds
            .map(|(n, findings)| format!("Round {}:\n{findings}", n + 1))
            .collect();
        let failed = times(u32::try_from(rounds.len()).unwrap_or(u32::MAX));
        format!(
            "its outcome failed its gates {failed}\n\n{}",
            rounds.join("\n\n")
        )
    }

    /// The author never passed: its mesh goes on with the outcome `error`.
    fn halt(&mut self, who: &Address, work: Box<Work>, why: &str, findings: &str) {
        let status = OutcomeWord::error();
        let headline = format!("gates failed: {}", headline_of(findings));
        let number = self.next_number();
        let body = format!("tx wrote this for {who}: {why}");
        let id = self.message_of_output(number, who, &status, &headline, &body);
        let now = utc(self.at).fixed_offset();
        let envelope = Envelope {
            status: Some(status),
            ..Envelope::new(who.clone(), id.clone(), Line::from(headline), now)
        };
        self.worker_mut(who).status = WorkerState::Working { work };
        let plan = self.plan(&envelope, &[], &[], &Rearmatter::default(), true);
        let planned = plan.is_ok();
        if let Ok(plan) = plan {
            let source = Source::Own {
                record: self.seq,
                body,
            };
            let taken = AcceptedMessage {
                number,
                id,
                written: None,
                envelope,
                rearmatter: Rearmatter::default(),
                source,
            };
            self.accept(taken, plan, &[], false);
        }
        if let Some(work) = self.take_status(who).into_work() {
            match planned {
                true => self.settle(who, work, None),
                false => self.park_with(who, *work, why, Some(findings)),
            }
        }
    }
}
