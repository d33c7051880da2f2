//! Make a life that fails small: fewer tasks, meshes, faults and acts, as long as it
//! fails in the same way. Then show its end.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use crate::coverage::Seen;
use crate::settings::Settings;
use crate::world::World;

/// How long smaller lives are looked for.
const LONG: Duration = Duration::from_secs(15);

/// A life that failed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) settings: Settings,
    pub(crate) why: String,
    /// The configs of its meshes.
    meshes: String,
    log: VecDeque<String>,
}

/// Live a life; what was seen in it, and how it failed if it did.
pub(crate) fn live(settings: &Settings, logged: bool) -> (Seen, Option<Failure>) {
    let mut world = World::new(settings.clone(), logged);
    let lived = catch_unwind(AssertUnwindSafe(|| world.live()));
    if lived.is_err() && std::env::var_os("TX_SIM_FACTS").is_some() {
        for facts in world.all_facts().values() {
            eprintln!("{facts:?}");
        }
    }
    let failure = lived.err().map(|panic| Failure {
        settings: settings.clone(),
        why: words(panic.as_ref()),
        meshes: world
            .meshes
            .values()
            .flatten()
            .map(|loaded| format!("{}traits: {:?}\n", loaded.text, loaded.traits))
            .collect(),
        log: world.log.take().unwrap_or_default(),
    });
    world.seen.lives = 1;
    (std::mem::take(&mut world.seen), failure)
}

fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without words").to_owned()
}

impl Failure {
    /// How it failed, whoever it was: names and numbers left out.
    pub(crate) fn sort(&self) -> String {
        let letters = self.why.chars().filter(|c| !c.is_ascii_digit());
        letters.take(100).collect()
    }

    /// The smallest life found that fails in the same way.
    pub(crate) fn shrink(self) -> Failure {
        let mut smallest = self;
        let begun = Instant::now();
        let smaller = |than: &Failure| {
            let tried = fewer(&than.settings).into_iter();
            let mut tried = tried.take_while(|_| begun.elapsed() < LONG);
            tried.find_map(|settings| {
                let (_, failure) = live(&settings, false);
                failure.filter(|failure| failure.sort() == than.sort())
            })
        };
        while let Some(failure) = smaller(&smallest) {
            smallest = failure;
        }
        // Once more, and this time all is written down.
        let (_, failure) = live(&smallest.settings, true);
        failure.unwrap_or(smallest)
    }

    /// For people.
    pub(crate) fn show(&self) -> String {
        let Settings {
            seed,
            meshes,
            agents,
            tasks,
            files,
            faults,
            acts,
            workflows,
            pools,
            machines: _,
        } = &self.settings;
        let log: Vec<String> = self.log.iter().map(|line| short(line)).collect();
        format!(
            "seed {seed}: {}\n  {meshes} meshes of up to {agents} agents, {tasks} tasks, {files} files, workflows: {workflows}, pools: {pools}\n  \
             faults: {faults:?}\n  acts: {acts:?}\n{}\n{}",
            self.why,
            self.meshes,
            log.join("\n")
        )
    }
}

/// Settings with a little less in them.
fn fewer(settings: &Settings) -> Vec<Settings> {
    let mut all = Vec::new();
    let mut with = |change: &dyn Fn(&mut Settings)| {
        let mut less = settings.clone();
        change(&mut less);
        all.push(less);
    };
    if settings.faults.len() > 3 {
        let faults: Vec<_> = settings.faults.iter().copied().collect();
        let (first, second) = faults.split_at(faults.len() / 2);
        with(&|s| s.faults = first.iter().copied().collect());
        with(&|s| s.faults = second.iter().copied().collect());
    }
    if settings.acts.len() > 3 {
        let acts: Vec<_> = settings.acts.iter().copied().collect();
        let (first, second) = acts.split_at(acts.len() / 2);
        with(&|s| s.acts = first.iter().copied().collect());
        with(&|s| s.acts = second.iter().copied().collect());
    }
    if settings.tasks > 1 {
        with(&|s| s.tasks /= 2);
    }
    if settings.files > 4 {
        with(&|s| s.files /= 2);
    }
    if settings.meshes > 1 {
        with(&|s| s.meshes -= 1);
    }
    if settings.agents > 2 {
        with(&|s| s.agents -= 1);
    }
    for fault in &settings.faults {
        with(&|s| s.faults.retain(|other| other != fault));
    }
    for act in &settings.acts {
        with(&|s| s.acts.retain(|other| other != act));
    }
    all
}

/// A line of the log without what it need not say.
fn short(line: &str) -> String {
    let mut line = line.to_owned();
    for (long, brief) in [
        ("Address { mesh: Name(\"", ""),
        ("\"), agent: Name(\"", "/"),
        ("MsgId(\"", "("),
        ("Recipient::", ""),
        ("command: None, ", ""),
        ("feature: None, ", ""),
        ("headless: false, ", ""),
        ("inject_response: false, ", ""),
        ("default: None, ", ""),
        ("expires: None, ", ""),
        ("model: None, ", ""),
        ("session_id: None, ", ""),
        ("extra: {} ", ""),
        ("in_reply_to: [], ", ""),
        ("route_to: None, ", ""),
        ("kind: None, ", ""),
        ("headline: Line(\"made up\"), ", ""),
        ("known: [] ", ""),
        ("priority: Normal, ", ""),
    ] {
        line = line.replace(long, brief);
    }
    line = line.replace("\") }", "").replace("\")", ")");
    line.chars().take(500).collect()
}
