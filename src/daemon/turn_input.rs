//! What a worker is given, written where it can be read: its command line and prompt, or a text
//! for its pane. Nothing of this runs on the loop.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::attempt::{Attempt, LaunchSpec};
use super::delivered_message::DeliveredMessage;
use super::processes::Start;
use crate::engine::{AttemptId, Member, ProcessExit};
use crate::format::prompt::{
    Given, line, original as original_text, output_folder, prompt_at, with_feature,
};
use crate::model::{Agent, Deliver, Feature, Manifest, ManifestCheck, Mesh, Name, Runtime};
use crate::pane::{self, Text};
use crate::project::{
    MeshSource, Project, briefing, cannot_run, make_private_folders, make_workspace, system_text,
    workspace, worktree_folder, write_private,
};
use crate::runtime::{Unfilled, Values, arguments, file, text_with, toml};

/// A worker and what it is given, as of the commit that decided on it.
pub(super) struct TurnInput {
    pub(super) project: Project,
    pub(super) pane: AttemptId,
    pub(super) mesh: Mesh,
    pub(super) agent: Agent,
    pub(super) place: MeshSource,
    /// `None`: this tx has none of the name that the agent gives.
    pub(super) runtime: Option<Runtime>,
    pub(super) contents: Vec<DeliveredMessage>,
    /// The first message of its run, if it has an output folder for that.
    pub(super) task: Option<DeliveredMessage>,
    /// The message that began the run, for who comes to it later.
    pub(super) original: Option<DeliveredMessage>,
    /// The files of the manifest that have to be there before its turn.
    pub(super) reads: Vec<ManifestCheck>,
    /// The member of a block that it works as.
    pub(super) member: Option<Member>,
    /// What it is told of the state of the workflow that it works in; may be empty.
    pub(super) stage: String,
    /// The feature that it has a worktree for.
    pub(super) feature: Option<Feature>,
}

/// Why a process is not started.
enum Unready {
    /// As things are now.
    NotNow(String),
    /// What it is to be given makes no command line, or nothing runs it here: that does not
    /// change by itself.
    Never(String),
}

impl From<String> for Unready {
    fn from(why: String) -> Unready {
        Unready::NotNow(why)
    }
}

impl Start {
    /// What is to be run, and its prompt.
    pub(super) fn order(&self, program: &str) -> Result<(LaunchSpec, String), ProcessExit> {
        self.prepare(program).map_err(|unready| match unready {
            Unready::NotNow(why) => ProcessExit::NotStarted { why },
            Unready::Never(why) => ProcessExit::Unstartable { why },
        })
    }

