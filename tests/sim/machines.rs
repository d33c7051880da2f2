//! Made-up machines: at most six states, with ensembles, gates and scripts, under all faults.
//!
//! The reference does not know machines, so it is not asked in these lives; the promises of the
//! engine are (8, 9 and 11 are of machines), after every step, and that every crash leads to the
//! same place.

use std::fmt::Write;

use tx::engine::LoadedMesh;
use tx::format;

use crate::rng::Rng;
use crate::run::{live_all, set};
use crate::settings::Settings;

/// The lives of a run that nobody asked more of.
const SEEDS: u64 = 30;

/// A mesh of chance, with a machine of chance in most cases.
pub(crate) fn with_machine(rng: &mut Rng, loaded: LoadedMesh) -> LoadedMesh {
    if rng.percent(15) {
        return loaded;
    }
    let agents: Vec<String> = loaded.mesh.agents.keys().map(ToString::to_string).collect();
    let count = rng.within(1, 5);
    let states: Vec<String> = (0..count).map(|n| format!("s{n}")).collect();
    let mut fsm = String::from("fsm:\n");
    writeln!(fsm, "  initial: {}", rng.pick(&states).unwrap()).unwrap();
    writeln!(fsm, "  max_steps: {}", rng.within(2, 12)).unwrap();
    fsm.push_str("  context: { n: 0, word: '' }\n");
    fsm.push_str("  scripts: { pick: 'echo s0', count: 'echo n=2', check: 'test -f x' }\n");
    fsm.push_str("  states:\n");
    for state in &states {
        write!(fsm, "    {state}: {{ ").unwrap();
        let agent = rng.pick(&agents).unwrap();
        match rng.below(10) {
            0 => {}
            1 => fsm.push_str("agents: [core], "),
            2..=3 => {
                let other = rng.pick(&agents).unwrap();
                let members = match agent == other {
                    true => agent.clone(),
                    false => format!("{agent}, {other}"),
                };
                let min = rng.within(0, 2);
                write!(fsm, "ensemble: {{ agents: [{members}], fault_tolerance: {{ min_success_count: {min} }} }}, ").unwrap();
            }
            _ => write!(fsm, "agents: [{agent}], ").unwrap(),
        }
        if rng.percent(20) {
            fsm.push_str(
                rng.pick(&[
                    "entry: { gates: [check] }, ",
                    "entry: { run: count }, ",
                    "entry: { set: { n: $((n + 1)) } }, ",
                ])
                .unwrap(),
            );
        }
        fsm.push_str("exit: { ");
        if rng.percent(20) {
            fsm.push_str("gates: [check], ");
        }
        if rng.percent(50) {
            fsm.push_str(
                rng.pick(&[
                    "set: { n: $((n + 1)) }, ",
                    "set: { word: '$(date | wc -c)', n: $((n + 1)) }, ",
                    "set: { word: $ENSEMBLE_OUTPUT }, ",
                ])
                .unwrap(),
            );
        }
        if rng.percent(20) {
            fsm.push_str("run: pick, ");
        }
        if rng.percent(60) {
            let conditions = [
                "status == error",
                "status == blocked",
                "visit >= 2",
                "n > 2",
                "status == approved",
                "word == ''",
            ];
            let condition = rng.pick(&conditions).unwrap();
            let target = rng.pick(&states).unwrap();
            write!(
                fsm,
                "when: [{{ condition: \"{condition}\", target: {target} }}], "
            )
            .unwrap();
        }
        match rng.below(10) {
            0..=5 => fsm.push_str("default: done"),
            6..=8 => write!(fsm, "default: {}", rng.pick(&states).unwrap()).unwrap(),
            _ => {}
        }
        fsm.push_str(" } }\n");
    }
    let last = rng.pick(&agents).unwrap();
    match rng.percent(20) {
        true => writeln!(fsm, "    done: {{ agents: [{last}], terminal: true }}").unwrap(),
        false => fsm.push_str("    done: {}\n"),
    }
    let text = format!("{}{fsm}", loaded.text);
    let read = format::mesh::parse(text.as_bytes());
    let mut mesh = read
        .mesh
        .unwrap_or_else(|| panic!("{text}\n{:?}", read.diagnostics));
    mesh.gates = loaded.mesh.gates;
    LoadedMesh {
        mesh,
        text,
        traits: loaded.traits,
    }
}

#[test]
fn machines_keep_their_promises() {
    let from = set("TX_SIM_FROM").unwrap_or(0);
    let seeds = set("TX_SIM_SEEDS").unwrap_or(SEEDS);
    live_all(from, seeds, None, |seed| Settings {
        machines: true,
        ..Settings::of(seed, 1)
    });
}
