//! What each thing that is seen of a pane leads to.

use std::path::PathBuf;

use super::*;
use crate::engine::{Dialog, DialogKind, PAUSED, ProcessExit, Sent};
use crate::model::ScreenRules;
use crate::runtime::Runtimes;
use crate::runtime::screen::Screen;

/// A pane, and a clock that is moved by hand.
struct PaneHarness {
    pane: Pane,
    at: i64,
}

impl PaneHarness {
    fn of(screen: ScreenRules, one_turn: bool) -> PaneHarness {
        let setup = Setup {
            screen,
            one_turn,
            apart: 500,
            has_hooks: true,
            ..Setup::default()
        };
        PaneHarness {
            pane: Pane::new(setup),
            at: 1_000_000,
        }
    }

    /// One that reads lines, as `command` does.
    fn reads_lines() -> PaneHarness {
        let command = Runtimes::builtin().get("command").unwrap();
        PaneHarness::of(command.screen.clone(), false)
    }

    /// One that is typed to.
    fn typed_to() -> PaneHarness {
        let rules = "{ prompt: '^> $', busy: working, dialog: 'Allow .*', limited: no room }";
        PaneHarness::of(serde_yaml::from_str(rules).unwrap(), false)
    }

    fn see(&mut self, saw: Saw) -> Vec<Act> {
        self.pane.step(self.at, saw)
    }

    fn later(&mut self, milliseconds: i64) {
        self.at += milliseconds;
    }

    /// PaneSignal idle twice, when it has started.
    fn idle() -> PaneHarness {
        let mut play = PaneHarness::typed_to();
        play.see(Saw::Start { turn: None });
        assert_eq!(play.see(Saw::Started), [told(Report::Started), Act::Look]);
        assert_eq!(play.see(screen("> ")), []);
        play.later(500);
        let acts = play.see(screen("> "));
        assert_eq!(acts, [Act::Fence, told(Report::Ready { no: 1 })]);
        play
    }

    /// Turn 1 was pasted just now.
    fn pasted() -> PaneHarness {
        let mut play = PaneHarness::idle();
        assert_eq!(play.see(Saw::Deliver(text(1))), [Act::Look]);
        assert_eq!(play.see(screen("> ")), [paste(1, true)]);
        assert_eq!(play.see(Saw::Pasted(Pasted::There)), []);
        assert_eq!(play.pane.phase(), PanePhase::Submitted);
        play.later(200);
        assert_eq!(play.see(Saw::Due), [Act::Look]);
        play
    }

    /// Enter was pressed on turn 1.
    fn entered() -> PaneHarness {
        let mut play = PaneHarness::pasted();
        assert_eq!(play.see(holds(1)), [Act::Enter]);
        assert_eq!(play.see(Saw::Pressed(true)), []);
        play.later(200);
        assert_eq!(play.see(Saw::Due), [Act::Look]);
        play
    }
}

fn told(report: Report) -> Act {
    Act::Tell(report)
}

fn text(turn: u32) -> Text {
    Text {
        turn: Some(turn),
        mark: turn.to_string(),
        content: Content::File(PathBuf::from("given")),
        last_line: format!("read the message number {turn}"),
        until: None,
    }
}

fn note() -> Text {
    Text {
        turn: None,
        mark: String::new(),
        ..text(0)
    }
}

fn paste(turn: u32, as_seen: bool) -> Act {
    let text = text(turn);
    Act::Paste { text, as_seen }
}

fn view(line: &str) -> View {
    View {
        screen: Screen {
            lines: vec![line.trim_end().to_owned()],
            cursor: Some([line.chars().count(), 0]),
            ..Screen::default()
        },
        pid: 7,
        quiet: true,
        free: true,
        ..View::default()
    }
}

fn screen(line: &str) -> Saw {
    Saw::Screen(view(line))
}

/// The text of a turn stands in its prompt.
fn holds(turn: u32) -> Saw {
    screen(&format!("> {}", text(turn).last_line))
}

fn unsure(turn: u32) -> Act {
    told(Report::NotDelivered {
        turn,
        sent: Sent::Perhaps,
        why: "it may have been typed, and was not sent off".into(),
    })
}

fn title(title: &str, shown: i64, mark: &str) -> Saw {
    Saw::Title {
        title: title.into(),
        shown,
        mark: mark.into(),
    }
}

#[test]
fn a_program_that_reads_lines_is_given_its_text_at_once_and_has_it_then() {
    let mut play = PaneHarness::reads_lines();
    assert_eq!(play.see(Saw::Start { turn: None }), [Act::Start]);
    let ready = [told(Report::Started), told(Report::Ready { no: 1 })];
    assert_eq!(play.see(Saw::Started), ready);
    assert_eq!(play.see(Saw::Deliver(text(1))), [paste(1, false)]);
    let acts = play.see(Saw::Pasted(Pasted::There));
    assert_eq!(acts, [told(Report::Delivered { turn: 1 })]);
    assert_eq!((play.pane.phase(), play.pane.turn()), (PanePhase::Busy, 1));
    // What comes meanwhile waits for the end of the turn, by its outcome or its title.
    assert_eq!(play.see(Saw::Deliver(text(2))), []);
    let acts = play.see(Saw::Hook(Hook::Ended(Some(1))));
    let idle = told(Report::Idle { turn: 1, no: 2 });
    assert_eq!(acts, [idle, paste(2, false)]);
    play.see(Saw::Pasted(Pasted::There));
    assert_eq!(play.see(title("idle", 5, "1")), [], "that was before");
    let acts = play.see(title("idle", 5, "2"));
    let idle = told(Report::Idle { turn: 2, no: 3 });
    assert_eq!(acts, [Act::Fence, idle]);
    assert_eq!(play.see(Saw::Hook(Hook::Ended(Some(1)))), []);
}

