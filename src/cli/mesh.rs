//! `tx mesh`: the meshes, and what is wrong with them.

mod prompt;
mod workflow;

use std::fmt::Write;

use schemars::JsonSchema;
use serde::Serialize;

use super::output::{findings, tally};
use super::{Context, Exit, Refused, daemon_path, short};
use crate::daemon::check_versions;
use crate::format::mesh::{Drawing, draw, in_words, schema};
use crate::format::report::{many, printable, report};
use crate::model::{Name, did_you_mean};
use crate::project::{Catalogue, MeshEntry, MeshSource, config_in};
use crate::view::{MeshCheck, MeshLine, MeshList, MeshView};
pub(super) use prompt::PromptView;

/// A drawing of the routes.
#[derive(Serialize, JsonSchema)]
pub(super) struct GraphView {
    mesh: Name,
    graph: String,
}

/// List, show, check and draw meshes, and what their agents are told
#[derive(clap::Subcommand)]
pub(super) enum MeshArgs {
    /// List the meshes of the project and the shipped ones (the default)
    #[command(after_help = "Example: tx mesh list --json")]
    List,
    /// Show one mesh: its agents, and where their outcomes go
    #[command(after_help = "Example: tx mesh show dev-review")]
    Show {
        /// The mesh
        mesh: String,
    },
    /// Check meshes and their routing tables
    #[command(
        after_help = "Example: tx mesh check --strict\n         tx mesh check meshes/mine/config.yaml"
    )]
    Check {
        /// Meshes, or paths of configs [default: all of the project's]
        meshes: Vec<String>,
        /// Exit with 1 for warnings too
        #[arg(long)]
        strict: bool,
    },
    /// Draw who sends what to whom
    #[command(after_help = "Example: tx mesh graph dev-review --format mermaid")]
    Graph {
        /// The mesh
        mesh: String,
        /// How to draw it
        #[arg(long, value_enum, default_value = "text")]
        format: Format,
        /// Only the states of its machine
        #[arg(long)]
        states: bool,
    },
    /// Show what an agent would be told
    #[command(after_help = "Example: tx mesh prompt dev-review/tester")]
    Prompt {
        /// The agent, or a mesh for its entry point
        #[arg(value_name = "MESH/AGENT")]
        agent: String,
        /// Show what it is told in this state of the mesh's machine
        #[arg(long)]
        state: Option<String>,
    },
    /// Print the JSON schema of mesh configs, for editors
    #[command(after_help = "Example: tx mesh schema > mesh.schema.json")]
    Schema,
}

#[derive(Clone, Copy, clap::ValueEnum)]
pub(super) enum Format {
    Text,
    Mermaid,
    Dot,
}

pub(super) fn run(context: &Context, verb: MeshArgs) -> Result<Exit, Refused> {
    match verb {
        MeshArgs::List => list(context),
        MeshArgs::Show { mesh } => show(context, &mesh),
        MeshArgs::Check { meshes, strict } => check(context, &meshes, strict),
        MeshArgs::Graph {
            mesh,
            format,
            states,
        } => graph(context, &mesh, format, states),
        MeshArgs::Prompt { agent, state } => prompt::run(context, &agent, state.as_deref()),
        MeshArgs::Schema => {
            let schema = format!("{:#}\n", schema());
            context.output.say(&schema).map(|()| Exit::Done)
        }
    }
}

fn list(context: &Context) -> Result<Exit, Refused> {
    let entries = context.catalogue()?.entries;
    let meshes = entries.iter().map(MeshLine::of).collect();
    context.output.answer(&MeshList { meshes }, |_| {
        let width = entries.iter().map(|entry| entry.name.len()).max();
        let width = width.unwrap_or(0);
        let line = |entry: &MeshEntry| {
            let about = match &entry.mesh {
                None => format!("does not load: `tx mesh check {}` says why", entry.name),
                Some(mesh) => {
                    let agents = many(mesh.agents.len(), "agent");
                    let line = mesh.description.lines().next().unwrap_or_default();
                    let off = if mesh.disabled { "  [disabled]" } else { "" };
                    format!("{agents:9}  {line}{off}")
                }
            };
            let twins = entries.iter().filter(|twin| twin.name == entry.name);
            let shipped = match &entry.place {
                MeshSource::BuiltIn => "  [shipped]".into(),
                MeshSource::File(path) if twins.count() > 1 => format!("  [{}]", short(path)),
                MeshSource::File(_) => String::new(),
            };
            let line = format!("{:width$}  {about}{shipped}", entry.name);
            printable(line.trim_end()) + "\n"
        };
        entries.iter().map(line).collect()
    })
}

