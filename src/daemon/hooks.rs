//! The hooks of one agent CLI. What a hook reports goes to its pane, and what the pane decides is
//! the answer. Nothing is decided here.

use std::collections::BTreeMap;
use std::fs;
use std::future::poll_fn;
use std::path::Path;
use std::task::Poll;

use indexmap::IndexMap;
use tokio::sync::oneshot;

use super::control::Reply;
use crate::engine::{Decision, Dialog, DialogKind};
use crate::model::HookMeaning;
use crate::pane::{Content, Hook, HookAnswer, HookWants, Pasted, Saw, Text};
use crate::runtime::hook::{HookCall, HookOutput};

/// A hook that was called, and where its answer goes.
pub(super) struct IncomingHook {
    pub(super) call: HookCall,
    /// This call waits for a text that wakes the agent.
    pub(super) wake: bool,
    pub(super) answer: oneshot::Sender<Reply>,
}

/// What the hooks of one process have reported, and the calls that wait for an answer.
pub(super) struct Hooks {
    meanings: IndexMap<String, HookMeaning>,
    question_tools: Vec<String>,
    one_turn: bool,
    /// The path prefix of this process's delivery files.
    turns: String,
    /// A delivery file of an earlier process that a queued text names, and the turn that it now
    /// belongs to.
    queued: Option<(String, u32)>,
    /// How many calls have waited so far. This numbers them.
    count: u32,
    waiting: BTreeMap<u32, PendingHook>,
    /// The session that the hooks named.
    pub(super) session: Option<String>,
    /// The transcript of the conversation.
    pub(super) transcript: Option<String>,
    /// The agent's last message, until it is reported.
    pub(super) said: Option<String>,
}

struct PendingHook {
    answer: oneshot::Sender<Reply>,
    wake: bool,
}

impl Hooks {
    /// The hooks of the process with this folder.
    pub(super) fn new(
        meanings: IndexMap<String, HookMeaning>,
        question_tools: Vec<String>,
        one_turn: bool,
        folder: &Path,
    ) -> Hooks {
        Hooks {
            meanings,
            question_tools,
            one_turn,
            turns: folder.join("turn-").to_string_lossy().into(),
            queued: None,
            count: 0,
            waiting: BTreeMap::new(),
            session: None,
            transcript: None,
            said: None,
        }
    }

    /// From now on, a text that names this file is that turn.
    pub(super) fn expect(&mut self, file: &Path, turn: u32) {
        self.queued = Some((file.to_string_lossy().into(), turn));
    }

    /// Whether the program has no hooks.
    pub(super) fn is_silent(&self) -> bool {
        self.meanings.is_empty()
    }

    /// What a call means to the pane. A call that needs no answer is answered at once.
    pub(super) fn hear(&mut self, called: IncomingHook) -> Option<Saw> {
        let IncomingHook { call, wake, answer } = called;
        let wants = match self.meanings.get(&call.event) {
            _ if wake && !self.one_turn => Some(HookWants::Wake),
            // A process that lives for one turn ends the turn by its exit.
            Some(HookMeaning::Ended) if !wake && !self.one_turn => Some(HookWants::EndOfTurn),
            Some(HookMeaning::Asks) if !wake => Some(HookWants::Permission(self.dialog(&call))),
            _ => None,
        };
        self.note(&call);
        let Some(wants) = wants else {
            // If the answer cannot be sent, the caller is gone.
            let _ = answer.send(said(HookOutput::nothing()));
            return self.saw(&call).filter(|_| !wake);
        };
        self.count += 1;
        let request = self.count;
        self.waiting.insert(request, PendingHook { answer, wake });
        Some(Saw::Request { request, wants })
    }

    fn dialog(&self, call: &HookCall) -> Dialog {
        let tool = call.tool.as_ref();
        let is_question = tool.is_some_and(|tool| self.question_tools.contains(tool));
        Dialog {
            kind: match is_question {
                true => DialogKind::Question,
                false => DialogKind::Permission,
            },
            text: call.request_text(),
            request: None,
        }
    }