#[test]
fn a_paste_that_nobody_can_tell_of_is_found_out_by_its_mark() {
    for (mark, acts) in [
        ("1", vec![told(Report::Delivered { turn: 1 })]),
        ("0", vec![paste(1, false)]),
    ] {
        let mut play = PaneHarness::reads_lines();
        play.see(Saw::Started);
        play.see(Saw::Deliver(text(1)));
        assert_eq!(play.see(Saw::Pasted(Pasted::Unknown)), [Act::Look]);
        assert_eq!(play.see(title("busy", 1, mark)), acts);
    }
    let mut play = PaneHarness::reads_lines();
    play.see(Saw::Started);
    play.see(Saw::Deliver(text(1)));
    let why = || "no room".to_owned();
    let acts = play.see(Saw::Pasted(Pasted::Refused(why())));
    let sent = Sent::Nothing;
    let failed = Report::NotDelivered {
        turn: 1,
        sent,
        why: why(),
    };
    assert_eq!(acts, [told(failed)]);
    assert_eq!(play.pane.phase(), PanePhase::Ready);
}

#[test]
fn a_process_of_one_turn_has_it_from_the_start_and_ends_it_by_its_exit() {
    let mut play = PaneHarness::of(ScreenRules::default(), true);
    play.see(Saw::Start { turn: Some(4) });
    let acts = play.see(Saw::Started);
    assert_eq!(
        acts,
        [told(Report::Started), told(Report::Delivered { turn: 4 })]
    );
    assert_eq!(play.see(Saw::Hook(Hook::Ended(Some(4)))), []);
    assert_eq!(play.see(Saw::Terminal(false)), [], "it goes on without");
    assert_eq!(play.see(Saw::Interrupt(Some(note()))), [Act::Interrupt]);
    let exit = ProcessExit::Code {
        code: 0,
        stdout: "done".into(),
        stderr: String::new(),
        rearmatter: Box::default(),
        parts: Vec::new(),
    };
    let acts = play.see(Saw::Exited {
        exit: exit.clone(),
        by_itself: true,
    });
    assert_eq!(acts, [Act::Fence, told(Report::Exited(exit))]);
    assert_eq!(play.pane.phase(), PanePhase::Gone);
}

#[test]
fn an_exit_that_may_have_come_of_a_lost_terminal_is_told_when_that_is_known() {
    let exit = || ProcessExit::Lost {
        why: "it was ended by signal 1".into(),
    };
    for (there, told_exit) in [
        (true, exit()),
        (
            false,
            ProcessExit::CutOff {
                why: "the tmux server went away".into(),
            },
        ),
    ] {
        let mut play = PaneHarness::reads_lines();
        play.see(Saw::Started);
        let by_itself = false;
        let exit = exit();
        let acts = play.see(Saw::Exited { exit, by_itself });
        assert_eq!(acts, [Act::FindTerminal]);
        let acts = play.see(Saw::Terminal(there));
        assert_eq!(acts, [Act::Fence, told(Report::Exited(told_exit))]);
    }
}

#[test]
fn it_is_ended_in_steps_and_one_that_has_not_begun_is_revoked() {
    let mut play = PaneHarness::reads_lines();
    play.see(Saw::Started);
    let mut steps = play.see(Saw::End);
    for _ in 0..4 {
        play.at = play.pane.due().unwrap();
        steps.extend(play.see(Saw::Due));
    }
    let expected = [
        Force::Interrupt,
        Force::Terminate,
        Force::Kill,
        Force::KillWrapper,
        Force::KillWrapper,
    ];
    assert_eq!(steps, expected.map(Act::Signal));

    let mut play = PaneHarness::reads_lines();
    play.see(Saw::Start { turn: None });
    assert_eq!(play.see(Saw::End), [Act::Revoke]);
    assert_eq!(play.pane.due(), None);
    assert_eq!(play.see(Saw::Started), [told(Report::Started)]);
    assert_eq!(play.see(Saw::Due), [Act::Signal(Force::Interrupt)]);
}

#[test]
fn a_text_is_typed_where_it_is_idle_twice_and_nobody_types() {
    let mut play = PaneHarness::idle();
    assert_eq!(play.see(Saw::Deliver(text(1))), [Act::Look]);
    for busy in ["> half a thought", ">    "] {
        assert_eq!(play.see(screen(busy)), [], "{busy}");
        play.later(500);
        assert_eq!(play.see(Saw::Due), [Act::Look]);
    }
    let somebody = |quiet, free| {
        Saw::Screen(View {
            quiet,
            free,
            ..view("> ")
        })
    };
    for in_use in [somebody(false, true), somebody(true, false)] {
        assert_eq!(play.see(in_use), []);
        play.later(500);
        assert_eq!(play.see(Saw::Due), [Act::Look]);
    }
    assert_eq!(play.see(screen("> ")), [], "once may be a flicker");
    play.later(500);
    assert_eq!(play.see(Saw::Due), [Act::Look]);
    assert_eq!(play.see(screen("> ")), [paste(1, true)]);
    // It changed in the last moment.
    assert_eq!(play.see(Saw::Pasted(Pasted::Changed)), []);
    assert_eq!(play.pane.phase(), PanePhase::Delivering);
    play.later(500);
    assert_eq!(play.see(Saw::Due), [Act::Look]);
    assert_eq!(play.see(screen("> ")), [], "all over again");
}

