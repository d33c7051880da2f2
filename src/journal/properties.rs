//! Property: every event that is written can be read back unchanged.

use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use super::Record;
use super::codec::{Decoded, decode, encode};
use crate::engine::{
    Alive, Arrived, AttemptId, BlockRules, Command, Decision, Delivery, DeliveryStep, Dialog,
    DialogKind, Event, Forwarding, JobEnd, JobOwner, JobResult, KindRow, LoadedMesh, Member,
    MessageNo, MessageRecord, ProcessExit, Rejected, Rule, Sent, Source, Step, Timer, Totals, Used,
    WorkflowPlace,
};
use crate::format::mesh::parse;
use crate::format::properties::{cases, message, text};
use crate::model::{
    Address, Code, Diagnostic, Envelope, Gather, Kind, Line, Location, Mesh, Rearmatter, Target,
    Usage,
};

fn address() -> impl Strategy<Value = Address> {
    prop::sample::select(vec!["core/core", "dev/worker", "a.b/c-d_9", "system/tx"])
        .prop_map(|address| address.parse().unwrap())
}

fn number() -> impl Strategy<Value = MessageNo> {
    any::<u64>().prop_map(MessageNo)
}

fn pane() -> impl Strategy<Value = AttemptId> {
    (address(), any::<u32>()).prop_map(|(worker, attempt)| AttemptId { worker, attempt })
}

fn envelope() -> impl Strategy<Value = Envelope> {
    message().prop_map(|message| message.envelope)
}

fn target() -> impl Strategy<Value = Target> {
    address().prop_map(|address| match address.is_core() {
        true => Target::Core,
        false => Target::Agent(address),
    })
}

fn member() -> impl Strategy<Value = Member> {
    (number(), any::<(u32, u32, Option<u32>)>(), target()).prop_map(
        |(block, (index, total, part), join)| Member {
            block,
            index,
            total,
            part,
            join,
        },
    )
}

fn delivery_step() -> impl Strategy<Value = DeliveryStep> {
    let steps = [
        Step::Accepted,
        Step::Queued,
        Step::Leased,
        Step::Delivered,
        Step::Acknowledged,
        Step::Finished,
        Step::Refused,
        Step::Parked,
    ];
    let why = prop::option::of(text().prop_map(Into::into));
    (
        prop::sample::select(steps.to_vec()),
        any::<(i64, u64)>(),
        why,
    )
        .prop_map(|(step, (at, record), why)| DeliveryStep {
            step,
            at,
            record,
            why,
        })
}

fn delivery() -> impl Strategy<Value = Delivery> {
    (
        address(),
        prop::sample::select(&Kind::ALL),
        prop::option::of(prop::sample::select(&KindRow::ALL)),
        prop::option::of(prop::sample::select(&Rule::ALL)),
        prop::option::of(member()),
        prop::collection::vec(delivery_step(), 0..4),
    )
        .prop_map(|(to, kind, row, rule, set, ladder)| Delivery {
            to,
            kind,
            row,
            rule,
            place: set.map(WorkflowPlace::Member),
            slot: None,
            ladder,
        })
}

fn source() -> impl Strategy<Value = Source> {
    prop_oneof![
        (text(), text(), any::<u64>()).prop_map(|(path, hash, record)| Source::File {
            path,
            hash,
            record
        }),
        any::<u64>().prop_map(|record| Source::Output { record }),
        (any::<u64>(), text()).prop_map(|(record, body)| Source::Own { record, body }),
    ]
}

fn totals() -> impl Strategy<Value = Totals> {
    let by_agent = prop::collection::vec((address(), any::<u32>()), 0..3);
    (any::<(u32, bool, bool)>(), by_agent).prop_map(|((messages, ended, failed), by_agent)| {
        let completed = by_agent.iter().map(|(agent, _)| agent.agent.clone());
        Totals {
            messages,
            completed: completed.collect(),
            by_agent,
            ended,
            failed,
            spent: Vec::new(),
        }
    })
}

prop_compose! {
    fn used()(
        pane in pane(),
        id in text(),
        session in prop::option::of(text()),
        model in prop::option::of(text()),
        (input, output, cost) in any::<(Option<u64>, Option<u64>, Option<u64>)>(),
    ) -> Used {
        let usage = Usage { input, output, cost_usd_micros: cost, ..Usage::default() };
        Used { pane, id, session, model, usage }
    }
}

fn job_owner() -> impl Strategy<Value = JobOwner> {
    prop_oneof![
        address().prop_map(JobOwner::Worker),
        number().prop_map(JobOwner::Block),
    ]
}

fn way() -> impl Strategy<Value = Forwarding> {
    prop_oneof![
        Just(Forwarding::On),
        (target(), any::<(u32, Option<u64>)>()).prop_map(|(join, (min, time))| {
            Forwarding::FanOut {
                join,
                rules: BlockRules {
                    min,
                    time,
                    copies: false,
                    gather: match min % 3 {
                        0 => Gather::Concat,
                        1 => Gather::Voting,
                        _ => Gather::Custom(min.to_string()),
                    },
                },
            }
        }),
        member().prop_map(Forwarding::Join),
    ]
}

