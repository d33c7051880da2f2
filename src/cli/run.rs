//! `tx run`: the daemon in the foreground.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use chrono::{NaiveDate, Utc};
use tracing_appender::rolling::RollingFileAppender;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, filter_fn};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use super::{Context, Exit, Refused, short};
use crate::daemon::{self, FatalError, LockTaken};
use crate::project::{Project, close_all_in, make_private_folder};
use crate::tmux;

/// Marks the last line of the log, which is shown to a person in other words.
const FATAL: &str = "fatal";

/// How many logs are kept, one a day.
const LOGS: usize = 7;

/// Run the daemon here, until it is stopped
///
/// `tx stop`, Ctrl-C and SIGTERM end it. SIGHUP makes it read the meshes again, so closing its
/// terminal does not end it.
#[derive(clap::Args)]
#[command(after_help = "Example: tx run")]
pub(super) struct RunArgs {
    /// Leave the terminal; say `ready` on standard output (`tx start` calls this)
    #[arg(long, hide = true)]
    background: bool,
}

pub(super) fn run(context: &Context, verb: &RunArgs) -> Result<Exit, Refused> {
    let project = context.project()?;
    if verb.background {
        // Start a new session, so that closing the terminal does not end it.
        rustix::process::setsid()
            .map_err(|error| Refused::new(format!("cannot leave the terminal: {error}")))?;
    }
    start_log(&project, !verb.background)?;
    let ready = || {
        let mut stdout = std::io::stdout();
        if verb.background {
            // The caller may be gone.
            let _ = writeln!(stdout, "ready").and_then(|()| stdout.flush());
        }
    };
    daemon::run(&project, ready).map_err(|stopped| {
        // The user sees it below.
        tracing::error!(target: FATAL, error = %stopped, "tx cannot run");
        match stopped {
            FatalError::Settings(wrong) => Refused::from(wrong),
            stopped => Refused::from(stopped),
        }
    })?;
    Ok(Exit::Done)
}

/// Log to a file, with a new one each day, and to stderr if a person watches.
fn start_log(project: &Project, watched: bool) -> Result<(), Refused> {
    let folder = project.logs();
    let appender = make_private_folder(&folder)
        .map_err(|error| error.to_string())
        .and_then(|()| {
            tracing_appender::rolling::Builder::new()
                .rotation(tracing_appender::rolling::Rotation::DAILY)
                .filename_prefix("tx")
                .filename_suffix("log")
                .max_log_files(LOGS)
                .build(&folder)
                .map_err(|error| error.to_string())
        })
        .map(|appender| PrivateLog {
            folder: folder.clone(),
            day: None,
            appender,
        })
        .map_err(|error| {
            let hint = "check that the folder is yours and the disk has room, then try again";
            Refused::new(format!("{} cannot be written: {error}", short(&folder))).hint(hint)
        })?;
    let level = match std::env::var("TX_LOG").as_deref() {
        Ok("debug") => LevelFilter::DEBUG,
        Ok(_) | Err(_) => LevelFilter::INFO,
    };
    let file = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .with_target(false)
        .with_writer(std::sync::Mutex::new(appender))
        .with_filter(level);
    let terminal = watched.then(|| {
        tracing_subscriber::fmt::layer()
            .with_ansi(std::io::stderr().is_terminal())
            .with_target(false)
            .without_time()
            .with_writer(std::io::stderr)
            .with_filter(filter_fn(|about| about.target() != FATAL))
            .with_filter(level)
    });
    // A second subscriber would be our own mistake, and only costs its lines.
    let _ = tracing_subscriber::registry()
        .with(file)
        .with(terminal)
        .try_init();
    Ok(())
}

/// A log file that only this user can read, even if the umask allows more.
struct PrivateLog {
    folder: PathBuf,
    /// The day whose file was already closed to others.
    day: Option<NaiveDate>,
    appender: RollingFileAppender,
}

impl PrivateLog {
    /// The appender creates a file each day with the umask's permissions. Close it to others.
    fn close_new_file(&mut self) {
        let today = Utc::now().date_naive();
        if self.day.replace(today) != Some(today) {
            close_all_in(&self.folder);
        }
    }
}

impl Write for PrivateLog {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.appender.write(bytes);
        self.close_new_file();
        written
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.appender.flush()
    }
}

impl From<FatalError> for Refused {
    fn from(stopped: FatalError) -> Refused {
        let hint = match &stopped {
            FatalError::Saved(copy) => {
                let place = copy.with_file_name("state").join("journal.db");
                let (copy, place) = (copy.display(), place.display());
                let hint = format!(
                    "`mv {copy} {place}` continues where it was; to begin again, remove it and move `.ai/tx/msgs` away"
                );
                return Refused::new(stopped.to_string()).hint(hint);
            }
            FatalError::Taken(LockTaken::By(_) | LockTaken::Unseen(_))
            | FatalError::Place { .. }
            | FatalError::Lost(_) => None,
            FatalError::Tmux(tmux::Error::NotStarted(_)) => {
                Some("install tmux 3.2 or newer; `tx doctor` looks at the rest")
            }
            FatalError::Taken(_)
            | FatalError::Journal(_)
            | FatalError::Tmux(_)
            | FatalError::File { .. }
            | FatalError::Blind
            | FatalError::Settings(_)
            | FatalError::Machine(_) => Some("`tx doctor` looks for what is wrong"),
        };
        let failure = Refused::new(stopped.to_string());
        match hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}