#[test]
fn enter_is_pressed_while_the_text_is_seen_and_it_counts_when_that_has_left() {
    let mut play = PaneHarness::entered();
    assert_eq!(play.see(holds(1)), [], "it is slow");
    play.later(200);
    assert_eq!(play.see(Saw::Due), [Act::Look]);
    let acts = play.see(screen("working"));
    assert_eq!(acts, [told(Report::Delivered { turn: 1 })]);
    assert_eq!(play.pane.phase(), PanePhase::Busy);
    // A hook says so sooner.
    let mut play = PaneHarness::entered();
    let acts = play.see(Saw::Hook(Hook::TakenUp(Some(1))));
    assert_eq!(acts, [told(Report::Delivered { turn: 1 })]);
}

#[test]
fn a_lost_enter_is_pressed_once_more_and_not_if_anything_has_moved() {
    let mut play = PaneHarness::entered();
    play.later(3_000);
    assert_eq!(play.see(holds(1)), [Act::Enter]);
    play.see(Saw::Pressed(true));
    play.later(3_000);
    assert_eq!(play.see(holds(1)), [unsure(1)], "not a third time");

    let mut play = PaneHarness::entered();
    let moved = |line: &str| {
        let mut moved = view(&format!("> {}", text(1).last_line));
        moved.screen.lines.push(line.into());
        Saw::Screen(moved)
    };
    play.later(3_000);
    assert_eq!(play.see(moved("something")), []);
    play.later(200);
    assert_eq!(play.see(moved("something")), [Act::Enter], "it rests");

    let mut play = PaneHarness::entered();
    play.later(3_000);
    assert_eq!(play.see(moved("something")), []);
    play.later(3_000);
    assert_eq!(play.see(moved("something else")), [unsure(1)]);
}

#[test]
fn a_program_that_resumes_is_idle_when_it_shows_its_session() {
    let rules = "{ prompt: '^> $', busy: working, resumed: '^earlier' }";
    let mut play = PaneHarness::of(serde_yaml::from_str(rules).unwrap(), false);
    play.see(Saw::Start { turn: None });
    play.see(Saw::Started);
    for _ in 0..10 {
        assert_eq!(play.see(screen("> ")), [], "it may still read it");
        play.later(500);
    }
    let resumed = |play: &mut PaneHarness| {
        let mut view = view("> ");
        view.screen.lines.insert(0, "earlier".into());
        view.screen.cursor = Some([2, 1]);
        play.see(Saw::Screen(view))
    };
    assert_eq!(resumed(&mut play), []);
    play.later(500);
    let ready = [Act::Fence, told(Report::Ready { no: 1 })];
    assert_eq!(resumed(&mut play), ready);
    // One that never shows it is not waited for for ever.
    let mut play = PaneHarness::of(serde_yaml::from_str(rules).unwrap(), false);
    play.see(Saw::Start { turn: None });
    play.see(Saw::Started);
    assert_eq!(play.see(screen("> ")), []);
    play.later(20_000);
    assert_eq!(play.see(screen("> ")), ready);
}

#[test]
fn a_screen_that_is_being_drawn_does_not_show_that_a_text_was_taken() {
    let mut play = PaneHarness::entered();
    assert_eq!(play.see(screen("drawing")), []);
    play.later(200);
    assert_eq!(play.see(Saw::Due), [Act::Look]);
    assert_eq!(play.see(screen("drawing")), [], "it shows no prompt");
    play.later(200);
    assert_eq!(play.see(screen("> ")), [], "one look is no proof");
    play.later(200);
    assert_eq!(play.see(holds(1)), []);
    play.later(200);
    assert_eq!(play.see(screen("> ")), [], "it starts over");
    play.later(200);
    assert_eq!(play.see(Saw::Due), [Act::Look]);
    assert_eq!(
        play.see(screen("> ")),
        [told(Report::Delivered { turn: 1 })]
    );
}

#[test]
fn a_screen_that_is_being_drawn_does_not_show_that_a_text_is_lost() {
    let mut play = PaneHarness::pasted();
    assert_eq!(play.see(screen("drawing")), [], "it shows no prompt");
    play.later(200);
    assert_eq!(play.see(Saw::Due), [Act::Look]);
    assert_eq!(play.see(holds(1)), [Act::Enter]);
    let mut play = PaneHarness::pasted();
    assert_eq!(play.see(screen("drawing")), []);
    play.later(3_000);
    assert_eq!(play.see(screen("drawing")), [unsure(1)]);
}

