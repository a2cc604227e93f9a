// SPDX-License-Identifier: MIT OR Apache-2.0
//! The effect of reclamation on a loop with a deadline: each period it replaces a value whose drop is expensive. The
//! time of that is measured, for each library in turn. Prints one line of JSON for each library and round.
//!
//! usage: deadline [ROUNDS [PERIODS]]

use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use crossbeam_epoch as epoch;
use rtrcu::{Config, Rcu, Turn};

const PERIOD: Duration = Duration::from_micros(500);
/// Number of boxes in a value; it determines the cost of the value's drop.
const BOXES: usize = 400;
/// Values replaced in each period.
const VALUES: usize = 8;

type Value = Vec<Box<u64>>;

fn value(number: usize) -> Value {
    (0..BOXES).map(|n| Box::new((n + number) as u64)).collect()
}

/// Runs `count` periods of a loop. In each period `change` replaces values, then `rest` may use the time until the end
/// of the period, which is its argument. Returns in nanoseconds how long the changes of each period took, and how late
/// the work of each period ended.
fn periods(count: usize, mut change: impl FnMut(Value), mut rest: impl FnMut(Instant)) -> (Vec<u64>, Vec<u64>) {
    let (mut costs, mut late) = (Vec::new(), Vec::new());
    let mut next = Instant::now() + PERIOD;
    for number in 0..count {
        let values: Vec<Value> = (0..VALUES).map(|n| value(number + n)).collect();
        let begin = Instant::now();
        values.into_iter().for_each(&mut change);
        costs.push(begin.elapsed().as_nanos() as u64);
        rest(next);
        late.push(Instant::now().saturating_duration_since(next).as_nanos() as u64);
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
        next = (next + PERIOD).max(Instant::now());
    }
    (costs, late)
}

fn report(side: &str, round: usize, (costs, late): (Vec<u64>, Vec<u64>)) {
    let quantiles = |mut values: Vec<u64>| {
        values.sort_unstable();
        [0.5, 0.99, 0.999, 1.0].map(|part| values[((values.len() - 1) as f64 * part) as usize] as f64 / 1e3)
    };
    let ([c50, c99, c999, cmax], [_, l99, l999, lmax]) = (quantiles(costs), quantiles(late));
    println!(
        "{{\"bench\": \"deadline\", \"side\": \"{side}\", \"round\": {round}, \"change_p50_us\": {c50:.1}, \
         \"change_p99_us\": {c99:.1}, \"change_p99_9_us\": {c999:.1}, \"change_max_us\": {cmax:.1}, \
         \"late_p99_us\": {l99:.1}, \"late_p99_9_us\": {l999:.1}, \"late_max_us\": {lmax:.1}}}"
    );
}

fn ours(round: usize, count: usize, policy: &str) {
    Config::new()
        .set("policy", policy)
        .expect("the setting exists")
        .apply()
        .expect("a policy that the library accepts");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let cell = Rcu::new(value(0));
            let mut turn = Turn::register().expect("the thread can be registered");
            let times = periods(
                count,
                |new| cell.replace(new),
                |next| {
                    turn.until(next);
                },
            );
            report(if policy == "inline" { "rtrcu, budget" } else { "rtrcu, daemons" }, round, times);
        });
    });
    rtrcu::barrier();
}

fn main() {
    let argument = |n: usize| std::env::args().nth(n).and_then(|text| text.parse().ok());
    let (rounds, count) = (argument(1).unwrap_or(5), argument(2).unwrap_or(4000));
    for round in 0..rounds {
        ours(round, count, "inline");
        ours(round, count, "daemon");
        let swap = Arc::new(ArcSwap::from_pointee(value(0)));
        report("arc-swap", round, periods(count, |new| swap.store(Arc::new(new)), |_| ()));
        let atomic = epoch::Atomic::new(value(0));
        let change = |new| {
            let guard = epoch::pin();
            let old = atomic.swap(epoch::Owned::new(new), std::sync::atomic::Ordering::AcqRel, &guard);
            // SAFETY: this swap alone removed the value.
            unsafe { guard.defer_destroy(old) }
        };
        report("crossbeam-epoch", round, periods(count, change, |_| ()));
    }
}
