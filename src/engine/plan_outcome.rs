//! Where an outcome goes: to the join of its block, its machine, a block that it opens, or by the
//! table. Nothing is changed here.

use indexmap::IndexSet;

use super::fanout::BlockRules;
use super::infer::{KindRow, kind_of_outcome};
use super::message_record::{Delivery, MessageNo, MessageRecord};
use super::plan::Plan;
use super::route::{Addressee, Outcome, Route, Rule, block_for, opening, route};
use super::state::State;
use super::work::{Forwarding, Member, Work, WorkflowPlace};
use crate::model::{Address, Envelope, Kind, OutcomeWord, Resolved, Target};

impl State {
    /// Where an outcome would go, or why it may not.
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
        // What an evaluator says is its verdict, and not routed, unless it needs the human.
        let blocked = status.is_some_and(OutcomeWord::is_blocked);
        if blocked && self.judges(from).is_some() {
            return self.plan_target(plan, &Target::Core, status, row, Rule::BlockedToCore);
        }
        if let Some(asked) = self.judges(from) {
            let delivery = Delivery {
                row: Some(row),
                ..self.accepted(&asked.author, Kind::TaskComplete)
            };
            plan.deliver(delivery);
            return plan.go(Forwarding::Verdict);
        }
        let work = worker.and_then(|worker| worker.status.work());
        let route_to = match &envelope.route_to {
            None => None,
            Some(written) => match self.meshes.directory().resolve(written, from, None) {
                Ok(Resolved::To(address)) => Some(Addressee::from(&address)),
                Ok(Resolved::Dispatch) => None,
                Err(why) => return Err(format!("route_to: {why}; {}", why.hint())),
            },
        };
        let outcome = Outcome {
            sender: &from.agent,
            status,
            to: to.map_or(Addressee::Routing, Addressee::from),
            route_to,
        };
        let routed = route(mesh, &outcome);
        // What a member of a fan-out says goes to the join, unless it needs the human.
        let place = self.place_of(envelope, known);
        if let Some(member) = place.and_then(WorkflowPlace::member) {
            let asks = match &routed {
                Route::To { target, rule } => {
                    kind_of_outcome(target, status, *rule) == Kind::AskHuman
                }
                Route::FanOut { .. } | Route::Refused(_) => false,
            };
            let blocked = status.is_some_and(OutcomeWord::is_blocked);
            if !asks && !blocked {
                let join = Address::from(member.join.clone());
                let delivery = Delivery {
                    row: Some(row),
                    place: self.step_of_block(member),
                    ..self.accepted(&join, Kind::TaskComplete)
                };
                plan.deliver(delivery);
                return plan.go(Forwarding::Join(member.clone()));
            }
            if blocked {
                return self.plan_target(plan, &Target::Core, status, row, Rule::BlockedToCore);
            }
        }
        let own_join = work.is_some_and(|work| is_own_join(work, from));
        let all: Vec<Addressee> = self.wanted(envelope);
        if let Some(block) = block_for(mesh, &outcome, &all, own_join) {
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
            return self.plan_block(plan, opening.members, opening.join, rules, row);
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
            Route::FanOut { members, join } => {
                // Joined results of its own block go past the block.
                if own_join {
                    return self.plan_target(plan, &Target::Core, status, row, Rule::NoRow);
                }
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
                    // Nobody wakes by their own message.
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

    /// All that an author named.
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

    /// A block opens: a delivery for each member, with its part of the message.
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
            // It is finished there when the block opens.
            plan.deliver(Delivery {
                row: Some(row),
                ..self.accepted(&Address::from(join.clone()), Kind::TaskComplete)
            });
        }
        for ((agent, part), index) in members.into_iter().zip(0..) {
            let member = Member {
                // Its own number, which it has when it is accepted.
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
            _ => to,
        };
        plan.deliver(Delivery {
            row: Some(row),
            rule: Some(rule),
            ..self.accepted(&to, kind)
        });
        // What asks the human is a question, and finishes nothing.
        match kind == Kind::AskHuman {
            true => Ok(()),
            false => plan.go(Forwarding::On),
        }
    }
}

/// Are these the results of a block that their recipient opened itself?
pub(super) fn is_own_join(work: &Work, who: &Address) -> bool {
    let joined = work.place().and_then(WorkflowPlace::joined);
    let opener = joined.and_then(|joined| joined.opener.as_ref());
    opener.is_some_and(|opener| opener.without_slot() == who.without_slot())
}

/// The word of an outcome, as far as it finishes work in spite of open asks.
pub(super) fn ends_in_spite_of_asks(status: Option<&OutcomeWord>) -> bool {
    status.is_some_and(OutcomeWord::is_failure)
}

fn back_to_itself() -> String {
    "the table sends this back to yourself: nobody wakes by their own message".into()
}