    /// `tx` is this program, for hooks to call.
    fn prepare(&self, tx: &str) -> Result<(LaunchSpec, String), Unready> {
        let TurnInput {
            project,
            pane,
            agent,
            place,
            runtime,
            contents,
            ..
        } = &self.turn_input;
        let path = std::env::var_os("PATH").unwrap_or_default();
        if let Some(why) = cannot_run(project, runtime.as_ref(), place, agent, &path) {
            return Err(Unready::Never(why));
        }
        let unknown = || format!("there is no runtime `{}`", agent.runtime);
        let runtime = runtime.as_ref().ok_or_else(unknown)?;
        let output = self.turn_input.workspace()?;
        self.turn_input.check_reads(output.as_deref())?;
        let is_cli = runtime.has_system_text(agent);
        let prompt = match is_cli {
            true => Ok(String::new()),
            false => self.turn_input.prompt(output.as_deref(), self.resumed),
        };
        let prompt = prompt.map_err(Unready::Never)?;
        let attempt = Attempt::of(&project.run(), pane);
        let first = contents.first();
        let message = first.map(|first| first.file_in(project).unwrap_or_else(|| attempt.prompt()));
        let mesh_dir = match place {
            MeshSource::File(path) => path.parent().map(Path::to_path_buf),
            MeshSource::BuiltIn => None,
        };
        let text = |path: &Option<PathBuf>| path.as_ref().map(|p| p.to_string_lossy().into_owned());
        let (mesh_dir, message) = (text(&mesh_dir), text(&message));
        let prompt_file = text(&Some(attempt.prompt()));
        let folder = self.turn_input.folder();
        if !folder.is_dir() {
            let why = format!("its worktree {} is not there", folder.display());
            return Err(Unready::NotNow(why));
        }
        let root = project.root.to_string_lossy().into_owned();
        let workdir = folder.to_string_lossy().into_owned();
        let name = pane.worker.to_string();
        let system = is_cli.then(|| self.turn_input.system(output.as_deref()));
        let system = system.transpose().map_err(Unready::Never)?;
        let line = match (self.turn, &self.queued) {
            // The line in the queue names a file, which is to say what is true now.
            (Some(_), Some(queued)) if is_cli => {
                let given = self.turn_input.prompt(output.as_deref(), true)?;
                write(queued.file.clone(), &given)?;
                None
            }
            (Some(turn), None) if is_cli => Some(self.turn_input.line(
                turn,
                output.as_deref(),
                self.resumed,
            )?),
            (Some(_) | None, _) => None,
        };
        let turn_file = text(&self.turn.map(|turn| self.turn_input.turn_file(turn)));
        let model = self.model.as_deref().or(agent.model.as_deref());
        let model = model.map(|model| runtime.models.get(model).map_or(model, String::as_str));
        let session = self.session.as_deref();
        let files = attempt.folder().join("files");
        let (system_file, files_text) = (
            attempt.folder().join("system.md"),
            text(&Some(files.clone())),
        );
        let system_file_text = text(&Some(system_file.clone()));
        let messages = text(&Some(project.messages()));
        let hook = format!("{} hook", shlex::try_quote(tx).unwrap_or(tx.into()));
        let ask = format!("{hook} --ask");
        let tools = agent.permissions.allowed_tools.join(",");
        let denied = [&runtime.denied_tools[..], &agent.permissions.denied_tools].concat();
        let denied = denied.join(",");
        let has_servers = !agent.mcp_servers.is_empty();
        let mcp_file = has_servers.then(|| files.join("mcp.json"));
        let mcp_file_text = text(&mcp_file);
        let mcp_toml = has_servers.then(|| toml(&agent.mcp_servers.clone().into()));
        let max_turns = agent.max_turns.map(|turns| turns.to_string());
        let values = Values {
            mesh_dir: mesh_dir.as_deref(),
            prompt_file: prompt_file.as_deref(),
            msg_file: message.as_deref(),
            session,
            model,
            agent: Some(&name),
            workdir: Some(&workdir),
            new_session: session.filter(|_| !self.resumed),
            old_session: session.filter(|_| self.resumed),
            text: line.as_deref(),
            turn_file: turn_file.as_deref(),
            system: system.as_deref(),
            system_file: system_file_text.as_deref(),
            files: files_text.as_deref(),
            messages: messages.as_deref(),
            hook: Some(&hook),
            ask: Some(&ask),
            tools: Some(&tools),
            denied_tools: Some(&denied),
            mcp_file: mcp_file_text.as_deref(),
            mcp_toml: mcp_toml.as_deref(),
            max_turns: max_turns.as_deref(),
            thinking: runtime.thinking_of(agent),
            permissions: runtime.permissions_of(agent),
        };
        let never = |error: Unfilled| Unready::Never(error.to_string());
        let program = arguments(&runtime.run_of(agent), agent.shell, &values).map_err(never)?;
        if let Some(system) = &system {
            write(system_file, system)?;
        }
        let mcp_file = mcp_file.filter(|_| runtime.has_place_for(agent, &["mcp_file"]));
        if !runtime.files.is_empty() || mcp_file.is_some() {
            make_private_folders(&files).map_err(|error| error.to_string())?;
        }
        if let Some(mcp_file) = mcp_file {
            let servers = json!({"mcpServers": agent.mcp_servers});
            write(mcp_file, &format!("{servers:#}\n"))?;
        }
        for (name, content) in &runtime.files {
            let content = file(content, &values).map_err(never)?;
            write(files.join(name), &content)?;
        }
        if program.is_empty() {
            return Err(Unready::NotNow("its `run` names no program".into()));
        }
        let environment = [
            ("TX_ROOT", Some(root)),
            ("TX_AGENT", Some(name.clone())),
            ("TX_WORKDIR", Some(workdir.clone())),
            ("TX_WORKSPACE", text(&output)),
            ("TX_SESSION_ID", self.session.clone()),
            ("TX_MSG_ID", first.map(|content| content.id.to_string())),
            (
                "ENSEMBLE_INDEX",
                self.turn_input.member().map(|m| m.index.to_string()),
            ),
            (
                "ENSEMBLE_TOTAL",
                self.turn_input.member().map(|m| m.total.to_string()),
            ),
            (
                "TX_PART",
                self.turn_input
                    .member()
                    .and_then(|m| m.part)
                    .map(|part| part.to_string()),
            ),
        ];
        let own = environment
            .into_iter()
            .filter_map(|(key, value)| Some((key.to_owned(), value?)));
        let env = agent.env.as_ref();
        let set = env.map(|env| env.set.clone()).unwrap_or_default();
        let runtime_env = runtime.env.iter().map(|(name, value)| {
            let value = text_with(value, &values).map_err(never)?;
            Ok((name.clone(), value))
        });
        let runtime_env: Vec<(String, String)> = runtime_env.collect::<Result<_, Unready>>()?;
        let order = LaunchSpec {
            program,
            folder,
            passed: env.map(|env| env.passed.clone()),
            environment: runtime_env.into_iter().chain(set).chain(own).collect(),
            mode: runtime.mode_of(agent),
            runtime: agent.runtime.clone(),
            turn: self.turn,
            stream: runtime.stream && agent.run.is_empty(),
        };
        Ok((order, prompt))
    }
}

