//! What a message comes to: who gets it, as what, and by which row or rule. Nothing is
//! changed here; a message is accepted whole, or refused whole with the reason.

use indexmap::IndexSet;

use super::facts::{Delivery, Facts, Number};
use super::identity::Ancestry;
use super::infer::{
    Context, Inferred, NotAccepted, Reply, Row, Work as InHand, infer, kind_of_outcome,
};
use super::route::{Outcome, Route, Rule, Wanted, route};
use super::state::State;
use super::worker::{Giving, Member, Status, Way, Work};
use crate::model::{Address, Code, Envelope, Kind, Mode, MsgId, Resolved, Status as Word, Target};

/// How long an ask to the human is open at least.
const EXPIRES_AFTER: i64 = 60_000;

/// What a message comes to, decided before anything is changed.
#[derive(Default)]
pub(super) struct Plan {
    pub(super) deliveries: Vec<Delivery>,
    /// What it follows from, known before it is routed.
    pub(super) ancestry: Ancestry,
    /// The open asks that it answers.
    pub(super) answers: Vec<Number>,
    /// The asks in its author's hand that it answers too late.
    pub(super) late: Vec<Number>,
    /// It is an outcome, and goes this way.
    pub(super) way: Option<Way>,
    /// What its author is told, though it is accepted.
    pub(super) warnings: Vec<String>,
    /// The table refused it, and the mesh's fallback took it.
    pub(super) fallback: bool,
}

impl Plan {
    /// One delivery a recipient, however often it is named.
    fn deliver(&mut self, delivery: Delivery) {
        if !self.deliveries.iter().any(|known| known.to == delivery.to) {
            self.deliveries.push(delivery);
        }
    }

