//! What an agent CLI prints when it ends without finishing its work: its account has reached a
//! limit, nobody is logged in, or the session does not exist. None of this is a failure of the
//! work, and an immediate retry does not help.

use crate::engine::ProcessExit;
use crate::model::{Pattern, Runtime};
use crate::pane::Hook;
use crate::runtime::reset;

/// How many bytes of the end of its output are searched.
const LAST: usize = 16 * 1024;

/// The patterns of a runtime.
#[derive(Clone, Default)]
pub(super) struct ExitPatterns {
    pub(super) session_in: Option<Pattern>,
    session_gone: Option<Pattern>,
    limited: Option<Pattern>,
    logged_out: Option<Pattern>,
    login: String,
    always_exits_0: bool,
}

impl ExitPatterns {
    pub(super) fn of(runtime: &Runtime) -> ExitPatterns {
        ExitPatterns {
            session_in: runtime.session_in.clone(),
            session_gone: runtime.session_gone.clone(),
            limited: runtime.limited.clone(),
            logged_out: runtime.logged_out.clone(),
            always_exits_0: runtime.always_exits_0,
            login: runtime.login().to_owned(),
        }
    }

    /// The session id in its output.
    pub(super) fn session(&self, exit: &ProcessExit) -> Option<String> {
        let ProcessExit::Code { stdout, .. } = exit else {
            return None;
        };
        let found = self.session_in.as_ref()?.all(stdout).next()?;
        Some(found.name("session")?.as_str().to_owned())
    }

    /// What an exit really means, and the limit that it names. `screen` is what the pane shows, for
    /// programs whose output is not kept.
    pub(super) fn read(
        &self,
        exit: ProcessExit,
        screen: &str,
        now: i64,
        utc_offset: i32,
    ) -> (Option<Hook>, ProcessExit) {
        let (stdout, stderr) = match &exit {
            ProcessExit::Code {
                code,
                stdout,
                stderr,
                ..
            } if *code > 0 || self.always_exits_0 => (stdout, stderr),
            _ => return (None, exit),
        };
        let said = [end_of(stdout), end_of(stderr), screen];
        let line = |pattern: &Option<Pattern>| {
            let pattern = pattern.as_ref()?;
            let mut lines = said.iter().flat_map(|said| said.lines());
            let line = lines.find(|line| pattern.is_in(line))?;
            Some(line.trim().chars().take(200).collect::<String>())
        };
        if let Some(why) = line(&self.session_gone) {
            return (None, ProcessExit::SessionGone { why });
        }
        // The message has several forms, and not all of them name the time.
        let mut is_limited = false;
        let mut until = None;
        for found in self
            .limited
            .iter()
            .flat_map(|limited| said.iter().flat_map(|said| limited.all(said)))
        {
            is_limited = true;
            let named = found.name("until").map(|until| until.as_str());
            until = until.or_else(|| reset(named?, now, utc_offset));
        }
        if is_limited {
            return (Some(Hook::Limited(until)), exit);
        }
        if let Some(why) = line(&self.logged_out) {
            return (None, ProcessExit::logged_out(&why, &self.login));
        }
        (None, exit)
    }
}

/// The local time's offset from UTC, in seconds.
pub(super) fn utc_offset() -> i32 {
    chrono::Local::now().offset().local_minus_utc()
}

