//! What agents do that they need not do, or should not: one arm an act.

use tx::engine::AttemptId;
use tx::model::{Address, Envelope, Kind, MsgId, Recipient};

use crate::files::Written;
use crate::settings::Act;
use crate::world::World;

impl World {
    #[expect(clippy::too_many_lines, reason = "one arm an act")]
    pub(crate) fn misbehave(&mut self, pane: &AttemptId, act: Act) {
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
                if self.rng.percent(70) {
                    it.feature = Some(self.feature());
                }
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
            Act::BadAfterAsk => {
                for n in 0..3 {
                    let author = Some(who.clone());
                    let text = format!("bad {n} {}", it.id);
                    let delay = self.rng.within(20_000, 60_000);
                    self.put_later(delay, None, Written::Bad { author, text });
                }
                it.to = to(&somebody);
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
                it.to = to(&Address::new(who.mesh.clone(), next.clone()));
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
    fn remember_own(&mut self, pane: &AttemptId, it: &Envelope) {
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
