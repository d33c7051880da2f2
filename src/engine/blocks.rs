//! Blocks: opened by an outcome, joined when every member is closed and enough have succeeded.
//!
//! A block with too few successes is short. It delivers nothing and loses nothing, and waits
//! until a person retries or drops a member.

use std::borrow::Cow;

use super::event::Timer;
use super::fanout::{BlockDecision, BlockPhase, BlockRules, FanOut, MemberProgress};
use super::jobs::JobOwner;
use super::message_record::{DeliveryStep, MessageNo, MessageRecord, Step};
use super::notes::Note;
use super::state::State;
use super::work::{Item, Joined, Member, Owes, WorkflowPlace};
use crate::model::{Address, Kind, Priority, Target};

impl State {
    /// An outcome opens a block. Its deliveries to the members are their work.
    pub(super) fn open_block(&mut self, opener: MessageNo, join: Target, rules: BlockRules) {
        let Some(facts) = self.messages.facts(opener) else {
            return;
        };
        let members = facts.deliveries.iter().filter_map(|delivery| {
            let waits = delivery.waits_for_work();
            let place = delivery.place.clone().filter(|_| waits)?;
            Some((delivery.to.clone(), place))
        });
        let members: Vec<(Address, WorkflowPlace)> = members.collect();
        let fan_out = FanOut {
            join: join.clone(),
            run: facts.run,
            opener: Some(facts.from.clone()),
            machine: None,
            rules,
            phase: BlockPhase::Open,
            members: members
                .iter()
                .map(|(agent, _)| MemberProgress::new(agent.clone()))
                .collect(),
        };
        self.begin_block(opener, fan_out);
        let has_members = !members.is_empty();
        for (agent, place) in members {
            if agent.is_core() {
                self.reach_core_as(opener, Kind::TaskComplete, Some(&place));
                if let Some(member) = place.member() {
                    self.close_member(member, &agent, Err("core is no worker".into()));
                }
                continue;
            }
            self.enqueue(&agent, opener, Owes::Outcome, Some(place));
        }
        if !has_members {
            let why = Cow::Borrowed("the block has no members");
            self.end(opener, &Address::from(join), Step::Finished, Some(why));
        }
        self.decide_block(opener);
    }

    /// Record a new block.
    pub(super) fn begin_block(&mut self, opener: MessageNo, fan_out: FanOut) {
        let (number, members) = (opener.0, fan_out.members.len());
        let words = format!("block {number}: opened, {members} members");
        self.output.workflow.push(words);
        self.fan_outs.open(opener, fan_out);
    }

    /// Keep an outcome of a member for the join. After the join it goes there directly. The
    /// first outcome of the turn decides whether the member has succeeded.
    pub(super) fn result(
        &mut self,
        from: &Address,
        member: &Member,
        number: MessageNo,
        first: MessageNo,
    ) {
        let failed = self
            .messages
            .facts(first)
            .is_some_and(MessageRecord::is_error);
        let join = Address::from(member.join.clone());
        let Some(progress) = self.fan_outs.member_mut(member, from) else {
            if join.is_dispatch() {
                let warning =
                    "the block of your state is joined: this is recorded, and moves nothing";
                return self.record_outcome(from, number, &join, warning);
            }
            return self.hand_on(number, from, &join);
        };
        match failed {
            true => progress.errors.push(number),
            false => progress.results.push(number),
        }
        let why = Cow::Borrowed("waits for the others of its block");
        self.record_step(number, &join, Step::Queued, Some(why));
        if !failed {
            self.replace_failure(member, from);
        }
    }

    /// A member has succeeded after a failure, so the failure no longer counts.
    fn replace_failure(&mut self, member: &Member, who: &Address) {
        let Some(progress) = self.fan_outs.member_mut(member, who) else {
            return;
        };
        progress.failures.clear();
        let (errors, held) = (
            std::mem::take(&mut progress.errors),
            std::mem::take(&mut progress.held),
        );
        let join = Address::from(member.join.clone());
        for error in errors {
            self.end_unseen(error, &join, "replaced");
        }
        self.finish_held(held, "an outcome came after all");
    }

