//! What came of a message, held against what may come of it.

use std::collections::{BTreeMap, BTreeSet};

use tx::model::{Address, Envelope, Kind, MsgId};

use super::kinds::{Accepted, May};
use super::{At, Delivery, Message, Model, Run, Sent};

/// What tx made of a message.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    pub(crate) number: Message,
    pub(crate) id: MsgId,
    pub(crate) written: Option<MsgId>,
    pub(crate) to: BTreeMap<Address, Kind>,
    pub(crate) refused: bool,
    /// It was parked in the moment it came.
    pub(crate) parked: bool,
    pub(crate) cause: Vec<Message>,
    pub(crate) run: Option<Message>,
    pub(crate) hops: u32,
    pub(crate) at: i64,
}

/// How many messages may follow from each other.
const HOPS: u32 = 50;

/// What an accepted message counts for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Counts {
    /// As one more of its run.
    Once,
    /// As what it was before.
    AsBefore,
    /// tx wrote it in the name of an agent: as nothing.
    Nothing,
}

impl Model {
    /// A file was read. `made`: what tx made of it; nothing, if it was known.
    pub(crate) fn file(
        &mut self,
        path: &str,
        hash: &str,
        said: &Envelope,
        late: bool,
        made: Option<&Made>,
    ) {
        let before = self.paths.get(path).cloned();
        if before.as_ref().is_some_and(|(known, _)| known == hash) {
            assert!(
                made.is_none(),
                "the model: {path} says what it said, and became {made:?}"
            );
            return;
        }
        let amended = before.and_then(|(_, number)| number);
        let accepted = made.filter(|made| !made.refused).map(|made| made.number);
        let own = said.from.is_system() || self.is_own(said);
        if made.is_none() && own {
            return;
        }
        let again = self.paths.contains_key(path) && amended.is_none();
        self.paths
            .insert(path.to_owned(), (hash.to_owned(), accepted));
        if self.is_reworded(amended, made) {
            // An answer that waits for others says the same to the same in other words.
            let sent = amended.and_then(|number| self.sent.get_mut(&number));
            if let Some(sent) = sent {
                sent.hash = Some(hash.to_owned());
            }
            return;
        }
        let mut may = self.all_that_may_come(said, late, amended);
        if made.is_some_and(|made| answers_itself(said, made.at)) {
            for may in &mut may {
                if let May::Accepted(accepted) = may
                    && accepted.to.values().any(|kind| *kind == Kind::AskHuman)
                {
                    *may = May::Refused;
                }
            }
        }
        if late && self.was_member(&said.from) {
            may.push(May::Any);
        }
        // Whether these still wait for answers is known after the commit.
        if self.is_about_unsure(said, late) {
            may.push(May::Any);
        }
        if again {
            // It was refused before: what it was to amend may have been given on.
            may.push(May::Refused);
        }
        self.compare(said, &may, made, amended);
        match made {
            Some(made) if made.refused => self.refuse(&said.from),
            Some(_) => drop(self.refused.remove(&said.from)),
            None => {}
        }
        if let Some(made) = made.filter(|made| !made.refused) {
            if amended == Some(made.number) {
                self.retract(made.number);
            }
            let counts = match amended {
                Some(_) => Counts::AsBefore,
                None => Counts::Once,
            };
            self.accept(said, Some(hash), &may, made, counts, late);
        }
    }

    fn is_reworded(&self, amended: Option<Message>, made: Option<&Made>) -> bool {
        let sent = amended.and_then(|number| self.sent.get(&number));
        let (Some(sent), Some(made)) = (sent, made) else {
            return false;
        };
        let kinds = sent.to.iter().map(|(to, d)| (to.clone(), d.kind));
        let waits = |d: &super::Delivery| d.kind == Kind::AskResponse && !d.leased;
        amended == Some(made.number)
            && !made.refused
            && sent.to.values().all(waits)
            && kinds.collect::<BTreeMap<_, _>>() == made.to
    }

    /// A file was read that is not a message.
    pub(crate) fn spoiled(&mut self, path: &str, hash: &str, author: Option<&Address>) {
        self.paths.insert(path.to_owned(), (hash.to_owned(), None));
        if let Some(author) = author {
            self.refuse(author);
        }
    }

    /// After the third note in a row its author's work is given up, and what it asked.
    fn refuse(&mut self, author: &Address) {
        let refused = self.refused.entry(author.clone()).or_default();
        *refused += 1;
        if *refused >= 3 {
            self.unsure.insert(author.clone());
        }
    }

