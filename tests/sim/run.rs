//! Many lives, on all cores.
//!
//! `TX_SIM_SEEDS` and `TX_SIM_FROM` choose which, `TX_SIM_SIZE` how long they are, and
//! `TX_SIM_SHOWN` how many failures are made small and shown; `TX_SIM_MESSAGES` goes on
//! until so many messages went through. With `TX_SIM_FACTS` all that is known of the
//! messages of a life that fails is printed.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

use crate::coverage::Seen;
use crate::settings::Settings;
use crate::shrink::{Failure, live};

/// The lives of a run that nobody asked more of.
const SEEDS: u64 = 200;
/// The lives with blocks and pools of a run that nobody asked more of.
const WITH_BLOCKS: u64 = 24;
/// The lives that are enough for pairs which are rare.
const MANY: u64 = 1_000;
/// A life that takes longer is named.
const SLOW: Duration = Duration::from_secs(10);
/// The sorts of failures that are made small and shown.
const SHOWN: usize = 3;

pub(crate) fn set(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().expect("a number"))
}

#[test]
fn promises_hold_over_many_seeds() {
    let from = set("TX_SIM_FROM").unwrap_or(0);
    let messages = set("TX_SIM_MESSAGES");
    let seeds = match messages {
        Some(_) => u64::MAX / 2,
        None => set("TX_SIM_SEEDS").unwrap_or(SEEDS),
    };
    // Some lives are long: what adds up shows there.
    let size = |seed: u64| match (set("TX_SIM_SIZE"), messages) {
        (Some(size), _) => usize::try_from(size).unwrap(),
        (None, Some(_)) if seed.is_multiple_of(50) => 20,
        (None, Some(_)) => 2,
        (None, None) => 1,
    };
    let seen = live_all(from, seeds, messages, |seed| Settings::of(seed, size(seed)));
    // A few lives need not show everything.
    if from == 0 && seeds >= SEEDS {
        let missing = seen.missing(seeds >= MANY);
        assert!(missing.is_empty(), "never seen: {}", missing.join(", "));
    }
}

#[test]
fn promises_hold_with_blocks_and_pools() {
    let from = set("TX_SIM_FROM").unwrap_or(0);
    let seeds = set("TX_SIM_SEEDS").map_or(WITH_BLOCKS, |seeds| (seeds / 2).max(1));
    let seen = live_all(from, seeds, None, |seed| Settings::with_workflows(seed, 1));
    if from == 0 && seeds >= SEEDS / 2 {
        let missing = seen.missing_of_blocks();
        assert!(missing.is_empty(), "never seen: {missing:?}");
    }
}

/// Live many lives, and fail with those that failed.
pub(crate) fn live_all(
    from: u64,
    seeds: u64,
    messages: Option<u64>,
    settings: impl Fn(u64) -> Settings + Sync,
) -> Seen {
    let begun = Instant::now();
    let next = AtomicU64::new(from);
    let all = Mutex::new((Seen::default(), BTreeMap::<String, Vec<Failure>>::new()));
    let busy = Mutex::new(BTreeMap::<u64, Instant>::new());
    std::panic::set_hook(Box::new(|_| {}));
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        let lives = || {
            loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed >= from + seeds {
                    return;
                }
                busy.lock().unwrap().insert(seed, Instant::now());
                let (seen, failure) = live(&settings(seed), false);
                busy.lock().unwrap().remove(&seed);
                let mut all = all.lock().unwrap();
                all.0.add(&seen);
                if let Some(failure) = failure {
                    eprintln!("seed {seed} failed: {}", failure.why);
                    all.1.entry(failure.sort()).or_default().push(failure);
                }
                if messages.is_some_and(|most| all.0.messages >= most) {
                    next.store(u64::MAX / 2 + from, Ordering::Relaxed);
                    return;
                }
            }
        };
        let threads: Vec<_> = (0..cores).map(|_| scope.spawn(lives)).collect();
        // Those who watch want to know that it goes on, and what does not.
        let mut said = Instant::now();
        while !threads.iter().all(ScopedJoinHandle::is_finished) {
            std::thread::sleep(Duration::from_millis(20));
            if said.elapsed() > Duration::from_secs(5) {
                said = Instant::now();
                let busy = busy.lock().unwrap();
                let slow = busy.iter().filter(|(_, since)| since.elapsed() > SLOW);
                let slow: Vec<&u64> = slow.map(|(seed, _)| seed).collect();
                let all = all.lock().unwrap();
                let failed: usize = all.1.values().map(Vec::len).sum();
                let line = all.0.line(begun.elapsed());
                eprintln!("{line}, {failed} failed, slow: {slow:?}");
            }
        }
    });
    let (seen, failures) = all.into_inner().unwrap();
    for failures in failures.values() {
        let seeds: Vec<u64> = failures.iter().map(|f| f.settings.seed).collect();
        let (count, seeds) = (seeds.len(), &seeds[..seeds.len().min(6)]);
        eprintln!("{count} lives failed, {seeds:?}: {}", failures[0].why);
    }
    let shown = set("TX_SIM_SHOWN").map_or(SHOWN, |n| usize::try_from(n).unwrap());
    let total: usize = failures.values().map(Vec::len).sum();
    for mut failures in failures.into_values().take(shown) {
        failures.sort_by_key(|failure| failure.settings.files);
        eprintln!("\n{}\n", failures.swap_remove(0).shrink().show());
    }
    let _ = std::panic::take_hook();
    eprintln!("{}", seen.table());
    eprintln!("{}, {total} failed", seen.line(begun.elapsed()));
    assert_eq!(total, 0, "lives failed");
    seen
}