    /// End an outcome that the join does not get. At core a finished message would show in the
    /// inbox, so there it is refused.
    pub(super) fn end_unseen(
        &mut self,
        number: MessageNo,
        join: &Address,
        why: impl Into<Cow<'static, str>>,
    ) {
        let step = match join.is_core() {
            true => Step::Refused,
            false => Step::Finished,
        };
        self.end(number, join, step, Some(why.into()));
    }

    pub(super) fn finish_held(&mut self, held: Vec<(Address, Item)>, why: &'static str) {
        for (who, item) in held {
            for number in &item.messages {
                let key = (&who, item.place.as_ref());
                self.end(*number, key, Step::Finished, Some(why.into()));
            }
        }
    }

    /// Keep work of a member that ended with `error` until the block is decided. Returns
    /// `false` if the block already is.
    pub(super) fn hold_failed(&mut self, member: &Member, who: &Address, item: &Item) -> bool {
        let Some(progress) = self.fan_outs.member_mut(member, who) else {
            return false;
        };
        progress.held.push((who.clone(), item.clone()));
        self.close_member(member, who, Ok(()));
        true
    }

    /// An item of a member has ended.
    pub(super) fn close_member(&mut self, member: &Member, who: &Address, end: Result<(), String>) {
        self.stop_member_clock(member, who);
        let Some(progress) = self.fan_outs.member_mut(member, who) else {
            return;
        };
        progress.open = progress.open.saturating_sub(1);
        progress.failures.extend(end.err());
        self.decide_block(member.block);
    }

    /// Join the block or mark it as short, once every member is closed.
    pub(super) fn decide_block(&mut self, block: MessageNo) {
        match self.fan_outs.get(block).map(FanOut::decision) {
            Some(BlockDecision::Join) => self.gather_or_join(block),
            Some(BlockDecision::Short) => self.block_is_short(block),
            Some(BlockDecision::Wait) | None => {}
        }
    }

    /// Give the join one delivery: the results in the order of the members, then the failures.
    /// `not_gathered` is the reason if the results should be one message and are not.
    pub(super) fn join_block(&mut self, block: MessageNo, not_gathered: Option<&str>) {
        let Some(fan_out) = self.take_block(block) else {
            return;
        };
        let failures = fan_out.failures();
        let (have, all) = (fan_out.successes(), fan_out.members.len());
        self.output
            .workflow
            .push(format!("block {}: joined, {have} of {all}", block.0));
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
        let (mut messages, mut errors) = (Vec::new(), Vec::new());
        for member in members {
            messages.extend(member.results);
            errors.extend(member.errors);
            self.finish_held(member.held, "joined without it");
        }
        messages.append(&mut errors);
        if !failures.is_empty() || messages.is_empty() || not_gathered.is_some() {
            let warning = not_gathered.map(|why| format!("The results are not gathered: {why}."));
            let missing = match (failures.is_empty(), messages.is_empty()) {
                (true, true) => Some("There are no results.".to_owned()),
                (true, false) => None,
                (false, _) => Some(format!(
                    "These members gave no result:\n\n{}",
                    failures.join("\n")
                )),
            };
            let headline = match missing {
                Some(_) => "not all members of the block have a result",
                None => "the results are not gathered",
            };
            let body: Vec<String> = warning.into_iter().chain(missing).collect();
            messages.push(self.write_message(&Note {
                to: &join,
                kind: Kind::TaskComplete,
                headline,
                body: body.join("\n\n"),
                about: Some(block),
                hops: 0,
            }));
        }
        if let Some(machine) = &machine {
            self.finish_dead_members(block);
            self.block_joined(machine, messages);
        } else if join.is_core() {
            for message in messages {
                let from = self.messages.facts(message).map(|facts| facts.from.clone());
                if let Some(from) = from {
                    self.complete_at_core(message, &from);
                }
            }
        } else {
            self.enqueue_joined(&join, messages, Joined { block, opener });
        }
        self.block_is_over(block, run, &agents);
    }

    /// Remove a decided block and its timer.
    pub(super) fn take_block(&mut self, block: MessageNo) -> Option<FanOut> {
        let fan_out = self.fan_outs.take(block)?;
        if let Some((_, due)) = fan_out.gathers() {
            let timer = Timer::Job(JobOwner::Block(block));
            self.timers.change(timer, Some(due), None);
        }
        Some(fan_out)
    }

