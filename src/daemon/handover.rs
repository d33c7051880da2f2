//! What a worker is given: a program to run and a prompt, or a text for its pane.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::attempt::{Attempt, Order};
use super::meshes::Meshes;
use super::process::Manner;
use super::processes::Start;
use crate::engine::{Arrived, Event, Exit, MessageNo, MessageRecord, Pane, State, Turn};
use crate::format::message::MAX_FILE;
use crate::format::prompt::{Given, output_folder, prompt, with_feature};
use crate::journal::{Error, Reader, Store, StoredMessage};
use crate::model::{
    Address, Agent, Deliver, Feature, Kind, Mesh, MsgId, OutcomeWord, Rearmatter, Runtime,
};
use crate::pane::{self, Text};
use crate::project::{
    Place, Project, Task, briefing, cannot_run, make_workspace, read_regular, workspace,
    write_private,
};
use crate::runtime::{Values, arguments, uses_session};

/// Where everything is that is handed over.
pub(super) struct Handover<'a> {
    pub(super) project: &'a Project,
    pub(super) meshes: &'a Meshes,
    pub(super) store: &'a Store,
}

/// What a spawn asks for besides the pane.
pub(super) struct Wanted {
    pub(super) session: Option<String>,
    pub(super) model: Option<String>,
    pub(super) turn: Option<Turn>,
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

/// An agent and its mesh, as they are now.
struct Whose<'a> {
    mesh: &'a Mesh,
    agent: &'a Agent,
    place: &'a Place,
    runtime: Option<&'a Runtime>,
}

impl<'a> Whose<'a> {
    /// Is Enter pressed after what it is given? Else it is given lines.
    fn is_typed_to(&self) -> bool {
        self.runtime
            .is_some_and(|runtime| runtime.screen.is_typed_to())
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

    fn runtime(&self) -> Result<&'a Runtime, String> {
        let unknown = || format!("there is no runtime `{}`", self.agent.runtime);
        self.runtime.ok_or_else(unknown)
    }
}

/// A message as it is given.
struct Content {
    id: MsgId,
    from: Address,
    kind: Kind,
    headline: String,
    status: Option<OutcomeWord>,
    in_reply_to: Vec<MsgId>,
    body: String,
    rearmatter: Rearmatter,
    command: Option<String>,
    feature: Option<Feature>,
    /// The file on the bus that it came in.
    file: Option<Written>,
}

/// A file as it was when it was accepted.
struct Written {
    name: String,
    text: String,
}