/// gemini takes an Enter for a line break as long as it has not dealt with the paste before.
#[test]
fn an_enter_that_became_a_line_break_is_pressed_once_more() {
    let gemini = Runtimes::builtin().get("gemini").unwrap();
    let mut play = PaneHarness::of(gemini.screen.clone(), false);
    let shows = |lines: &str, cursor: [usize; 2]| {
        let mut view = view("");
        view.screen.lines = lines.lines().map(str::to_owned).collect();
        view.screen.cursor = Some(cursor);
        view.screen.title = "◇  Ready (project)".into();
        Saw::Screen(view)
    };
    let typed = include_str!("../../tests/screens/gemini-200-typed.txt");
    let broken = include_str!("../../tests/screens/gemini-200-line-break.txt");
    let line = typed.lines().nth(42).unwrap().trim_start_matches(" > ");
    let empty = typed.replace(
        &format!(" > {line}"),
        " >   Type your message or @path/to/file",
    );
    let idle = || shows(&empty, [3, 42]);
    let given = Text {
        last_line: line.into(),
        ..text(1)
    };
    play.see(Saw::Start { turn: None });
    play.see(Saw::Started);
    play.see(Saw::Deliver(given));
    assert_eq!(play.see(idle()), []);
    play.later(500);
    let acts = play.see(idle());
    assert!(matches!(acts.last(), Some(Act::Paste { .. })), "{acts:?}");
    play.see(Saw::Pasted(Pasted::There));
    play.later(200);
    assert_eq!(play.see(shows(typed, [159, 42])), [Act::Enter]);
    play.see(Saw::Pressed(true));
    play.later(200);
    assert_eq!(play.see(shows(broken, [3, 43])), [], "it is slow");
    play.later(3_000);
    assert_eq!(play.see(shows(broken, [3, 43])), [Act::Enter]);
    play.see(Saw::Pressed(true));
    play.later(200);
    assert_eq!(play.see(idle()), []);
    play.later(200);
    assert_eq!(play.see(idle()), [told(Report::Delivered { turn: 1 })]);
}

#[test]
fn what_came_between_paste_and_enter_has_the_text() {
    let typed = |keys, line: &str| Saw::Screen(View { keys, ..view(line) });
    let line = format!("> {}", text(1).last_line);
    for between in [typed(9, &line), typed(9, "> ")] {
        let mut play = PaneHarness::pasted();
        assert_eq!(play.see(between.clone()), [unsure(1)], "{between:?}");
    }
    let mut play = PaneHarness::pasted();
    let acts = play.see(screen("Allow rm?"));
    let dialog = Dialog {
        kind: DialogKind::Permission,
        text: "Allow rm?".into(),
        request: None,
    };
    let asked = told(Report::Asked { dialog, no: 2 });
    assert_eq!(acts, [unsure(1), asked]);
    assert_eq!(play.pane.phase(), PanePhase::Dialog);
    let mut play = PaneHarness::pasted();
    assert_eq!(play.see(holds(1)), [Act::Enter]);
    assert_eq!(play.see(Saw::Pressed(false)), [unsure(1)]);
}

#[test]
fn what_was_put_there_in_an_earlier_life_is_not_put_there_again() {
    let mut play = PaneHarness::idle();
    play.see(Saw::Deliver(text(1)));
    let had = Saw::Screen(View {
        mark: "3 1".into(),
        ..view("> ")
    });
    assert_eq!(play.see(had), [unsure(1)]);
}

#[test]
fn the_outcome_of_a_turn_proves_that_it_was_sent_off_after_all() {
    let mut play = PaneHarness::pasted();
    assert_eq!(play.see(screen("> ")), [], "it may show late");
    play.later(3_000);
    assert_eq!(play.see(screen("> ")), [unsure(1)]);
    assert_eq!(play.see(screen("> ")), []);
    play.later(2_500);
    assert_eq!(play.see(screen("> ")), [], "it may still show");
    play.later(500);
    assert_eq!(
        play.see(screen("> ")),
        [Act::Fence, told(Report::Ready { no: 2 })]
    );
    let had = told(Report::Delivered { turn: 1 });
    assert_eq!(play.see(Saw::Hook(Hook::Ended(Some(1)))), [had]);
    assert_eq!(play.see(Saw::Hook(Hook::Ended(Some(1)))), []);
    // Its screen tells when it has ended the turn, and may be late.
    assert_eq!(play.see(screen("> ")), []);
    play.later(3_000);
    let idle = told(Report::Idle { turn: 1, no: 3 });
    assert_eq!(play.see(screen("> ")), [Act::Fence, idle]);
}

#[test]
fn a_text_that_finds_no_moment_is_given_up() {
    let mut play = PaneHarness::idle();
    let until = Some(play.at + 1_000);
    play.see(Saw::Deliver(Text { until, ..text(1) }));
    assert_eq!(play.see(screen("> draft")), []);
    play.later(1_000);
    play.see(Saw::Due);
    let failed = Report::NotDelivered {
        turn: 1,
        sent: Sent::Nothing,
        why: "its prompt is not at its cursor, or something is typed there".into(),
    };
    assert_eq!(play.see(screen("> draft")), [told(failed)]);
    assert_eq!(
        (play.pane.phase(), play.pane.due()),
        (PanePhase::Ready, None)
    );
}

#[test]
fn who_waits_for_a_text_is_told_that_somebody_uses_the_pane() {
    let mut play = PaneHarness::idle();
    play.see(Saw::Deliver(text(1)));
    assert_eq!(play.see(screen("> draft")), []);
    for no in [2, 3] {
        play.later(20_000);
        assert_eq!(play.see(Saw::Due), [Act::Look]);
        let held = Report::Busy {
            turn: None,
            unchanged: true,
            no,
        };
        assert_eq!(play.see(screen("> draft")), [told(held)]);
    }
}

