//! Answering permission dialogs by keys, for programs whose hooks do not ask.
//!
//! The runtime must have keys for the dialog, and the screen must still show the dialog that the
//! human has answered. Nobody may type, and the keys are pressed only if the screen has not changed
//! since the last look. If that fails, the human is asked again: no answer is ever a yes.

use super::act::Act;
use super::saw::{Content, Text, View};
use super::step::{Pane, PaneState};
use crate::engine::{Decision, Dialog, DialogKind};
use crate::model::AnswerKeys;

/// How long to wait for a moment to press the keys, in milliseconds.
const PATIENCE: i64 = 10_000;

/// An answer of the human, before its keys are pressed.
#[derive(Clone, Debug)]
pub(super) struct Answering {
    keys: Vec<String>,
    /// The text that the program gets when it is idle again.
    note: Option<Text>,
    until: i64,
    /// The keys are being pressed.
    pressing: bool,
}

impl Pane {
    /// A dialog on the screen. One that keys can answer gets an even number; those of hooks are
    /// odd.
    pub(super) fn shown_dialog(&self, kind: DialogKind, text: String) -> Dialog {
        let known = if let PaneState::Dialog(shown) = &self.state
            && shown.kind == kind
            && shown.text == text
        {
            shown.request
        } else {
            None
        };
        let is_ours = kind == DialogKind::Permission && self.keys_for(&text).is_some();
        let next = is_ours.then(|| 2 * (self.told + 1));
        Dialog {
            kind,
            request: known.filter(|known| known % 2 == 0).or(next),
            text,
        }
    }

    fn keys_for(&self, text: &str) -> Option<&AnswerKeys> {
        self.setup
            .answers
            .iter()
            .find(|keys| keys.shows.is_in(text))
    }

    /// The human has decided on the dialog that is shown.
    pub(super) fn answer_by_keys(&mut self, request: u32, decision: Decision, acts: &mut Vec<Act>) {
        let PaneState::Dialog(shown) = &self.state else {
            return;
        };
        if shown.request != Some(request) || self.answering.is_some() {
            return;
        }
        let Some(keys) = self.keys_for(&shown.text) else {
            return;
        };
        let (keys, note) = match decision {
            Decision::Allow => (keys.yes.clone(), None),
            Decision::Deny { text } => (keys.no.clone(), note(text.trim())),
        };
        self.answering = Some(Answering {
            keys,
            note,
            until: self.at + PATIENCE,
            pressing: false,
        });
        acts.push(Act::Look);
    }

    /// The screen still shows the dialog that was answered: press the keys if it is quiet. The
    /// time of a change is known to the second, so the second of the last change must be over.
    pub(super) fn press_answer(&mut self, view: &View, acts: &mut Vec<Act>) {
        let rests = view.shown < self.at.div_euclid(1_000);
        let at = self.at;
        let Some(answering) = &mut self.answering else {
            return;
        };
        if answering.pressing {
            return;
        }
        if view.quiet && view.free && rests {
            answering.pressing = true;
            acts.push(Act::Press(answering.keys.clone()));
        } else if at >= answering.until {
            // Ask again.
            self.answering = None;
            self.tell_level(true, acts);
        }
    }

    /// The keys were pressed. If not, the screen has changed: look again.
    pub(super) fn answered(&mut self, pressed: bool, acts: &mut Vec<Act>) {
        let Some(answering) = &mut self.answering else {
            return;
        };
        answering.pressing = false;
        if !pressed {
            return self.look_if_wanted();
        }
        if let Some(note) = answering.note.take() {
            self.texts.put_first(note);
        }
        self.answering = None;
        self.state = PaneState::Busy;
        self.tell_level(true, acts);
        self.look_soon();
    }
}

