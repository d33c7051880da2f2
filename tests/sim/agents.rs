//! Scripted agents: what they do in a turn, as they should and as they should not.

use std::collections::VecDeque;

use tx::engine::Pane;
use tx::model::{
    Address, Envelope, Feature, Kind, MsgId, Name, Priority, Recipient, RoutingMode, Row,
};

use crate::files::{Written, envelope};
use crate::meshes::WORDS;
use crate::panes::Doing;
use crate::settings::{Act, Fault};
use crate::world::World;

impl World {
    /// What an agent is going to do in a turn.
    pub(crate) fn script(&mut self, who: &Address, one_turn: bool) -> VecDeque<(i64, Doing)> {
        let mut script = VecDeque::new();
        if self.rng.percent(80) {
            script.push_back((self.rng.within(10, 2_000), Doing::Busy));
        }
        if self.fault(Fault::Dialog, 5) {
            script.push_back((self.rng.within(10, 5_000), Doing::Ask));
            script.push_back((self.rng.within(10, 200_000), Doing::Answered));
        }
        if self.fault(Fault::Misread, 3) {
            script.push_back((self.rng.within(10, 5_000), Doing::SeemIdle));
        }
        if self.fault(Fault::Death, 4) {
            script.push_back((self.rng.within(0, 5_000), Doing::Die));
        }
        script.push_back((self.rng.within(10, 60_000), Doing::Think));
        if self.fault(Fault::Limit, 3) {
            script.push_back((self.rng.within(10, 5_000), Doing::Limited));
            let end = self.end_of_limited();
            if end.is_some() {
                script.extend(end);
                return script;
            }
            if !one_turn && self.rng.percent(50) {
                return script;
            }
            script.push_back((self.rng.within(1_000, 9_000_000), Doing::Busy));
        }
        if self.rng.percent(20) {
            script.push_back((self.rng.within(10, 700_000), Doing::Busy));
            script.push_back((self.rng.within(10, 10_000), Doing::Think));
        }
        if self.fault(Fault::Death, 3) {
            script.push_back((self.rng.within(0, 5_000), Doing::Die));
        }
        if self.fault(Fault::Hang, 2) {
            return script;
        }
        let end = match one_turn {
            true => Doing::Exit(i32::from(!self.calm && self.rng.percent(10))),
            false => Doing::Idle,
        };
        let delay = match self.fault(Fault::Overtaken, 20) {
            true => 0,
            false => self.rng.within(60, 20_000),
        };
        script.push_back((delay, end));
        let _ = who;
        script
    }

    /// A process may end while its account has no room.
    pub(crate) fn end_of_limited(&mut self) -> Option<(i64, Doing)> {
        let ends = self.fault(Fault::LimitedExit, 40);
        let doing = match self.rng.below(3) {
            0 => Doing::Die,
            code => Doing::Exit(i32::from(code > 1)),
        };
        ends.then(|| (self.rng.within(10, 600_000), doing))
    }

    /// An agent decides what to write, by what it was given.
    pub(crate) fn think(&mut self, pane: &Pane) {
        let wild = !self.calm && self.files.count() < self.settings.files;
        if !wild || self.rng.percent(40) {
            return self.behave(pane);
        }
        let acts = usize::try_from(self.rng.within(1, 2)).unwrap();
        for _ in 0..acts {
            let all: Vec<Act> = self.settings.acts.iter().copied().collect();
            match self.rng.pick(&all).copied() {
                Some(act) => self.misbehave(pane, act),
                None => self.behave(pane),
            }
        }
    }

    /// As it should.
    fn behave(&mut self, pane: &Pane) {
        let who = &pane.worker;
        if self.memory(pane).asked {
            return;
        }
        let (asks, outcome) = (self.memory(pane).asks(), self.memory(pane).outcome());
        for (ask, asker) in &asks {
            self.seen.act(Act::Answer);
            let mut answer = self.envelope(who);
            answer.to = vec![Recipient::Full(asker.clone())];
            answer.in_reply_to = vec![ask.clone()];
            self.send(answer);
            self.memory(pane).answered(ask);
        }
        let unasked = asks.is_empty() && !self.calm && self.rng.percent(20);
        if outcome || unasked {
            self.seen.act(Act::Listed);
            let outcome = self.listed(who);
            self.send(outcome);
            self.memory(pane).finished();
        }
    }

