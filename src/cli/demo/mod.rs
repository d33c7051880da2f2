//! `tx demo`: five meshes of scripted agents at work, in a temporary project.
//!
//! Everything is real: a daemon of its own, panes, files on a bus. Only the agents are shell
//! scripts, and this command plays the human.

mod project;

use std::fmt::Write;
use std::time::{Duration, Instant};

use clap::builder::styling::AnsiColor;
use schemars::JsonSchema;
use serde::Serialize;

use super::output::{bold, dim, findings, paint, talk};
use super::{Context, Exit, Refused, require_journal, start, trace};
use crate::actions::follow;
use crate::daemon::{Follow, Heard};
use crate::format::report::{many, printable};
use crate::model::{Address, Kind};
use crate::view::{Hop, MessageFeed};
use project::{DemoProject, Interrupted};

/// How often the demo checks whether to go on.
const A_WHILE: Duration = Duration::from_millis(100);
/// How long the whole demo may take.
const PATIENCE: Duration = Duration::from_secs(25);

/// Watch scripted agents work in tmux panes, in a project of their own
#[derive(clap::Args)]
#[command(after_help = "Example: tx demo")]
pub(super) struct DemoArgs {}

/// The result of the demo.
#[derive(Serialize, JsonSchema)]
pub(super) struct DemoView {
    ok: bool,
    messages: usize,
    hops: usize,
    processes: usize,
    seconds: f64,
    /// The expected hops that did not happen.
    missing: Vec<String>,
}

/// One task, with everything that has to follow from it.
struct Scene {
    about: &'static str,
    to: &'static str,
    headline: &'static str,
    body: &'static str,
    /// The human's answer to a question.
    answer: &'static str,
    /// Every expected hop, in the form of [`words`].
    expected: &'static [&'static str],
}

const SCENES: [Scene; 5] = [
    Scene {
        about: "a change is written, tested and reviewed; the human is asked once, and the review \
                sends it back once",
        to: "dev-review",
        headline: "Write greet.sh",
        body: "It greets people by name.",
        answer: "Good day",
        expected: &[
            "core → implementer task",
            "implementer → core ask-human",
            "core → implementer ask-response",
            "implementer → tester task-complete complete",
            "tester → reviewer task-complete complete",
            "reviewer → implementer task-complete changes-requested",
            "implementer → tester task-complete complete",
            "tester → reviewer task-complete complete",
            "reviewer → core task-complete complete",
        ],
    },
    Scene {
        about: "three views on a question at the same time, joined into one answer",
        to: "council",
        headline: "Do we ship on a Friday?",
        body: "The release is ready, and so is the weekend.",
        answer: "As you like",
        expected: &[
            "core → chair task",
            "chair → optimist task-complete complete",
            "chair → skeptic task-complete complete",
            "chair → pragmatist task-complete complete",
            "optimist → synthesizer task-complete complete",
            "skeptic → synthesizer task-complete complete",
            "pragmatist → synthesizer task-complete complete",
            "synthesizer → core task-complete complete",
        ],
    },
    Scene {
        about: "a plan that a gate checks, and a check that sends the work back once",
        to: "plan-build-check",
        headline: "Count to three",
        body: "With a script.",
        answer: "stop",
        expected: &[
            "core → dispatch task",
            "core → planner task",
            "planner → dispatch task-complete complete",
            "planner → builder task-complete complete",
            "builder → checker task-complete complete",
            "checker → builder task-complete complete",
            "builder → checker task-complete complete",
            "checker → dispatch task-complete complete",
            "checker → core task-complete complete",
        ],
    },
    Scene {
        about: "three independent reviews, and the verdict of the majority",
        to: "ensemble-review",
        headline: "Is count.sh right?",
        body: "It was written just now.",
        answer: "As you like",
        expected: &[
            "core → lead task",
            "lead → reviewer-a task-complete complete",
            "lead → reviewer-b task-complete complete",
            "lead → reviewer-c task-complete complete",
            "reviewer-a → editor task-complete complete",
            "reviewer-b → editor task-complete complete",
            "reviewer-c → editor task-complete complete",
            "tx → editor task-complete",
            "editor → core task-complete complete",
        ],
    },
    Scene {
        about: "a task in three parts, done at the same time by three workers of one agent",
        to: "split-work",
        headline: "Write a book",
        body: "A short one.",
        answer: "As you like",
        expected: &[
            "core → splitter task",
            "splitter → worker task-complete complete",
            "worker → joiner task-complete complete",
            "worker → joiner task-complete complete",
            "worker → joiner task-complete complete",
            "joiner → core task-complete complete",
        ],
    },
];

const NEXT: &str = "\
Next:
  tx init         create a project of your own, with a mesh to start from
  tx mesh list    list the meshes that come with tx
  tx start        start the daemon, and go to the core session
";

pub(super) fn run(context: &Context, _: &DemoArgs) -> Result<Exit, Refused> {
    let interrupted = Interrupted::watch()?;
    let place = DemoProject::new()?;
    let played = Show::new(context, &place, &interrupted).play();
    // Clean up in any case.
    match (played, place.end()) {
        (played, Ok(())) => played,
        (Ok(_), Err(left)) => Err(left),
        (Err(failure), Err(left)) => {
            super::exit::tell(left);
            Err(failure)
        }
    }
}

/// The running demo.
struct Show<'a> {
    context: &'a Context,
    place: &'a DemoProject,
    interrupted: &'a Interrupted,
    begun: Instant,
    hops: Vec<Hop>,
    missing: Vec<String>,
}

