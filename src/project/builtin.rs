//! The shipped meshes, built into the program.

macro_rules! builtin {
    ($($path:literal),* $(,)?) => {
        [$(($path, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/meshes/", $path)))),*]
    };
}

/// The files of the shipped meshes: path below `meshes/`, text.
pub const BUILTIN: &[(&str, &str)] = &builtin![
    "council/config.yaml",
    "council/prompts/chair.md",
    "council/prompts/optimist.md",
    "council/prompts/pragmatist.md",
    "council/prompts/skeptic.md",
    "council/prompts/synthesizer.md",
    "deep-research/config.yaml",
    "deep-research/prompts/analyst.md",
    "deep-research/prompts/critic.md",
    "deep-research/prompts/sourcer.md",
    "deep-research/prompts/writer.md",
    "dev-review/config.yaml",
    "dev-review/prompts/implementer.md",
    "dev-review/prompts/reviewer.md",
    "dev-review/prompts/tester.md",
    "ensemble-review/config.yaml",
    "ensemble-review/prompts/editor.md",
    "ensemble-review/prompts/lead.md",
    "ensemble-review/prompts/reviewer.md",
    "hello/config.yaml",
    "hello/prompts/worker.md",
    "plan-build-check/config.yaml",
    "plan-build-check/prompts/builder.md",
    "plan-build-check/prompts/checker.md",
    "plan-build-check/prompts/planner.md",
    "split-work/config.yaml",
    "split-work/prompts/joiner.md",
    "split-work/prompts/splitter.md",
    "split-work/prompts/worker.md",
    "triage/config.yaml",
    "triage/prompts/fixer.md",
    "triage/prompts/triager.md",
];