fn show(context: &Context, name: &str) -> Result<Exit, Refused> {
    let catalogue = context.catalogue()?;
    let (entry, mesh) = find(&catalogue, name)?;
    let path = entry.place.to_string();
    context
        .output
        .answer(&MeshView { mesh, path }, |_| as_text(entry, mesh))
}

fn as_text(entry: &MeshEntry, mesh: &crate::model::Mesh) -> String {
    let off = if mesh.disabled { "disabled, " } else { "" };
    let about = match one_line(&mesh.description).as_str() {
        "" => String::new(),
        about => format!(": {about}"),
    };
    let mut text = format!("{}{about}\n{off}{}\n", mesh.name, place(&entry.place));
    let names: Vec<&str> = mesh.completion_agents.iter().map(Name::as_str).collect();
    let entry_point = mesh
        .entry_point
        .as_ref()
        .map_or("none", |name| name.as_str());
    let ends = if names.is_empty() {
        "any agent".into()
    } else {
        names.join(", ")
    };
    let _ = writeln!(
        text,
        "entry point: {entry_point}; ends with: {ends}; routing: {} form",
        mesh.routing.mode
    );
    text += &workflow::shown(mesh);
    for (agent, lines) in mesh.agents.values().zip(in_words(mesh)) {
        let model = agent
            .model
            .as_deref()
            .map(|model| format!(", {model}"))
            .unwrap_or_default();
        let _ = writeln!(text, "\n{} ({}{model})", agent.name, agent.runtime);
        if !agent.description.is_empty() {
            let _ = writeln!(text, "  {}", one_line(&agent.description));
        }
        for line in lines {
            let _ = writeln!(text, "  - {}", one_line(&line));
        }
    }
    lines_printable(&text)
}

fn check(context: &Context, names: &[String], strict: bool) -> Result<Exit, Refused> {
    let mut catalogue = context.catalogue()?;
    let project = context.project().ok();
    let path = project.as_ref().map(daemon_path);
    if let (Some(project), Some(path)) = (&project, &path) {
        check_versions(&mut catalogue, project, path);
    }
    let runtimes = catalogue.runtimes.clone();
    let check_runnable = |entry: &mut MeshEntry| {
        // Programs are only checked for the project's own meshes, not for shipped ones.
        if let (Some(project), Some(path), MeshSource::File(_)) = (&project, &path, &entry.place) {
            entry.check_runnable(project, &runtimes, path);
        }
    };
    catalogue.entries.iter_mut().for_each(check_runnable);
    let mut named: Vec<Option<MeshEntry>>;
    let entries: Vec<&MeshEntry> = if names.is_empty() {
        let own = catalogue
            .entries
            .iter()
            .filter(|e| e.place != MeshSource::BuiltIn);
        let own: Vec<&MeshEntry> = own.collect();
        // Outside a project, or in one without meshes: the shipped ones.
        if own.is_empty() {
            catalogue.entries.iter().collect()
        } else {
            own
        }
    } else {
        named = read_paths(names, &catalogue);
        named.iter_mut().flatten().for_each(check_runnable);
        let mut entries = Vec::new();
        for (name, by_path) in names.iter().zip(&named) {
            match by_path.as_ref().or_else(|| catalogue.get(name)) {
                Some(entry) => entries.push(entry),
                None => return Err(no_such_mesh(&catalogue, name)),
            }
        }
        entries
    };

    let bad = |entry: &MeshEntry| !entry.is_sound() || strict && !entry.diagnostics.is_empty();
    let found = entries.iter().any(|entry| bad(entry));
    let of = |entry: &&MeshEntry| MeshCheck::of(entry, &catalogue.runtimes);
    let meshes = entries.iter().map(of).collect();
    let styled = context.output.styled();
    context.output.answer(&MeshList { meshes }, |list| {
        let reported = entries.iter().filter(|entry| !entry.diagnostics.is_empty());
        let reports = reported.map(|entry| {
            report(
                &place(&entry.place),
                &entry.text,
                &entry.diagnostics,
                styled,
            )
        });
        let verdicts = entries.iter().zip(&list.meshes).map(|(entry, check)| {
            let cannot = check.cannot.iter();
            let cannot = cannot.map(|cannot| format!("  {}\n", printable(&cannot.line())));
            verdict(entry) + &cannot.collect::<String>()
        });
        reports.chain(verdicts).collect()
    })?;
    Ok(findings(found))
}

