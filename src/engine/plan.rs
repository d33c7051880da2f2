//! What a message comes to: who gets it, as what, and by which row or rule. Nothing is
//! changed here; a message is accepted whole, or refused whole with the reason.

use indexmap::IndexSet;

use super::fanout::BlockRules;
use super::identity::Ancestry;
use super::infer::{InferContext, Inferred, KindRow, NotAccepted, infer, kind_of_outcome};
use super::message_record::{Delivery, MessageNo, MessageRecord};
use super::route::{Addressee, Outcome, Route, Rule, block_for, opening, route};
use super::state::State;
use super::work::{Forwarding, Member, Work, WorkflowPlace};
use crate::model::{
    Address, Code, Envelope, Kind, MsgId, OutcomeWord, Rearmatter, Recipient, Resolved, Target,
};

/// How long an ask to the human is open at least.
const EXPIRES_AFTER: i64 = 60_000;

/// What a message comes to, decided before anything is changed.
#[derive(Default)]
pub(super) struct Plan {
    pub(super) deliveries: Vec<Delivery>,
    /// What it follows from, known before it is routed.
    pub(super) ancestry: Ancestry,
    /// The open asks that it answers.
    pub(super) answers: Vec<MessageNo>,
    /// The asks in its author's hand that it answers too late.
    pub(super) late: Vec<MessageNo>,
    /// It is an outcome, and goes this way.
    pub(super) way: Option<Forwarding>,
    /// What its author is told, though it is accepted.
    pub(super) warnings: Vec<String>,
    /// The table refused it, and the mesh's fallback took it.
    pub(super) fallback: bool,
    /// The numbers of the parts of its text, in order of appearance.
    pub(super) parts: Vec<u32>,
    /// Its author.
    pub(super) from: Option<Address>,
    /// What its author says of it, below the text.
    pub(super) rearmatter: Rearmatter,
}

impl Plan {
    /// One delivery a recipient, however often it is named, and one a member of a block.
    pub(super) fn deliver(&mut self, delivery: Delivery) {
        let key = delivery.key();
        if !self.deliveries.iter().any(|known| known.is(key)) {
            self.deliveries.push(delivery);
        }
    }

    /// An outcome goes one way.
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
    /// What a message comes to, or why it is not accepted.
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
        let stage = self.stage_of(envelope, known);
        for to in self.recipients(envelope, stage.is_some())? {
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
                    let asker = match row {
                        KindRow::LateAnswer | KindRow::WorkIsAsk => self.asker(envelope, known),
                        KindRow::Explicit if kind == Kind::AskResponse => {
                            self.asker(envelope, known)
                        }
                        KindRow::Explicit
                        | KindRow::Answer
                        | KindRow::CoreAnswers
                        | KindRow::Status
                        | KindRow::ToCore
                        | KindRow::FromCore
                        | KindRow::BetweenAgents => None,
                    };
                    let to = self.plan_kind(&mut plan, from, to.or(asker), kind, answers)?;
                    let to = match kind {
                        Kind::Task | Kind::TaskComplete => {
                            self.machine_for(&to, from).unwrap_or(to)
                        }
                        Kind::AskResponse if !plan.answers.is_empty() => to,
                        Kind::Ask
                        | Kind::AskHuman
                        | Kind::AskResponse
                        | Kind::Update
                        | Kind::Lifecycle => self.agent_at(to)?,
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
                            "the ask that you answered is closed: {to} gets your answer as news"
                        ));
                    }
                    let delivery = Delivery {
                        row: Some(row),
                        ..self.accepted(&to, kind)
                    };
                    plan.deliver(delivery);
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
            // It answers what it does not name.
            plan.ancestry = self.ancestry(envelope, &plan.answers, known);
        }
        Ok(plan)
    }

    /// In a strict mesh an agent asks whom its row lists. The human can always be asked.
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

    /// An ask that answers itself leaves the human time to see it, and gives no leave.
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
            // Rows 2 and 3: the ask was not named.
            let in_hand = self.given(from).and_then(Work::only_ask);
            let numbers = self.messages.named(id).map(|facts| facts.number);
            let open = numbers.filter(|number| match &to {
                Some(to) if from.is_core() => asked_by(*number, to),
                // Somebody else may have asked something under the same id.
                Some(_) | None => {
                    in_hand == Some(*number) && self.asks.get(*number, from).is_some()
                }
            });
            plan.answers.extend(open.min());
        }
        match (kind, to) {
            // An answer goes to who asked, whatever its `to` says.
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

    /// The recipients; `None` is "route this for me".
    fn recipients(
        &self,
        envelope: &Envelope,
        in_stage: bool,
    ) -> Result<Vec<Option<Address>>, String> {
        let from = &envelope.from;
        // Where the outcome of a stage goes is the machine's business; only the human is named.
        let is_outcome = envelope.status.is_some()
            && envelope.kind.is_none_or(|kind| kind == Kind::TaskComplete)
            && !self.answers_something(envelope);
        if in_stage && is_outcome {
            let core = Recipient::Full(Address::core());
            let blocked = envelope
                .status
                .as_ref()
                .is_some_and(|it| it.as_str() == "blocked");
            let human = blocked && envelope.to.contains(&core);
            return Ok(vec![human.then(Address::core)]);
        }
        let mut recipients = Vec::with_capacity(envelope.to.len().max(1));
        for written in &envelope.to {
            let directory = self.meshes.directory();
            let to = match directory.resolve(written, from, envelope.status.as_ref()) {
                Ok(Resolved::To(address)) => Some(address),
                Ok(Resolved::Dispatch) => None,
                Err(why) => return Err(format!("to: {why}; {}", why.hint())),
            };
            let itself = to.as_ref().is_some_and(|to| from.is_of(to));
            if itself && !from.is_core() {
                return Err("nobody writes to itself: leave it, or name another".into());
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
        let complete: OutcomeWord = "complete".parse().expect("a word is a status");
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
        let blocked = status.is_some_and(|status| status.as_str() == "blocked");
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
            let blocked = status.is_some_and(|status| status.as_str() == "blocked");
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
                        "your table does not list `{}` for this status; it was passed on all the same",
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

fn one_of_several(slot: &Address) -> String {
    let agent = slot.without_slot();
    format!(
        "{slot} is one of the workers of {agent}: write to `{agent}`, and the next that is free takes it"
    )
}

fn nobody() -> String {
    "there is nobody that it could go to".into()
}

/// The word of an outcome, as far as it finishes work in spite of open asks.
pub(super) fn ends_in_spite_of_asks(status: Option<&OutcomeWord>) -> bool {
    status.is_some_and(|status| matches!(status.as_str(), "error" | "blocked"))
}

fn back_to_itself() -> String {
    "the table sends this back to yourself: nobody wakes by their own message".into()
}