    /// An outcome that the table lists.
    fn listed(&mut self, who: &Address) -> Envelope {
        let mut outcome = self.envelope(who);
        outcome.status = Some("complete".parse().unwrap());
        let mesh = self.state().meshes().find(|l| l.mesh.name == who.mesh);
        let Some(mesh) = mesh.map(|loaded| loaded.mesh.clone()) else {
            return outcome;
        };
        match mesh.routing.rows.get(&who.agent) {
            Some(Row::ByStatus { words, .. }) => {
                // Who is blocked for ever keeps the human busy for ever.
                let calm = self.calm;
                let ends = |word: &tx::model::Status| !calm || word.as_str() != "blocked";
                let words: Vec<_> = words.iter().filter(|(word, _)| ends(word)).collect();
                if let Some((word, targets)) = self.rng.pick(&words) {
                    let (word, targets) = ((*word).clone(), (*targets).clone());
                    outcome.status = Some(word);
                    let targets: Vec<Address> = targets.into_keys().map(Address::from).collect();
                    if mesh.routing.mode == RoutingMode::Agent {
                        let target = self.rng.pick(&targets).cloned();
                        outcome.to = target.map(Recipient::Full).into_iter().collect();
                    }
                }
            }
            Some(Row::Always(_) | Row::FanOut { .. }) | None => {}
        }
        outcome
    }

    fn envelope(&mut self, who: &Address) -> Envelope {
        let id = self.new_id();
        let mut made = envelope(who, id.as_str(), self.now);
        made.priority = match self.rng.below(10) {
            0 => Priority::High,
            1 => Priority::Low,
            _ => Priority::Normal,
        };
        if self.rng.percent(5) {
            made.model = Some("other".into());
        }
        made
    }

    pub(crate) fn send(&mut self, envelope: Envelope) -> String {
        let mut text = format!("{} says {}", envelope.from, envelope.id);
        if envelope.status.is_some() && self.settings.seed.is_multiple_of(2) {
            text.push_str("\n\n---\ngrade: A\nconfidence: 0.9\n---\n");
        }
        self.write(envelope, text)
    }

    /// Any agent of any mesh, but not this one.
    pub(crate) fn somebody(&mut self, but: Option<&Address>) -> Option<Address> {
        let meshes: Vec<(Name, Vec<Name>)> = self
            .state()
            .meshes()
            .map(|l| (l.mesh.name.clone(), l.mesh.agents.keys().cloned().collect()))
            .collect();
        let mut all = meshes.into_iter().flat_map(|(mesh, agents)| {
            agents.into_iter().map(move |agent| Address {
                mesh: mesh.clone(),
                agent,
            })
        });
        let all: Vec<Address> = all.by_ref().filter(|one| Some(one) != but).collect();
        self.rng.pick(&all).cloned()
    }

    fn agents_of(&self, mesh: &Name) -> Vec<Name> {
        let mut meshes = self.state().meshes();
        let loaded = meshes.find(|loaded| loaded.mesh.name == *mesh);
        let agents = loaded.map(|loaded| loaded.mesh.agents.keys().cloned().collect());
        agents.unwrap_or_default()
    }

    /// Somebody who is given all that waits at once.
    fn who_takes_all(&mut self, but: &Address) -> Option<Address> {
        let meshes = self.state().meshes();
        let all = meshes.flat_map(|loaded| {
            let batch = loaded.mesh.agents.values().filter(|agent| agent.batch);
            batch.map(|agent| Address {
                mesh: loaded.mesh.name.clone(),
                agent: agent.name.clone(),
            })
        });
        let all: Vec<Address> = all.filter(|one| one != but).collect();
        self.rng.pick(&all).cloned()
    }

    fn feature(&mut self) -> Feature {
        let feature = self.rng.pick(&["login", "logout"]).unwrap();
        feature.parse().unwrap()
    }