    /// The calls made while no daemon ran, in order.
    pub(super) fn kept(&mut self, folder: &Path) -> Vec<Saw> {
        let folder = folder.join("hooks");
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        let mut files: Vec<_> = entries.map(|entry| entry.path()).collect();
        files.sort();
        let mut seen = Vec::new();
        for file in files {
            let text = fs::read_to_string(&file).unwrap_or_default();
            if let Some(call) = HookCall::read(&text) {
                self.note(&call);
                seen.extend(self.saw(&call));
            }
            let _ = fs::remove_file(file);
        }
        seen
    }

    fn note(&mut self, call: &HookCall) {
        self.transcript = call.transcript.clone().or(self.transcript.take());
        self.said = call.said.clone().or(self.said.take());
        // An agent that has just come up may have nothing to resume yet.
        if self.meanings.get(&call.event) != Some(&HookMeaning::Ready) {
            self.session = call.session.clone().or(self.session.take());
        }
    }

    /// What a call says if nobody waits for its answer.
    fn saw(&self, call: &HookCall) -> Option<Saw> {
        let hook = match self.meanings.get(&call.event)? {
            HookMeaning::Submitted => Hook::TakenUp(self.turn_in(call.prompt.as_deref()?)),
            HookMeaning::Failed => Hook::Failed,
            HookMeaning::LoggedOut => Hook::LoggedOut(call.said.clone().unwrap_or_default()),
            HookMeaning::Busy => Hook::TakenUp(None),
            HookMeaning::Ended => Hook::Ended(None),
            HookMeaning::Ready | HookMeaning::Asks => return None,
        };
        Some(Saw::Hook(hook))
    }

    /// The turn that a text names the file of.
    fn turn_in(&self, text: &str) -> Option<u32> {
        if let Some((_, turn)) = self.queued.as_ref().filter(|(file, _)| text.contains(file)) {
            return Some(*turn);
        }
        let (_, after) = text.rsplit_once(&self.turns)?;
        let (number, _) = after.split_once(".md")?;
        number.parse().ok()
    }

    /// Answer a waiting call. If the answer was a text, the result says whether the agent took it.
    pub(super) fn answer(&mut self, request: u32, answer: HookAnswer) -> Option<Saw> {
        let waiting = self.waiting.remove(&request);
        let gives = matches!(answer, HookAnswer::Text(_));
        let sent = waiting.is_some_and(|waiting| {
            let output = match answer {
                HookAnswer::Nothing => HookOutput::nothing(),
                HookAnswer::Decision(Decision::Allow) => HookOutput::decision(Ok(())),
                HookAnswer::Decision(Decision::Deny { text }) => {
                    HookOutput::decision(Err(text.trim()))
                }
                HookAnswer::Text(text) => match (content(&text), waiting.wake) {
                    (Some(text), true) => HookOutput::wake(&text),
                    (Some(text), false) => HookOutput::more(&text),
                    (None, _) => return false,
                },
            };
            waiting.answer.send(said(output)).is_ok()
        });
        // A caller that is gone has taken nothing.
        let pasted = match sent {
            true => Pasted::There,
            false => Pasted::Changed,
        };
        gives.then_some(Saw::Pasted(pasted))
    }

    /// Wait until one of the waiting callers is gone; for ever if none waits.
    pub(super) async fn wait_for_gone_caller(&mut self) -> Saw {
        let request = poll_fn(|context| {
            let mut waiting = self.waiting.iter_mut();
            let gone = waiting.find_map(|(request, one)| {
                let closed = one.answer.poll_closed(context);
                closed.is_ready().then_some(*request)
            });
            gone.map_or(Poll::Pending, Poll::Ready)
        })
        .await;
        self.waiting.remove(&request);
        Saw::Withdrawn(request)
    }
}

/// The content of a text, for the answer of a hook.
pub(super) fn content(text: &Text) -> Option<String> {
    match &text.content {
        Content::Line(line) => Some(line.clone()),
        Content::File(file) => fs::read_to_string(file).ok(),
    }
}

