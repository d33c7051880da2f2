//! What is run for a worker or a job: the program with its arguments, folder and environment.
//!
//! This file puts that together for a worker: it fills in the placeholders of the runtime, and
//! writes the files that the runtime and the command line name. It runs on a thread of its own,
//! never on the loop, and starts nothing.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::attempt::AttemptFolder;
use super::processes::Start;
use super::turn_input::{TurnInput, write};
use crate::engine::ProcessExit;
use crate::model::{Mode, Runtime};
use crate::project::{MeshSource, cannot_run, make_private_folders};
use crate::runtime::{Unfilled, Values, arguments, file, text_with, toml};

/// What is run, with its folder and variables.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LaunchSpec {
    /// The program and its arguments.
    pub program: Vec<String>,
    /// The folder it runs in.
    pub folder: PathBuf,
    /// The only variables that it gets of tx's own environment, besides those that every
    /// program needs; `None`: all.
    #[serde(default)]
    pub passed: Option<Vec<String>>,
    /// The variables that are added to its environment.
    pub environment: Vec<(String, String)>,
    /// In turn mode the program reads its prompt and its output is kept. In pane mode it has the
    /// pane to itself.
    pub mode: Mode,
    /// The name of its runtime.
    #[serde(default = "command")]
    pub runtime: String,
    /// The turn that it is started with.
    #[serde(default)]
    pub turn: Option<u32>,
    /// It prints a stream of JSON, which the wrapper shows as lines for people.
    #[serde(default)]
    pub stream: bool,
}

/// The runtime of a spec that was written before specs named one.
fn command() -> String {
    "command".into()
}

/// Why a process is not started.
enum Unready {
    /// It may work later.
    NotNow(String),
    /// The command line cannot be made, or the program is not installed. It does not help to try
    /// again.
    Never(String),
}

impl From<String> for Unready {
    fn from(why: String) -> Unready {
        Unready::NotNow(why)
    }
}

impl From<Unfilled> for Unready {
    fn from(error: Unfilled) -> Unready {
        Unready::Never(error.to_string())
    }
}

impl Start {
    /// What is to be run, and its prompt. `tx` is the path of tx, for hooks to call.
    pub(super) fn launch_spec(&self, tx: &str) -> Result<(LaunchSpec, String), ProcessExit> {
        self.prepare(tx).map_err(|unready| match unready {
            Unready::NotNow(why) => ProcessExit::NotStarted { why },
            Unready::Never(why) => ProcessExit::Unstartable { why },
        })
    }

    fn prepare(&self, tx: &str) -> Result<(LaunchSpec, String), Unready> {
        let TurnInput {
            project,
            agent,
            place,
            runtime,
            ..
        } = &self.turn_input;
        let path = std::env::var_os("PATH").unwrap_or_default();
        if let Some(why) = cannot_run(project, runtime.as_ref(), place, agent, &path) {
            return Err(Unready::Never(why));
        }
        let unknown = || format!("there is no runtime `{}`", agent.runtime);
        let runtime = runtime.as_ref().ok_or_else(unknown)?;
        let output = self.turn_input.workspace()?;
        let output = output.as_deref();
        self.turn_input.check_reads(output)?;
        let is_cli = runtime.has_system_text(agent);
        let prompt = match is_cli {
            true => String::new(),
            false => {
                let prompt = self.turn_input.prompt(output, self.resumed);
                prompt.map_err(Unready::Never)?
            }
        };
        let folder = self.turn_input.folder();
        if !folder.is_dir() {
            let why = format!("its worktree {} is not there", folder.display());
            return Err(Unready::NotNow(why));
        }
        let system = is_cli.then(|| self.turn_input.system(output));
        let system = system.transpose().map_err(Unready::Never)?;
        let line = match is_cli {
            true => self.line(output)?,
            false => None,
        };
        let texts = PlaceholderTexts::new(self, runtime, tx, system, line);
        let values = texts.values(self, runtime);
        let program = arguments(&runtime.run_of(agent), agent.shell, &values)?;
        self.write_files(runtime, &texts, &values)?;
        if program.is_empty() {
            return Err(Unready::NotNow("its `run` names no program".into()));
        }
        let spec = LaunchSpec {
            program,
            folder,
            passed: agent.env.as_ref().map(|env| env.passed.clone()),
            environment: self.environment(runtime, &values, output)?,
            mode: runtime.mode_of(agent),
            runtime: agent.runtime.clone(),
            turn: self.turn,
            stream: runtime.stream && agent.run.is_empty(),
        };
        Ok((spec, prompt))
    }