impl Handover<'_> {
    /// What it takes to start a process; or why it cannot be, as the engine is told.
    pub(super) fn start(&self, pane: Pane, wanted: Wanted) -> Result<Start, Event> {
        self.prepare(&pane, wanted).map_err(|unready| {
            let exit = match unready {
                Unready::NotNow(why) => Exit::NotStarted { why },
                Unready::Never(why) => Exit::Unstartable { why },
            };
            Event::PaneExited { pane, exit }
        })
    }

    fn prepare(&self, pane: &Pane, wanted: Wanted) -> Result<Start, Unready> {
        let Wanted {
            session,
            model,
            turn,
        } = wanted;
        let worker = &pane.worker;
        let whose = self.whose(worker)?;
        let agent = whose.agent;
        let path = std::env::var_os("PATH").unwrap_or_default();
        let runtimes = self.meshes.runtimes();
        if let Some(why) = cannot_run(self.project, runtimes, whose.place, agent, &path) {
            return Err(Unready::Never(why));
        }
        let runtime = whose.runtime()?;
        let (run, mode) = (runtime.run_of(agent), runtime.mode_of(agent));
        let contents = match &turn {
            Some(turn) => self.contents(worker, &turn.messages)?,
            None => Vec::new(),
        };
        let feature = contents.iter().find_map(|content| content.feature.as_ref());
        let resumed = session.is_some();
        let session = session.or_else(|| uses_session(run).then(|| self.new_session(pane)));
        let folder = self.project.root.clone();
        let output = self.workspace(worker, &whose, turn.as_ref(), feature)?;
        let attempt = Attempt::of(&self.project.run(), pane);
        let prompt = self
            .prompt(&whose, &contents, feature, output.as_deref(), resumed)
            .map_err(Unready::Never)?;
        let message = contents
            .first()
            .map(|first| self.file_of(first).unwrap_or_else(|| attempt.prompt()));
        let mesh_dir = match whose.place {
            Place::File(path) => path.parent().map(Path::to_path_buf),
            Place::BuiltIn => None,
        };
        let text = |path: &Option<PathBuf>| path.as_ref().map(|p| p.to_string_lossy().into_owned());
        let (mesh_dir, message) = (text(&mesh_dir), text(&message));
        let prompt_file = text(&Some(attempt.prompt()));
        let workdir = folder.to_string_lossy().into_owned();
        let name = worker.to_string();
        let model = model.or_else(|| agent.model.clone());
        let program = arguments(
            run,
            agent.shell,
            &Values {
                mesh_dir: mesh_dir.as_deref(),
                prompt_file: prompt_file.as_deref(),
                msg_file: message.as_deref(),
                session: session.as_deref(),
                model: model.as_deref(),
                agent: Some(&name),
                workdir: Some(&workdir),
            },
        )
        .map_err(|error| Unready::Never(error.to_string()))?;
        if program.is_empty() {
            return Err(Unready::NotNow("its `run` names no program".into()));
        }
        let root = self.project.root.to_string_lossy().into_owned();
        let first = contents.first().map(|content| content.id.to_string());
        let environment = [
            ("TX_ROOT", Some(root)),
            ("TX_AGENT", Some(name)),
            ("TX_WORKDIR", Some(workdir)),
            ("TX_WORKSPACE", text(&output)),
            ("TX_SESSION_ID", session.clone()),
            ("TX_MSG_ID", first),
        ];
        let own = environment
            .into_iter()
            .filter_map(|(key, value)| Some((key.to_owned(), value?)));
        let env = agent.env.as_ref();
        let set = env.map(|env| env.set.clone()).unwrap_or_default();
        Ok(Start {
            pane: pane.clone(),
            order: Order {
                program,
                folder,
                passed: env.map(|env| env.passed.clone()),
                environment: set.into_iter().chain(own).collect(),
                mode,
                runtime: agent.runtime.clone(),
            },
            manner: Manner::of(runtime, mode),
            prompt,
            session,
            turn: turn.map(|turn| turn.turn),
        })
    }

    /// What goes into a pane: one line with the path of the message, or the message itself.
    pub(super) fn text(&self, pane: &Pane, turn: &Turn) -> Result<Text, String> {
        let whose = self.whose(&pane.worker)?;
        let contents = self.contents(&pane.worker, &turn.messages)?;
        let attempt = Attempt::of(&self.project.run(), pane);
        let message = attempt.folder().join(format!("turn-{}.md", turn.turn));
        let feature = contents.iter().find_map(|content| content.feature.as_ref());
        let output = self.workspace(&pane.worker, &whose, Some(turn), feature)?;
        let prompt = || self.prompt(&whose, &contents, feature, output.as_deref(), true);
        let text = match (whose.agent.deliver, contents.as_slice()) {
            (Deliver::Text, [one]) => match slash_command(whose.agent, &contents, feature) {
                Some(command) => format!("{command}\n\n{}", one.body),
                None => one.body.clone(),
            },
            (Deliver::Text, [] | [..]) => prompt()?,
            (Deliver::Path, contents) => {
                let path = match contents {
                    [one] => self.file_of(one),
                    [] | [..] => None,
                };
                let path = match (path, contents) {
                    (Some(path), _) => path,
                    (
                        None,
                        [
                            Content {
                                file: Some(as_it_was),
                                ..
                            },
                        ],
                    ) => write(message, &as_it_was.text)?,
                    (None, [] | [..]) => write(message, &prompt()?)?,
                };
                path.to_string_lossy().into_owned()
            }
        };
        let given = attempt.given(turn.turn);
        whose.given(given, &text, Some(turn.turn))
    }

    /// What somebody is told who is interrupted: as a message is, but of no turn.
    pub(super) fn note(&self, pane: &Pane, note: &str) -> Result<Text, String> {
        let whose = self.whose(&pane.worker)?;
        let folder = Attempt::of(&self.project.run(), pane).folder().to_owned();
        let text = match (whose.agent.deliver, whose.is_typed_to()) {
            (Deliver::Text, _) | (Deliver::Path, true) => note.to_owned(),
            (Deliver::Path, false) => {
                let path = write(folder.join("note.md"), &format!("{note}\n"))?;
                path.to_string_lossy().into_owned()
            }
        };
        whose.given(folder.join("note"), &text, None)
    }

    fn whose(&self, worker: &Address) -> Result<Whose<'_>, String> {
        let mut meshes = self.store.state().meshes();
        let loaded = meshes.find(|loaded| loaded.mesh.name == worker.mesh);
        let mesh = loaded.map(|loaded| &loaded.mesh);
        let agent = mesh.and_then(|mesh| mesh.agents.get(&worker.agent));
        let place = self.meshes.place(&worker.mesh);
        match (mesh, agent, place) {
            (Some(mesh), Some(agent), Some(place)) => Ok(Whose {
                mesh,
                agent,
                place,
                runtime: self.meshes.runtimes().of(agent),
            }),
            (_, _, _) => Err(format!("{worker} is in no mesh that loads")),
        }
    }

    fn prompt(
        &self,
        whose: &Whose,
        contents: &[Content],
        feature: Option<&Feature>,
        output: Option<&Path>,
        resumed: bool,
    ) -> Result<String, String> {
        let Whose {
            mesh, agent, place, ..
        } = whose;
        let prints = whose
            .runtime
            .is_some_and(|runtime| runtime.prints_outcome(agent));
        let briefing = match (resumed, output) {
            (false, output) => briefing(self.project, place, mesh, agent, prints, feature, output)
                .map_err(|error| error.to_string())?,
            // It may be another task's.
            (true, Some(output)) if contents.iter().any(Content::is_work) => {
                output_folder(&output.to_string_lossy())
            }
            (true, Some(_) | None) => String::new(),
        };
        let command = slash_command(agent, contents, feature);
        let given: Vec<Given> = contents.iter().map(Content::given).collect();
        Ok(prompt(&briefing, command.as_deref(), &given))
    }

    /// The output folder of what a worker is given, or has in hand; made, unless its mesh says
    /// that it is not to be.
    fn workspace(
        &self,
        worker: &Address,
        whose: &Whose,
        turn: Option<&Turn>,
        feature: Option<&Feature>,
    ) -> Result<Option<PathBuf>, String> {
        let Whose { mesh, agent, .. } = whose;
        let Some(rules) = agent.workspace.as_ref().or(mesh.workspace.as_ref()) else {
            return Ok(None);
        };
        let state = self.store.state();
        let given = turn.and_then(|turn| turn.messages.first().copied());
        let in_hand = || state.worker(worker)?.status.work()?.messages().next();
        let first = given.or_else(in_hand).map(|number| self.facts(number));
        let Some(first) = first.transpose()?.flatten() else {
            return Ok(None);
        };
        // What one task of core's causes shares a folder.
        let task = match first.run {
            Some(run) => self.facts(run)?.unwrap_or(first),
            None => first,
        };
        let of_task = content(self.store.reader(), &task, worker);
        let of_task = of_task.map_err(|error| error.to_string())?.feature;
        let task = Task {
            id: task.id.as_str(),
            headline: task.headline.as_str(),
            feature: feature.or(of_task.as_ref()),
        };
        let folder = workspace(self.project, mesh, agent, Some(task));
        if let Some(folder) = folder.as_ref().filter(|_| rules.create) {
            make_workspace(self.project, folder)?;
        }
        Ok(folder)
    }

    fn facts(&self, number: MessageNo) -> Result<Option<MessageRecord>, String> {
        let found = self.store.history().message(number);
        found.map_err(|error| error.to_string())
    }

    /// The file that a message came in, if it is what it was, and its path is one line.
    fn file_of(&self, content: &Content) -> Option<PathBuf> {
        let Written { name, text } = content.file.as_ref()?;
        if name.chars().any(char::is_control) {
            return None;
        }
        let path = self.project.messages().join(name);
        let (bytes, _) = read_regular(&path, MAX_FILE).ok()?;
        (bytes == text.as_bytes()).then_some(path)
    }

    fn contents(&self, to: &Address, messages: &[MessageNo]) -> Result<Vec<Content>, String> {
        let each = messages.iter().filter_map(|number| {
            let held = self.store.state().message(*number)?;
            Some(content(self.store.reader(), &held.facts, to))
        });
        let all: Result<_, Error> = each.collect();
        all.map_err(|error| error.to_string())
    }

    /// A session of its own, in the form that every agent CLI takes.
    fn new_session(&self, pane: &Pane) -> String {
        let state: &State = self.store.state();
        let seed = format!(
            "{} {} {} {} {}",
            self.project.root.display(),
            pane.worker,
            pane.attempt,
            state.at(),
            state.seq()
        );
        let hash = Sha256::digest(seed);
        let hex: String = hash[..16]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        // Version 8 of a UUID: what is in it is nobody's business.
        format!(
            "{}-{}-8{}-a{}-{}",
            &hex[..8],
            &hex[8..12],
            &hex[13..16],
            &hex[17..20],
            &hex[20..32]
        )
    }
}

