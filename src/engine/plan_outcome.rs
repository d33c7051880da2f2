//! Plans where an outcome goes: to the join of its block, to its machine, to a block that it
//! opens, or where the routing table says. Nothing is changed here.

use indexmap::IndexSet;

use super::fanout::BlockRules;
use super::infer::{KindRow, WorkKind, kind_of_outcome};
use super::message_record::{Delivery, MessageNo, MessageRecord};
use super::plan::Plan;
use super::route::{Addressee, Outcome, Route, Rule, block_for, opening, route};
use super::state::State;
use super::work::{Forwarding, Member, Work, WorkflowPlace};
use crate::model::{Address, Block, Envelope, Kind, Opener, OutcomeWord, Resolved, Target};

impl State {
    /// Plan an outcome, or return why it is not accepted.
    pub(super) fn plan_outcome(
        &self,
        plan: &mut Plan,
        envelope: &Envelope,
        to: Option<&Address>,
        row: KindRow,
        known: &[MessageRecord],
    ) -> Result<(), String> {
        let from = &envelope.from;
        let complete = OutcomeWord::complete();
        let status = match (&envelope.status, envelope.kind) {
            (Some(status), _) => Some(status),
            (None, Some(Kind::TaskComplete)) => Some(&complete),
            (None, _) => None,
        };
        let worker = self.workers.get(from);
        if worker.is_some_and(|worker| !worker.asking.is_empty()) && !ends_in_spite_of_asks(status)
        {
            return Err("you have asked, and not all is answered: an outcome before that can only be `error` or `blocked`".into());
        }
        if let Some(stage) = self.stage_of(envelope, known)
            && self.judges(from).is_none()
        {
            return self.plan_stage(plan, envelope, to, &stage, row);
        }
        let Some(mesh) = self.mesh(&from.mesh) else {
            return self.plan_target(plan, &Target::Core, status, row, Rule::NoRow);
        };
        let blocked = status.is_some_and(OutcomeWord::is_blocked);
        if let Some(asked) = self.judges(from) {
            // A verdict is not routed, unless it needs the human.
            if blocked {
                return self.plan_target(plan, &Target::Core, status, row, Rule::BlockedToCore);
            }
            let delivery = Delivery {
                row: Some(row),
                ..self.accepted(&asked.author, Kind::TaskComplete)
            };
            plan.deliver(delivery);
            return plan.go(Forwarding::Verdict);
        }
        let outcome = Outcome {
            sender: &from.agent,
            status,
            to: to.map_or(Addressee::Routing, Addressee::from),
            route_to: self.route_to(envelope, known)?,
        };
        let routed = route(mesh, &outcome);
        if let Some(member) = self
            .place_of(envelope, known)
            .and_then(WorkflowPlace::member)
        {
            if blocked {
                return self.plan_target(plan, &Target::Core, status, row, Rule::BlockedToCore);
            }
            if !asks_human(&routed, status) {
                return self.plan_result(plan, member, row);
            }
        }
        let work = worker.and_then(|worker| worker.status.work());
        let own_join = work.is_some_and(|work| is_own_join(work, from));
        if let Some(block) = block_for(mesh, &outcome, &self.wanted(envelope), own_join) {
            return self.plan_opening(plan, block, from, row);
        }
        match routed {
            Route::To { target, rule } => {
                if target == Target::Agent(from.without_slot()) {
                    return Err(back_to_itself());
                }
                if rule == Rule::PassedUnlisted {
                    plan.warnings.push(format!(
                        "your table does not list `{}` for this status; it was sent anyway",
                        target.within(&from.mesh)
                    ));
                }
                self.plan_target(plan, &target, status, row, rule)
            }
            // A worker that opened a block and got its results cannot open the block again.
            Route::FanOut { .. } if own_join => {
                self.plan_target(plan, &Target::Core, status, row, Rule::NoRow)
            }
            Route::FanOut { members, join } => {
                let members: IndexSet<Address> = members
                    .into_iter()
                    .map(Address::from)
                    .filter(|member| !from.is_of(member))
                    .collect();
                if members.is_empty() {
                    return Err(back_to_itself());
                }
                let members = members.into_iter().map(|member| (member, None));
                self.plan_block(plan, members.collect(), join, BlockRules::default(), row)
            }
            Route::Refused(why) => {
                let rails = &mesh.guardrails.routing_error;
                let misrouted = work.map_or(0, |work| work.misrouted);
                match (&rails.fallback, rails.max_retries.unwrap_or(2)) {
                    // No worker is woken by its own message.
                    (Some(fallback), most)
                        if misrouted >= most && *fallback != Target::Agent(from.without_slot()) =>
                    {
                        plan.fallback = true;
                        self.plan_target(plan, fallback, status, row, Rule::Fallback)
                    }
                    (Some(_) | None, _) => Err(why.to_string()),
                }
            }
        }
    }

    /// The target that the author wants instead of the table's. It has no effect on an outcome that
    /// opens a block.
    fn route_to(
        &self,
        envelope: &Envelope,
        known: &[MessageRecord],
    ) -> Result<Option<Addressee>, String> {
        let opens = self.opens_block(envelope, known);
        let Some(written) = envelope.route_to.as_ref().filter(|_| !opens) else {
            return Ok(None);
        };
        let directory = self.meshes.directory();
        match directory.resolve(written, &envelope.from, None) {
            Ok(Resolved::To(address)) => Ok(Some(Addressee::from(&address))),
            Ok(Resolved::Dispatch) => Ok(None),
            Err(why) => Err(format!("route_to: {why}; {}", why.hint())),
        }
    }