impl TurnInput {
    /// What goes into a pane: one line with the path of the message, or the message itself.
    pub(super) fn text(&self, turn: u32) -> Result<Text, String> {
        let attempt = self.attempt();
        let message = self.turn_file(turn);
        let output = self.workspace()?;
        self.check_reads(output.as_deref())?;
        let prompt = || self.prompt(output.as_deref(), true);
        if self.is_cli() {
            let reads = !self
                .runtime
                .as_ref()
                .is_some_and(|runtime| runtime.whole_text);
            let text = match reads {
                true => self.line(turn, output.as_deref(), false)?,
                false => prompt()?,
            };
            return self.given(attempt.given(turn), &text, Some(turn));
        }
        let text = match (self.agent.deliver, self.contents.as_slice()) {
            (Deliver::Text, [one]) => match self.slash_command() {
                Some(command) => format!("{command}\n\n{}", one.body),
                None => one.body.clone(),
            },
            (Deliver::Text, [] | [..]) => prompt()?,
            (Deliver::Path, contents) => {
                let path = match contents {
                    [one] => match (one.file_in(&self.project), &one.file) {
                        (Some(path), _) => path,
                        (None, Some(as_it_was)) => write(message, &as_it_was.text)?,
                        (None, None) => write(message, &prompt()?)?,
                    },
                    [] | [..] => write(message, &prompt()?)?,
                };
                path.to_string_lossy().into_owned()
            }
        };
        self.given(attempt.given(turn), &text, Some(turn))
    }

    /// Is it an agent CLI, which is told at system level how to work here?
    fn is_cli(&self) -> bool {
        let runtime = self.runtime.as_ref();
        runtime.is_some_and(|runtime| runtime.has_system_text(&self.agent))
    }

    /// What it is told at system level.
    fn system(&self, output: Option<&Path>) -> Result<String, String> {
        let TurnInput {
            project,
            mesh,
            agent,
            place,
            ..
        } = self;
        system_text(project, place, mesh, agent, self.feature(), output)
            .map(|text| self.filled(text))
            .map_err(|error| error.to_string())
    }

    /// The line that gives an agent CLI its messages, which are written to a file.
    fn line(&self, turn: u32, output: Option<&Path>, resumed: bool) -> Result<String, String> {
        let file = write(self.turn_file(turn), &self.prompt(output, true)?)?;
        let given: Vec<Given> = self.contents.iter().map(DeliveredMessage::given).collect();
        let mut contents = self.contents.iter();
        let again = resumed && contents.any(|content| content.is_work() && content.was_delivered);
        Ok(line(&given, &file.to_string_lossy(), again))
    }