    /// The line that gives an agent CLI its messages. `None` if it is started without a turn, or
    /// if the line already waits in the queue of its session.
    fn line(&self, output: Option<&Path>) -> Result<Option<String>, String> {
        match (self.turn, &self.queued) {
            (None, _) => Ok(None),
            // The queued line names a file. Write that file again: it has to say what is true now.
            (Some(_), Some(queued)) => {
                let given = self.turn_input.prompt(output, true)?;
                write(queued.file.clone(), &given)?;
                Ok(None)
            }
            (Some(turn), None) => {
                let line = self.turn_input.line(turn, output, self.resumed)?;
                Ok(Some(line))
            }
        }
    }

    /// Write the files that the command line and the runtime name.
    fn write_files(
        &self,
        runtime: &Runtime,
        texts: &PlaceholderTexts,
        values: &Values,
    ) -> Result<(), Unready> {
        let agent = &self.turn_input.agent;
        if let Some(system) = &texts.system {
            write(texts.system_file.clone(), system)?;
        }
        let mcp_file = texts.mcp_file.as_ref();
        let mcp_file = mcp_file.filter(|_| runtime.has_place_for(agent, &["mcp_file"]));
        if !runtime.files.is_empty() || mcp_file.is_some() {
            make_private_folders(&texts.files).map_err(|error| error.to_string())?;
        }
        if let Some(mcp_file) = mcp_file {
            let servers = json!({"mcpServers": agent.mcp_servers});
            write(mcp_file.clone(), &format!("{servers:#}\n"))?;
        }
        for (name, content) in &runtime.files {
            let content = file(content, values)?;
            write(texts.files.join(name), &content)?;
        }
        Ok(())
    }

    /// The variables that its environment gets: those of the runtime, of the agent, and tx's own.
    /// A later one wins.
    fn environment(
        &self,
        runtime: &Runtime,
        values: &Values,
        output: Option<&Path>,
    ) -> Result<Vec<(String, String)>, Unready> {
        let TurnInput {
            project,
            agent,
            contents,
            ..
        } = &self.turn_input;
        let mut environment = Vec::new();
        for (name, value) in &runtime.env {
            environment.push((name.clone(), text_with(value, values)?));
        }
        environment.extend(agent.env.iter().flat_map(|env| env.set.clone()));
        let member = self.turn_input.member();
        let part = member.and_then(|member| member.part);
        let own = [
            ("TX_ROOT", Some(path_text(&project.root))),
            ("TX_AGENT", Some(self.pane.worker.to_string())),
            ("TX_WORKDIR", Some(path_text(&self.turn_input.folder()))),
            ("TX_WORKSPACE", output.map(path_text)),
            ("TX_SESSION_ID", self.session.clone()),
            (
                "TX_MSG_ID",
                contents.first().map(|first| first.id.to_string()),
            ),
            (
                "ENSEMBLE_INDEX",
                member.map(|member| member.index.to_string()),
            ),
            (
                "ENSEMBLE_TOTAL",
                member.map(|member| member.total.to_string()),
            ),
            ("TX_PART", part.map(|part| part.to_string())),
        ];
        let own = own.into_iter();
        environment.extend(own.filter_map(|(name, value)| Some((name.to_owned(), value?))));
        Ok(environment)
    }
}