#[test]
fn dialogs_limits_and_work_are_told_and_hold_a_text() {
    let mut play = PaneHarness::idle();
    play.see(Saw::Deliver(text(1)));
    let busy = told(Report::Busy {
        turn: None,
        unchanged: false,
        no: 2,
    });
    assert_eq!(play.see(screen("working")), [busy], "a person's own turn");
    play.later(500);
    assert_eq!(play.see(Saw::Due), [Act::Look]);
    assert!(matches!(
        play.see(screen("Allow rm?"))[..],
        [Act::Tell(Report::Asked { no: 3, .. })]
    ));
    assert_eq!(play.see(screen("Allow rm?")), [], "known");
    let until = play.at + 300_000;
    let limited = told(Report::Limited {
        until,
        guessed: true,
        no: 4,
    });
    assert_eq!(play.see(screen("no room")), [limited]);
    assert_eq!(play.see(screen("no room")), [], "known");
    play.at = until;
    let until = until + 600_000;
    let limited = told(Report::Limited {
        until,
        guessed: true,
        no: 5,
    });
    assert_eq!(play.see(screen("no room")), [limited], "it lasts longer");
    assert_eq!(play.see(screen("> ")), []);
    play.later(500);
    let acts = play.see(screen("> "));
    assert_eq!(
        acts,
        [Act::Fence, told(Report::Ready { no: 6 }), paste(1, true)]
    );
}

#[test]
fn an_agent_that_nobody_is_logged_in_at_is_ended_with_the_command_that_helps() {
    let rules = "{ prompt: '^> $', busy: working, logged_out: '^! (?<said>401.*)' }";
    let mut play = PaneHarness::of(serde_yaml::from_str(rules).unwrap(), false);
    play.pane.setup.login = "cli login".into();
    play.see(Saw::Start { turn: Some(1) });
    play.see(Saw::Started);
    play.see(screen("working"));
    let mut failed = view("> ");
    failed.screen.lines.insert(0, "! 401 no key".into());
    failed.screen.cursor = Some([2, 1]);
    let acts = play.see(Saw::Screen(failed));
    assert_eq!(acts, [Act::Signal(Force::Interrupt)]);
    let exit = ProcessExit::Code {
        code: 0,
        stdout: String::new(),
        stderr: String::new(),
        rearmatter: Box::default(),
        parts: Vec::new(),
    };
    let by_itself = false;
    let acts = play.see(Saw::Exited { exit, by_itself });
    let why = "nobody is logged in (401 no key): run `cli login`, then retry".into();
    let exited = told(Report::Exited(ProcessExit::Unstartable { why }));
    assert_eq!(acts, [Act::Fence, exited]);
}

#[test]
fn a_hook_can_say_that_nobody_is_logged_in() {
    let said = || Saw::Hook(Hook::LoggedOut("401 no key".into()));
    let mut play = PaneHarness::idle();
    let acts = play.see(said());
    assert_eq!(acts, [Act::Look], "it has no turn of tx");
    let mut play = launched();
    play.see(screen("working"));
    assert_eq!(play.see(said()), [Act::Signal(Force::Interrupt)]);
}

#[test]
fn a_note_that_a_killed_tx_typed_is_sent_off_once_and_no_draft_is() {
    let adopted = || {
        let mut play = PaneHarness::typed_to();
        play.see(Saw::Adopted {
            turn: 1,
            told: 0,
            busy: true,
        });
        play
    };
    let note = || screen(&format!("> {PAUSED}"));
    let mut play = adopted();
    play.see(note());
    play.later(200);
    assert_eq!(play.see(note()), [Act::Enter]);
    play.see(Saw::Pressed(true));
    play.see(screen("working"));

    let mut play = adopted();
    play.see(screen(
        "> End your turn. You continue when you are answered.",
    ));
    play.later(200);
    let draft = play.see(screen(
        "> End your turn. You continue when you are answered.",
    ));
    assert!(!draft.contains(&Act::Enter), "it is somebody's draft");
}

#[test]
fn a_note_of_which_nobody_knows_whether_it_was_typed_is_sent_off_if_the_prompt_shows_it() {
    let mut play = PaneHarness::entered();
    play.see(screen("working"));
    play.see(Saw::Interrupt(Some(Text::note(PAUSED))));
    play.see(screen("> "));
    play.later(500);
    let (text, as_seen) = (Text::note(PAUSED), true);
    assert_eq!(play.see(screen("> ")), [Act::Paste { text, as_seen }]);
    play.see(Saw::Pasted(Pasted::Unknown));
    let typed = || screen(&format!("> {PAUSED}"));
    play.see(typed());
    play.later(200);
    assert_eq!(play.see(typed()), [Act::Enter]);
}

#[test]
fn who_is_interrupted_is_told_why_and_idle_is_told_after_that() {
    let mut play = PaneHarness::reads_lines();
    play.see(Saw::Started);
    play.see(Saw::Deliver(text(1)));
    play.see(Saw::Pasted(Pasted::There));
    let text = note();
    let as_seen = false;
    let pasted = Act::Paste { text, as_seen };
    let acts = play.see(Saw::Interrupt(Some(note())));
    assert_eq!(acts, [Act::Interrupt, pasted]);
    assert_eq!(play.see(Saw::Pasted(Pasted::There)), []);

    let mut play = PaneHarness::entered();
    play.see(screen("working"));
    assert_eq!(play.see(Saw::Interrupt(Some(note()))), [Act::Interrupt]);
    assert_eq!(play.see(screen("> ")), []);
    play.later(500);
    let (text, as_seen) = (note(), true);
    assert_eq!(play.see(screen("> ")), [Act::Paste { text, as_seen }]);
    play.see(Saw::Pasted(Pasted::There));
    let typed = || screen(&format!("> {}", note().last_line));
    assert_eq!(play.see(typed()), [Act::Enter]);
    play.see(Saw::Pressed(true));
    assert_eq!(play.see(screen("working")), [], "nobody is told of a note");
    assert_eq!(play.see(screen("> ")), []);
    play.later(500);
    let idle = told(Report::Idle { turn: 1, no: 2 });
    assert_eq!(play.see(screen("> ")), [Act::Fence, idle]);
}

