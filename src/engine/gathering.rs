//! Gathering: combines the results of a block into one message before its join.
//!
//! The engine has no texts, so the daemon does this as a job. The block is already decided:
//! later outcomes of its members are late. If gathering fails, the join gets the results as
//! they are.

use super::effect::Effect;
use super::event::Timer;
use super::fanout::{BlockPhase, FanOut};
use super::jobs::{Job, JobEnd, JobOwner, JobResult};
use super::message_record::MessageNo;
use super::notes::Note;
use super::state::State;
use super::work::Joined;
use crate::model::{Address, Gather, Kind};

/// How often gathering may fail before the join gets the messages themselves.
const GATHER_ERRORS: u32 = 3;
/// The timeout of one attempt, in milliseconds.
const GATHER_TIME: i64 = 60_000;

impl State {
    /// A block has enough results. Gather them first, if the block says so.
    pub(super) fn gather_or_join(&mut self, block: MessageNo) {
        let Some(fan_out) = self.fan_outs.get(block) else {
            return;
        };
        match (&fan_out.rules.gather, fan_out.successes()) {
            (Gather::Concat, _) => self.join_block(block, None),
            (_, 0) => self.join_block(block, Some("no member has succeeded")),
            (_, _) => self.gather(block, 1),
        }
    }

    /// Start an attempt to gather the results.
    fn gather(&mut self, block: MessageNo, job: u32) {
        let due = self.at + GATHER_TIME;
        let Some(fan_out) = self.fan_outs.get_mut(block) else {
            return;
        };
        let before = fan_out.gathers().map(|(_, due)| due);
        fan_out.phase = BlockPhase::Gathering { job, due };
        let members = fan_out.members.iter_mut();
        let held = members.flat_map(|member| std::mem::take(&mut member.held));
        let held = held.collect();
        let timer = Timer::Job(JobOwner::Block(block));
        self.timers.change(timer, before, Some(due));
        self.finish_held(held, "joined without it");
        self.run_gathering(block);
    }

    /// Run the job of the current attempt.
    fn run_gathering(&mut self, block: MessageNo) {
        let Some(fan_out) = self.fan_outs.get(block) else {
            return;
        };
        let (Some((job, _)), Some(opener)) = (fan_out.gathers(), self.messages.facts(block)) else {
            return;
        };
        let place = self.job_place(&opener.from.mesh, Some(block));
        let gather = Job::Gather {
            strategy: fan_out.rules.gather.clone(),
            results: fan_out.first_results(),
        };
        self.effect(Effect::RunJobs {
            owner: JobOwner::Block(block),
            job,
            place,
            jobs: vec![gather],
            env: Vec::new(),
            files: Vec::new(),
            until_failure: false,
        });
    }

    /// After a start, run the pending jobs again.
    pub(super) fn run_gathering_again(&mut self) {
        let gathering = self.fan_outs.iter();
        let gathering = gathering.filter(|(_, fan_out)| fan_out.gathers().is_some());
        let gathering: Vec<MessageNo> = gathering.map(|(block, _)| block).collect();
        for block in gathering {
            self.run_gathering(block);
        }
    }

    /// The job of a block has ended. The result of an older attempt is ignored.
    pub(super) fn gathered(&mut self, block: MessageNo, job: u32, results: &[JobResult]) {
        let gathers = self.fan_outs.get(block).and_then(FanOut::gathers);
        if gathers.is_none_or(|(current, _)| current != job) {
            return;
        }
        let result = results.first();
        match result.map(|result| (&result.end, result.output.as_str())) {
            Some((JobEnd::Code(0), text)) => self.join_gathered(block, text),
            Some((JobEnd::Code(_), why)) => self.join_block(block, Some(why)),
            Some((JobEnd::Failed { why }, _)) => self.gathering_failed(block, job, why),
            None => self.gathering_failed(block, job, "it has no result"),
        }
    }

    /// The job of a block has timed out.
    pub(super) fn gathering_due(&mut self, block: MessageNo) {
        let gathers = self.fan_outs.get(block).and_then(FanOut::gathers);
        if let Some((job, _)) = gathers {
            self.gathering_failed(block, job, "it takes too long");
        }
    }

    fn gathering_failed(&mut self, block: MessageNo, job: u32, why: &str) {
        match job < GATHER_ERRORS {
            true => self.gather(block, job + 1),
            false => {
                let why = format!("{GATHER_ERRORS} attempts failed, the last with: {why}");
                self.join_block(block, Some(&why));
            }
        }
    }

    /// Give the join one message that replies to all results.
    fn join_gathered(&mut self, block: MessageNo, text: &str) {
        let failed: Vec<(u32, Address, String)> = self.failed_members(block);
        let Some(fan_out) = self.take_block(block) else {
            return;
        };
        let mut body = text.trim_end().to_owned();
        if !failed.is_empty() {
            let line = |(index, agent, why)| format!("- member {index}, {agent}: {why}");
            let lines: Vec<String> = failed.into_iter().map(line).collect();
            body += &format!("\n\nThese members failed:\n\n{}", lines.join("\n"));
        }
        let results = fan_out.first_results();
        let FanOut {
            join,
            run,
            opener,
            machine,
            members,
            ..
        } = fan_out;
        let join = Address::from(join);
        let agents = members.first().map(|member| member.agent.clone());
        let agents: Vec<Address> = agents.into_iter().collect();
        let note = Note {
            to: &join,
            kind: Kind::TaskComplete,
            headline: "the results of the block, gathered",
            body,
            about: None,
            hops: 0,
        };
        let gathered = self.write_about(&note, &results);
        let id = self.messages.facts(gathered).map(|facts| facts.id.clone());
        let why = format!("gathered into {}", id.as_ref().map_or("", |id| id.as_str()));
        match (&machine, join.is_core()) {
            (Some(machine), _) => {
                self.finish_dead_members(block);
                self.block_joined(machine, vec![gathered]);
            }
            (None, true) => self.reach_core(gathered, Kind::TaskComplete),
            (None, false) => {
                let joined = Joined { block, opener };
                self.enqueue_joined(&join, vec![gathered], joined);
            }
        }
        for member in members {
            for number in member.results.into_iter().chain(member.errors) {
                if join.is_core() {
                    self.counts_at_core(number);
                }
                self.end_unseen(number, &join, why.clone());
            }
        }
        self.block_is_over(block, run, &agents);
    }

    /// Count an outcome for its run as if it had reached core.
    fn counts_at_core(&mut self, number: MessageNo) {
        let Some(facts) = self.messages.facts(number) else {
            return;
        };
        let (run, from, failed) = (facts.run, facts.from.clone(), facts.is_error());
        self.completed(run, &from, failed);
    }
}

impl FanOut {
    /// The first result of each member that has succeeded.
    fn first_results(&self) -> Vec<MessageNo> {
        let members = self.members.iter();
        let first = members.filter_map(|member| member.results.first());
        first.copied().collect()
    }
}