    /// Now and then a message says more than it needs.
    pub(crate) fn dress(&mut self, message: &mut Envelope) {
        if self.rng.percent(15) {
            message.feature = Some(self.feature());
        }
        if self.rng.percent(5) {
            message.command = Some("/begin".into());
        }
    }

    fn word(&mut self) -> Option<tx::model::Status> {
        let word = self.rng.pick(&WORDS).unwrap();
        Some(word.parse().unwrap())
    }

    #[expect(clippy::too_many_lines, reason = "one arm an act")]
    fn misbehave(&mut self, pane: &Pane, act: Act) {
        self.seen.act(act);
        let who = &pane.worker;
        let somebody = self.somebody(Some(who)).unwrap_or_else(Address::core);
        let to = |address: &Address| vec![Recipient::Full(address.clone())];
        let mut it = self.envelope(who);
        match act {
            Act::Listed => {
                it = self.listed(who);
            }
            Act::Complete => it.status = Some("complete".parse().unwrap()),
            Act::WrongWord => {
                it.status = Some("perhaps".parse().unwrap());
                if self.rng.percent(30) {
                    it.to = to(&Address::core());
                }
            }
            Act::Unlisted => {
                it.status = self.word();
                it.to = to(&somebody);
            }
            Act::RouteTo => {
                it.status = self.word();
                it.route_to = Some(match self.rng.below(4) {
                    0 => "nowhere".parse().unwrap(),
                    1 => "core".parse().unwrap(),
                    _ => Recipient::Full(somebody),
                });
            }
            Act::Blocked => {
                it.status = Some("blocked".parse().unwrap());
                if self.rng.percent(60) {
                    it.to = to(&Address::core());
                }
            }
            Act::Escalate => it.status = Some("escalate".parse().unwrap()),
            Act::Error => it.status = Some("error".parse().unwrap()),
            Act::Ask => it.to = to(&somebody),
            Act::AskCore => it.to = to(&Address::core()),
            Act::AskWithDefault | Act::AskExpires => {
                it.to = to(&Address::core());
                let at = self.now + self.rng.within(-1_000, 300_000);
                let at = chrono::DateTime::from_timestamp_millis(at).unwrap();
                it.expires = Some(at.fixed_offset());
                if act == Act::AskWithDefault {
                    it.default = Some("yes".into());
                }
                if self.rng.percent(10) {
                    it.extra.insert("permission".into(), true.into());
                }
            }
            Act::Update => {
                it.kind = Some(Kind::Update);
                it.to = match self.rng.percent(20) {
                    true => to(&Address::core()),
                    false => to(&somebody),
                };
            }
            Act::Answer | Act::AnswerPlain | Act::AnswerTwice => {
                let asks = self.memory(pane).asks();
                let Some((ask, asker)) = self.rng.pick(&asks).cloned() else {
                    return self.behave(pane);
                };
                self.memory(pane).answered(&ask);
                it.to = to(&asker);
                if act != Act::AnswerPlain {
                    it.in_reply_to = vec![ask.clone()];
                }
                if act == Act::AnswerTwice {
                    let mut again = self.envelope(who);
                    again.to = to(&asker);
                    again.in_reply_to = vec![ask];
                    self.send(it);
                    it = again;
                    it.id = self.new_id();
                }
            }
            Act::AnswerForeign => {
                // It reads what others have written.
                let asks: Vec<MsgId> = self
                    .good_files(&somebody)
                    .into_iter()
                    .filter(|old| old.status.is_none() && old.kind.is_none())
                    .map(|old| old.id)
                    .collect();
                it.in_reply_to = self.rng.pick(&asks).cloned().into_iter().collect();
                it.to = to(&somebody);
            }
            Act::AnswerLate => {
                let asked = |written: &Written| match written {
                    Written::Good { envelope, .. } if envelope.to.len() == 1 => {
                        let asked = envelope.to[0] == Recipient::Full(who.clone());
                        asked.then(|| (envelope.id.clone(), envelope.from.clone()))
                    }
                    Written::Good { .. } | Written::Bad { .. } => None,
                };
                let past: Vec<(MsgId, Address)> = self
                    .files
                    .of(&somebody)
                    .into_iter()
                    .filter_map(|(_, written)| asked(written))
                    .collect();
                let Some((ask, asker)) = self.rng.pick(&past).cloned() else {
                    return self.behave(pane);
                };
                it.in_reply_to = vec![ask];
                it.to = to(&asker);
                if self.rng.percent(30) {
                    it.status = self.word();
                }
            }
            Act::AskAfterOutcome => {
                let outcome = self.listed(who);
                self.send(outcome);
                it.id = self.new_id();
                it.to = to(&somebody);
            }
            Act::OutcomeAfterAsk => {
                it.to = to(&somebody);
                self.send(it);
                it = self.listed(who);
            }
            Act::TwoOutcomes => {
                let outcome = self.listed(who);
                self.send(outcome);
                it = self.listed(who);
            }
            Act::Nothing => return,
            Act::SameAgain => {
                let own: Vec<Envelope> = self.good_files(who);
                if let Some(old) = self.rng.pick(&own).cloned() {
                    it = old;
                }
            }
            Act::ToMany | Act::ToManyUnknown => {
                let other = self.somebody(Some(who)).unwrap_or_else(Address::core);
                it.to = vec![Recipient::Full(somebody), Recipient::Full(other)];
                if act == Act::ToManyUnknown {
                    it.to.push("nobody-at-all".parse().unwrap());
                } else if self.rng.percent(30) {
                    it.to.push(Recipient::Full(Address::core()));
                }
                if self.rng.percent(50) {
                    it.status = self.word();
                }
            }
            Act::Dispatch => {
                it.to = to(&Address::dispatch(&who.mesh));
                it.status = self.word();
            }
            Act::DispatchBare => it.to = to(&Address::dispatch(&who.mesh)),
            Act::OtherMesh => {
                it.to = match self.rng.percent(50) {
                    true => to(&Address::dispatch(&somebody.mesh)),
                    false => vec![somebody.mesh.as_str().parse().unwrap()],
                };
                if self.rng.percent(50) {
                    it.status = self.word();
                }
            }
            Act::Explicit => {
                it.kind = self.rng.pick(&Kind::ALL).copied();
                if self.rng.percent(80) {
                    it.to = to(&somebody);
                }
                if self.rng.percent(30) {
                    it.status = self.word();
                }
            }
            Act::Headless => {
                it.headless = true;
                it.to = to(&somebody);
                if self.rng.percent(50) {
                    it.status = self.word();
                }
            }
            Act::ToItself => it.to = to(who),
            Act::System => {
                let system: Address = "system/consumer".parse().unwrap();
                match self.rng.percent(50) {
                    true => it.to = to(&system),
                    false => it.from = system,
                }
            }
            Act::Stranger => {
                it.from = "m0/nobody".parse().unwrap();
                it.to = to(&somebody);
            }
            Act::BadFile | Act::BadFileOfNobody => {
                let author = (act == Act::BadFile).then(|| who.clone());
                let text = format!("bad {}", it.id);
                self.put(None, Written::Bad { author, text });
                return;
            }
            Act::OthersId => {
                let theirs = self.good_files(&somebody);
                if let Some(old) = theirs.last() {
                    it.id = old.id.clone();
                }
                it.to = to(&somebody);
            }
            Act::ReplyList => {
                let asks = self.memory(pane).asks();
                let Some((_, asker)) = asks.first().cloned() else {
                    return self.behave(pane);
                };
                let own = asks.iter().filter(|(_, by)| *by == asker);
                it.in_reply_to = own.map(|(ask, _)| ask.clone()).collect();
                if self.rng.percent(30) {
                    it.in_reply_to.push("never-asked".parse().unwrap());
                }
                for ask in &it.in_reply_to {
                    self.memory(pane).answered(ask);
                }
                it.to = to(&asker);
            }
            Act::BareName => {
                let name = match self.rng.percent(50) {
                    true => &somebody.agent,
                    false => &somebody.mesh,
                };
                it.to = vec![name.as_str().parse().unwrap()];
                if self.rng.percent(50) {
                    it.status = self.word();
                }
            }
            Act::AskRound => {
                let agents = self.agents_of(&who.mesh);
                let own = agents.iter().position(|agent| *agent == who.agent);
                let next = own.map(|own| (own + 1) % agents.len());
                let Some(next) = next.and_then(|next| agents.get(next)) else {
                    return self.behave(pane);
                };
                it.to = to(&Address {
                    mesh: who.mesh.clone(),
                    agent: next.clone(),
                });
            }
            Act::AskBatch => {
                let Some(batch) = self.who_takes_all(who) else {
                    return self.behave(pane);
                };
                for _ in 0..2 {
                    let mut ask = self.envelope(who);
                    ask.to = to(&batch);
                    self.remember_own(pane, &ask);
                    self.send(ask);
                }
                return;
            }
            Act::Command => {
                it = self.listed(who);
                it.command = Some("/do it".into());
            }
            Act::Feature => {
                it = self.listed(who);
                it.feature = Some(self.feature());
            }
            Act::Flood => {
                // Once in a life is enough.
                let most = if self.flooded { 1 } else { 105 };
                self.flooded = true;
                self.settings.files += most;
                for _ in 0..most {
                    let mut news = self.envelope(who);
                    (news.kind, news.to) = (Some(Kind::Update), to(&somebody));
                    self.send(news);
                }
                return;
            }
            Act::Edit | Act::Spoil | Act::Mend => return self.edit(who, it, act),
            Act::Duplicate | Act::Conflict => {
                let own: Vec<Envelope> = self.good_files(who);
                let Some(old) = own.last().cloned() else {
                    return self.behave(pane);
                };
                match act {
                    Act::Conflict => {
                        let text = format!("{} says another thing", it.id);
                        self.write(old, text);
                    }
                    _ => {
                        self.send(old);
                    }
                }
                return;
            }
        }
        if self.rng.percent(30) {
            // Now and then it is given more than it needs.
            it.session_id = Some("session-1".into());
        }
        self.remember_own(pane, &it);
        self.send(it);
    }

