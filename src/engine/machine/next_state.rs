//! Chooses the next state, and checks whether it can be entered.

use super::HeldValue;
use super::change::{Around, ChangePoint, Next, StateChange};
use super::outcome_facts::OutcomeFacts;
use crate::model::{Count, ExitRun, Members, StateKind, VariableName};

/// The maximum number of members of a state's ensemble.
const MEMBERS: u32 = 100;

impl StateChange {
    /// Choose the next state and record why.
    pub(super) fn decide(&mut self, around: &Around) -> Result<(), String> {
        let exit = &self.exit(around)?.exit;
        let (target, reason) = match (&exit.run, &self.named) {
            (ExitRun::State(state), _) if !self.failing => (state.clone(), format!("run: {state}")),
            (_, Some((state, script))) if !self.failing => {
                (state.clone(), format!("run: {script}"))
            }
            (ExitRun::State(_) | ExitRun::Scripts(_), _) => {
                let given = OutcomeFacts::of(self, around, false);
                let lookup = |name: &VariableName| self.text_of(around, name);
                let facts = given.facts();
                let mut ways = exit.when.iter().zip(1..);
                let way = ways.find(|(when, _)| {
                    (!self.failing || when.condition.is_on_status())
                        && when.condition.holds(&facts, &lookup)
                });
                match (way, &exit.default) {
                    (Some((when, number)), _) => {
                        let text = when.text.trim();
                        (when.target.clone(), format!("when {number}: {text}"))
                    }
                    (None, Some(default)) if !self.failing => (default.clone(), "default".into()),
                    (None, _) => return Err("no way out of its state holds".into()),
                }
            }
        };
        (self.target, self.reason) = (Some(target), reason);
        Ok(())
    }

    /// Does a condition on `status` accept this word? Values that need bash count as empty.
    pub(super) fn passes_on_status(&self, around: &Around) -> bool {
        let mut dry = self.clone();
        dry.failing = true;
        let Ok(exit) = dry.exit(around) else {
            return false;
        };
        let set = &exit.exit.set;
        let mut from = 0;
        while dry.set(around, set, from).is_some() {
            let (ChangePoint::ExitSet(at) | ChangePoint::EntrySet(at)) = dry.point else {
                break;
            };
            if let Some(assignment) = set.get(at) {
                dry.assign(around, &assignment.name, Ok(HeldValue::default()));
            }
            from = at + 1;
        }
        dry.decide(around).is_ok()
    }

    /// Why the next state cannot be entered at all.
    pub(super) fn may_enter(&self, around: &Around) -> Option<Next> {
        if self.entry(around).is_none() {
            return Some(self.park(self.no_target()));
        }
        let (machine, most) = (around.machine, around.rules.max_steps);
        (machine.step >= most.saturating_add(machine.granted)).then(|| Next::Park {
            why: format!("it has made {} steps (max_steps: {most})", machine.step),
            one_more_step: true,
        })
    }

    /// The number of members of the next state's ensemble, if it has a count.
    pub(super) fn members(&self, around: &Around) -> Result<Option<u32>, String> {
        let Some(StateKind::Ensemble { block, .. }) = self.entry(around).map(|entry| &entry.kind)
        else {
            return Ok(None);
        };
        let count = match &block.members {
            Members::Copies { count, .. } => count,
            Members::Each(agents) | Members::PerPart(agents) if agents.is_empty() => {
                return Err("its ensemble has no members".into());
            }
            Members::Each(_) | Members::PerPart(_) => return Ok(None),
        };
        let (text, of) = match count {
            Count::Number(number) => return Ok(Some(*number)),
            Count::Bad(text) => (text.clone(), "count".to_owned()),
            Count::Variable(name) => (
                self.text_of(around, name).unwrap_or_default(),
                format!("count: ${}", name.as_str()),
            ),
        };
        let number = text.trim().parse::<u32>().ok();
        let number = number.filter(|number| *number <= MEMBERS);
        number.map(Some).ok_or_else(|| {
            let text: String = text.chars().take(60).collect();
            format!("{of} must be a whole number from 0 to {MEMBERS}, and is `{text}`")
        })
    }
}