    pub(super) fn enqueue_joined(
        &mut self,
        join: &Address,
        messages: Vec<MessageNo>,
        joined: Joined,
    ) {
        let item = Item::of_work(messages, Some(WorkflowPlace::Join(joined)));
        self.enqueue_item(join, item, Priority::Normal);
    }

    /// Clean up after a join: the opening message may leave, and the run may end.
    pub(super) fn block_is_over(
        &mut self,
        block: MessageNo,
        run: Option<MessageNo>,
        agents: &[Address],
    ) {
        self.leave_if_over(block);
        self.output.lent.extend(agents.iter().cloned());
        if let Some(run) = run {
            self.end_run_if_complete(run);
        }
    }

    /// A machine continues without the failed members. Their parked work is finished.
    pub(super) fn finish_dead_members(&mut self, block: MessageNo) {
        let dead = self.messages.iter().flat_map(|held| {
            let deliveries = held.facts.deliveries.iter();
            let dead = deliveries.filter(|delivery| {
                let of_block = delivery
                    .member()
                    .is_some_and(|member| member.block == block);
                of_block && delivery.step() == Step::Parked
            });
            dead.map(|delivery| (held.facts.number, delivery.clone()))
        });
        let dead: Vec<_> = dead.collect();
        for (number, delivery) in dead {
            let why = Cow::Borrowed("joined without it");
            self.record_step(number, delivery.key(), Step::Finished, Some(why));
            self.forget_parked(number);
        }
    }

    /// Too few members have succeeded. Park the failed work and notify core once.
    fn block_is_short(&mut self, block: MessageNo) {
        let Some(fan_out) = self.fan_outs.get_mut(block) else {
            return;
        };
        fan_out.phase = BlockPhase::Short;
        let mut held = Vec::new();
        for member in &mut fan_out.members {
            held.append(&mut member.held);
        }
        let (successes, needed) = (fan_out.successes(), fan_out.needed());
        let short = format!("block {}: short, {successes} of {needed}", block.0);
        self.output.workflow.push(short);
        let failed = self.failed_members(block);
        let id = self.messages.facts(block).map(|facts| facts.id.clone());
        let id = id.map_or_else(String::new, |id| id.to_string());
        let lines: Vec<String> = failed
            .iter()
            .map(|(index, agent, why)| {
                format!(
                    "- member {index}, {agent}: {why}\n  \
                     `tx dlq retry {id}.{index}` tries it again, `tx dlq drop {id}.{index}` continues without it"
                )
            })
            .collect();
        let body = format!(
            "The block that `{id}` opened needs {needed} results, and has {successes}. \
             These members failed:\n\n{}",
            lines.join("\n")
        );
        for (who, item) in held {
            let member = item.place.as_ref().and_then(WorkflowPlace::member);
            let is_its = |index: u32| member.is_some_and(|member| member.index == index);
            let reason = failed.iter().find(|(index, ..)| is_its(*index));
            let reason = reason.map_or("", |(_, _, why)| why.as_str());
            for number in &item.messages {
                self.park_held(*number, &who, item.place.as_ref(), reason);
            }
        }
        self.tell_core_of_parked("a block is short", body, Some(block));
    }

    /// The members of a block without a success: index, agent and reason.
    pub fn failed_members(&self, block: MessageNo) -> Vec<(u32, Address, String)> {
        let failed = self.fan_outs.get(block).into_iter();
        let failed = failed.flat_map(FanOut::failed).map(|(index, member)| {
            let error = member.errors.last();
            let error = error.and_then(|error| self.messages.facts(*error));
            let error = error.map(|facts| format!("`{}`: {}", facts.id, facts.headline));
            let why = error.or_else(|| member.failures.last().cloned());
            let why = why.unwrap_or_else(|| "it has no result".into());
            let index = u32::try_from(index).unwrap_or(u32::MAX);
            (index, member.agent.clone(), why)
        });
        failed.collect()
    }

    /// Park work that ended with `error`. A later outcome may still finish it.
    fn park_held(
        &mut self,
        number: MessageNo,
        who: &Address,
        place: Option<&WorkflowPlace>,
        reason: &str,
    ) {
        let why = "it ended with `error`, and its block has too few results";
        let why = match reason {
            "" => Cow::Borrowed(why),
            reason => Cow::Owned(format!("{why}. {reason}")),
        };
        self.end(number, (who, place), Step::Parked, Some(why));
        let last = self.worker_mut(who).last.as_mut();
        if let Some(last) =
            last.filter(|last| last.number == number && last.place.as_ref() == place)
        {
            last.parked = true;
        }
    }