    /// It knows what it has written.
    fn remember_own(&mut self, pane: &Pane, it: &Envelope) {
        let outcome = it.status.is_some() || it.kind == Some(Kind::TaskComplete);
        let news = matches!(it.kind, Some(Kind::Update | Kind::Lifecycle)) || it.headless;
        if outcome && it.status.as_ref().is_none_or(|s| s.as_str() != "blocked") {
            self.memory(pane).finished();
        } else if it.in_reply_to.is_empty() && !it.to.is_empty() && !news {
            self.memory(pane).asked = true;
        }
    }

    fn good_files(&self, who: &Address) -> Vec<Envelope> {
        let files = self.files.of(who).into_iter();
        let good = files.filter_map(|(_, written)| match written {
            Written::Good { envelope, .. } => Some((**envelope).clone()),
            Written::Bad { .. } => None,
        });
        good.collect()
    }

    /// A file that is there is changed: one of the last ones.
    fn edit(&mut self, who: &Address, new: Envelope, act: Act) {
        let files: Vec<(String, Written)> = self
            .files
            .of(who)
            .into_iter()
            .rev()
            .filter(|(_, written)| matches!(written, Written::Bad { .. }) == (act == Act::Mend))
            .take(3)
            .map(|(path, written)| (path.clone(), written.clone()))
            .collect();
        let Some((path, old)) = self.rng.pick(&files).cloned() else {
            let path = self.send(new.clone());
            if act == Act::Edit {
                let text = format!("{} once more", new.id);
                let envelope = Box::new(new);
                self.put(Some(path), Written::Good { envelope, text });
            }
            return;
        };
        let text = format!("{} changed", new.id);
        let written = match (act, old) {
            (Act::Spoil, _) => Written::Bad {
                author: Some(who.clone()),
                text,
            },
            (_, Written::Good { envelope, .. }) => {
                let mut envelope = envelope;
                if self.rng.percent(30) {
                    envelope.to = new.to;
                }
                Written::Good { envelope, text }
            }
            (_, Written::Bad { .. }) => {
                let mut envelope = Box::new(self.listed(who));
                envelope.id = new.id;
                Written::Good { envelope, text }
            }
        };
        self.put(Some(path), written);
    }
}