prop_compose! {
    fn facts()(
        message in envelope(),
        numbers in prop::collection::vec(number(), 4),
        source in source(),
        (at, hops, read) in any::<(i64, u32, Option<i64>)>(),
        (inject_response, wanted) in any::<(bool, bool)>(),
        deliveries in prop::collection::vec(delivery(), 0..3),
        refused in prop::option::of(text()),
        way in prop::option::of(way()),
        totals in prop::option::of(totals()),
    ) -> MessageRecord {
        MessageRecord {
            number: numbers[0],
            id: message.id.clone(),
            written: message.in_reply_to.first().cloned(),
            from: message.from,
            headline: Line::from(message.headline.to_string()),
            status: message.status,
            source,
            at,
            cause: numbers[1..].to_vec(),
            thread: numbers.clone(),
            hops,
            run: Some(numbers[2]).filter(|number| number.0 % 2 == 0),
            work: Some(numbers[3]).filter(|number| number.0 % 2 == 0),
            deliveries,
            refused,
            way,
            machines: Vec::new(),
            totals,
            inject_response,
            wanted,
            read,
            quotes: Vec::new(),
            feature: None,
            criteria: None,
            quality: None,
        }
    }
}

fn warning() -> impl Strategy<Value = Diagnostic> {
    let code = prop::sample::select(Code::ALL);
    (code, text(), text(), any::<(u16, u16, u16, u16)>()).prop_map(|(code, message, hint, at)| {
        let (start, end, line, column) = at;
        Diagnostic {
            code,
            message,
            hint,
            place: Location {
                start: start.into(),
                end: end.into(),
                line: line.into(),
                column: column.into(),
            },
        }
    })
}

prop_compose! {
    fn arrived()(
        (path, hash, text) in (text(), text(), text()),
        read in message(),
        body in any::<(u16, u16)>(),
        warnings in prop::collection::vec(warning(), 0..3),
        turn in any::<Option<u32>>(),
        known in prop::collection::vec(facts(), 0..2),
    ) -> Arrived {
        Arrived {
            parts: Vec::new(),
            path,
            hash,
            text,
            envelope: read.envelope,
            body: body.0.into()..body.1.into(),
            rearmatter: read.rearmatter,
            warnings,
            turn,
            known,
        }
    }
}

prop_compose! {
    fn rejected()(
        (path, hash, report) in (text(), text(), text()),
        author in prop::option::of(address()),
        known in prop::collection::vec(facts(), 0..2),
    ) -> Rejected {
        Rejected { path, hash, author, report, known, unsigned: None }
    }
}

fn exit() -> impl Strategy<Value = ProcessExit> {
    prop_oneof![
        (any::<i32>(), text(), text()).prop_map(|(code, stdout, stderr)| ProcessExit::Code {
            code,
            stdout,
            stderr,
            rearmatter: Box::default(),
            parts: Vec::new()
        }),
        text().prop_map(|why| ProcessExit::Lost { why }),
        text().prop_map(|why| ProcessExit::CutOff { why }),
        text().prop_map(|why| ProcessExit::NotStarted { why }),
        text().prop_map(|why| ProcessExit::Unstartable { why }),
    ]
}

fn timer() -> impl Strategy<Value = Timer> {
    prop_oneof![
        address().prop_map(Timer::State),
        address().prop_map(Timer::Pause),
        address().prop_map(Timer::Silence),
        (number(), address()).prop_map(|(ask, asked)| Timer::Ask(ask, asked)),
        number().prop_map(Timer::Expires),
        job_owner().prop_map(Timer::Job),
    ]
}

fn job_result() -> impl Strategy<Value = JobResult> {
    let end = prop_oneof![
        any::<i32>().prop_map(JobEnd::Code),
        text().prop_map(|why| JobEnd::Failed { why }),
    ];
    (end, text()).prop_map(|(end, output)| JobResult::of(end, output))
}

/// A mesh that tx ships, described in any words.
fn loaded() -> impl Strategy<Value = LoadedMesh> {
    let texts = [
        include_str!("../../meshes/council/config.yaml"),
        include_str!("../../meshes/dev-review/config.yaml"),
        include_str!("../../meshes/triage/config.yaml"),
    ];
    let load = |text: &str| parse(text.as_bytes()).mesh.expect("a shipped mesh loads");
    let meshes: Vec<Mesh> = texts.into_iter().map(load).collect();
    (prop::sample::select(meshes), text()).prop_map(|(mut mesh, text)| {
        mesh.description.clone_from(&text);
        LoadedMesh {
            mesh,
            text,
            traits: Vec::new(),
        }
    })
}

