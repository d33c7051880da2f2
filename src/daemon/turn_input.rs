//! What a worker is given for a turn: the prompt of a program, or the text for a pane.
//!
//! An [`InputBuilder`](super::input_builder::InputBuilder) collects it on the loop. The methods
//! here read and write files, so they run on a thread of their own. The command line is put
//! together in [`launch_spec`](super::launch_spec).

use std::path::{Path, PathBuf};

use super::attempt::AttemptFolder;
use super::delivered_message::DeliveredMessage;
use crate::engine::{AttemptId, Member};
use crate::format::prompt::{
    Given, line, member as place_in_block, original as original_text, output_folder, prompt,
    with_feature, with_place,
};
use crate::model::{Agent, Deliver, Feature, Manifest, ManifestCheck, Mesh, Name, Runtime};
use crate::pane::{self, Text};
use crate::project::{
    BriefingInput, MeshSource, Project, briefing, make_workspace, system_text, workspace,
    worktree_folder, write_private,
};

/// A worker and what it is given, as of the commit that decided it.
pub(super) struct TurnInput {
    pub(super) project: Project,
    pub(super) pane: AttemptId,
    pub(super) mesh: Mesh,
    pub(super) agent: Agent,
    pub(super) place: MeshSource,
    /// `None` if there is no runtime with the agent's name for it.
    pub(super) runtime: Option<Runtime>,
    pub(super) contents: Vec<DeliveredMessage>,
    /// The first message of its run, if the worker has an output folder, which is named after it.
    pub(super) task: Option<DeliveredMessage>,
    /// The message that began the run, for an agent that joins later.
    pub(super) original: Option<DeliveredMessage>,
    /// The manifest's files that must exist before the turn.
    pub(super) reads: Vec<ManifestCheck>,
    /// Its place in a block.
    pub(super) member: Option<Member>,
    /// What it is told about the state of its workflow; may be empty.
    pub(super) stage: String,
    /// The feature whose worktree it works in.
    pub(super) feature: Option<Feature>,
}

impl TurnInput {
    /// The text for a pane: one line with the path of the message, or the message itself.
    /// `resumed`: it is the first for a process that resumes a session.
    pub(super) fn text(&self, turn: u32, resumed: bool) -> Result<Text, String> {
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
                true => self.line(turn, output.as_deref(), resumed)?,
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

    /// Whether it is an agent CLI, which gets instructions in its system prompt.
    fn is_cli(&self) -> bool {
        let runtime = self.runtime.as_ref();
        runtime.is_some_and(|runtime| runtime.has_system_text(&self.agent))
    }

    /// The system prompt.
    pub(super) fn system(&self, output: Option<&Path>) -> Result<String, String> {
        system_text(self.briefing_input(output))
            .map(|text| self.filled(text))
            .map_err(|error| error.to_string())
    }

    fn briefing_input<'b>(&'b self, output: Option<&'b Path>) -> BriefingInput<'b> {
        BriefingInput {
            project: &self.project,
            source: &self.place,
            mesh: &self.mesh,
            agent: &self.agent,
            feature: self.feature(),
            workspace: output,
        }
    }

    /// The line that points an agent CLI at its messages. This writes the file with the messages.
    pub(super) fn line(
        &self,
        turn: u32,
        output: Option<&Path>,
        resumed: bool,
    ) -> Result<String, String> {
        let file = write(self.turn_file(turn), &self.prompt(output, true)?)?;
        let given: Vec<Given> = self.contents.iter().map(DeliveredMessage::given).collect();
        let mut contents = self.contents.iter();
        let again = resumed && contents.any(|content| content.is_work() && content.was_delivered);
        Ok(line(&given, &file.to_string_lossy(), again))
    }

    /// The note for an agent that is interrupted. It is delivered like a message, but belongs to no
    /// turn.
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

    /// The file with the messages of a turn, for an agent CLI.
    pub(super) fn turn_file(&self, turn: u32) -> PathBuf {
        self.attempt().folder().join(format!("turn-{turn}.md"))
    }

    fn attempt(&self) -> AttemptFolder {
        AttemptFolder::of(&self.project.run(), &self.pane)
    }

    /// Whether Enter is pressed after a text. Otherwise the text ends with a line break.
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

    pub(super) fn prompt(&self, output: Option<&Path>, resumed: bool) -> Result<String, String> {
        let contents = &self.contents;
        let runtime = self.runtime.as_ref();
        let prints = runtime.is_some_and(|runtime| runtime.prints_outcome(&self.agent));
        let briefing = match (resumed, output) {
            (false, output) => {
                let input = self.briefing_input(output);
                briefing(input, prints).map_err(|error| error.to_string())?
            }
            // The folder may differ from that of the last task.
            (true, Some(output)) if contents.iter().any(DeliveredMessage::is_work) => {
                output_folder(&output.to_string_lossy())
            }
            (true, Some(_) | None) => String::new(),
        };
        let given: Vec<Given> = contents.iter().map(DeliveredMessage::given).collect();
        let briefing = self.filled(briefing);
        let position = self.position(output);
        let command = self.slash_command();
        let text = prompt(&briefing, command.as_deref(), &position, &given);
        let works = contents.iter().any(DeliveredMessage::is_work);
        let member = self.member().filter(|_| works);
        let member = member.map(|member| place_in_block(member.index, member.total));
        let stage = if works { self.stage.as_str() } else { "" };
        Ok(text + stage + &member.unwrap_or_default())
    }

    /// What it is told with each new work: the message that began the run, and the missing files.
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

    /// Refuse the turn if files are missing and the mesh is strict about that.
    pub(super) fn check_reads(&self, output: Option<&Path>) -> Result<(), String> {
        let missing = match self.mesh.manifest.rules.strict {
            true => self.missing_reads(output),
            false => Vec::new(),
        };
        match missing.is_empty() {
            true => Ok(()),
            false => Err(missing.join("; ")),
        }
    }

    /// The manifest's files that should exist for this work and do not.
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

    /// Its place in a block that says how many members there are.
    pub(super) fn member(&self) -> Option<&Member> {
        self.member.as_ref().filter(|member| member.total > 0)
    }

    /// Fill in the place in its block.
    fn filled(&self, text: String) -> String {
        match self.member() {
            Some(member) => with_place(&text, member.index, member.total),
            None => text,
        }
    }

    /// The output folder of the current work. It is created, unless the mesh says otherwise.
    pub(super) fn workspace(&self) -> Result<Option<PathBuf>, String> {
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

    /// The slash command before the prompt: the message's own, or the agent's if this is new work.
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

    /// The folder it works in: the worktree of its feature, or the project's root.
    pub(super) fn folder(&self) -> PathBuf {
        let rules = self.mesh.worktree.as_ref();
        let folder = worktree_folder(&self.project, rules, self.feature.as_ref());
        folder.unwrap_or_else(|| self.project.root.clone())
    }
}

/// Whether a file or folder exists inside the project.
fn is_there(project: &Project, path: &str) -> bool {
    let root = project.root.canonicalize();
    let real = project.root.join(path).canonicalize();
    root.is_ok_and(|root| real.is_ok_and(|real| real.starts_with(root)))
}

pub(super) fn write(path: PathBuf, text: &str) -> Result<PathBuf, String> {
    let written = write_private(&path, text);
    let failed = |error| format!("{} cannot be written: {error}", path.display());
    written.map_err(failed).map(|()| path)
}

/// A text without control characters other than line breaks and tabs, safe for a terminal.
fn printable(text: &str) -> String {
    let kept = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
    text.chars().filter(kept).collect()
}