#[test]
fn one_that_was_found_alive_goes_by_what_it_shows_or_else_by_what_was_known() {
    let adopted = |busy| Saw::Adopted {
        turn: 3,
        told: 8,
        busy,
    };
    let mut play = PaneHarness::reads_lines();
    let (turn, no) = (3, 9);
    assert_eq!(play.see(adopted(false)), [told(Report::Idle { turn, no })]);
    let mut play = PaneHarness::reads_lines();
    let (turn, unchanged) = (Some(3), true);
    let busy = told(Report::Busy {
        turn,
        unchanged,
        no,
    });
    assert_eq!(play.see(adopted(true)), [busy]);
    let mut play = PaneHarness::typed_to();
    assert_eq!(play.see(adopted(false)), [Act::Look]);
    assert!(matches!(
        play.see(screen("Allow rm?"))[..],
        [Act::Tell(Report::Asked { no: 9, .. })]
    ));
}

#[test]
fn a_look_tells_what_is_shown_and_whether_that_is_new() {
    let mut play = PaneHarness::reads_lines();
    play.see(Saw::Started);
    assert_eq!(play.see(Saw::Look), [told(Report::Ready { no: 2 })]);
    play.see(Saw::Deliver(text(1)));
    play.see(Saw::Pasted(Pasted::There));
    let busy = |unchanged, no| {
        told(Report::Busy {
            turn: Some(1),
            unchanged,
            no,
        })
    };
    for (shown, unchanged, no) in [(100, false, 3), (100, true, 4), (101, false, 5)] {
        assert_eq!(play.see(Saw::Look), [Act::Look]);
        assert_eq!(play.see(title("busy", shown, "1")), [busy(unchanged, no)]);
    }
    // Unasked, one a minute.
    assert_eq!(play.see(title("busy", 120, "1")), []);
    assert_eq!(play.see(title("busy", 161, "1")), [busy(false, 6)]);
}

#[test]
fn a_look_finds_out_that_a_dialog_is_over_though_no_hook_has_said_so() {
    let mut play = PaneHarness::reads_lines();
    play.see(Saw::Start { turn: None });
    play.see(Saw::Started);
    play.see(Saw::Deliver(text(1)));
    play.see(Saw::Pasted(Pasted::There));
    let dialog = Dialog {
        kind: DialogKind::Question,
        text: "Which?".into(),
        request: None,
    };
    let asked = |no| {
        told(Report::Asked {
            dialog: dialog.clone(),
            no,
        })
    };
    let acts = play.see(Saw::Hook(Hook::Asked(dialog.clone())));
    assert_eq!(acts, [asked(2)]);
    assert_eq!(play.see(Saw::Look), [Act::Look]);
    assert_eq!(play.see(title("busy", 1_000, "1")), [asked(3)]);
    assert_eq!(play.see(Saw::Look), [Act::Look]);
    let idle = Report::Idle { turn: 1, no: 4 };
    let acts = play.see(title("idle", 1_000, "1"));
    assert_eq!(acts, [Act::Fence, told(idle)]);
}

#[test]
fn a_program_that_stays_is_ended_when_its_terminal_is_gone() {
    let mut play = PaneHarness::idle();
    let acts = play.see(Saw::Terminal(false));
    assert_eq!(acts, [Act::Signal(Force::Terminate)]);
    assert_eq!(play.pane.phase(), PanePhase::Ending);
}

/// One with hooks that is at work on turn 1, which its process was started with.
fn launched() -> PaneHarness {
    let mut play = PaneHarness::typed_to();
    play.see(Saw::Start { turn: Some(1) });
    assert_eq!(play.see(Saw::Started), [told(Report::Started), Act::Look]);
    let taken = play.see(Saw::Hook(Hook::TakenUp(Some(1))));
    assert_eq!(taken, [told(Report::Delivered { turn: 1 })]);
    play
}

fn request(request: u32, wants: HookWants) -> Saw {
    Saw::Request { request, wants }
}

fn answered(request: u32, answer: HookAnswer) -> Act {
    Act::Answer { request, answer }
}

fn permission() -> HookWants {
    HookWants::Permission(Dialog {
        kind: DialogKind::Permission,
        text: "Bash: rm x".into(),
        request: None,
    })
}

#[test]
fn a_text_that_a_process_was_started_with_counts_when_it_is_taken_up() {
    let play = launched();
    assert_eq!((play.pane.phase(), play.pane.turn()), (PanePhase::Busy, 1));
    // Where no hook says so, its screen does; behind a dialog nothing has been taken up yet.
    let mut play = PaneHarness::typed_to();
    play.see(Saw::Start { turn: Some(1) });
    play.see(Saw::Started);
    let acts = play.see(screen("Allow this folder?"));
    assert!(matches!(acts[..], [Act::Tell(Report::Asked { .. })]));
    let acts = play.see(screen("working"));
    assert_eq!(acts[0], told(Report::Delivered { turn: 1 }));
}

