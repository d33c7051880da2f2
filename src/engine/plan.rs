//! Plans a message: who gets it, as which kind, and by which row or rule. Nothing is changed
//! here. A message is accepted as a whole, or refused as a whole with the reason.

use super::identity::Ancestry;
use super::infer::{InferContext, Inferred, KindRow, NotAccepted, infer};
use super::message_record::{Delivery, MessageNo, MessageRecord};
use super::state::State;
use super::work::{Forwarding, Work};
use crate::model::{
    Address, Code, Envelope, Kind, MsgId, OutcomeWord, Rearmatter, Recipient, Resolved, Target,
};

/// An ask to the human stays open at least this long, in milliseconds.
const EXPIRES_AFTER: i64 = 60_000;

/// The decision about a message, made before anything is changed.
#[derive(Default)]
pub(super) struct Plan {
    pub(super) deliveries: Vec<Delivery>,
    /// The messages that it follows from.
    pub(super) ancestry: Ancestry,
    /// The open asks that it answers.
    pub(super) answers: Vec<MessageNo>,
    /// The closed asks in its author's current work that it answers too late.
    pub(super) late: Vec<MessageNo>,
    /// Where it goes, if it is an outcome.
    pub(super) way: Option<Forwarding>,
    /// Hints for its author. The message is accepted anyway.
    pub(super) warnings: Vec<String>,
    /// The table refused it, and it goes to the mesh's fallback.
    pub(super) fallback: bool,
    /// The numbers of the parts of its text, in order of appearance.
    pub(super) parts: Vec<u32>,
    /// Its author.
    pub(super) from: Option<Address>,
    /// The quality report below its text.
    pub(super) rearmatter: Rearmatter,
}

impl Plan {
    /// Add a delivery: one per recipient, however often it is named, and one per member of a
    /// block.
    pub(super) fn deliver(&mut self, delivery: Delivery) {
        let key = delivery.key();
        if !self.deliveries.iter().any(|known| known.is(key)) {
            self.deliveries.push(delivery);
        }
    }

    /// Set the destination of an outcome. There can be only one.
    pub(super) fn go(&mut self, way: Forwarding) -> Result<(), String> {
        match &self.way {
            Some(other) if *other != way => Err(
                "it cannot go to a fan-out and elsewhere at once: leave `to` out, or name one"
                    .into(),
            ),
            Some(_) | None => {
                self.way = Some(way);
                Ok(())
            }
        }
    }
}

impl State {
    /// Plan a message, or return why it is not accepted.
    pub(super) fn plan(
        &self,
        envelope: &Envelope,
        known: &[MessageRecord],
        parts: &[u32],
        said: &Rearmatter,
        is_stdout: bool,
    ) -> Result<Plan, String> {
        let Envelope { from, .. } = envelope;
        if !self.is_somebody(from) {
            return Err(format!("there is no agent `{from}`"));
        }
        let mut plan = Plan {
            parts: parts.to_vec(),
            from: Some(from.clone()),
            rearmatter: said.clone(),
            ..Plan::default()
        };
        let mut recipients = Vec::new();
        let decided = self.stage_of(envelope, known).is_some() || self.opens_block(envelope, known);
        for to in self.recipients(envelope, decided)? {
            let reply = self.reply(envelope, to.as_ref(), known, &mut plan.answers);
            recipients.push((to, reply));
        }
        plan.ancestry = self.ancestry(envelope, &plan.answers, known);
        let named = plan.answers.len();
        for (to, reply) in recipients {
            let context = InferContext {
                from,
                to: to.as_ref(),
                explicit: envelope.kind,
                status: envelope.status.as_ref(),
                reply,
                recipient_asks_core: to.as_ref().and_then(|to| self.asks_core(to)),
                work: self.in_hand(from),
                is_stdout,
            };
            match infer(&context) {
                Inferred::Refused(why) => {
                    let open = match &why {
                        NotAccepted::SomebodyElsesAsk(_)
                        | NotAccepted::NothingKnown(_)
                        | NotAccepted::NoOpenAsk(_) => self.open_asks(to.as_ref(), from),
                        NotAccepted::CoreToCore
                        | NotAccepted::ToSystem(_)
                        | NotAccepted::AsSystem
                        | NotAccepted::Nowhere => String::new(),
                    };
                    return Err(format!("{why}{open}"));
                }
                Inferred::Kind { kind, row, answers } => {
                    let to = to.or_else(|| self.implied_asker(envelope, (kind, row), known));
                    self.plan_delivery(&mut plan, envelope, to, (kind, row), answers)?;
                }
                Inferred::Outcome(row) => {
                    if let Some(slot) = to.as_ref().filter(|to| to.slot.is_some()) {
                        return Err(one_of_several(slot));
                    }
                    self.plan_outcome(&mut plan, envelope, to.as_ref(), row, known)?;
                }
            }
        }
        let asks_human = |delivery: &Delivery| delivery.kind == Kind::AskHuman;
        if plan.deliveries.iter().any(asks_human) {
            self.may_answer_itself(envelope)?;
        }
        if plan.answers.len() > named {
            // It answers asks that it does not name.
            plan.ancestry = self.ancestry(envelope, &plan.answers, known);
        }
        Ok(plan)
    }