    /// A `command` agent has printed its outcome; or tx wrote one for an agent whose outcomes
    /// never passed their gates, which costs nothing.
    pub(crate) fn printed(&mut self, said: &Envelope, made: &Made, costs: bool) {
        let mut may = Vec::new();
        for hand in self.hands_of(&said.from, false) {
            // What is printed answers the ask in hand.
            match hand.and_then(super::Hand::only_ask) {
                Some(ask) => may.push(self.answer_of(&said.from, ask)),
                None => may.extend(self.may(said, hand)),
            }
        }
        if self.is_about_unsure(said, false) {
            may.push(May::Any);
        }
        self.compare(said, &may, Some(made), None);
        // An outcome that no gate has passed is parked with work that still owes an answer.
        let parked = made.parked && !(self.is_gated(said) && self.owes_answer(&said.from));
        let made = Made {
            parked,
            ..made.clone()
        };
        let counts = match costs {
            true => Counts::Once,
            false => Counts::Nothing,
        };
        self.accept(said, None, &may, &made, counts, false);
    }

    /// Does a gate of its mesh check this outcome?
    fn is_gated(&self, said: &Envelope) -> bool {
        let mesh = self.meshes.get(&said.from.mesh);
        let mut gates = mesh.into_iter().flat_map(|mesh| &mesh.gates);
        gates.any(|gate| {
            let agent = gate.agent.as_ref();
            agent.is_none_or(|agent| *agent == said.from.agent)
                && said
                    .status
                    .as_ref()
                    .is_some_and(|s| gate.time.words().contains(s))
        })
    }

    /// Does it have several things in hand, one of them an ask without an answer?
    fn owes_answer(&self, who: &Address) -> bool {
        self.hands.get(who).is_some_and(|hand| {
            let mut asks = hand.items.iter().filter(|(_, kind)| *kind == Kind::Ask);
            hand.items.len() > 1 && asks.any(|(ask, _)| !hand.answered.contains(ask))
        })
    }

    fn answer_of(&self, from: &Address, ask: Message) -> May {
        let open = self.asks.get(&(ask, from.clone()));
        open.map_or(May::Any, |open| {
            May::Accepted(Accepted {
                to: BTreeMap::from([(open.asker.clone(), Kind::AskResponse)]),
                answers: BTreeSet::from([ask]),
                ..Accepted::default()
            })
        })
    }

    fn is_own(&self, said: &Envelope) -> bool {
        let mut named = self.named(&said.id);
        named.any(|(_, sent)| sent.from == said.from && sent.hash.is_none())
    }

    /// May a message still be changed? `None`: the protocol does not say.
    fn may_change(&self, number: Message) -> Option<bool> {
        let sent = self.sent.get(&number)?;
        let given = sent.to.values().any(|d| d.leased || d.step.is_over());
        if given { Some(false) } else { None }
    }

    fn all_that_may_come(&self, said: &Envelope, late: bool, amended: Option<Message>) -> Vec<May> {
        let mut all = Vec::new();
        // A file that became nothing cannot be amended, but may be sent again.
        if amended
            .and_then(|n| self.sent.get(&n))
            .is_some_and(Sent::is_refused)
        {
            return vec![May::Any];
        }
        match amended.map(|number| self.may_change(number)) {
            Some(Some(false)) => return vec![May::Refused],
            Some(_) => all.push(May::Refused),
            None => {}
        }
        let twin = self.named(&said.id).filter(|(number, sent)| {
            sent.from == said.from && Some(*number) != amended && !sent.is_refused()
        });
        let twin = twin.max_by_key(|(number, _)| *number);
        for hand in self.hands_of(&said.from, late) {
            match twin {
                None => all.extend(self.may(said, hand)),
                Some((_, twin)) => {
                    let work = hand.and_then(super::Hand::first);
                    for before in &twin.works {
                        match work.is_some() && work != *before {
                            true => all.extend(self.may(said, hand)),
                            // The same again is nothing new; another text is refused.
                            false => all.push(May::Refused),
                        }
                    }
                    // Notes are no work, and may be what is in hand.
                    if work.is_none() || late || twin.unsure {
                        all.push(May::Any);
                    }
                }
            }
        }
        all
    }

