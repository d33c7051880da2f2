//! What an agent knows: what it was given in its session, and what it wrote since. It
//! never looks at what tx knows.

use tx::model::{Address, Kind, MsgId};

use crate::record::Handed;

/// What an agent remembers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memory {
    /// What it was given to work on.
    owed: Vec<Owed>,
    /// It has asked in this turn, and waits.
    pub(crate) asked: bool,
}

/// A message that wants something of it.
#[derive(Clone, Debug)]
struct Owed {
    id: MsgId,
    from: Address,
    /// It wants an answer; else an outcome.
    answer: bool,
    paid: bool,
}

/// What tx says when something has to be written again.
const AGAIN: [&str; 4] = [
    "a message of yours was refused",
    "what you printed was refused",
    "your outcome failed its gates",
    "your message was parked",
];

impl Memory {
    /// It is given something, at the beginning of a turn.
    pub(crate) fn hand(&mut self, messages: &[Handed]) {
        self.asked = false;
        let works = |kind: Kind| matches!(kind, Kind::Task | Kind::TaskComplete | Kind::Ask);
        let known = |id: &MsgId, from: &Address, owed: &[Owed]| {
            owed.iter().any(|o| o.id == *id && o.from == *from)
        };
        let mut items = messages.iter().filter(|m| works(m.kind));
        // Something new is given when what was before is over, unless it is given again.
        if items.any(|m| !known(&m.id, &m.from, &self.owed)) {
            let again = |o: &Owed| messages.iter().any(|m| m.id == o.id && m.from == o.from);
            self.owed.retain(again);
        }
        for message in messages.iter().filter(|m| works(m.kind)) {
            if !known(&message.id, &message.from, &self.owed) {
                self.owed.push(Owed {
                    id: message.id.clone(),
                    from: message.from.clone(),
                    answer: message.kind == Kind::Ask,
                    paid: false,
                });
            }
        }
        for note in messages.iter().filter(|m| m.kind == Kind::Lifecycle) {
            let again = AGAIN.contains(&note.headline.as_str());
            for owed in &mut self.owed {
                let named = note.body.contains(&format!("`{}`", owed.id));
                if again || (note.headline == "you still owe something" && named) {
                    owed.paid = false;
                }
            }
        }
    }

    /// The asks that it has not answered: their ids and who asked.
    pub(crate) fn asks(&self) -> Vec<(MsgId, Address)> {
        let asks = self.owed.iter().filter(|owed| owed.answer && !owed.paid);
        asks.map(|owed| (owed.id.clone(), owed.from.clone()))
            .collect()
    }

    /// Is an outcome owed?
    pub(crate) fn outcome(&self) -> bool {
        self.owed.iter().any(|owed| !owed.answer && !owed.paid)
    }

    /// It has answered.
    pub(crate) fn answered(&mut self, ask: &MsgId) {
        for owed in self.owed.iter_mut().filter(|owed| owed.id == *ask) {
            owed.paid = true;
        }
    }

    /// It has given an outcome, which is all that is wanted but answers.
    pub(crate) fn finished(&mut self) {
        let alone = self.owed.len() == 1;
        for owed in self.owed.iter_mut().filter(|owed| alone || !owed.answer) {
            owed.paid = true;
        }
    }
}