fn end_of(text: &str) -> &str {
    let from = text.len().saturating_sub(LAST);
    let from = (from..text.len()).find(|at| text.is_char_boundary(*at));
    from.map_or("", |from| &text[from..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::Runtimes;

    fn said(runtime: &str, stdout: &str, stderr: &str) -> (Option<Hook>, ProcessExit) {
        let runtime = Runtimes::builtin().get(runtime).unwrap();
        let exit = ProcessExit::Code {
            code: 1,
            stdout: stdout.into(),
            stderr: stderr.into(),
            rearmatter: Box::default(),
            parts: Vec::new(),
        };
        ExitPatterns::of(runtime).read(exit, "", 1_000, 0)
    }

    #[test]
    fn a_limit_is_one_also_where_the_exit_code_is_always_0() {
        let read = |runtime: &str, stdout: &str| {
            let runtime = Runtimes::builtin().get(runtime).unwrap();
            let (stdout, stderr) = (stdout.into(), "fd not found.\n".into());
            let code = 0;
            let exit = ProcessExit::Code {
                code,
                stdout,
                stderr,
                rearmatter: Box::default(),
                parts: Vec::new(),
            };
            let (until, _) = ExitPatterns::of(runtime).read(exit, "", 1_000, 0);
            until.is_some()
        };
        let failed = r#"{"type":"agent_end","messages":[{"role":"assistant","content":[],"stopReason":"error","timestamp":1,"errorMessage":"429 scripted 429"}]}"#;
        let gave_up = r#"{"type":"auto_retry_end","success":false,"attempt":3,"finalError":"429 scripted 429"}"#;
        let answered = r#"{"type":"agent_end","messages":[{"role":"assistant","content":[{"type":"text","text":"It said 429."}],"stopReason":"stop"}]}"#;
        assert!(read("pi", &format!("{failed}\n{gave_up}\n")));
        assert!(read("pi", &format!("{failed}\n")));
        assert!(
            !read("pi", &format!("{failed}\n{answered}\n")),
            "it went on"
        );
        assert!(!read("pi", &format!("{answered}\n")));
        let limit = "litellm.RateLimitError: OpenAIException - scripted 429\nThe API provider has rate limited you. Try again later or check your quotas.\n";
        assert!(read("aider", limit));
        assert!(!read(
            "aider",
            &format!("{limit}Retrying in 0.2 seconds...\nDone.\n\nTokens: 5 sent, 3 received.\n")
        ));
        assert!(!read("gemini", "RESOURCE_EXHAUSTED"), "its exit code tells");
    }

    #[test]
    fn who_speaks_of_keys_is_not_logged_out() {
        let is_out = |runtime: &str, stdout: &str| {
            let (_, exit) = said(runtime, stdout, "");
            matches!(exit, ProcessExit::Unstartable { .. })
        };
        let failed = r#"{"type":"agent_end","messages":[{"role":"assistant","stopReason":"error","timestamp":1,"errorMessage":"401 scripted 401"}]}"#;
        assert!(is_out("pi", failed));
        assert!(is_out("pi", "No API key found for the selected model."));
        let answer = r#"{"type":"agent_end","messages":[{"role":"assistant","content":[{"type":"text","text":"It is unauthorized: no API key, 401."}],"stopReason":"stop"}]}"#;
        assert!(!is_out("pi", answer));
        let failed = "litellm.AuthenticationError: AuthenticationError: OpenAIException - no\nThe API provider is not able to authenticate you. Check your API key.\n";
        assert!(is_out("aider", failed));
        let answer = "Put your API key into .env, else it raises an AuthenticationError.\n";
        assert!(!is_out("aider", answer));
        assert!(is_out(
            "opencode",
            r#"{"error":{"name":"APIError","data":{"statusCode":401}}}"#
        ));
        assert!(is_out(
            "gemini",
            r#"{"error":{"status":"UNAUTHENTICATED"}}"#
        ));
    }

    #[test]
    fn what_an_agent_cli_says_last_tells_why_it_ended() {
        let (_, exit) = said("claude", "", "No conversation found with session ID: x");
        assert!(matches!(exit, ProcessExit::SessionGone { .. }), "{exit:?}");
        let (until, exit) = said(
            "claude",
            "You've hit your 5-hour limit · resets 4:05pm (UTC)",
            "",
        );
        assert_eq!(until, Some(Hook::Limited(Some((16 * 60 + 5) * 60_000))));
        assert!(matches!(exit, ProcessExit::Code { .. }));
        let (until, _) = said(
            "claude",
            "API Error: Request rejected (429) · scripted 429",
            "",
        );
        assert_eq!(until, Some(Hook::Limited(None)));
        let stream = concat!(
            r#"{"type":"assistant","error":"rate_limit","api_error_status":429}"#,
            "\n",
            r#"{"result":"You've hit your 5-hour limit · resets 4:05pm (UTC)","api_error_status":429,"#,
            r#""rate_limit":{}}"#
        );
        let (until, _) = said("claude", stream, "");
        assert_eq!(until, Some(Hook::Limited(Some((16 * 60 + 5) * 60_000))));
        let (_, exit) = said("claude", "Not logged in · Please run /login", "");
        let ProcessExit::Unstartable { why } = exit else {
            panic!("{exit:?}");
        };
        assert!(why.contains("claude auth login"), "{why}");
        let (until, exit) = said("claude", "something else", "");
        assert!(until.is_none() && matches!(exit, ProcessExit::Code { .. }));
    }
}