    /// What somebody is told who is interrupted: as a message is, but of no turn.
    pub(super) fn note(&self, note: &str) -> Result<Text, String> {
        let folder = self.attempt().folder().to_owned();
        let text = match (self.agent.deliver, self.is_typed_to()) {
            (Deliver::Text, _) | (Deliver::Path, true) => note.to_owned(),
            (Deliver::Path, false) => {
                let path = write(folder.join("note.md"), &format!("{note}\n"))?;
                path.to_string_lossy().into_owned()
            }
        };
        self.given(folder.join("note"), &text, None)
    }

    /// The messages of a turn, as an agent CLI reads them.
    fn turn_file(&self, turn: u32) -> PathBuf {
        self.attempt().folder().join(format!("turn-{turn}.md"))
    }

    fn attempt(&self) -> Attempt {
        Attempt::of(&self.project.run(), &self.pane)
    }

    /// Is Enter pressed after what it is given? Else it is given lines.
    fn is_typed_to(&self) -> bool {
        let runtime = self.runtime.as_ref();
        runtime.is_some_and(|runtime| runtime.screen.is_typed_to())
    }

    /// A text for its pane, in a file.
    fn given(&self, file: PathBuf, text: &str, turn: Option<u32>) -> Result<Text, String> {
        let mut text = printable(text);
        if self.is_typed_to() {
            text.truncate(text.trim_end().len());
        } else {
            text.push('\n');
        }
        Ok(Text {
            turn,
            mark: turn.map_or_else(String::new, |turn| turn.to_string()),
            last_line: text.lines().last().unwrap_or_default().to_owned(),
            content: pane::Content::File(write(file, &text)?),
            until: None,
        })
    }

    fn prompt(&self, output: Option<&Path>, resumed: bool) -> Result<String, String> {
        let TurnInput {
            project,
            mesh,
            agent,
            place,
            contents,
            ..
        } = self;
        let runtime = self.runtime.as_ref();
        let prints = runtime.is_some_and(|runtime| runtime.prints_outcome(agent));
        let briefing = match (resumed, output) {
            (false, output) => {
                briefing(project, place, mesh, agent, prints, self.feature(), output)
                    .map_err(|error| error.to_string())?
            }
            // It may be another task's.
            (true, Some(output)) if contents.iter().any(DeliveredMessage::is_work) => {
                output_folder(&output.to_string_lossy())
            }
            (true, Some(_) | None) => String::new(),
        };
        let given: Vec<Given> = contents.iter().map(DeliveredMessage::given).collect();
        let briefing = self.filled(briefing);
        let position = self.position(output);
        let command = self.slash_command();
        let text = prompt_at(&briefing, command.as_deref(), &position, &given);
        let works = contents.iter().any(DeliveredMessage::is_work);
        let member = self.member().filter(|_| works).map(told);
        let stage = if works { self.stage.as_str() } else { "" };
        Ok(text + stage + &member.unwrap_or_default())
    }

    /// What it is told besides each time it is given work: what began all this, and which files
    /// are missing.
    fn position(&self, output: Option<&Path>) -> String {
        if !self.contents.iter().any(DeliveredMessage::is_work) {
            return String::new();
        }
        let original = self.original.as_ref();
        let original = original.map(|message| original_text(&message.given()));
        let missing = match self.mesh.manifest.rules.warning {
            true => self.missing_reads(output),
            false => Vec::new(),
        };
        let missing = (!missing.is_empty()).then(|| missing.join("\n"));
        let parts: Vec<String> = original.into_iter().chain(missing).collect();
        parts.join("\n")
    }

    /// Without the files that its turn needs it is not started, if its mesh says so.
    fn check_reads(&self, output: Option<&Path>) -> Result<(), String> {
        let missing = match self.mesh.manifest.rules.strict {
            true => self.missing_reads(output),
            false => Vec::new(),
        };
        match missing.is_empty() {
            true => Ok(()),
            false => Err(missing.join("; ")),
        }
    }