#[test]
fn a_turn_that_a_hook_has_announced_is_not_over_before_the_screen_has_shown_it() {
    let mut play = launched();
    for _ in 0..10 {
        play.later(1_000);
        assert_eq!(play.see(screen("> ")), [], "it draws the turn before");
    }
    play.see(screen("working"));
    play.see(screen("> "));
    play.later(500);
    let idle = told(Report::Idle { turn: 1, no: 1 });
    let acts = play.see(screen("> "));
    assert_eq!(acts, [Act::Fence, idle], "it has shown it");
    // A turn that never shows is over all the same.
    let mut play = launched();
    play.see(screen("> "));
    play.later(20_000);
    assert_eq!(play.see(screen("> ")).len(), 2);
}

#[test]
fn what_follows_at_the_end_of_a_turn_is_the_answer_of_its_hook() {
    let mut play = launched();
    let acts = play.see(request(1, HookWants::EndOfTurn));
    assert_eq!(acts, [Act::Fence, told(Report::Idle { turn: 1, no: 1 })]);
    let acts = play.see(Saw::Deliver(text(2)));
    assert_eq!(acts, [answered(1, HookAnswer::Text(text(2)))]);
    let acts = play.see(Saw::Pasted(Pasted::There));
    assert_eq!(acts, [told(Report::Delivered { turn: 2 })]);
    assert_eq!(play.pane.phase(), PanePhase::Busy);
}

#[test]
fn a_hook_at_the_end_of_a_turn_is_released_as_soon_as_nothing_follows() {
    let mut play = launched();
    play.see(request(1, HookWants::EndOfTurn));
    let acts = play.see(Saw::NothingFollows);
    assert_eq!(acts, [answered(1, HookAnswer::Nothing)]);
    assert_eq!(play.pane.due(), None);
    // A text was given to it meanwhile: it has its answer.
    let mut play = launched();
    play.see(request(1, HookWants::EndOfTurn));
    play.see(Saw::Deliver(text(2)));
    assert_eq!(play.see(Saw::NothingFollows), []);
}

#[test]
fn a_hook_at_the_end_of_a_turn_is_not_held_up_for_long() {
    let mut play = launched();
    play.see(request(1, HookWants::EndOfTurn));
    assert_eq!(play.pane.due(), Some(play.at + 2_000));
    play.later(2_000);
    assert_eq!(play.see(Saw::Due), [answered(1, HookAnswer::Nothing)]);
    assert_eq!(play.pane.due(), None);
}

#[test]
fn an_idle_program_is_woken_by_its_newest_hook_and_says_when_it_has_the_text() {
    let mut play = launched();
    play.see(request(1, HookWants::Wake));
    play.see(Saw::Hook(Hook::Ended(None)));
    let acts = play.see(request(2, HookWants::Wake));
    assert_eq!(acts, [answered(1, HookAnswer::Nothing)]);
    let acts = play.see(Saw::Deliver(text(2)));
    assert_eq!(acts, [answered(2, HookAnswer::Text(text(2)))]);
    assert_eq!(play.see(Saw::Pasted(Pasted::There)), []);
    assert_eq!(play.pane.phase(), PanePhase::Submitted);
    let acts = play.see(Saw::Hook(Hook::TakenUp(Some(2))));
    assert_eq!(acts, [told(Report::Delivered { turn: 2 })]);
}

#[test]
fn a_text_that_was_sent_and_not_taken_up_is_unconfirmed_and_never_sent_again() {
    let mut play = launched();
    play.see(Saw::Hook(Hook::Ended(None)));
    play.see(request(1, HookWants::Wake));
    play.see(Saw::Deliver(text(2)));
    play.see(Saw::Pasted(Pasted::There));
    play.later(10_000);
    assert_eq!(play.see(Saw::Due), [Act::Look]);
    let acts = play.see(screen("> "));
    let unsure = |act: &Act| {
        matches!(
            act,
            Act::Tell(Report::NotDelivered {
                sent: Sent::Perhaps,
                ..
            })
        )
    };
    assert!(acts.iter().any(unsure), "{acts:?}");
    // It comes all the same, late.
    let acts = play.see(Saw::Hook(Hook::TakenUp(Some(2))));
    assert_eq!(acts, [told(Report::Delivered { turn: 2 })]);
}

/// The number of the dialog that was told of.
fn shown(acts: &[Act]) -> u32 {
    let [Act::Tell(Report::Asked { dialog, .. })] = acts else {
        panic!("{acts:?}");
    };
    dialog.request.expect("it has a number")
}

#[test]
fn a_permission_waits_for_the_human_whatever_the_screen_shows() {
    let mut play = launched();
    let shown = shown(&play.see(request(7, permission())));
    assert_eq!(play.see(screen("working")), []);
    assert_eq!(play.see(screen("> ")), []);
    assert_eq!(play.pane.phase(), PanePhase::Dialog);
    let decision = crate::engine::Decision::Allow;
    let acts = play.see(Saw::Decided {
        request: shown,
        decision: decision.clone(),
    });
    assert_eq!(acts[0], answered(7, HookAnswer::Decision(decision)));
    assert!(matches!(acts[1], Act::Tell(Report::Busy { .. })));
}

#[test]
fn a_permission_that_was_answered_in_the_pane_is_open_no_more() {
    let mut play = launched();
    let shown = shown(&play.see(request(7, permission())));
    assert_eq!(play.see(Saw::Withdrawn(7)), [Act::Look]);
    let acts = play.see(screen("working"));
    assert!(matches!(acts[..], [Act::Tell(Report::Busy { .. })]));
    let decision = crate::engine::Decision::Allow;
    let acts = play.see(Saw::Decided {
        request: shown,
        decision,
    });
    assert_eq!(acts, [], "too late");
}