    /// An outcome goes one way.
    fn go(&mut self, way: Way) -> Result<(), String> {
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
        known: &[Facts],
        is_stdout: bool,
    ) -> Result<Plan, String> {
        let Envelope { from, .. } = envelope;
        if !self.is_somebody(from) {
            return Err(format!("there is no agent `{from}`"));
        }
        let mut plan = Plan::default();
        let mut recipients = Vec::new();
        for to in self.recipients(envelope)? {
            let reply = self.reply(envelope, to.as_ref(), known, &mut plan.answers);
            recipients.push((to, reply));
        }
        plan.ancestry = self.ancestry(envelope, &plan.answers, known);
        let named = plan.answers.len();
        for (to, reply) in recipients {
            let context = Context {
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
                        Row::LateAnswer | Row::WorkIsAsk => self.asker(envelope, known),
                        Row::Explicit if kind == Kind::AskResponse => self.asker(envelope, known),
                        Row::Explicit
                        | Row::Answer
                        | Row::CoreAnswers
                        | Row::Status
                        | Row::ToCore
                        | Row::FromCore
                        | Row::BetweenAgents => None,
                    };
                    let to = self.plan_kind(&mut plan, from, to.or(asker), kind, answers)?;
                    let late = kind == Kind::AskResponse && plan.answers.is_empty();
                    let (kind, row) = match late {
                        true => (Kind::Update, Row::LateAnswer),
                        false => (kind, row),
                    };
                    if row == Row::CoreAnswers
                        && let Some(ask) = plan.answers.last().and_then(|n| self.messages.get(*n))
                    {
                        plan.warnings.push(format!(
                            "it answers `{}` of {to}; `type: task` would make it new work",
                            ask.facts.id
                        ));
                    }
                    if row == Row::LateAnswer {
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
        let asked_by = |number: Number, who: &Address| {
            let ask = self.asks.get(number, from);
            ask.is_some_and(|ask| ask.asker == *who)
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
                Ok(to)
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
    fn recipients(&self, envelope: &Envelope) -> Result<Vec<Option<Address>>, String> {
        let from = &envelope.from;
        let mut recipients = Vec::with_capacity(envelope.to.len().max(1));
        for written in &envelope.to {
            let directory = self.meshes.directory();
            let to = match directory.resolve(written, from, envelope.status.as_ref()) {
                Ok(Resolved::To(address)) => Some(address),
                Ok(Resolved::Dispatch) => None,
                Err(why) => return Err(format!("to: {why}; {}", why.hint())),
            };
            if to.as_ref() == Some(from) && !from.is_core() {
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

    /// What has this id, of what is held and of what is known to have left.
    fn named<'k>(&'k self, id: &MsgId, known: &'k [Facts]) -> impl Iterator<Item = &'k Facts> {
        let held = self.messages.named(id);
        let id = id.clone();
        let past = known.iter();
        held.chain(past.filter(move |f| f.id == id || f.written.as_ref() == Some(&id)))
    }

    /// What `in-reply-to` names. The open asks among it are answered.
    fn reply(
        &self,
        envelope: &Envelope,
        to: Option<&Address>,
        known: &[Facts],
        answers: &mut Vec<Number>,
    ) -> Reply {
        let from = &envelope.from;
        let mut reply: Option<Reply> = None;
        for id in &envelope.in_reply_to {
            for facts in self.named(id, known) {
                if facts.refused.is_some() {
                    continue;
                }
                let by_recipient = to.is_none_or(|to| facts.from == *to);
                let open = self.asks.get(facts.number, from);
                let one_asker = to.is_some()
                    || answers.iter().all(|ask| {
                        let first = self.messages.get(*ask).map(|held| &held.facts.from);
                        first == Some(&facts.from)
                    });
                let found = match open {
                    Some(_) if by_recipient && one_asker => {
                        if !answers.contains(&facts.number) {
                            answers.push(facts.number);
                        }
                        Reply::Open(id.clone())
                    }
                    _ if by_recipient && facts.asked(from) => Reply::Closed(id.clone()),
                    // What another asked of core is not this one's to be answered.
                    _ if from.is_core() && facts.asked(from) => Reply::SomebodyElses(id.clone()),
                    // Ids are their authors' own: what was given to this sender is meant.
                    _ if facts.delivery(from).is_some() || facts.from == *from => {
                        Reply::Cause(id.clone())
                    }
                    _ if facts.deliveries.iter().any(Delivery::is_ask) => {
                        Reply::SomebodyElses(id.clone())
                    }
                    Some(_) | None => Reply::Unknown(id.clone()),
                };
                reply = Some(likelier(reply, found));
            }
            reply = Some(likelier(reply, Reply::Unknown(id.clone())));
        }
        reply.unwrap_or(Reply::NoAsk)
    }

    /// What the author of a wrong `in-reply-to` could have meant.
    fn open_asks(&self, of: Option<&Address>, asker: &Address) -> String {
        let Some(recipient) = of else {
            return String::new();
        };
        let worker = self.workers.get(recipient);
        let asking = worker.map_or(&[][..], |worker| &worker.asking);
        let open = asking.iter().filter(|(_, asked)| asked == asker);
        let open = open.filter_map(|(number, _)| self.messages.get(*number));
        let open: Vec<String> = open.map(|held| format!("`{}`", held.facts.id)).collect();
        match open.is_empty() {
            true => format!("; {recipient} waits for no answer of yours"),
            false => format!("; {recipient} waits for your answer to {}", open.join(", ")),
        }
    }

    /// Who asked what a message answers too late: what it names, else what is in hand.
    fn asker(&self, envelope: &Envelope, known: &[Facts]) -> Option<Address> {
        let from = &envelope.from;
        let named = envelope.in_reply_to.iter().find_map(|id| {
            let held = self.messages.named(id);
            let past = known.iter().filter(|facts| facts.id == *id);
            let mut asks = held.chain(past).filter(|facts| facts.asked(from));
            asks.next().map(|facts| facts.from.clone())
        });
        named.or_else(|| match self.in_hand(from) {
            InHand::Ask { asker, .. } => Some(asker),
            InHand::Nothing | InHand::Task => None,
        })
    }

    /// The asks in the author's hand that a late answer speaks of.
    fn late_asks(&self, envelope: &Envelope) -> Vec<Number> {
        let Some(work) = self.given(&envelope.from) else {
            return Vec::new();
        };
        let named = |ask: &Number| match envelope.in_reply_to.as_slice() {
            [] => work.only_ask() == Some(*ask),
            ids => {
                let id = self.messages.get(*ask).map(|held| &held.facts.id);
                id.is_some_and(|id| ids.contains(id))
            }
        };
        let open = |ask: &Number| self.asks.get(*ask, &envelope.from).is_some();
        let asks = work.items.iter().filter_map(|(_, item)| item.ask());
        asks.filter(|ask| named(ask) && !open(ask)).collect()
    }

    /// The oldest open ask to core of an agent: what a word of core's to it answers.
    pub fn asks_core(&self, agent: &Address) -> Option<MsgId> {
        let worker = self.workers.get(agent)?;
        let (oldest, _) = worker.asking.iter().find(|(_, asked)| asked.is_core())?;
        Some(self.messages.get(*oldest)?.facts.id.clone())
    }

    fn in_hand(&self, agent: &Address) -> InHand {
        let Some(work) = self.given(agent).filter(|work| work.owes()) else {
            return InHand::Nothing;
        };
        let Some(ask) = work.only_ask().and_then(|ask| self.messages.get(ask)) else {
            return InHand::Task;
        };
        InHand::Ask {
            id: ask.facts.id.clone(),
            asker: ask.facts.from.clone(),
        }
    }

    /// The work that an agent was given. What still waits for its process to come up, or
    /// for the one before to end, can have no outcome.
    pub(super) fn given(&self, agent: &Address) -> Option<&Work> {
        if self.now.outside.as_ref() == Some(agent) {
            return None;
        }
        let worker = self.workers.get(agent)?;
        let work = worker.status.work().filter(|work| work.begun)?;
        match worker.status {
            Status::Starting {
                giving: Giving::Spawning,
                ..
            } if !work.taken && worker.traits.is_some_and(|t| t.mode == Mode::Pane) => None,
            Status::Idle
            | Status::Starting { .. }
            | Status::Working { .. }
            | Status::Awaiting { .. }
            | Status::AwaitingHuman { .. }
            | Status::Limited { .. }
            | Status::Checking { .. }
            | Status::Backoff { .. }
            | Status::Stopping { .. } => Some(work),
        }
    }

    /// Can a message not be of the work that its author has in hand: written before that
    /// was handed over, or while nobody knows whether it was? What names it knows it.
    pub(super) fn is_outside(&self, envelope: &Envelope, written: Option<u32>) -> bool {
        let worker = self.workers.get(&envelope.from);
        let Some((worker, work)) = worker.and_then(|w| Some((w, w.status.work()?))) else {
            return false;
        };
        let before = written.is_some_and(|turn| turn < work.first_turn);
        let unconfirmed = !work.taken && worker.status.giving() == Some(Giving::Unconfirmed);
        (before || unconfirmed) && !self.names_what_it_has(envelope)
    }

    /// Does a message name something that its author was given with the work in hand?
    pub(super) fn names_what_it_has(&self, envelope: &Envelope) -> bool {
        let worker = self.workers.get(&envelope.from);
        let Some(work) = worker.and_then(|worker| worker.status.work()) else {
            return false;
        };
        let mut all = work.messages().chain(work.turn.iter().copied());
        all.any(|number| {
            let id = self.messages.get(number).map(|held| &held.facts.id);
            id.is_some_and(|id| envelope.in_reply_to.contains(id))
        })
    }

    /// The fan-out that an agent's outcome belongs to: that of the dead letter it names,
    /// else that of its work, or with nothing in hand that of its last.
    fn member<'k>(&'k self, envelope: &Envelope, known: &'k [Facts]) -> Option<&'k Member> {
        let agent = &envelope.from;
        let in_hand = |facts: &Facts| {
            let mut given = self.given(agent).into_iter().flat_map(Work::messages);
            given.any(|number| number == facts.number)
        };
        let ids = envelope.in_reply_to.iter();
        let named = ids.flat_map(|id| self.named(id, known));
        let about: Vec<&Facts> = named.filter(|f| f.delivery(agent).is_some()).collect();
        if !about.iter().any(|facts| in_hand(facts)) {
            let mut parked = about.iter().filter(|facts| facts.is_parked_at(agent));
            if let Some(parked) = parked.next() {
                return parked.delivery(agent)?.set.as_ref();
            }
        }
        match self.given(agent).filter(|work| work.owes()) {
            Some(work) => work.set(),
            None => self.workers.get(agent)?.last.as_ref()?.set.as_ref(),
        }
    }

    /// Where an outcome would go, or why it may not.
    pub(super) fn plan_outcome(
        &self,
        plan: &mut Plan,
        envelope: &Envelope,
        to: Option<&Address>,
        row: Row,
        known: &[Facts],
    ) -> Result<(), String> {
        let from = &envelope.from;
        let complete: Word = "complete".parse().expect("a word is a status");
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
        let Some(mesh) = self.mesh(&from.mesh) else {
            return self.plan_target(plan, &Target::Core, status, row, Rule::NoRow);
        };
        let work = worker.and_then(|worker| worker.status.work());
        let route_to = match &envelope.route_to {
            None => None,
            Some(written) => match self.meshes.directory().resolve(written, from, None) {
                Ok(Resolved::To(address)) => Some(Wanted::from(&address)),
                Ok(Resolved::Dispatch) => None,
                Err(why) => return Err(format!("route_to: {why}; {}", why.hint())),
            },
        };
        let outcome = Outcome {
            sender: &from.agent,
            status,
            to: to.map_or(Wanted::Routing, Wanted::from),
            route_to,
        };
        let routed = route(mesh, &outcome);
        // What a member of a fan-out says goes to the join, unless it needs the human.
        if let Some(member) = self.member(envelope, known) {
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
                    ..self.accepted(&join, Kind::TaskComplete)
                };
                plan.deliver(delivery);
                return plan.go(Way::Join(member.clone()));
            }
            if blocked {
                return self.plan_target(plan, &Target::Core, status, row, Rule::BlockedToCore);
            }
        }
        match routed {
            Route::To { target, rule } => {
                if target == Target::Agent(from.clone()) {
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
                let members: IndexSet<Address> = members
                    .into_iter()
                    .map(Address::from)
                    .filter(|member| member != from)
                    .collect();
                if members.is_empty() {
                    return Err(back_to_itself());
                }
                for member in members {
                    plan.deliver(Delivery {
                        row: Some(row),
                        ..self.accepted(&member, Kind::TaskComplete)
                    });
                }
                plan.go(Way::FanOut { join })
            }
            Route::Refused(why) => {
                let rails = &mesh.guardrails.routing_error;
                let misrouted = work.map_or(0, |work| work.misrouted);
                match (&rails.fallback, rails.max_retries.unwrap_or(2)) {
                    // Nobody wakes by their own message.
                    (Some(fallback), most)
                        if misrouted >= most && *fallback != Target::Agent(from.clone()) =>
                    {
                        plan.fallback = true;
                        self.plan_target(plan, fallback, status, row, Rule::Fallback)
                    }
                    (Some(_) | None, _) => Err(why.to_string()),
                }
            }
        }
    }

    fn plan_target(
        &self,
        plan: &mut Plan,
        target: &Target,
        status: Option<&Word>,
        row: Row,
        rule: Rule,
    ) -> Result<(), String> {
        let kind = kind_of_outcome(target, status, rule);
        let to = Address::from(target.clone());
        plan.deliver(Delivery {
            row: Some(row),
            rule: Some(rule),
            ..self.accepted(&to, kind)
        });
        // What asks the human is a question, and finishes nothing.
        match kind == Kind::AskHuman {
            true => Ok(()),
            false => plan.go(Way::On),
        }
    }
}

/// What a message rather answers, if it names several.
fn likelier(best: Option<Reply>, found: Reply) -> Reply {
    let likely = |reply: &Reply| match reply {
        Reply::Open(_) => 5,
        Reply::Closed(_) => 4,
        Reply::Cause(_) => 3,
        Reply::SomebodyElses(_) => 2,
        Reply::Unknown(_) => 1,
        Reply::NoAsk => 0,
    };
    match best {
        Some(best) if likely(&best) >= likely(&found) => best,
        Some(_) | None => found,
    }
}

fn nobody() -> String {
    "there is nobody that it could go to".into()
}

/// The word of an outcome, as far as it finishes work in spite of open asks.
pub(super) fn ends_in_spite_of_asks(status: Option<&Word>) -> bool {
    status.is_some_and(|status| matches!(status.as_str(), "error" | "blocked"))
}

fn back_to_itself() -> String {
    "the table sends this back to yourself: nobody wakes by their own message".into()
}