fn verdict(entry: &MeshEntry) -> String {
    let errors = entry.diagnostics.iter().filter(|d| d.is_error()).count();
    let counts = tally(errors, entry.diagnostics.len() - errors);
    let verdict = match (entry.is_ok(), counts.as_str()) {
        (true, "") => "ok".to_owned(),
        (true, counts) if errors == 0 => format!("ok ({counts})"),
        (true, counts) => format!("loads but cannot run ({counts})"),
        (false, counts) => format!("does not load ({counts})"),
    };
    format!("{}: {verdict}\n", printable(&entry.name))
}

/// The names that are paths of configs or their folders: they have a slash, a dot or a file ending,
/// which the name of a mesh would not have.
fn read_paths(names: &[String], catalogue: &Catalogue) -> Vec<Option<MeshEntry>> {
    let directory = catalogue.directory();
    let read = |name: &String| {
        let ending = [".yaml", ".yml", ".json"]
            .iter()
            .any(|end| name.ends_with(end));
        if !(name.contains('/') || name.starts_with('.') || ending) {
            return None;
        }
        let path = std::path::absolute(name).ok()?;
        let config = match path.is_dir() {
            true => config_in(&path)?,
            false => path.exists().then_some(path)?,
        };
        let mut entry = MeshEntry::read(&config, &catalogue.runtimes);
        entry.check_targets(&directory);
        Some(entry)
    };
    names.iter().map(read).collect()
}

fn graph(context: &Context, name: &str, format: Format, states: bool) -> Result<Exit, Refused> {
    let catalogue = context.catalogue()?;
    let (_, mesh) = find(&catalogue, name)?;
    if states && mesh.machine.is_none() {
        let hint = "without `--states` its table is drawn";
        return Err(Refused::new(format!("the mesh `{name}` has no states")).hint(hint));
    }
    let drawing = match format {
        Format::Text => Drawing::Text,
        Format::Mermaid => Drawing::Mermaid,
        Format::Dot => Drawing::Dot,
    };
    let graph = lines_printable(&draw(mesh, drawing, states));
    let mesh = mesh.name.clone();
    context
        .output
        .answer(&GraphView { mesh, graph }, |view| view.graph.clone())
}

fn find<'c>(
    catalogue: &'c Catalogue,
    name: &str,
) -> Result<(&'c MeshEntry, &'c crate::model::Mesh), Refused> {
    let entry = catalogue
        .get(name)
        .ok_or_else(|| no_such_mesh(catalogue, name))?;
    match &entry.mesh {
        Some(mesh) => Ok((entry, mesh)),
        None => Err(Refused::new(format!("mesh `{name}` does not load"))
            .hint(format!("`tx mesh check {name}` says why"))),
    }
}

fn no_such_mesh(catalogue: &Catalogue, name: &str) -> Refused {
    let names = catalogue.entries.iter().map(|entry| entry.name.as_str());
    let hint = did_you_mean(name, names, || "`tx mesh list` lists the meshes".into());
    let what = if name.contains('/') { "config" } else { "mesh" };
    Refused::no_such_thing(format!("there is no {what} `{name}`")).hint(hint)
}

fn place(place: &MeshSource) -> String {
    match place {
        MeshSource::File(path) => short(path),
        MeshSource::BuiltIn => "built in".into(),
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Control characters of a config must not reach the terminal. The line breaks are ours.
fn lines_printable(text: &str) -> String {
    text.lines().map(|line| printable(line) + "\n").collect()
}