/// The texts that fill in the placeholders of a runtime, as [`Values`] borrows them.
struct PlaceholderTexts {
    mesh_dir: Option<String>,
    prompt_file: String,
    msg_file: Option<String>,
    model: Option<String>,
    agent: String,
    workdir: String,
    line: Option<String>,
    turn_file: Option<String>,
    system: Option<String>,
    system_file: PathBuf,
    system_file_text: String,
    files: PathBuf,
    files_text: String,
    messages: String,
    hook: String,
    ask: String,
    tools: String,
    denied_tools: String,
    mcp_file: Option<PathBuf>,
    mcp_file_text: Option<String>,
    mcp_toml: Option<String>,
    max_turns: Option<String>,
}

impl PlaceholderTexts {
    fn new(
        start: &Start,
        runtime: &Runtime,
        tx: &str,
        system: Option<String>,
        line: Option<String>,
    ) -> PlaceholderTexts {
        let TurnInput {
            project,
            pane,
            agent,
            place,
            contents,
            ..
        } = &start.turn_input;
        let attempt = AttemptFolder::of(&project.run(), pane);
        let mesh_dir = match place {
            MeshSource::File(path) => path.parent(),
            MeshSource::BuiltIn => None,
        };
        let msg_file = contents.first().map(|first| {
            let own = first.file_in(project);
            path_text(&own.unwrap_or_else(|| attempt.prompt()))
        });
        let turn_file = start.turn.map(|turn| start.turn_input.turn_file(turn));
        let model = start.model.as_deref().or(agent.model.as_deref());
        let model = model.map(|model| runtime.models.get(model).map_or(model, String::as_str));
        let files = attempt.folder().join("files");
        let system_file = attempt.folder().join("system.md");
        let has_servers = !agent.mcp_servers.is_empty();
        let mcp_file = has_servers.then(|| files.join("mcp.json"));
        let hook = format!("{} hook", shlex::try_quote(tx).unwrap_or(tx.into()));
        let denied = [&runtime.denied_tools[..], &agent.permissions.denied_tools].concat();
        PlaceholderTexts {
            mesh_dir: mesh_dir.map(path_text),
            prompt_file: path_text(&attempt.prompt()),
            msg_file,
            model: model.map(str::to_owned),
            agent: pane.worker.to_string(),
            workdir: path_text(&start.turn_input.folder()),
            line,
            turn_file: turn_file.as_deref().map(path_text),
            system,
            system_file_text: path_text(&system_file),
            system_file,
            files_text: path_text(&files),
            files,
            messages: path_text(&project.messages()),
            ask: format!("{hook} --ask"),
            hook,
            tools: agent.permissions.allowed_tools.join(","),
            denied_tools: denied.join(","),
            mcp_file_text: mcp_file.as_deref().map(path_text),
            mcp_file,
            mcp_toml: has_servers.then(|| toml(&agent.mcp_servers.clone().into())),
            max_turns: agent.max_turns.map(|turns| turns.to_string()),
        }
    }

    fn values<'a>(&'a self, start: &'a Start, runtime: &'a Runtime) -> Values<'a> {
        let agent = &start.turn_input.agent;
        let session = start.session.as_deref();
        Values {
            mesh_dir: self.mesh_dir.as_deref(),
            prompt_file: Some(&self.prompt_file),
            msg_file: self.msg_file.as_deref(),
            session,
            model: self.model.as_deref(),
            agent: Some(&self.agent),
            workdir: Some(&self.workdir),
            new_session: session.filter(|_| !start.resumed),
            old_session: session.filter(|_| start.resumed),
            text: self.line.as_deref(),
            turn_file: self.turn_file.as_deref(),
            system: self.system.as_deref(),
            system_file: Some(&self.system_file_text),
            files: Some(&self.files_text),
            messages: Some(&self.messages),
            hook: Some(&self.hook),
            ask: Some(&self.ask),
            tools: Some(&self.tools),
            denied_tools: Some(&self.denied_tools),
            mcp_file: self.mcp_file_text.as_deref(),
            mcp_toml: self.mcp_toml.as_deref(),
            max_turns: self.max_turns.as_deref(),
            thinking: runtime.thinking_of(agent),
            permissions: runtime.permissions_of(agent),
        }
    }
}

fn path_text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