    /// A member's parked work is retried. The member is open again with all its time, and its
    /// old failure no longer counts.
    pub(super) fn reopen(&mut self, member: &Member, who: &Address, parked: Option<&DeliveryStep>) {
        let Some(progress) = self.fan_outs.member_mut(member, who) else {
            return;
        };
        progress.open += 1;
        progress.dropped = false;
        progress.left = None;
        let why = parked.and_then(|entry| entry.why.as_deref());
        let mut failures = progress.failures.iter();
        if let Some(said) = failures.position(|failure| Some(failure.as_str()) == why) {
            progress.failures.remove(said);
        }
        let errors = std::mem::take(&mut progress.errors);
        if let Some(fan_out) = self.fan_outs.get_mut(member.block) {
            fan_out.phase = BlockPhase::Open;
        }
        let join = Address::from(member.join.clone());
        for error in errors {
            self.end_unseen(error, &join, "replaced");
        }
    }

    /// A person decided to continue without a member.
    pub(super) fn drop_member(&mut self, member: &Member, who: &Address) {
        let Some(progress) = self.fan_outs.member_mut(member, who) else {
            return;
        };
        progress.dropped = true;
        self.decide_block(member.block);
    }

    /// New work in the same run reopens the agent's member.
    pub(super) fn reopened(
        &mut self,
        member: &Address,
        number: MessageNo,
    ) -> Option<WorkflowPlace> {
        let run = self.messages.facts(number)?.run?;
        let member = self.fan_outs.reopen(run, member)?;
        Some(WorkflowPlace::Member(member))
    }

    // The time limit of members.

    /// Run the clock of a worker's member only while the worker is working.
    pub(super) fn run_member_clock(&mut self, who: &Address) {
        let Some(worker) = self.workers.get(who) else {
            return;
        };
        let at_work = worker.status.is_at_work();
        let Some(member) = worker.status.work().and_then(|work| work.member()).cloned() else {
            return;
        };
        match at_work {
            true => self.start_member_clock(&member, who),
            false => self.stop_member_clock(&member, who),
        }
    }

    fn start_member_clock(&mut self, member: &Member, who: &Address) {
        let rules = self.fan_outs.get(member.block).map(|block| &block.rules);
        let Some(time) = rules.and_then(|rules| rules.time) else {
            return;
        };
        let at = self.at;
        let Some(progress) = self.fan_outs.member_mut(member, who) else {
            return;
        };
        if progress.due.is_some() || progress.open == 0 {
            return;
        }
        let time = i64::try_from(time).unwrap_or(i64::MAX);
        let due = at.saturating_add(progress.left.unwrap_or(time));
        progress.due = Some(due);
        let timer = Timer::Member(member.block, member.index);
        self.timers.change(timer, None, Some(due));
    }

    fn stop_member_clock(&mut self, member: &Member, who: &Address) {
        let at = self.at;
        let Some(progress) = self.fan_outs.member_mut(member, who) else {
            return;
        };
        if let Some(due) = progress.due.take() {
            progress.left = Some((due - at).max(0));
            let timer = Timer::Member(member.block, member.index);
            self.timers.change(timer, Some(due), None);
        }
    }

    /// The time of a member is over. Its turn is ended and its work parked.
    pub(super) fn member_due(&mut self, block: MessageNo, index: u32) {
        let Some(fan_out) = self.fan_outs.get(block) else {
            return;
        };
        let time = fan_out.rules.time.unwrap_or_default();
        let has_it = |worker: &&Address| {
            let worker = self.workers.get(worker);
            let work = worker.and_then(|worker| worker.status.work());
            work.and_then(|work| work.member())
                .is_some_and(|member| member.id() == (block, index))
        };
        let who = self.workers.addresses().find(has_it).cloned();
        if let Some(who) = who {
            let seconds = time.div_ceil(1_000);
            self.give_up(&who, format!("it gave no result in {seconds} s"));
        }
    }
}
