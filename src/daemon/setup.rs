//! Sets the daemon up: first everything that can fail is found out, then everything that runs beside
//! the loop is started.

use std::collections::HashSet;
use std::sync::Arc;

use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use super::Input;
use super::clock::Clock;
use super::consumer::{Consumer, Known};
use super::fatal::FatalError;
use super::injector::Injector;
use super::input_queue::InputQueue;
use super::jobs::{self, Jobs};
use super::lock::DaemonFiles;
use super::meshes::MeshFiles;
use super::notifier::{Notifier, Reach};
use super::processes::{Processes, World};
use super::recover::StartupEvents;
use super::run::Daemon;
use super::screens::Screens;
use super::status_line::StatusLine;
use super::survivors::{self, Survivors};
use super::system_messages::SystemMessageWriter;
use super::turn_starts::TurnStarts;
use crate::journal::Store;
use crate::model::{Address, Core, MsgId, ScreenRules, Settings};
use crate::project::Project;
use crate::runtime::Runtimes;
use crate::tmux::{Client, Server};

/// What has to be known before anything runs beside the loop.
struct Found {
    settings: Settings,
    clock: Clock,
    server: Server,
    client: Client,
    /// The path of the tx program.
    program: String,
    survivors: Survivors,
    /// When the survivors were given their turns. This has to be known before any file is read.
    turn_starts: TurnStarts,
    /// The files that the journal knows.
    known: Known,
    /// What tx wrote in earlier lives.
    written_before: HashSet<(Address, MsgId)>,
}

impl Daemon {
    pub(super) async fn set_up(
        project: &Project,
        store: Store,
        own_files: DaemonFiles,
        queue: InputQueue,
        inputs: mpsc::Sender<Input>,
    ) -> Result<(Daemon, StartupEvents), FatalError> {
        let mut found = Found::in_project(project, &store).await?;
        let known = std::mem::take(&mut found.known);
        let turn_starts = found.turn_starts.clone();
        // The thread ends only when its reports are read, so nothing after this may fail.
        let consumer = Consumer::start(project, known, turn_starts, inputs.clone());
        let consumer = consumer.map_err(FatalError::Machine)?;
        Ok(found.start(project, store, own_files, queue, inputs, consumer))
    }
}

impl Found {
    async fn in_project(project: &Project, store: &Store) -> Result<Found, FatalError> {
        let settings = project.settings()?;
        let clock = Clock::start(store.state().at());
        let failed = |path, error| FatalError::File { path, error };
        let socket = project.tmux_socket();
        let socket = socket.map_err(|error| failed(project.root.clone(), error))?;
        let server = Server { socket };
        let client = Client::new(server.clone());
        let panes = client.panes().await?;
        let runtimes = Runtimes::with(&settings);
        let survivors = survivors::find(&project.run(), store.state(), &runtimes, panes);
        let survivors = survivors.map_err(|error| failed(project.run(), error))?;
        for unknown in &survivors.unknown_panes {
            tracing::warn!(pane = unknown.as_str(), "a pane without evidence is closed");
            client.close(unknown).await?;
        }
        if store.state().seq() == 0 {
            jobs::forget_all(&project.run()).map_err(|error| failed(project.run(), error))?;
        }
        let program = std::env::current_exe().map_err(FatalError::Machine)?;
        let mut known = Known::default();
        let history = store.history();
        history.each_file(|path, hash, at, finished| known.insert(path, hash, at, finished))?;
        Ok(Found {
            settings,
            clock,
            server,
            client,
            program: program.to_string_lossy().into(),
            turn_starts: survivors.turn_starts(),
            survivors,
            known,
            written_before: history.own_messages()?,
        })
    }

    fn start(
        self,
        project: &Project,
        store: Store,
        own_files: DaemonFiles,
        queue: InputQueue,
        inputs: mpsc::Sender<Input>,
        consumer: Consumer,
    ) -> (Daemon, StartupEvents) {
        let mut tasks = JoinSet::new();
        let client = self.client;
        let reach = Reach {
            client: client.clone(),
            server: self.server,
            program: self.program.clone(),
            root: project.root.clone(),
            run: project.run(),
        };
        let notifier = Arc::new(Notifier::new(reach, self.settings.notify, &mut tasks));
        let Core { run, idle, busy } = self.settings.core;
        let injector = idle.map(|idle| {
            let screen = ScreenRules {
                prompt: Some(idle),
                busy,
                ..ScreenRules::default()
            };
            let (client, notifier) = (client.clone(), Arc::clone(&notifier));
            Injector::new(
                client,
                self.clock,
                screen,
                notifier,
                inputs.clone(),
                &mut tasks,
            )
        });
        let mut processes = Processes::new(World {
            turn_starts: self.turn_starts,
            screens: Screens::new(client.clone(), &mut tasks),
            client: client.clone(),
            fence: consumer.fence(),
            inputs: inputs.clone(),
            clock: self.clock,
            program: self.program.clone(),
            run: project.run(),
        });
        let Survivors {
            alive, exits, dead, ..
        } = self.survivors;
        for (worker, pane) in dead {
            processes.keep_dead(worker, pane);
        }
        let mut shown = Vec::new();
        for survivor in alive {
            tracing::info!(worker = %survivor.pane.worker, attempt = survivor.pane.attempt, "found alive");
            shown.extend(processes.adopt(survivor));
        }
        let (mut meshes, mut reader) = MeshFiles::new(project);
        let events = StartupEvents {
            meshes: meshes.take(reader.read(), store.state()),
            exits,
            shown,
        };
        tasks.spawn(reader.run(inputs.clone()));
        let (commits, _) = watch::channel(store.state().seq());
        let daemon = Daemon {
            project: project.clone(),
            own_files,
            lost: None,
            watching: true,
            clock: self.clock,
            meshes,
            written_before: self.written_before,
            unknown: HashSet::new(),
            ended_turns: Vec::new(),
            store,
            consumer,
            processes,
            jobs: Jobs::new(project.run(), self.program, inputs),
            queue,
            reloads: Vec::new(),
            meshes_read: 0,
            system_messages: SystemMessageWriter::new(project.messages()),
            commits,
            blind: false,
            status_due: None,
            status_line: StatusLine::new(client, &mut tasks),
            tasks,
            notifier,
            injector,
            core_is_shell: run.is_empty(),
        };
        (daemon, events)
    }
}
