//! Blocks and pools with real processes: what fails is retried, rounds are joined, and what several
//! workers of an agent write under one name goes to the right one.

use serde_json::Value;

use tx::engine::Step;

use crate::stage::{Project, message, wait_for};

fn task(project: &Project, mesh: &str, id: &str) {
    let text = message("core", mesh, id, "", "do it");
    project.drop_file(&format!("{id}.md"), &text);
}

/// The text of what has come for the human under this headline.
fn at_core(project: &Project, headline: &str) -> Option<String> {
    let inbox = project.json(&["inbox", "--all"]);
    let mut all = inbox.as_array()?.iter();
    let id = all.find(|one| {
        one["headline"]
            .as_str()
            .is_some_and(|it| it.starts_with(headline))
    })?["id"]
        .clone();
    let facts = project.message(id.as_str()?)?;
    project.reader().text_of(&facts).unwrap()
}

const REVIEWS: &str = r#"
mesh: reviews
entry_point: lead
agents:
  - { name: lead, runtime: command, run: [cat] }
  - { name: a, runtime: command, shell: true, run: "test -f fixed && echo Use a lock here" }
  - { name: b, runtime: command, run: [echo, use a lock here] }
  - { name: c, runtime: command, run: [echo, Nothing to do] }
  - { name: editor, runtime: command, shell: true, run: "cat > report.txt; echo the report" }
ensemble:
  coordinator: lead
  agents: [a, b, c]
  reviewer: editor
  aggregation_strategy: voting
"#;

#[test]
fn an_ensemble_with_one_error_is_short_retried_and_gathered() {
    let project = Project::started(&[("reviews/config.yaml", REVIEWS)]);
    task(&project, "reviews", "t");
    let short = wait_for("the block to be short", || {
        at_core(&project, "a block is short")
    });
    assert!(short.contains("needs 3 results, and has 2"), "{short}");
    let letters = project.json(&["dlq", "list"]);
    let letter = &letters.as_array().unwrap()[0];
    assert_eq!(letter["agent"], "reviews/a", "{letters}");
    project.write("fixed", "");
    project.ok(&["dlq", "retry", letter["id"].as_str().unwrap()]);
    wait_for("the end of the run", || {
        at_core(&project, "a run is complete")
    });
    let report = std::fs::read_to_string(project.root().join("report.txt")).unwrap();
    assert!(report.contains("2/3: a, b"), "{report}");
    assert!(!report.contains("Nothing to do"), "{report}");
}

/// Waits until three of its kind are at work, and then writes under the plain name of its agent.
const WORKER: &str = r#"
touch "at-work-$$"
while [ "$(ls at-work-* | wc -l)" -lt 3 ]; do sleep 0.05; done
printf -- '---\nto: core\nfrom: pool/worker\nmsg-id: r-%s\nstatus: complete\nheadline: done\ntimestamp: 2026-11-15T10:00:00.000Z\n---\n\nDone.\n' \
    "$$" > "$TX_ROOT/.ai/tx/msgs/.r-$$"
mv "$TX_ROOT/.ai/tx/msgs/.r-$$" "$TX_ROOT/.ai/tx/msgs/r-$$.md"
"#;

#[test]
fn three_slots_write_under_the_plain_name_at_once_and_each_finishes_its_own() {
    let config = "mesh: pool\nagents:\n  - { name: worker, runtime: command, count: 3, \
                  run: [sh, '{mesh_dir}/worker.sh'] }\n";
    let meshes = [("pool/config.yaml", config), ("pool/worker.sh", WORKER)];
    let project = Project::started(&meshes);
    for id in ["t1", "t2", "t3"] {
        task(&project, "pool/worker", id);
    }
    let mut authors: Vec<String> = wait_for("three results", || {
        let inbox = project.json(&["inbox", "--all"]);
        let done = inbox.as_array()?.iter();
        let done = done.filter(|one| one["headline"] == "done");
        let authors: Vec<String> = done.map(|one| one["from"].to_string()).collect();
        (authors.len() == 3).then_some(authors)
    });
    authors.sort_unstable();
    let slots = [1, 2, 3].map(|slot| format!("\"pool/worker#{slot}\""));
    assert_eq!(authors, slots);
    for id in ["t1", "t2", "t3"] {
        let task = project.message(id).unwrap();
        assert_eq!(task.step(), Step::Finished, "{id}");
    }
}

/// Sends everything back once, then is content.
const JUDGE: &str = r#"
cat > "input-$(ls input-* 2>/dev/null | wc -l)"
word=again
if [ -f judged ]; then word=complete; fi
touch judged
printf -- '---\nto: core\nfrom: %s\nmsg-id: j-%s\nstatus: %s\nheadline: judged %s\ntimestamp: 2026-11-15T10:00:00.000Z\n---\n\nSaid.\n' \
    "$TX_AGENT" "$$" "$word" "$word" > "$TX_ROOT/.ai/tx/msgs/.j-$$"
mv "$TX_ROOT/.ai/tx/msgs/.j-$$" "$TX_ROOT/.ai/tx/msgs/j-$$.md"
"#;

