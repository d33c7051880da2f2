//! `tx mesh`: the meshes there are, and what is wrong with them.

mod prompt;

use std::fmt::Write;
use std::path::Path;

use serde_json::{Value, json};

use super::output::{diagnostic_json, findings, many, tally};
use super::{Context, Exit, Failure, daemon_path, short};
use crate::format::mesh::{Drawing, draw, in_words, schema};
use crate::format::report::{printable, report};
use crate::model::{Name, did_you_mean};
use crate::project::{Catalogue, Entry, Place, config_in};

/// List, show, check and draw meshes, and what their agents are told
#[derive(clap::Subcommand)]
pub(super) enum Mesh {
    /// The meshes there are, the project's own and the shipped ones
    #[command(after_help = "Example: tx mesh list --json")]
    List,
    /// One mesh: its agents, and where their outcomes go
    #[command(after_help = "Example: tx mesh show dev-review")]
    Show {
        /// The mesh
        mesh: String,
    },
    /// Check meshes, their routing tables too
    #[command(
        after_help = "Example: tx mesh check --strict\n         tx mesh check meshes/mine/config.yaml"
    )]
    Check {
        /// Meshes, or paths of configs [default: all of the project's]
        meshes: Vec<String>,
        /// Warnings count as findings
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
    },
    /// What an agent would be told
    #[command(after_help = "Example: tx mesh prompt dev-review/tester")]
    Prompt {
        /// The agent, or a mesh for its entry point
        #[arg(value_name = "MESH/AGENT")]
        agent: String,
    },
    /// The JSON schema of mesh configs, for editors
    #[command(after_help = "Example: tx mesh schema > mesh.schema.json")]
    Schema,
}

#[derive(Clone, Copy, clap::ValueEnum)]
pub(super) enum Format {
    Text,
    Mermaid,
    Dot,
}

pub(super) fn run(context: &Context, verb: Mesh) -> Result<Exit, Failure> {
    match verb {
        Mesh::List => list(context),
        Mesh::Show { mesh } => show(context, &mesh),
        Mesh::Check { meshes, strict } => check(context, &meshes, strict),
        Mesh::Graph { mesh, format } => graph(context, &mesh, format),
        Mesh::Prompt { agent } => prompt::run(context, &agent),
        Mesh::Schema => {
            let schema = format!("{:#}\n", schema());
            context.output.say(&schema).map(|()| Exit::Done)
        }
    }
}

fn list(context: &Context) -> Result<Exit, Failure> {
    let catalogue = context.catalogue()?;
    if context.output.json {
        let entry = |entry: &Entry| {
            let agents = entry.mesh.iter().flat_map(|mesh| mesh.agents.keys());
            json!({
                "name": entry.name,
                "description": entry.mesh.as_ref().map(|mesh| &mesh.description),
                "agents": agents.collect::<Vec<_>>(),
                "entry_point": entry.mesh.as_ref().and_then(|mesh| mesh.entry_point.as_ref()),
                "path": path(&entry.place),
                "built_in": entry.place == Place::BuiltIn,
                "ok": entry.is_ok(),
            })
        };
        let meshes: Vec<Value> = catalogue.entries.iter().map(entry).collect();
        context.output.say_json(&json!({ "meshes": meshes }))?;
        return Ok(Exit::Done);
    }
    let width = catalogue
        .entries
        .iter()
        .map(|e| e.name.len())
        .max()
        .unwrap_or(0);
    let mut text = String::new();
    for entry in &catalogue.entries {
        let about = match &entry.mesh {
            None => format!("does not load: `tx mesh check {}` says why", entry.name),
            Some(mesh) => {
                let agents = many(mesh.agents.len(), "agent");
                let line = mesh.description.lines().next().unwrap_or_default();
                let off = if mesh.disabled { "  [disabled]" } else { "" };
                format!("{agents:9}  {line}{off}")
            }
        };
        let twin = catalogue
            .entries
            .iter()
            .filter(|e| e.name == entry.name)
            .count()
            > 1;
        let shipped = match &entry.place {
            Place::BuiltIn => "  [built in]".into(),
            Place::File(path) if twin => format!("  [{}]", short(path)),
            Place::File(_) => String::new(),
        };
        let line = format!("{:width$}  {about}{shipped}", entry.name);
        let _ = writeln!(text, "{}", printable(line.trim_end()));
    }
    context.output.say(&text)?;
    Ok(Exit::Done)
}

fn show(context: &Context, name: &str) -> Result<Exit, Failure> {
    let catalogue = context.catalogue()?;
    let (entry, mesh) = find(&catalogue, name)?;
    if context.output.json {
        let mut answer = json!(mesh);
        answer["path"] = json!(path(&entry.place));
        context.output.say_json(&answer)?;
        return Ok(Exit::Done);
    }
    let off = if mesh.disabled { "disabled, " } else { "" };
    let mut text = format!(
        "{}: {}\n{off}{}\n",
        mesh.name,
        one_line(&mesh.description),
        place(&entry.place)
    );
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
    context.output.say(&lines_printable(&text))?;
    Ok(Exit::Done)
}