/// The text that tells the program the reason for a no.
fn note(text: &str) -> Option<Text> {
    let text: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    let line = format!("tx: the human said no: {text}");
    (!text.is_empty()).then(|| Text {
        turn: None,
        mark: String::new(),
        last_line: line.clone(),
        content: Content::Line(line),
        until: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pane::{PanePhase, Report, Saw, Setup};
    use crate::runtime::screen::Screen;

    /// A pane that shows a dialog, and the dialog as it was reported.
    fn asked(screen: &str) -> (Pane, Dialog) {
        let rules = "{ prompt: '^> $', busy: working, dialog: '^Allow .*|^Trust .*' }";
        let keys = "[{ shows: '^Allow', yes: [y, Enter], no: [n, Enter] }]";
        let mut pane = Pane::new(Setup {
            screen: serde_yaml::from_str(rules).unwrap(),
            apart: 500,
            answers: serde_yaml::from_str(keys).unwrap(),
            ..Setup::default()
        });
        let _ = pane.step(1_000, Saw::Start { turn: None });
        let _ = pane.step(1_000, Saw::Started);
        let acts = pane.step(5_000, look(screen, 5));
        let [Act::Tell(Report::Asked { dialog, .. })] = &acts[..] else {
            panic!("{acts:?}");
        };
        let dialog = dialog.clone();
        (pane, dialog)
    }

    fn look(line: &str, shown: i64) -> Saw {
        Saw::Screen(View {
            screen: Screen {
                lines: vec![line.into()],
                cursor: Some([line.len(), 0]),
                ..Screen::default()
            },
            shown,
            pid: 7,
            quiet: true,
            free: true,
            ..View::default()
        })
    }

    fn decided(request: Option<u32>, decision: Decision) -> Saw {
        let request = request.unwrap();
        Saw::Decided { request, decision }
    }

    fn press(keys: [&str; 2]) -> Act {
        Act::Press(keys.map(String::from).to_vec())
    }

    #[test]
    fn a_yes_is_pressed_on_the_dialog_that_was_answered_once_it_rests() {
        let (mut pane, dialog) = asked("Allow rm?");
        let yes = decided(dialog.request, Decision::Allow);
        assert_eq!(pane.step(5_100, yes.clone()), [Act::Look]);
        // It may still be drawn in this second.
        assert_eq!(pane.step(5_200, look("Allow rm?", 5)), []);
        assert_eq!(pane.due(), Some(5_700));
        let pressed = pane.step(6_000, look("Allow rm?", 5));
        assert_eq!(pressed, [press(["y", "Enter"])]);
        // It had changed at that moment, and rests again.
        assert_eq!(pane.step(6_000, Saw::Pressed(false)), []);
        assert_eq!(pane.step(6_100, look("Allow rm?", 6)), []);
        let pressed = pane.step(7_000, look("Allow rm?", 6));
        assert_eq!(pressed, [press(["y", "Enter"])]);
        let acts = pane.step(7_000, Saw::Pressed(true));
        assert!(
            matches!(acts[..], [Act::Tell(Report::Busy { .. })]),
            "{acts:?}"
        );
        assert_eq!(pane.step(8_000, yes), [], "once");
        assert_eq!(
            pane.step(9_000, look("Allow rm?", 6)).len(),
            1,
            "it asks again"
        );
    }

    #[test]
    fn an_answer_counts_for_its_dialog_and_for_no_other() {
        let (mut pane, dialog) = asked("Allow rm?");
        let yes = decided(dialog.request, Decision::Allow);
        assert_eq!(pane.step(7_000, yes.clone()), [Act::Look]);
        let acts = pane.step(7_000, look("Allow mv?", 6));
        let [Act::Tell(Report::Asked { dialog: next, .. })] = &acts[..] else {
            panic!("{acts:?}");
        };
        assert_ne!(next.request, dialog.request);
        assert_eq!(
            pane.step(9_000, look("Allow mv?", 6)),
            [],
            "it is not answered"
        );
        assert_eq!(pane.step(9_000, yes), [], "nor by what comes late");
        // The same words again are another dialog.
        let _ = pane.step(10_000, look("working", 10));
        let acts = pane.step(11_000, look("Allow rm?", 11));
        let [Act::Tell(Report::Asked { dialog: again, .. })] = &acts[..] else {
            panic!("{acts:?}");
        };
        assert_ne!(again.request, dialog.request);
    }

    #[test]
    fn a_dialog_that_never_rests_is_asked_again_and_not_answered() {
        let (mut pane, dialog) = asked("Allow rm?");
        let _ = pane.step(6_000, decided(dialog.request, Decision::Allow));
        for second in 6..16 {
            assert_eq!(pane.step(second * 1_000, look("Allow rm?", second)), []);
        }
        let acts = pane.step(16_000, look("Allow rm?", 16));
        assert!(
            matches!(acts[..], [Act::Tell(Report::Asked { .. })]),
            "{acts:?}"
        );
        assert_eq!(pane.step(18_000, look("Allow rm?", 16)), []);
    }

    #[test]
    fn nothing_is_pressed_while_somebody_types() {
        let (mut pane, dialog) = asked("Allow rm?");
        let _ = pane.step(6_000, decided(dialog.request, Decision::Allow));
        let Saw::Screen(view) = look("Allow rm?", 5) else {
            panic!("it is a look");
        };
        let quiet = false;
        assert_eq!(pane.step(7_000, Saw::Screen(View { quiet, ..view })), []);
    }

    #[test]
    fn a_dialog_without_keys_has_no_number() {
        let (_, dialog) = asked("Trust this folder?");
        assert_eq!(dialog.request, None);
    }

    #[test]
    fn keys_answer_the_real_dialogs_that_allow_something_once_and_no_others() {
        use crate::runtime::Runtimes;
        use crate::runtime::screen::{Look, classify};
        for (runtime, capture, answered) in [
            (
                "gemini",
                include_str!("../../tests/screens/gemini-permission.txt"),
                true,
            ),
            (
                "gemini",
                include_str!("../../tests/screens/gemini-80-permission.txt"),
                true,
            ),
            (
                "gemini",
                include_str!("../../tests/screens/gemini-firstrun-trust.txt"),
                false,
            ),
            (
                "aider",
                include_str!("../../tests/screens/aider-permission.txt"),
                true,
            ),
            (
                "aider",
                include_str!("../../tests/screens/aider-80-url.txt"),
                true,
            ),
        ] {
            let runtime = Runtimes::builtin().get(runtime).unwrap();
            let lines = capture.lines().map(str::to_owned).collect();
            let screen = Screen {
                lines,
                ..Screen::default()
            };
            let Look::Dialog { text, .. } = classify(&runtime.screen, &screen) else {
                panic!("{capture}");
            };
            let mut keys = runtime.answers.iter();
            assert_eq!(keys.any(|keys| keys.shows.is_in(&text)), answered, "{text}");
            // What the box quotes is not its own choice.
            let quoted = text.replace("│ ● 1. Allow once", "│ │ ● 1. Allow once");
            let mut keys = runtime.answers.iter();
            let own = quoted == text && answered;
            assert_eq!(keys.any(|keys| keys.shows.is_in(&quoted)), own, "{quoted}");
        }
    }

    #[test]
    fn a_no_with_a_reason_is_told_when_the_program_waits() {
        let (mut pane, dialog) = asked("Allow rm?");
        let text = "use mv\nplease".to_owned();
        let _ = pane.step(6_000, decided(dialog.request, Decision::Deny { text }));
        let pressed = pane.step(7_000, look("Allow rm?", 5));
        assert_eq!(pressed, [press(["n", "Enter"])]);
        let _ = pane.step(7_000, Saw::Pressed(true));
        let _ = pane.step(8_000, look("> ", 8));
        let acts = pane.step(8_500, look("> ", 8));
        let [
            Act::Paste {
                text,
                as_seen: true,
            },
        ] = &acts[..]
        else {
            panic!("{acts:?}");
        };
        assert_eq!(text.last_line, "tx: the human said no: use mv please");
        assert_eq!(pane.phase(), PanePhase::Delivering);
    }

    #[test]
    fn a_reason_that_waits_outlives_a_yes_to_the_next_dialog() {
        let (mut pane, dialog) = asked("Allow rm?");
        let text = "use mv".to_owned();
        let _ = pane.step(6_000, decided(dialog.request, Decision::Deny { text }));
        let _ = pane.step(7_000, look("Allow rm?", 5));
        let _ = pane.step(7_000, Saw::Pressed(true));
        let acts = pane.step(8_000, look("Allow mv?", 8));
        let [Act::Tell(Report::Asked { dialog, .. })] = &acts[..] else {
            panic!("{acts:?}");
        };
        let yes = decided(dialog.request, Decision::Allow);
        assert_eq!(pane.step(9_000, yes), [Act::Look]);
        let pressed = pane.step(10_000, look("Allow mv?", 8));
        assert_eq!(pressed, [press(["y", "Enter"])]);
        let _ = pane.step(10_000, Saw::Pressed(true));
        let _ = pane.step(11_000, look("> ", 11));
        let acts = pane.step(11_500, look("> ", 11));
        let Some(Act::Paste { text, .. }) = acts.last() else {
            panic!("{acts:?}");
        };
        assert!(text.last_line.contains("use mv"), "{text:?}");
    }

    #[test]
    fn a_reason_comes_before_whatever_else_waits() {
        for early in [true, false] {
            let (mut pane, dialog) = asked("Allow rm?");
            let next = || {
                Saw::Deliver(Text {
                    turn: Some(1),
                    ..Text::note("tx: the next turn")
                })
            };
            if early {
                let _ = pane.step(5_500, next());
            }
            let text = "use mv".to_owned();
            let _ = pane.step(6_000, decided(dialog.request, Decision::Deny { text }));
            let _ = pane.step(7_000, look("Allow rm?", 5));
            let _ = pane.step(7_000, Saw::Pressed(true));
            if !early {
                let _ = pane.step(7_500, next());
            }
            let _ = pane.step(8_000, look("> ", 8));
            let acts = pane.step(8_500, look("> ", 8));
            let Some(Act::Paste { text, .. }) = acts.last() else {
                panic!("{acts:?}");
            };
            assert!(text.last_line.contains("use mv"), "{text:?}");
        }
    }
}