fn said(output: HookOutput) -> Reply {
    Reply::Hook { output }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hooks() -> Hooks {
        let meanings = [
            ("SessionStart", HookMeaning::Ready),
            ("UserPromptSubmit", HookMeaning::Submitted),
            ("Stop", HookMeaning::Ended),
            ("PermissionRequest", HookMeaning::Asks),
        ];
        let meanings = meanings.map(|(name, meaning)| (name.to_owned(), meaning));
        let question_tools = vec!["Question".to_owned()];
        let folder = Path::new("/p/run/dev/a/3");
        Hooks::new(meanings.into(), question_tools, false, folder)
    }

    fn call(text: &str) -> (IncomingHook, oneshot::Receiver<Reply>) {
        let (answer, answered) = oneshot::channel();
        let call = HookCall::read(text).unwrap();
        let wake = false;
        (IncomingHook { call, wake, answer }, answered)
    }

    #[test]
    fn a_text_is_taken_up_as_the_turn_whose_file_it_names() {
        let mut hooks = hooks();
        for (prompt, turn) in [
            (
                "tx: a task: read /p/run/dev/a/3/turn-7.md and do it.",
                Some(7),
            ),
            (
                "Stop hook feedback: tx: read /p/run/dev/a/3/turn-12.md",
                Some(12),
            ),
            ("read /p/run/dev/a/2/turn-7.md", None),
            ("something of a person", None),
        ] {
            let json = serde_json::json!({
                "hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": prompt,
            });
            let (called, mut answered) = call(&json.to_string());
            assert_eq!(hooks.hear(called), Some(Saw::Hook(Hook::TakenUp(turn))));
            assert_eq!(answered.try_recv(), Ok(said(HookOutput::nothing())));
        }
        assert_eq!(hooks.session.as_deref(), Some("s"));
    }

    #[test]
    fn a_text_that_waited_in_a_queue_is_the_turn_that_it_was_to_be_given_as() {
        let mut hooks = hooks();
        hooks.expect(Path::new("/p/run/dev/a/2/turn-6.md"), 7);
        let prompt = "tx: work: read /p/run/dev/a/2/turn-6.md and do what it says";
        let json = serde_json::json!({"hook_event_name": "UserPromptSubmit", "prompt": prompt});
        let (called, _answered) = call(&json.to_string());
        assert_eq!(hooks.hear(called), Some(Saw::Hook(Hook::TakenUp(Some(7)))));
    }

    #[test]
    fn a_session_that_has_only_started_is_none_yet() {
        let mut hooks = hooks();
        let (called, _answered) = call(r#"{"hook_event_name":"SessionStart","session_id":"s"}"#);
        assert_eq!(hooks.hear(called), None);
        assert_eq!(hooks.session, None);
    }

    #[test]
    fn a_decision_is_the_answer_of_the_hook_that_asked() {
        let mut hooks = hooks();
        let (called, mut answered) =
            call(r#"{"hook_event_name":"PermissionRequest","tool_name":"Bash"}"#);
        let Some(Saw::Request { request, .. }) = hooks.hear(called) else {
            panic!("it asks");
        };
        assert!(answered.try_recv().is_err(), "it waits");
        assert_eq!(
            hooks.answer(request, HookAnswer::Decision(Decision::Allow)),
            None
        );
        let Ok(Reply::Hook { output }) = answered.try_recv() else {
            panic!("it is answered");
        };
        assert!(output.stdout.contains("allow"));
        assert_eq!(hooks.answer(request, HookAnswer::Nothing), None, "once");
    }

    #[test]
    fn a_tool_of_the_runtime_that_asks_is_a_question() {
        let mut hooks = hooks();
        for (tool, kind) in [
            ("Question", DialogKind::Question),
            ("Bash", DialogKind::Permission),
        ] {
            let event = "PermissionRequest";
            let json = serde_json::json!({"hook_event_name": event, "tool_name": tool});
            let (called, _answered) = call(&json.to_string());
            let Some(Saw::Request { wants, .. }) = hooks.hear(called) else {
                panic!("it asks");
            };
            let HookWants::Permission(dialog) = wants else {
                panic!("it asks the human");
            };
            assert_eq!(dialog.kind, kind, "{tool}");
        }
    }

    #[tokio::test]
    async fn a_hook_that_goes_away_has_withdrawn_its_request() {
        let mut hooks = hooks();
        let (called, answered) = call(r#"{"hook_event_name":"Stop"}"#);
        hooks.hear(called);
        drop(answered);
        assert_eq!(hooks.wait_for_gone_caller().await, Saw::Withdrawn(1));
    }
}