    /// The asker that an answer without a recipient is meant for.
    fn implied_asker(
        &self,
        envelope: &Envelope,
        (kind, row): (Kind, KindRow),
        known: &[MessageRecord],
    ) -> Option<Address> {
        match row {
            KindRow::LateAnswer | KindRow::WorkIsAsk => self.asker(envelope, known),
            KindRow::Explicit if kind == Kind::AskResponse => self.asker(envelope, known),
            KindRow::Explicit
            | KindRow::Answer
            | KindRow::CoreAnswers
            | KindRow::Status
            | KindRow::ToCore
            | KindRow::FromCore
            | KindRow::BetweenAgents => None,
        }
    }

    /// Plan the delivery of a message that is no outcome to one recipient.
    fn plan_delivery(
        &self,
        plan: &mut Plan,
        envelope: &Envelope,
        to: Option<Address>,
        (kind, row): (Kind, KindRow),
        answers: Option<MsgId>,
    ) -> Result<(), String> {
        let from = &envelope.from;
        let to = self.plan_kind(plan, from, to, kind, answers)?;
        let to = match kind {
            Kind::Task | Kind::TaskComplete => self.machine_for(&to, from).unwrap_or(to),
            Kind::AskResponse if !plan.answers.is_empty() => to,
            Kind::Ask | Kind::AskHuman | Kind::AskResponse | Kind::Update | Kind::Lifecycle => {
                self.agent_at(to)?
            }
        };
        if kind == Kind::Ask {
            self.may_ask(from, &to)?;
        }
        let for_agent = matches!(kind, Kind::Task | Kind::Ask | Kind::TaskComplete);
        if for_agent && to.slot.is_some() {
            return Err(one_of_several(&to));
        }
        let tier = envelope.extra.get("tier").and_then(|tier| tier.as_str());
        let unknown = tier.filter(|_| for_agent);
        let unknown = unknown.and_then(|tier| self.unknown_tier(&to, tier));
        plan.warnings.extend(unknown);
        let late = kind == Kind::AskResponse && plan.answers.is_empty();
        let (kind, row) = match late {
            true => (Kind::Update, KindRow::LateAnswer),
            false => (kind, row),
        };
        if row == KindRow::CoreAnswers
            && let Some(ask) = plan.answers.last().and_then(|n| self.messages.get(*n))
        {
            plan.warnings.push(format!(
                "it answers `{}` of {to}; `type: task` would make it new work",
                ask.facts.id
            ));
        }
        if row == KindRow::LateAnswer {
            plan.late.extend(self.late_asks(envelope));
            plan.warnings.push(format!(
                "the ask that you answered is closed: {to} gets your answer as an update"
            ));
        }
        plan.deliver(Delivery {
            row: Some(row),
            ..self.accepted(&to, kind)
        });
        Ok(())
    }

    /// In a strict mesh, an agent may ask only the agents that its row lists. Everybody may ask
    /// the human.
    fn may_ask(&self, from: &Address, to: &Address) -> Result<(), String> {
        let Some(mesh) = self.mesh(&from.mesh) else {
            return Ok(());
        };
        let listed = mesh.routing.asks.get(&from.agent);
        let listed = listed.filter(|asks| asks.keys().any(|to| *to != Target::Core));
        let Some(listed) = listed.filter(|_| mesh.guardrails.routing_error.strict) else {
            return Ok(());
        };
        let target = Target::from(to.without_slot());
        let brain = mesh.brain && to.mesh.as_str() == "brain";
        if listed.contains_key(&target) || target == Target::Core || brain {
            return Ok(());
        }
        let known = listed.keys().filter(|to| **to != Target::Core);
        let known: Vec<String> = known.map(|to| to.within(&from.mesh)).collect();
        Err(format!(
            "your table does not let you ask {}: ask {}, or core",
            target.within(&from.mesh),
            known.join(", ")
        ))
    }