    /// The files of the manifest that should be there for what it is given, and are not.
    fn missing_reads(&self, output: Option<&Path>) -> Vec<String> {
        if !self.contents.iter().any(DeliveredMessage::is_work) {
            return Vec::new();
        }
        let own = Manifest::default_workspace(&self.mesh.name);
        let workspace = output.map_or(own.into(), Path::to_string_lossy);
        let missing = self.reads.iter().filter_map(|file| {
            let path = file.path.replace("$workspace", &workspace);
            let path = with_feature(&path, self.feature());
            if is_there(&self.project, &path) {
                return None;
            }
            let writers: Vec<&str> = file.writers.iter().map(Name::as_str).collect();
            let by = match writers.is_empty() {
                true => String::new(),
                false => format!(", written by {}", writers.join(" or ")),
            };
            Some(format!("missing: {path}{by}"))
        });
        missing.collect()
    }

    /// The member that it works as, where the block says how many there are.
    fn member(&self) -> Option<&Member> {
        self.member.as_ref().filter(|member| member.total > 0)
    }

    /// A text of its mesh, with the place in its block filled in.
    fn filled(&self, text: String) -> String {
        let Some(member) = self.member() else {
            return text;
        };
        text.replace("${ENSEMBLE_INDEX}", &member.index.to_string())
            .replace("${ENSEMBLE_TOTAL}", &member.total.to_string())
    }

    /// The output folder of what a worker is given, or has in hand; made, unless its mesh says
    /// that it is not to be.
    fn workspace(&self) -> Result<Option<PathBuf>, String> {
        let TurnInput { mesh, agent, .. } = self;
        let rules = agent.workspace.as_ref().or(mesh.workspace.as_ref());
        if rules.is_none() && !mesh.manifest.is_empty() {
            let own = Manifest::default_workspace(&mesh.name);
            let root = self.folder();
            make_workspace(&root, &root.join(own))?;
        }
        let (Some(rules), Some(task)) = (rules, &self.task) else {
            return Ok(None);
        };
        let task = task.as_task(self.feature());
        let root = self.folder();
        let folder = workspace(&root, mesh, agent, Some(task));
        if let Some(folder) = folder.as_ref().filter(|_| rules.create && root.is_dir()) {
            make_workspace(&root, folder)?;
        }
        Ok(folder)
    }

    /// What is put before the prompt: the message's own, else the agent's if it begins
    /// something.
    fn slash_command(&self) -> Option<String> {
        let contents = &self.contents;
        let own = contents.iter().find_map(|content| content.command.as_ref());
        let begins = contents.is_empty() || contents.iter().any(DeliveredMessage::is_work);
        let command = own.or(self.agent.command.as_ref().filter(|_| begins))?;
        Some(with_feature(command, self.feature()))
    }

    fn feature(&self) -> Option<&Feature> {
        let mut contents = self.contents.iter();
        let own = contents.find_map(|content| content.feature.as_ref());
        self.feature.as_ref().or(own)
    }

    /// Where it works: in the worktree of its feature, or in the project's own folder.
    fn folder(&self) -> PathBuf {
        let rules = self.mesh.worktree.as_ref();
        let folder = worktree_folder(&self.project, rules, self.feature.as_ref());
        folder.unwrap_or_else(|| self.project.root.clone())
    }
}

/// Is a file or folder of the mesh really there, inside the project?
fn is_there(project: &Project, path: &str) -> bool {
    let root = project.root.canonicalize();
    let real = project.root.join(path).canonicalize();
    root.is_ok_and(|root| real.is_ok_and(|real| real.starts_with(root)))
}

/// What a member of a block is told of its place.
fn told(member: &Member) -> String {
    let Member { index, total, .. } = member;
    format!(
        "You are one of {total} that work on this side by side: ENSEMBLE_INDEX is {index}, ENSEMBLE_TOTAL is {total}.\n"
    )
}

fn write(path: PathBuf, text: &str) -> Result<PathBuf, String> {
    let written = write_private(&path, text);
    let failed = |error| format!("{} cannot be written: {error}", path.display());
    written.map_err(failed).map(|()| path)
}

/// What may go into a terminal: no control characters but line breaks and tabs.
fn printable(text: &str) -> String {
    let kept = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
    text.chars().filter(kept).collect()
}