    fn compare(&self, said: &Envelope, may: &[May], made: Option<&Made>, amended: Option<Message>) {
        let fits = |may: &May| match (may, made) {
            (May::Any, _) => true,
            (May::Refused, made) => made.is_none_or(|made| made.refused),
            (May::Accepted(accepted), Some(made)) => !made.refused && accepted.to == made.to,
            (May::Accepted(_), None) => false,
        };
        assert!(
            may.iter().any(fits),
            "the model: {said:?}\n  may become {may:?}\n  and became {made:?}\n  in hand: {:?}, amends {amended:?}, asks {:?}",
            self.hands_of(&said.from, false),
            self.asks
                .iter()
                .filter(|(_, ask)| ask.asker == said.from)
                .collect::<Vec<_>>(),
        );
    }

    /// It was accepted: what follows.
    fn accept(
        &mut self,
        said: &Envelope,
        hash: Option<&str>,
        may: &[May],
        made: &Made,
        counts: Counts,
        late: bool,
    ) {
        let from = &said.from;
        let fitting = may.iter().filter_map(|may| match may {
            May::Accepted(accepted) if accepted.to == made.to => Some(accepted),
            May::Accepted(_) | May::Any | May::Refused => None,
        });
        let fitting: Vec<&Accepted> = fitting.collect();
        let sure =
            !late && !may.contains(&May::Any) && fitting.windows(2).all(|two| two[0] == two[1]);
        let known = fitting.first().copied();
        let known = known.filter(|known| sure && !known.may_be_result);
        let over = self.spend(said, made, counts);
        let works = self.hands_of(from, late).into_iter();
        let works = works.map(|hand| hand.and_then(super::Hand::first));
        let sent = Sent {
            id: made.id.clone(),
            written: made.written.clone(),
            from: from.clone(),
            hash: hash.map(str::to_owned),
            priority: said.priority,
            to: deliveries(made),
            works: works.collect(),
            run: made.run,
            hops: made.hops,
            amended: counts == Counts::AsBefore,
            unsure: known.is_none(),
            // A result goes to its join, headless or not.
            member: known.and_then(|k| k.member),
            error: is_error(said),
            judges: None,
        };
        self.list(made.number, sent);
        if over {
            if let Some(opens) = known.and_then(|known| known.opens.as_ref()) {
                self.open_set(made, opens);
            }
            self.unsure.insert(from.clone());
            self.hand_unsure(from);
            if is_error(said) {
                self.withdraw(from);
            }
            return;
        }
        match known {
            Some(known) => {
                for ask in &known.answers {
                    self.asks.remove(&(*ask, from.clone()));
                    if let Some(hand) = self.hands.get_mut(from) {
                        hand.answered.insert(*ask);
                    }
                }
                if let (true, Some(hand)) = (known.outcome, self.hands.get_mut(from)) {
                    hand.failed |=
                        known.member.is_some() && is_error(said) && hand.outcomes.is_empty();
                    hand.outcomes.insert(made.number);
                }
                if let Some(opens) = &known.opens {
                    self.open_set(made, opens);
                }
                // A late answer may be all that was owed.
                if made.to.iter().any(|(_, kind)| *kind == Kind::Update) {
                    self.hand_unsure(from);
                }
            }
            None => {
                self.unsure.insert(from.clone());
                self.unsure.extend(made.to.keys().cloned());
                self.hand_unsure(from);
                self.sets_unsure(from, made);
            }
        }
        if is_error(said) && !from.is_core() && known.is_none_or(|known| known.outcome) {
            self.withdraw(from);
        }
        if !said.headless {
            self.open_asks(from, made, said);
        }
    }

    fn hand_unsure(&mut self, who: &Address) {
        if let Some(hand) = self.hands.get_mut(who) {
            hand.unsure = true;
        }
    }

    /// What the human's dead letters and tx's own messages are, nobody judges.
    pub(crate) fn own(&mut self, from: &Address, made: &Made) {
        let sent = Sent {
            id: made.id.clone(),
            written: None,
            from: from.clone(),
            hash: None,
            priority: tx::model::Priority::Normal,
            to: deliveries(made),
            works: BTreeSet::from([None]),
            run: made.run,
            hops: made.hops,
            amended: false,
            unsure: false,
            member: None,
            error: false,
            judges: self.judged(made),
        };
        self.list(made.number, sent);
        for (to, kind) in &made.to {
            if *kind == Kind::AskResponse {
                for cause in &made.cause {
                    self.close_by_letter(*cause, to);
                }
            }
        }
    }