    /// An ask with a default must leave the human time to see it, and must not ask for a
    /// permission.
    fn may_answer_itself(&self, envelope: &Envelope) -> Result<(), String> {
        let code = Code::AnswersItself.id();
        let by_itself = envelope.default.is_some() || envelope.expires.is_some();
        if by_itself && envelope.is_permission() {
            return Err(format!(
                "{code}: it asks for a permission, which only a person gives: leave `default` and `expires` out"
            ));
        }
        let expires = envelope.expires.map(|time| time.timestamp_millis());
        match expires.is_some_and(|due| due < self.at.saturating_add(EXPIRES_AFTER)) {
            true => Err(format!(
                "{code}: `expires` is less than 60 seconds from now: give the human more time, or leave it out"
            )),
            false => Ok(()),
        }
    }

    fn plan_kind(
        &self,
        plan: &mut Plan,
        from: &Address,
        to: Option<Address>,
        kind: Kind,
        answers: Option<MsgId>,
    ) -> Result<Address, String> {
        let asked_by = |number: MessageNo, who: &Address| {
            let ask = self.asks.get(number, from);
            ask.is_some_and(|ask| ask.asker.is_of(who))
        };
        let named = match &to {
            Some(to) => plan.answers.iter().any(|ask| asked_by(*ask, to)),
            None => !plan.answers.is_empty(),
        };
        if let (Some(id), false) = (&answers, named) {
            // Rows 2 and 3: the message did not name the ask.
            let in_hand = self.given(from).and_then(Work::only_ask);
            let numbers = self.messages.named(id).map(|facts| facts.number);
            let open = numbers.filter(|number| match &to {
                Some(to) if from.is_core() => asked_by(*number, to),
                // Another agent may have asked something under the same id.
                Some(_) | None => {
                    in_hand == Some(*number) && self.asks.get(*number, from).is_some()
                }
            });
            plan.answers.extend(open.min());
        }
        match (kind, to) {
            // An answer goes to the asker, whatever `to` says.
            (Kind::AskResponse, Some(to)) if plan.answers.iter().any(|ask| asked_by(*ask, &to)) => {
                let mut answers = plan.answers.iter();
                let ask = answers.find(|ask| asked_by(**ask, &to));
                let ask = ask.and_then(|ask| self.asks.get(*ask, from));
                Ok(ask.map_or(to, |ask| ask.asker.clone()))
            }
            (Kind::AskResponse, to) => {
                let asker = plan
                    .answers
                    .iter()
                    .find_map(|ask| self.asks.get(*ask, from));
                let asker = asker.map(|ask| ask.asker.clone());
                asker.or(to).ok_or_else(nobody)
            }
            (_, to) => to.ok_or_else(nobody),
        }
    }

    /// The recipients. `None` means that the routing table decides.
    fn recipients(
        &self,
        envelope: &Envelope,
        decided: bool,
    ) -> Result<Vec<Option<Address>>, String> {
        let from = &envelope.from;
        // The machine or the block decides where an outcome goes; only the human can be named.
        let is_outcome = envelope.status.is_some()
            && envelope.kind.is_none_or(|kind| kind == Kind::TaskComplete)
            && !self.answers_something(envelope);
        if decided && is_outcome {
            let core = Recipient::Full(Address::core());
            let blocked = envelope
                .status
                .as_ref()
                .is_some_and(OutcomeWord::is_blocked);
            let human = blocked && envelope.to.contains(&core);
            return Ok(vec![human.then(Address::core)]);
        }
        let mut recipients = Vec::with_capacity(envelope.to.len().max(1));
        for written in &envelope.to {
            let to = match self.resolve(written, from, envelope.status.as_ref()) {
                Ok(Resolved::To(address)) => Some(address),
                Ok(Resolved::Dispatch) => None,
                Err(why) => return Err(format!("to: {why}; {}", why.hint())),
            };
            let itself = to.as_ref().is_some_and(|to| from.is_of(to));
            if itself && !from.is_core() {
                return Err("an agent cannot write to itself: name another recipient".into());
            }
            if !recipients.contains(&to) {
                recipients.push(to);
            }
        }
        if recipients.is_empty() {
            recipients.push(None);
        }
        Ok(recipients)
    }
}

fn one_of_several(slot: &Address) -> String {
    let agent = slot.without_slot();
    format!(
        "{slot} is one of the workers of {agent}: write to `{agent}`, and the next that is free takes it"
    )
}

fn nobody() -> String {
    "there is nobody that it could go to".into()
}
