//! Every row of the table.

use super::*;

/// A message in words: `from to status type reply asks-core work stdout`, `-` for none.
fn inferred(words: &str) -> String {
    let words: Vec<&str> = words.split_whitespace().collect();
    let [from, to, status, explicit, reply, asks_core, work, stdout] = words[..] else {
        panic!("{words:?} has not eight words");
    };
    let id = |text: &str| text.parse::<MsgId>().unwrap();
    let address = |text: &str| text.parse::<Address>();
    let from = address(from).unwrap();
    let to = address(to).ok();
    let status = (status != "-").then(|| status.parse::<OutcomeWord>().unwrap());
    let context = InferContext {
        from: &from,
        to: to.as_ref(),
        explicit: explicit.parse().ok(),
        status: status.as_ref(),
        reply: match reply.split_once(':') {
            Some(("open", ask)) => ReplyTarget::Open(id(ask)),
            Some(("closed", ask)) => ReplyTarget::Closed(id(ask)),
            Some(("other", ask)) => ReplyTarget::SomebodyElses(id(ask)),
            _ => ReplyTarget::NoAsk,
        },
        recipient_asks_core: (asks_core != "-").then(|| id(asks_core)),
        work: match work.split_once(':') {
            Some((ask, asker)) => WorkKind::Ask {
                id: id(ask),
                asker: address(asker).unwrap(),
            },
            None if work == "task" => WorkKind::Task,
            None => WorkKind::Nothing,
        },
        is_stdout: stdout == "stdout",
    };
    match infer(&context) {
        Inferred::Kind { kind, row, answers } => {
            let answers = answers
                .map(|ask| format!(" answers {ask}"))
                .unwrap_or_default();
            format!("{kind} by {row:?}{answers}")
        }
        Inferred::Outcome(row) => format!("outcome by {row:?}"),
        Inferred::Refused(why) => format!("refused: {why:?}"),
    }
}

#[test]
fn the_first_row_that_fits_decides() {
    //  from       to         status    type  reply    asks-core work      stdout
    for (message, expected) in [
        // Row 1
        (
            "m/b        m/a        -         -     open:q   -         task      -",
            "ask-response by Answer answers q",
        ),
        (
            "m/b        m/a        complete  -     open:q   -         task      -",
            "ask-response by Answer answers q",
        ),
        (
            "core/core  m/a        -         -     open:q   older     -         -",
            "ask-response by Answer answers q",
        ),
        (
            "m/b        m/a        -         -     closed:q -         task      -",
            "update by LateAnswer",
        ),
        (
            "m/b        m/a        -         -     other:q  -         task      -",
            "refused: SomebodyElsesAsk(MsgId(\"q\"))",
        ),
        // Row 2
        (
            "core/core  m/a        -         -     -        q         -         -",
            "ask-response by CoreAnswers answers q",
        ),
        (
            "core/core  m/a        complete  -     -        q         -         -",
            "ask-response by CoreAnswers answers q",
        ),
        // Row 3
        (
            "m/b        m/a        -         -     -        -         q:m/a     -",
            "ask-response by WorkIsAsk answers q",
        ),
        (
            "m/b        m/a        complete  -     -        -         q:m/a     -",
            "ask-response by WorkIsAsk answers q",
        ),
        (
            "m/b        -          error     -     -        -         q:m/a     -",
            "ask-response by WorkIsAsk answers q",
        ),
        (
            "m/b        core/core  complete  -     -        -         q:m/a     stdout",
            "ask-response by WorkIsAsk answers q",
        ),
        (
            "m/b        m/c        -         -     -        -         q:m/a     -",
            "ask by BetweenAgents",
        ),
        (
            "m/b        core/core  complete  -     -        -         q:m/a     -",
            "outcome by Status",
        ),
        // Row 4
        (
            "m/b        core/core  complete  -     -        -         task      -",
            "outcome by Status",
        ),
        (
            "m/b        m/a        blocked   -     -        -         task      -",
            "outcome by Status",
        ),
        (
            "m/b        -          complete  -     -        -         -         -",
            "outcome by Status",
        ),
        (
            "m/b        -          -         -     -        -         task      -",
            "outcome by Status",
        ),
        // Row 5
        (
            "m/b        core/core  -         -     -        -         task      -",
            "ask-human by ToCore",
        ),
        // Row 6
        (
            "core/core  m/a        -         -     -        -         -         -",
            "task by FromCore",
        ),
        (
            "core/core  m/a        complete  -     -        -         -         -",
            "task by FromCore",
        ),
        // Row 7
        (
            "m/b        m/a        -         -     -        -         task      -",
            "ask by BetweenAgents",
        ),
        (
            "x/y        m/a        -         -     -        -         -         -",
            "ask by BetweenAgents",
        ),
        // Refused, whatever else
        (
            "core/core  core/core  -         -     -        -         -         -",
            "refused: CoreToCore",
        ),
        (
            "m/a        system/x   -         -     -        -         -         -",
            "refused: ToSystem(Address { mesh: Name(\"system\"), agent: Name(\"x\") })",
        ),
        (
            "system/x   m/a        -         -     -        -         -         -",
            "refused: AsSystem",
        ),
        (
            "core/core  -          -         -     -        -         -         -",
            "refused: Nowhere",
        ),
    ] {
        assert_eq!(inferred(message), expected, "{message}");
    }
}