    /// A task of tx's own asks for a verdict: on what somebody wrote, or on what somebody is given.
    fn judged(&self, made: &Made) -> Option<BTreeSet<Address>> {
        let mut to = made.to.iter();
        let (evaluator, _) = to.find(|(_, kind)| **kind == Kind::Task)?;
        let about = made.cause.iter().filter_map(|cause| self.sent.get(cause));
        let authors = about.flat_map(|sent| sent.to.keys().chain([&sent.from]));
        let own = authors.filter(|author| author.mesh == evaluator.mesh);
        Some(own.filter(|author| *author != evaluator).cloned().collect())
    }

    fn list(&mut self, number: Message, sent: Sent) {
        for id in [Some(&sent.id), sent.written.as_ref()]
            .into_iter()
            .flatten()
        {
            self.ids.entry(id.clone()).or_default().insert(number);
        }
        self.sent.insert(number, sent);
    }

    /// Count it, and say whether it is over a limit: that tx thinks so too.
    fn spend(&mut self, said: &Envelope, made: &Made, counts: Counts) -> bool {
        let from = &said.from;
        let causes = made.cause.iter().filter_map(|cause| self.sent.get(cause));
        let runs: Vec<Option<Message>> = causes.clone().map(|cause| cause.run).collect();
        let least = causes.map(|cause| cause.hops + 1).max().unwrap_or(0);
        if from.is_core() {
            let task = made.to.iter().any(|(_, kind)| *kind == Kind::Task);
            if task {
                let mesh = made.to.first_key_value().map(|(to, _)| to.mesh.clone());
                let mesh = mesh.filter(|_| made.to.len() == 1);
                let run = Run {
                    mesh,
                    ..Run::default()
                };
                self.runs.insert(made.number, run);
            }
            assert!(!made.parked, "the model: a message of core's has no budget");
            return false;
        }
        assert!(
            made.hops >= least && (runs.is_empty() || runs.contains(&made.run)),
            "the model: {made:?} forgets what it follows from"
        );
        let mesh = self.meshes.get(&from.mesh);
        let agent = mesh.and_then(|mesh| mesh.agents.get(&from.agent));
        let own = agent.and_then(|agent| agent.max_messages);
        let own = own.or(mesh.and_then(|mesh| mesh.guardrails.max_messages));
        let strict = mesh.is_some_and(|mesh| mesh.guardrails.strict);
        let mut over = made.hops > HOPS;
        let mut unsure = false;
        let run = made.run.filter(|_| counts != Counts::Nothing);
        if let Some(run) = run.and_then(|run| self.runs.get_mut(&run)) {
            let costs = counts == Counts::Once;
            run.messages += u32::from(costs);
            let sent = run.by_agent.entry(from.clone()).or_default();
            *sent += u32::from(costs);
            let sent = *sent;
            run.unsure |= !costs;
            unsure = run.unsure || run.mesh.is_none();
            let (mesh, messages) = (run.mesh.clone(), run.messages);
            let all = mesh.and_then(|mesh| self.meshes.get(&mesh)?.max_mesh_messages);
            over |= all.is_some_and(|most| messages > most);
            over |= strict && own.is_some_and(|most| sent > most);
        }
        // What a table sends to somebody who is no longer there is parked as well.
        let gone = |to: &Address| !to.is_core() && !self.knows(to);
        unsure |= !over && made.to.keys().all(gone);
        assert!(
            over == made.parked || unsure,
            "the model: over a limit is {over} of {made:?}, whose run is {:?}",
            made.run.and_then(|run| self.runs.get(&run)),
        );
        made.parked
    }
}

impl Sent {
    fn is_refused(&self) -> bool {
        self.to
            .values()
            .all(|delivery| delivery.step == At::Refused)
    }
}

/// Would an ask to core answer itself within a minute, or give a permission?
fn answers_itself(said: &Envelope, at: i64) -> bool {
    let expires = said.expires.map(|time| time.timestamp_millis());
    let by_itself = said.default.is_some() || expires.is_some();
    let permission = said.extra.get("permission") == Some(&true.into());
    expires.is_some_and(|due| due - at < 60_000) || (by_itself && permission)
}

/// What tx has just accepted, on its way to each recipient.
fn deliveries(made: &Made) -> BTreeMap<Address, Delivery> {
    let to = made.to.iter().map(|(to, kind)| {
        let delivery = Delivery {
            kind: *kind,
            step: At::Accepted,
            leased: false,
            parked: false,
            queued: 0,
        };
        (to.clone(), delivery)
    });
    to.collect()
}

fn is_error(said: &Envelope) -> bool {
    said.status
        .as_ref()
        .is_some_and(|word| word.as_str() == "error")
}
