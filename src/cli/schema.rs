//! The JSON schema of the commands' `--json` answers, generated from their types.

use schemars::JsonSchema;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value, json};

use super::exit::FailureView;
use super::wait::Waited;
use super::{check, demo, doctor, init, mesh, start, worker};
use crate::actions::{
    Answered, CleanedView, DeadLetterDone, PruneView, SentView, StopView, WorkerDone,
};
use crate::view::{
    AgentView, AskView, Calibration, DeadLetter, DeadLetterView, DifferenceView, Differences,
    EventView, FullMessage, Hop, InboxView, LookView, MeshCheck, MeshLine, MeshList, MeshView,
    MessageView, Now, RuntimeLine, RuntimeView, StateView, TaskDetails, TaskList, Trace,
    WorkerView, WorktreeView,
};

/// The answer of each command: one document, or one per line where it streams. The parts are under
/// `$defs`.
pub fn schema() -> Value {
    let mut generator = SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator();
    let mut verbs = Map::new();
    let mut add = |verb: &str, answers: fn(&mut SchemaGenerator) -> schemars::Schema| {
        verbs.insert(format!("tx {verb}"), answers(&mut generator).to_value());
    };
    add("init", one::<init::InitView>);
    add("start", one::<start::Started>);
    add("send", one::<Waited<SentView>>);
    add("check", one::<check::FilesView>);
    add("mesh list", one::<MeshList<MeshLine>>);
    add("mesh show", one::<MeshView>);
    add("mesh check", one::<MeshList<MeshCheck>>);
    add("mesh graph", one::<mesh::GraphView>);
    add("mesh prompt", one::<mesh::PromptView>);
    add("status", one::<Now>);
    add("runs", one::<TaskList>);
    add("runs ID", one::<TaskDetails>);
    add("show", one::<FullMessage>);
    add("inbox", one::<Vec<InboxView>>);
    add("inbox --follow", one::<InboxView>);
    add("asks", one::<Vec<AskView>>);
    add("answer", one::<Waited<Answered>>);
    add("worker list", one::<Vec<WorkerView>>);
    add("worker stop", one::<WorkerDone>);
    add("worker restart", one::<WorkerDone>);
    add("worker peek", one::<worker::PaneView>);
    add("runtime list", one::<Vec<RuntimeLine>>);
    add("runtime show", one::<RuntimeView>);
    add("runtime classify", one::<LookView>);
    add("stop", one::<StopView>);
    add("why MSG", one::<MessageView>);
    add("why AGENT", one::<AgentView>);
    add("quality", one::<Vec<Calibration>>);
    add("worktree list", one::<Vec<WorktreeView>>);
    add("worktree diff", one::<DifferenceView>);
    add("worktree clean", one::<Vec<CleanedView>>);
    add("trace", one::<Trace>);
    add("spy", one::<EventView>);
    add("dlq list", one::<Vec<DeadLetter>>);
    add("dlq show", one::<DeadLetterView>);
    add("dlq retry", one::<DeadLetterDone>);
    add("dlq drop", one::<DeadLetterDone>);
    add("replay", one::<StateView>);
    add("replay --mesh", one::<Differences>);
    add("prune", one::<PruneView>);
    add("doctor", one::<doctor::ChecksView>);
    add("doctor --export", one::<doctor::ExportView>);
    add("demo", either::<Hop, demo::DemoView>);
    let failure = generator.subschema_for::<FailureView>().to_value();
    verbs.insert("a failure of any verb".into(), failure);
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What the verbs of tx answer with --json",
        "properties": verbs,
        "$defs": generator.take_definitions(true),
    })
}

fn one<T: JsonSchema>(generator: &mut SchemaGenerator) -> schemars::Schema {
    generator.subschema_for::<T>()
}

fn either<T: JsonSchema, U: JsonSchema>(generator: &mut SchemaGenerator) -> schemars::Schema {
    let parts = [
        generator.subschema_for::<T>(),
        generator.subschema_for::<U>(),
    ];
    schemars::json_schema!({ "anyOf": parts })
}