#[test]
fn an_explicit_kind_is_honoured_as_far_as_it_can_be() {
    for (message, expected) in [
        (
            "core/core  m/a        -         task          -        q   -      -",
            "task by Explicit",
        ),
        (
            "m/b        m/a        -         task          -        -   q:m/a  -",
            "task by Explicit",
        ),
        (
            "m/b        core/core  -         task-complete -        -   task   -",
            "outcome by Explicit",
        ),
        (
            "m/b        core/core  -         ask           -        -   task   -",
            "ask-human by Explicit",
        ),
        (
            "m/b        m/a        -         ask           -        -   q:m/a  -",
            "ask by Explicit",
        ),
        (
            "m/b        m/a        -         ask-human     -        -   task   -",
            "ask by Explicit",
        ),
        (
            "m/b        core/core  -         ask-human     -        -   task   -",
            "ask-human by Explicit",
        ),
        (
            "m/b        m/a        -         ask-response  open:q   -   task   -",
            "ask-response by Explicit answers q",
        ),
        (
            "m/b        m/a        -         ask-response  -        -   q:m/a  -",
            "ask-response by Explicit answers q",
        ),
        (
            "core/core  m/a        -         ask-response  -        q   -      -",
            "ask-response by Explicit answers q",
        ),
        (
            "m/b        m/a        -         ask-response  -        -   task   -",
            "update by Explicit",
        ),
        (
            "m/b        m/a        -         ask-response  closed:q -   task   -",
            "update by LateAnswer",
        ),
        (
            "m/b        m/a        -         ask-response  other:q  -   task   -",
            "refused: SomebodyElsesAsk(MsgId(\"q\"))",
        ),
        (
            "m/b        m/a        -         update        -        -   task   -",
            "update by Explicit",
        ),
        (
            "m/b        m/a        -         lifecycle     -        -   task   -",
            "refused: AsSystem",
        ),
    ] {
        assert_eq!(inferred(message), expected, "{message}");
    }
}

#[test]
fn an_outcome_is_a_question_where_the_human_must_act() {
    let status = |text: &str| text.parse::<OutcomeWord>().unwrap();
    let agent = Target::Agent("m/a".parse().unwrap());
    for (target, word, rule, expected) in [
        (
            &Target::Core,
            "complete",
            Rule::OnlyTarget,
            Kind::TaskComplete,
        ),
        (
            &Target::Core,
            "error",
            Rule::FailureUnlisted,
            Kind::TaskComplete,
        ),
        (
            &Target::Core,
            "blocked",
            Rule::BlockedToCore,
            Kind::AskHuman,
        ),
        (&Target::Core, "escalate", Rule::Escalated, Kind::AskHuman),
        (&agent, "blocked", Rule::OnlyTarget, Kind::TaskComplete),
    ] {
        assert_eq!(
            kind_of_outcome(target, Some(&status(word)), rule),
            expected,
            "{word}"
        );
    }
}
