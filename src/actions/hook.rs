//! Passes hook calls of an agent CLI to the daemon. A hook never fails, because tx must not hold up
//! an agent: any error here is an empty answer.

use std::os::unix::process::parent_id;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, SystemTime};

use crate::daemon::{Control, Reply, Request};
use crate::engine::AttemptId;
use crate::project::{Project, write_private};
use crate::runtime::hook::{HookCall, HookOutput};

/// How often tx looks for a daemon.
const LOOK: Duration = Duration::from_millis(500);

/// Report a hook call. Without a daemon, the call is kept in a file for later.
pub(crate) fn hook_tell(project: &Project, text: &str) -> HookOutput {
    let (Some(call), Some((folder, pane))) = (HookCall::read(text), attempt_here()) else {
        return HookOutput::nothing();
    };
    let request = Request::Hook {
        pane,
        call: Box::new(call.clone()),
        wake: false,
    };
    let asked = Control::connect(project).map(|mut control| control.ask(&request));
    match asked {
        Ok(Ok(Reply::Hook { output })) => output,
        Ok(Ok(Reply::Done | Reply::Refused { .. } | Reply::Seq { .. })) => HookOutput::nothing(),
        Ok(Err(_)) | Err(_) => {
            keep(&folder.join("hooks"), &call);
            HookOutput::nothing()
        }
    }
}

/// Wait for the daemon's answer: a text that wakes the agent, or the human's decision. After a
/// restart of the daemon the call is repeated, as long as the agent CLI is there.
pub(crate) fn hook_answer(project: &Project, text: &str, wake: bool) -> HookOutput {
    let (Some(call), Some((_, pane))) = (HookCall::read(text), attempt_here()) else {
        return HookOutput::nothing();
    };
    let parent = parent_id();
    let call = Box::new(call);
    let request = Request::Hook { pane, call, wake };
    while parent_id() == parent {
        let asked = Control::connect(project).map(|mut control| control.wait(&request));
        match asked {
            Ok(Ok(Reply::Hook { output })) => return output,
            Ok(Ok(Reply::Refused { .. })) => return HookOutput::nothing(),
            Ok(Ok(Reply::Done | Reply::Seq { .. }) | Err(_)) | Err(_) => sleep(LOOK),
        }
    }
    HookOutput::nothing()
}

/// The attempt that this process belongs to, by its environment, and its folder.
fn attempt_here() -> Option<(PathBuf, AttemptId)> {
    let folder = PathBuf::from(std::env::var_os("TX_ATTEMPT")?);
    let attempt = folder.file_name()?.to_str()?.parse().ok()?;
    let worker = std::env::var("TX_AGENT").ok()?.parse().ok()?;
    Some((folder, AttemptId { worker, attempt }))
}

/// Keep a call for the next daemon, in a file named after the time.
fn keep(folder: &std::path::Path, call: &HookCall) {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let name = format!("{:020}.json", now.unwrap_or_default().as_nanos());
    if let Ok(text) = serde_json::to_string(call) {
        let _ = std::fs::create_dir_all(folder);
        let _ = write_private(&folder.join(name), &text);
    }
}