fn command() -> impl Strategy<Value = Command> {
    prop_oneof![
        address().prop_map(|worker| Command::Stop { worker }),
        address().prop_map(|worker| Command::Restart { worker }),
        (facts(), envelope()).prop_map(|(facts, envelope)| Command::Retry {
            member: None,
            known: vec![facts.clone()],
            facts: Box::new(facts),
            envelope: Box::new(envelope),
            rearmatter: Rearmatter::default(),
        }),
        (pane(), any::<u32>(), text()).prop_map(|(pane, request, text)| Command::Decide {
            pane,
            request,
            decision: match text.is_empty() {
                true => Decision::Allow,
                false => Decision::Deny { text },
            },
        }),
        facts().prop_map(|facts| Command::Drop {
            member: None,
            facts: Box::new(facts)
        }),
        prop::collection::vec(facts(), 0..3).prop_map(|facts| Command::Read { facts }),
    ]
}

fn dialog() -> impl Strategy<Value = Dialog> {
    let kinds = [DialogKind::Permission, DialogKind::Question];
    let request = prop::option::of(any::<u32>());
    (prop::sample::select(kinds.to_vec()), text(), request).prop_map(|(kind, text, request)| {
        Dialog {
            kind,
            text,
            request,
        }
    })
}

fn event() -> impl Strategy<Value = Event> {
    let no = any::<u32>;
    let of_panes = prop_oneof![
        (pane(), prop::option::of(text()))
            .prop_map(|(pane, session)| Event::PaneStarted { pane, session }),
        (pane(), text()).prop_map(|(pane, session)| Event::PaneSession { pane, session }),
        (pane(), text()).prop_map(|(pane, text)| Event::PaneSaid { pane, text }),
        (pane(), no()).prop_map(|(pane, no)| Event::PaneReady { pane, no }),
        (pane(), no(), no()).prop_map(|(pane, turn, no)| Event::PaneIdle { pane, turn, no }),
        (pane(), any::<(Option<u32>, bool)>(), no()).prop_map(|(pane, (turn, unchanged), no)| {
            Event::PaneBusy {
                pane,
                turn,
                unchanged,
                no,
            }
        }),
        (pane(), dialog(), no()).prop_map(|(pane, dialog, no)| Event::PaneAsked {
            pane,
            dialog,
            no
        }),
        (pane(), any::<i64>(), any::<bool>(), no()).prop_map(|(pane, until, guessed, no)| {
            Event::PaneLimited {
                pane,
                until,
                guessed,
                no,
            }
        }),
        (pane(), exit()).prop_map(|(pane, exit)| Event::PaneExited { pane, exit }),
        used().prop_map(|used| Event::PaneUsed(Box::new(used))),
        (pane(), no()).prop_map(|(pane, turn)| Event::Delivered { pane, turn }),
        (pane(), no(), any::<bool>(), text()).prop_map(|(pane, turn, nothing, why)| {
            let sent = if nothing {
                Sent::Nothing
            } else {
                Sent::Perhaps
            };
            Event::DeliveryFailed {
                pane,
                turn,
                sent,
                why,
            }
        }),
    ];
    prop_oneof![
        2 => arrived().prop_map(|arrived| Event::Arrived(Box::new(arrived))),
        1 => rejected().prop_map(|rejected| Event::Rejected(Box::new(rejected))),
        6 => of_panes,
        1 => (timer(), any::<i64>()).prop_map(|(timer, due)| Event::TimerFired { timer, due }),
        1 => (job_owner(), any::<u32>(), prop::collection::vec(job_result(), 0..3)).prop_map(
            |(owner, job, results)| Event::JobsFinished {
                owner,
                job,
                results,
            }
        ),
        1 => loaded().prop_map(|loaded| Event::MeshLoaded(Box::new(loaded))),
        1 => address().prop_map(|address| Event::MeshRemoved { mesh: address.mesh }),
        2 => command().prop_map(Event::Command),
        1 => prop::collection::vec((pane(), any::<u32>()), 0..3).prop_map(|alive| {
            let alive = alive.into_iter().map(|(pane, turn)| Alive { pane, turn });
            Event::Recovered { alive: alive.collect() }
        }),
    ]
}

fn check(at: i64, event: &Event) {
    let entry = encode(at, event);
    let record = Record {
        seq: 1,
        at,
        rules: entry.rules,
        version: entry.version,
        kind: entry.kind,
        body: entry.body,
    };
    match decode("journal.db".as_ref(), &record).unwrap() {
        Decoded::Whole(read) => assert_eq!(read, *event),
        Decoded::Part(_) => panic!("read only in part: {}", record.body),
        Decoded::Unreadable(why) => panic!("{why}: {}", record.body),
    }
}

#[test]
fn what_is_written_of_an_event_is_read_back_as_that_event() {
    let all = || {
        let mut runner = TestRunner::new(cases(400));
        let checked = runner.run(&(any::<i64>(), event()), |(at, event)| {
            check(at, &event);
            Ok(())
        });
        checked.unwrap();
    };
    // Without optimisation, what makes an event takes more room than a test has.
    let room = std::thread::Builder::new().stack_size(64 * 1024 * 1024);
    room.spawn(all).unwrap().join().unwrap();
}