impl<'a> Show<'a> {
    fn new(context: &'a Context, place: &'a DemoProject, interrupted: &'a Interrupted) -> Self {
        Show {
            context,
            place,
            interrupted,
            begun: Instant::now(),
            hops: Vec::new(),
            missing: Vec::new(),
        }
    }

    fn play(mut self) -> Result<Exit, Refused> {
        let project = &self.place.project;
        start::start(project)?;
        talk(&format!(
            "to look at the panes, in another terminal: {}\n",
            self.place.attach()?
        ));
        // Subscribe first, then read the journal, so that nothing is missed in between.
        let mut follow = follow(project)?;
        let mut hops = MessageFeed::after(require_journal(project)?);
        for scene in &SCENES {
            self.say(&format!("\n{}: {}\n", bold(scene.to), scene.about))?;
            self.run(scene, &mut follow, &mut hops)?;
        }
        self.end(&hops)
    }

    /// Send the task, and follow it to its end.
    fn run(
        &mut self,
        scene: &Scene,
        follow: &mut Follow,
        hops: &mut MessageFeed,
    ) -> Result<(), Refused> {
        let before = self.hops.len();
        let task = self
            .place
            .write(scene.to, scene.headline, scene.body, None)?;
        while !hops.is_over(&task)? {
            self.interrupted.check()?;
            if self.begun.elapsed() > PATIENCE {
                break;
            }
            match follow.heard(Some(A_WHILE)) {
                Heard::Seq(_) => {}
                Heard::Nothing => continue,
                Heard::End => return Err(Refused::new("the daemon of the demo has ended")),
            }
            for mut hop in hops.next()? {
                self.show(&mut hop)?;
                if hop.kind == Kind::AskHuman {
                    let (to, id) = (hop.from.to_string(), hop.id.as_str());
                    self.place.write(&to, scene.answer, "", Some(id))?;
                }
                self.hops.push(hop);
            }
        }
        let mut came: Vec<String> = self.hops[before..].iter().map(words).collect();
        for expected in scene.expected {
            match came.iter().position(|words| words == expected) {
                Some(place) => drop(came.swap_remove(place)),
                None => self.missing.push(format!("{}: {expected}", scene.to)),
            }
        }
        Ok(())
    }

    fn show(&self, hop: &mut Hop) -> Result<(), Refused> {
        let at = self.begun.elapsed().as_secs_f64();
        hop.at = (at * 1000.0).round() / 1000.0;
        let text = |hop: &Hop| Self::as_text(hop, at);
        self.context.output.answer(hop, text).map(drop)
    }

    fn as_text(hop: &Hop, at: f64) -> String {
        // Pad before colouring: colour codes take no columns.
        let way = format!("{:<25}", way(hop));
        let word = match &hop.status {
            Some(status) => status.to_string(),
            None => hop.kind.to_string(),
        };
        let word = format!("{word:<17}");
        let word = match (&hop.status, hop.kind) {
            (_, Kind::Lifecycle | Kind::Update) => dim(&word),
            (Some(status), _) if status.is_complete() => paint(AnsiColor::Green, &word),
            (Some(_), _) => paint(AnsiColor::Yellow, &word),
            (None, Kind::Ask | Kind::AskHuman | Kind::AskResponse) => {
                paint(AnsiColor::Magenta, &word)
            }
            (None, Kind::Task | Kind::TaskComplete) => paint(AnsiColor::Cyan, &word),
        };
        let at = dim(&format!("{at:>6.2} s"));
        let headline = printable(&hop.headline);
        format!("{at}  {way}  {word}  {headline}\n")
    }

    /// Print the result.
    fn end(&self, seen: &MessageFeed) -> Result<Exit, Refused> {
        let seconds = self.begun.elapsed().as_secs_f64();
        let (hops, processes) = (self.hops.len(), seen.processes());
        let messages = seen.messages();
        let exit = findings(!self.missing.is_empty());
        if self.context.output.json {
            let view = DemoView {
                ok: self.missing.is_empty(),
                messages,
                hops,
                processes,
                seconds: (seconds * 100.0).round() / 100.0,
                missing: self.missing.clone(),
            };
            self.context.output.answer(&view, |_| String::new())?;
            return Ok(exit);
        }
        for thread in seen.threads()? {
            self.say(&format!("\n{}", trace::as_tree(&thread)))?;
        }
        let mut text = format!(
            "\n{} in {}, {} started, {seconds:.1} s\n",
            many(messages, "message"),
            many(hops, "hop"),
            match processes {
                1 => "1 process".into(),
                processes => format!("{processes} processes"),
            },
        );
        if !self.missing.is_empty() {
            let _ = writeln!(text, "\nThis did not happen:");
            for missing in &self.missing {
                let _ = writeln!(text, "  {missing}");
            }
            self.say(&text)?;
            talk(&self.place.log());
            return Ok(exit);
        }
        self.say(&format!("{text}\n{NEXT}"))?;
        Ok(exit)
    }

    /// Print a text, unless JSON is wanted.
    fn say(&self, text: &str) -> Result<(), Refused> {
        match self.context.output.json {
            true => Ok(()),
            false => self.context.output.say(text),
        }
    }
}

/// The sender and the recipient, by their names within the mesh.
fn way(hop: &Hop) -> String {
    let name = |who: &Address| match who {
        who if who.is_system() => "tx".to_owned(),
        who => who.agent.to_string(),
    };
    format!("{} → {}", name(&hop.from), name(&hop.to))
}

/// A hop in the form of [`Scene::expected`].
fn words(hop: &Hop) -> String {
    let status = hop.status.as_ref().map(|word| format!(" {word}"));
    format!("{} {}{}", way(hop), hop.kind, status.unwrap_or_default())
}