    /// Plan the outcome of a member of a block: it goes to the join.
    fn plan_result(&self, plan: &mut Plan, member: &Member, row: KindRow) -> Result<(), String> {
        let join = Address::from(member.join.clone());
        plan.deliver(Delivery {
            row: Some(row),
            place: self.step_of_block(member),
            ..self.accepted(&join, Kind::TaskComplete)
        });
        plan.go(Forwarding::Join(member.clone()))
    }

    /// Plan an outcome that opens a block of the mesh.
    fn plan_opening(
        &self,
        plan: &mut Plan,
        block: &Block,
        from: &Address,
        row: KindRow,
    ) -> Result<(), String> {
        let opening = opening(block, from, &plan.parts).map_err(|why| why.to_string())?;
        let rules = BlockRules {
            min: opening.min,
            time: opening.time,
            copies: opening.copies,
            gather: block.gather.clone(),
        };
        for warning in opening.warnings {
            if !plan.warnings.contains(&warning) {
                plan.warnings.push(warning);
            }
        }
        self.plan_block(plan, opening.members, opening.join, rules, row)
    }

    /// Does an outcome open a block, whomever it names? The `complete` of an opener does, unless its
    /// author was asked, works for a block or a gate itself, or on what its own block came to.
    pub(super) fn opens_block(&self, envelope: &Envelope, known: &[MessageRecord]) -> bool {
        let from = &envelope.from;
        let complete = match &envelope.status {
            Some(word) => word.is_complete(),
            None => envelope.kind == Some(Kind::TaskComplete),
        };
        let opens = |opener: &Opener| *opener == Opener::Complete(from.agent.clone());
        let mesh = self.mesh(&from.mesh).filter(|_| complete);
        let mut blocks = mesh.into_iter().flat_map(|mesh| &mesh.blocks);
        if !blocks.any(|block| block.opens_for.iter().any(opens)) {
            return false;
        }
        let work = self.workers.get(from).and_then(|it| it.status.work());
        let place = self.place_of(envelope, known);
        let is_asked = matches!(self.in_hand(from), WorkKind::Ask { .. });
        !is_asked
            && self.judges(from).is_none()
            && place.and_then(WorkflowPlace::member).is_none()
            && !work.is_some_and(|work| is_own_join(work, from))
    }

    /// All targets that the author named in `to`.
    fn wanted(&self, envelope: &Envelope) -> Vec<Addressee> {
        let directory = self.meshes.directory();
        let status = envelope.status.as_ref();
        let named = envelope.to.iter();
        let named = named.filter_map(|to| directory.resolve(to, &envelope.from, status).ok());
        named
            .map(|resolved| match resolved {
                Resolved::To(address) => Addressee::from(&address),
                Resolved::Dispatch => Addressee::Routing,
            })
            .collect()
    }

    /// Plan the opening of a block: one delivery per member, with its part of the message.
    pub(super) fn plan_block(
        &self,
        plan: &mut Plan,
        members: Vec<(Address, Option<u32>)>,
        join: Target,
        rules: BlockRules,
        row: KindRow,
    ) -> Result<(), String> {
        let total = u32::try_from(members.len()).unwrap_or(u32::MAX);
        if members.is_empty() {
            // The delivery ends when the block opens.
            plan.deliver(Delivery {
                row: Some(row),
                ..self.accepted(&Address::from(join.clone()), Kind::TaskComplete)
            });
        }
        for ((agent, part), index) in members.into_iter().zip(0..) {
            let member = Member {
                // Replaced by the number of the outcome when that is accepted.
                block: MessageNo::default(),
                index,
                total,
                part,
                join: join.clone(),
            };
            plan.deliver(Delivery {
                row: Some(row),
                place: Some(WorkflowPlace::Member(member)),
                ..self.accepted(&agent, Kind::TaskComplete)
            });
        }
        plan.go(Forwarding::FanOut { join, rules })
    }

    pub(super) fn plan_target(
        &self,
        plan: &mut Plan,
        target: &Target,
        status: Option<&OutcomeWord>,
        row: KindRow,
        rule: Rule,
    ) -> Result<(), String> {
        let kind = kind_of_outcome(target, status, rule);
        let to = Address::from(target.clone());
        let to = match (kind, &plan.from) {
            (Kind::TaskComplete, Some(from)) => self.machine_for(&to, from).unwrap_or(to),
            (_, _) => to,
        };
        plan.deliver(Delivery {
            row: Some(row),
            rule: Some(rule),
            ..self.accepted(&to, kind)
        });
        // A question to the human does not finish the work.
        match kind == Kind::AskHuman {
            true => Ok(()),
            false => plan.go(Forwarding::On),
        }
    }
}

/// Does an outcome that is routed so ask the human?
fn asks_human(routed: &Route, status: Option<&OutcomeWord>) -> bool {
    match routed {
        Route::To { target, rule } => kind_of_outcome(target, status, *rule) == Kind::AskHuman,
        Route::FanOut { .. } | Route::Refused(_) => false,
    }
}

/// Are these the results of a block that the worker opened itself?
pub(super) fn is_own_join(work: &Work, who: &Address) -> bool {
    let joined = work.place().and_then(WorkflowPlace::joined);
    let opener = joined.and_then(|joined| joined.opener.as_ref());
    opener.is_some_and(|opener| opener.without_slot() == who.without_slot())
}

/// May an outcome with this word finish work that still has open asks?
pub(super) fn ends_in_spite_of_asks(status: Option<&OutcomeWord>) -> bool {
    status.is_some_and(OutcomeWord::is_failure)
}

fn back_to_itself() -> String {
    "the table sends this back to yourself: nobody wakes by their own message".into()
}