#[test]
fn an_answer_of_before_a_restart_counts_for_no_other_permission() {
    let mut play = launched();
    let before = shown(&play.see(request(1, permission())));
    let told = play.pane.told;
    // tx is killed, and its hooks are counted from 1 again.
    let mut play = PaneHarness::typed_to();
    let busy = true;
    play.see(Saw::Adopted {
        turn: 1,
        told,
        busy,
    });
    let now = shown(&play.see(request(1, permission())));
    assert_ne!(now, before);
    let decide = |play: &mut PaneHarness, request: u32| {
        let decision = crate::engine::Decision::Allow;
        play.see(Saw::Decided { request, decision })
    };
    assert_eq!(decide(&mut play, before), []);
    assert_eq!(play.pane.phase(), PanePhase::Dialog);
    assert!(matches!(
        decide(&mut play, now)[0],
        Act::Answer { request: 1, .. }
    ));
}

#[test]
fn a_permission_is_open_no_more_when_its_dialog_has_gone_from_the_screen() {
    let mut play = launched();
    play.see(request(7, permission()));
    // Nothing is known before the dialog is drawn.
    play.see(screen("working"));
    play.later(1_000);
    assert_eq!(play.see(screen("working")), []);
    play.see(screen("Allow it?"));
    // It may be a flicker.
    play.later(1_000);
    assert_eq!(play.see(screen("working")), []);
    assert_eq!(play.pane.due(), Some(play.at + 500));
    play.later(500);
    assert_eq!(play.see(Saw::Due), [Act::Look]);
    let acts = play.see(screen("working"));
    assert_eq!(acts[0], answered(7, HookAnswer::Nothing));
    assert!(
        matches!(acts[1], Act::Tell(Report::Busy { .. })),
        "{acts:?}"
    );
}

#[test]
fn a_dialog_that_comes_back_is_still_open() {
    let mut play = launched();
    play.see(request(7, permission()));
    for shown in [
        "Allow it?",
        "> ",
        "Allow it?",
        "> ",
        "something over it",
        "> ",
    ] {
        play.later(600);
        assert_eq!(play.see(screen(shown)), [], "{shown}");
    }
    assert_eq!(play.pane.phase(), PanePhase::Dialog);
}

#[test]
fn a_limit_that_is_over_may_stay_on_the_screen() {
    let mut play = launched();
    play.see(request(1, HookWants::Wake));
    play.see(screen("no room"));
    assert_eq!(play.pane.phase(), PanePhase::Limited);
    assert_eq!(play.see(Saw::Deliver(text(2))), [Act::Look], "it waits");
    play.later(300_000);
    let acts = play.see(Saw::Deliver(text(2)));
    assert_eq!(acts, [answered(1, HookAnswer::Text(text(2)))]);
}

#[test]
fn a_program_that_starts_slowly_is_waited_for() {
    let mut play = PaneHarness::typed_to();
    play.see(Saw::Start { turn: Some(1) });
    play.see(Saw::Started);
    let mut held = 0;
    for _ in 0..40 {
        play.later(10_000);
        let acts = play.see(screen("loading"));
        held += usize::from(matches!(
            acts[..],
            [Act::Tell(Report::Busy { turn: None, .. })]
        ));
    }
    assert_eq!(held, 14, "every 20 seconds, and no more after five minutes");
}

#[test]
fn a_program_without_hooks_may_wait_before_it_takes_up_what_it_was_started_with() {
    let start = || {
        let mut play = PaneHarness::typed_to();
        play.pane = {
            let rules = "{ prompt: '^> $', busy: working, limited: no room }";
            Pane::new(Setup {
                screen: serde_yaml::from_str(rules).unwrap(),
                apart: 500,
                ..Setup::default()
            })
        };
        play.see(Saw::Start { turn: Some(1) });
        play.see(Saw::Started);
        for _ in 0..4 {
            assert_eq!(play.see(screen("> ")), [], "it waits, and is not idle");
            play.later(1_000);
        }
        play
    };
    let delivered = told(Report::Delivered { turn: 1 });
    let acts = start().see(screen("working"));
    assert!(acts.first() == Some(&delivered), "{acts:?}");
    let acts = start().see(screen("no room"));
    assert!(acts.first() == Some(&delivered), "{acts:?}");
    // It was so quick that nobody saw it at work.
    let mut play = start();
    play.later(20_000);
    let idle = told(Report::Idle { turn: 1, no: 1 });
    assert_eq!(play.see(screen("> ")), [delivered, Act::Fence, idle]);
}

#[test]
fn what_cannot_be_seen_is_not_told_to_be_idle() {
    let mut play = PaneHarness::idle();
    assert_eq!(play.see(Saw::Look), [Act::Look]);
    assert_eq!(play.see(Saw::NotSeen(Some("slow".into()))), []);
    play.later(500);
    assert_eq!(play.see(Saw::Due), [Act::Look]);
    let acts = play.see(screen("> "));
    assert_eq!(acts, [told(Report::Ready { no: 2 })]);
}

#[test]
fn a_text_of_an_earlier_life_may_not_show_yet() {
    let mut play = PaneHarness::typed_to();
    let view = |mark: &str| {
        Saw::Screen(View {
            mark: mark.into(),
            ..view("> ")
        })
    };
    let (turn, told, busy) = (3, 5, true);
    play.see(Saw::Adopted { turn, told, busy });
    play.see(view("4"));
    play.later(600);
    assert_eq!(play.see(view("4")), [], "turn 4 may have been typed");
    play.later(3_000);
    assert_ne!(play.see(view("4")), []);
}