const ROUNDS: &str = r#"
mesh: rounds
entry_point: chair
agents:
  - { name: chair, runtime: command, run: [cat] }
  - { name: yes, runtime: command, shell: true, run: "echo yes >> yes.log; wc -l < yes.log" }
  - { name: no, runtime: command, shell: true, run: "echo no >> no.log; wc -l < no.log" }
  - { name: judge, runtime: command, run: [sh, "{mesh_dir}/judge.sh"] }
parallelism:
  - { agents: [yes, no], entry: chair, exit: judge }
routing:
  judge:
    again: { yes: "Answer", no: "Answer" }
    complete: { core: Decided }
"#;

#[test]
fn a_second_round_of_a_parallel_block_is_joined() {
    let meshes = [("rounds/config.yaml", ROUNDS), ("rounds/judge.sh", JUDGE)];
    let project = Project::started(&meshes);
    task(&project, "rounds", "t");
    wait_for("the verdict", || at_core(&project, "judged complete"));
    let lines = |file: &str| {
        let text = std::fs::read_to_string(project.root().join(file)).unwrap();
        text.lines().count()
    };
    assert_eq!((lines("yes.log"), lines("no.log")), (2, 2));
    // Each time the judge is given both results at once.
    for input in ["input-0", "input-1"] {
        let text = std::fs::read_to_string(project.root().join(input)).unwrap();
        for author in ["rounds/yes", "rounds/no"] {
            assert!(text.contains(author), "{input}: {text}");
        }
    }
    assert!(!project.root().join("input-2").exists());
    let trace: Value = project.json(&["trace", "t"]);
    assert!(trace["messages"].as_array().unwrap().len() >= 8, "{trace}");
}

#[test]
fn a_strict_manifest_checks_what_is_read_and_what_is_written() {
    // The reader forgets its notes the first time; the writer needs a file that nobody has made.
    let reader = "if [ -f forgot ]; then echo facts > \"$TX_WORKSPACE/notes/facts.md\"; fi; \
                  touch forgot; echo read it";
    let config = format!(
        "mesh: papers\nentry_point: reader\n\
         workspace: {{ path: 'out/{{topic}}', locations: {{ notes: notes }} }}\n\
         agents:\n\
         \x20 - {{ name: reader, runtime: command, shell: true, run: {reader} }}\n\
         \x20 - {{ name: writer, runtime: command, shell: true, run: \"cat > given.txt; echo written\" }}\n\
         routing: {{ reader: {{ complete: writer }}, writer: {{ complete: core }} }}\n\
         manifest:\n\
         \x20 - {{ id: facts.md, location: notes, writes: [reader], reads: [writer] }}\n\
         \x20 - {{ id: style, location: 'docs/{{topic}}.md', reads: [writer], persistent: true }}\n\
         manifest_enforcement: {{ strict: true, max_retry: 1 }}\n",
        reader = serde_json::to_string(reader).unwrap()
    );
    let project = Project::new(&[("papers/config.yaml", &config)]);
    std::fs::create_dir_all(project.root().join("out/t/notes")).unwrap();
    project.start();
    task(&project, "papers", "t");
    // Sent back once, then good; the writer is not started without its style.
    let letter = wait_for("the writer to be parked", || {
        let letters = project.json(&["dlq", "list"]);
        letters.as_array()?.first().cloned()
    });
    assert_eq!(letter["agent"], "papers/writer", "{letter}");
    let reason = letter["reason"].as_str().unwrap();
    assert!(reason.contains("missing: docs/t.md"), "{reason}");
    assert_eq!(letter["attempts"], 3, "{letter}");
    assert!(!project.root().join("given.txt").exists());
    project.write("docs/t.md", "Be short.");
    project.ok(&["dlq", "retry", letter["id"].as_str().unwrap()]);
    let given = wait_for("the writer to be given its files", || {
        let text = std::fs::read_to_string(project.root().join("given.txt")).ok()?;
        text.contains("Be short.").then_some(text)
    });
    assert!(given.contains("\nfacts\n"), "{given}");
    wait_for("the end of the run", || {
        at_core(&project, "a run is complete")
    });
}

#[test]
fn the_message_that_began_a_run_comes_with_the_first_work_of_each_later_agent() {
    let given = |name: &str| {
        format!(
            "{{ name: {name}, runtime: command, shell: true, run: \"cat > {name}.txt; echo from {name}\" }}"
        )
    };
    let config = format!(
        "mesh: later\nentry_point: first\ninjectOriginalMessage: true\nagents: [{}, {}]\n\
         routing: {{ first: {{ complete: second }}, second: {{ complete: core }} }}\n",
        given("first"),
        given("second")
    );
    let project = Project::started(&[("later/config.yaml", &config)]);
    task(&project, "later", "t");
    wait_for("the end of the run", || {
        at_core(&project, "a run is complete")
    });
    let read = |name: &str| std::fs::read_to_string(project.root().join(name)).unwrap();
    let count = |name: &str, what: &str| read(name).matches(what).count();
    assert_eq!(count("first.txt", "\ndo it"), 1, "{}", read("first.txt"));
    assert_eq!(count("second.txt", "\ndo it"), 1, "{}", read("second.txt"));
    assert_eq!(count("second.txt", "\nfrom first"), 1);
}
