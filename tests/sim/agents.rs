//! Scripted agents: what they do in a turn, as they should and as they should not.

use std::collections::VecDeque;

use tx::engine::AttemptId;
use tx::model::{Address, Envelope, Feature, Name, Priority, Recipient, RoutingMode, Row};

use crate::files::envelope;
use crate::meshes::WORDS;
use crate::programs::Doing;
use crate::settings::{Act, Fault};
use crate::world::World;

impl World {
    /// What an agent is going to do in a turn.
    pub(crate) fn script(&mut self, one_turn: bool) -> VecDeque<(i64, Doing)> {
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
        let delay = match self.rng.percent(20) {
            true => 0,
            false => self.rng.within(60, 20_000),
        };
        script.push_back((delay, end));
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
    pub(crate) fn think(&mut self, pane: &AttemptId) {
        let wild = !self.calm && self.files.count() < self.settings.files;
        if !wild || self.rng.percent(40) {
            return self.behave(pane);
        }
        // Who is asked may ask the next one first, so that asks form circles.
        let is_asked = !self.memory(pane).asks().is_empty();
        if is_asked && self.settings.acts.contains(&Act::AskRound) && self.rng.percent(40) {
            return self.misbehave(pane, Act::AskRound);
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
    pub(crate) fn behave(&mut self, pane: &AttemptId) {
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
    pub(crate) fn listed(&mut self, who: &Address) -> Envelope {
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
                let ends = |word: &tx::model::OutcomeWord| !calm || word.as_str() != "blocked";
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

    pub(crate) fn envelope(&mut self, who: &Address) -> Envelope {
        let id = self.new_id();
        // Some of several workers of an agent sign with its plain name.
        let plain = who.without_slot();
        let who = match who.slot.is_some() && self.rng.percent(40) {
            true => &plain,
            false => who,
        };
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
            agents
                .into_iter()
                .map(move |agent| Address::new(mesh.clone(), agent))
        });
        let all: Vec<Address> = all.by_ref().filter(|one| Some(one) != but).collect();
        self.rng.pick(&all).cloned()
    }

    pub(crate) fn agents_of(&self, mesh: &Name) -> Vec<Name> {
        let mut meshes = self.state().meshes();
        let loaded = meshes.find(|loaded| loaded.mesh.name == *mesh);
        let agents = loaded.map(|loaded| loaded.mesh.agents.keys().cloned().collect());
        agents.unwrap_or_default()
    }

    /// Somebody who is given all that waits at once.
    pub(crate) fn who_takes_all(&mut self, but: &Address) -> Option<Address> {
        let meshes = self.state().meshes();
        let all = meshes.flat_map(|loaded| {
            let batch = loaded.mesh.agents.values().filter(|agent| agent.batch);
            batch.map(|agent| Address::new(loaded.mesh.name.clone(), agent.name.clone()))
        });
        let all: Vec<Address> = all.filter(|one| one != but).collect();
        self.rng.pick(&all).cloned()
    }

    pub(crate) fn feature(&mut self) -> Feature {
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

    pub(crate) fn word(&mut self) -> Option<tx::model::OutcomeWord> {
        let word = self.rng.pick(&WORDS).unwrap();
        Some(word.parse().unwrap())
    }
}