fn check(context: &Context, names: &[String], strict: bool) -> Result<Exit, Failure> {
    let mut catalogue = context.catalogue()?;
    let project = context.project().ok();
    let path = project.as_ref().map(daemon_path);
    let runtimes = catalogue.runtimes.clone();
    let check_runnable = |entry: &mut Entry| {
        // What was only shipped is nobody's choice yet.
        if let (Some(project), Some(path), Place::File(_)) = (&project, &path, &entry.place) {
            entry.check_runnable(project, &runtimes, path);
        }
    };
    catalogue.entries.iter_mut().for_each(check_runnable);
    let mut named: Vec<Option<Entry>>;
    let entries: Vec<&Entry> = if names.is_empty() {
        let own = catalogue
            .entries
            .iter()
            .filter(|e| e.place != Place::BuiltIn);
        let own: Vec<&Entry> = own.collect();
        // Outside of a project, or in one without meshes: the shipped ones.
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

    let bad = |entry: &Entry| !entry.is_sound() || strict && !entry.diagnostics.is_empty();
    let found = entries.iter().any(|entry| bad(entry));
    if context.output.json {
        let meshes: Vec<Value> = entries.iter().map(|entry| entry_json(entry)).collect();
        context.output.say_json(&json!({ "meshes": meshes }))?;
        return Ok(findings(found));
    }
    let mut text = String::new();
    for entry in &entries {
        if !entry.diagnostics.is_empty() {
            let name = place(&entry.place);
            text += &report(
                &name,
                &entry.text,
                &entry.diagnostics,
                context.output.styled(),
            );
        }
    }
    for entry in &entries {
        let errors = entry.diagnostics.iter().filter(|d| d.is_error()).count();
        let counts = tally(errors, entry.diagnostics.len() - errors);
        let verdict = match (entry.is_ok(), counts.as_str()) {
            (true, "") => "ok".to_owned(),
            (true, counts) if errors == 0 => format!("ok ({counts})"),
            (true, counts) => format!("loads, and cannot work ({counts})"),
            (false, counts) => format!("does not load ({counts})"),
        };
        let _ = writeln!(text, "{}: {verdict}", printable(&entry.name));
    }
    context.output.say(&text)?;
    Ok(findings(found))
}

/// Those of the names that are paths of configs or of their folders: they have a
/// slash, a dot, or an ending, which no name of a mesh that is meant would have.
fn read_paths(names: &[String], catalogue: &Catalogue) -> Vec<Option<Entry>> {
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
        let mut entry = Entry::read(&config, &catalogue.runtimes);
        entry.check_targets(&directory);
        Some(entry)
    };
    names.iter().map(read).collect()
}

fn graph(context: &Context, name: &str, format: Format) -> Result<Exit, Failure> {
    let catalogue = context.catalogue()?;
    let (_, mesh) = find(&catalogue, name)?;
    let drawing = match format {
        Format::Text => Drawing::Text,
        Format::Mermaid => Drawing::Mermaid,
        Format::Dot => Drawing::Dot,
    };
    let picture = lines_printable(&draw(mesh, drawing));
    if context.output.json {
        context
            .output
            .say_json(&json!({ "mesh": mesh.name, "graph": picture }))?;
    } else {
        context.output.say(&picture)?;
    }
    Ok(Exit::Done)
}

fn find<'c>(
    catalogue: &'c Catalogue,
    name: &str,
) -> Result<(&'c Entry, &'c crate::model::Mesh), Failure> {
    let entry = catalogue
        .get(name)
        .ok_or_else(|| no_such_mesh(catalogue, name))?;
    match &entry.mesh {
        Some(mesh) => Ok((entry, mesh)),
        None => Err(Failure::new(format!("mesh `{name}` does not load"))
            .hint(format!("`tx mesh check {name}` says why"))),
    }
}

fn no_such_mesh(catalogue: &Catalogue, name: &str) -> Failure {
    let names = catalogue.entries.iter().map(|entry| entry.name.as_str());
    let hint = did_you_mean(name, names, || {
        "`tx mesh list` shows those there are".into()
    });
    let what = if name.contains('/') { "config" } else { "mesh" };
    Failure::new(format!("there is no {what} `{name}`"))
        .hint(hint)
        .exit(Exit::NoSuchThing)
}

fn entry_json(entry: &Entry) -> Value {
    let at = path(&entry.place);
    let diagnostics = entry
        .diagnostics
        .iter()
        .map(|d| diagnostic_json(Path::new(&at), d));
    json!({
        "name": entry.name,
        "path": at,
        "ok": entry.is_sound(),
        "diagnostics": diagnostics.collect::<Vec<_>>(),
    })
}

fn path(place: &Place) -> String {
    match place {
        Place::File(path) => path.to_string_lossy().into(),
        Place::BuiltIn => "built in".into(),
    }
}

fn place(place: &Place) -> String {
    match place {
        Place::File(path) => short(path),
        Place::BuiltIn => "built in".into(),
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Control characters of a config must not reach the terminal; line breaks are ours.
fn lines_printable(text: &str) -> String {
    text.lines().map(|line| printable(line) + "\n").collect()
}