/// What is put before the prompt: the message's own, else the agent's if it begins
/// something.
fn slash_command(agent: &Agent, contents: &[Content], feature: Option<&Feature>) -> Option<String> {
    let own = contents.iter().find_map(|content| content.command.as_ref());
    let begins = contents.is_empty() || contents.iter().any(Content::is_work);
    let command = own.or(agent.command.as_ref().filter(|_| begins))?;
    Some(with_feature(command, feature))
}

impl Content {
    fn is_work(&self) -> bool {
        match self.kind {
            Kind::Task | Kind::TaskComplete | Kind::Ask | Kind::AskHuman => true,
            Kind::AskResponse | Kind::Update | Kind::Lifecycle => false,
        }
    }

    fn given(&self) -> Given<'_> {
        Given {
            id: &self.id,
            from: &self.from,
            kind: self.kind,
            headline: &self.headline,
            status: self.status.as_ref(),
            in_reply_to: &self.in_reply_to,
            body: &self.body,
            rearmatter: &self.rearmatter,
        }
    }
}

/// A message as its recipient reads it, from the journal: its file may be gone.
fn content(reader: &Reader, facts: &MessageRecord, to: &Address) -> Result<Content, Error> {
    let mut content = Content {
        id: facts.id.clone(),
        from: facts.from.clone(),
        kind: facts
            .delivery(to)
            .map_or(Kind::Update, |delivery| delivery.kind),
        headline: facts.headline.to_string(),
        status: facts.status.clone(),
        in_reply_to: Vec::new(),
        body: String::new(),
        rearmatter: Rearmatter::default(),
        command: None,
        feature: None,
        file: None,
    };
    match reader.contents(facts)? {
        None => {}
        Some(StoredMessage::Own(text)) => content.body = text,
        Some(StoredMessage::File(arrived)) => {
            content.body = arrived.body().to_owned();
            let Arrived {
                path,
                text,
                envelope,
                rearmatter,
                ..
            } = *arrived;
            content.in_reply_to = envelope.in_reply_to;
            content.command = envelope.command;
            content.feature = envelope.feature;
            content.rearmatter = rearmatter;
            content.file = Some(Written { name: path, text });
        }
    }
    Ok(content)
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
