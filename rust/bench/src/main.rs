// SPDX-License-Identifier: MIT OR Apache-2.0
//! Prints a table of all works: in each of many rounds the sides run in turn, so that other activity of the machine
//! affects all alike.
//!
//! usage: rtrcu-bench [ROUNDS [PART OF A WORK'S NAME [SIDE]]]
//!
//! With the name of a side it runs that one alone, for callgrind and perf.

use std::time::Instant;

fn main() {
    let rounds = std::env::args().nth(1).and_then(|rounds| rounds.parse().ok()).unwrap_or(101);
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cpu = cpu.lines().find_map(|line| line.strip_prefix("model name\t: ")).unwrap_or("an unknown CPU").to_owned();
    let linux = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    println!("{threads} CPUs of {cpu}, Linux {}, {rounds} rounds\n", linux.trim());
    println!("| work | side | ns, median | 10 % .. 90 % | ours / side, median | 10 % .. 90 % |");
    println!("|---|---|---:|---:|---:|---:|");
    let wanted = std::env::args().nth(2).unwrap_or_default();
    let side = std::env::args().nth(3).unwrap_or_default();
    for mut work in rtrcu_bench::works().into_iter().filter(|work| work.name.contains(&wanted)) {
        work.sides.retain(|candidate| side.is_empty() || candidate.name == side);
        let mut samples = vec![Vec::new(); work.sides.len()];
        for round in 0..=rounds {
            for turn in 0..work.sides.len() {
                let which = (turn + round) % work.sides.len();
                let begin = Instant::now();
                (work.sides[which].run)(work.times);
                let ns = begin.elapsed().as_nanos() as f64 / work.times as f64;
                // The first round is a warm-up.
                if round > 0 {
                    samples[which].push(ns);
                }
            }
        }
        for (which, side) in work.sides.iter().enumerate() {
            let mut ratios: Vec<f64> = samples[0].iter().zip(&samples[which]).map(|(ours, side)| ours / side).collect();
            let mut ns = samples[which].clone();
            let (middle, low, high) = quantiles(&mut ns);
            let (ratio, ratio_low, ratio_high) = quantiles(&mut ratios);
            println!(
                "| {} | {} | {middle:.2} | {low:.2} .. {high:.2} | {ratio:.2} | {ratio_low:.2} .. {ratio_high:.2} |",
                work.name, side.name
            );
        }
    }
}

/// Returns the median, and the 10th and 90th percentile.
fn quantiles(values: &mut [f64]) -> (f64, f64, f64) {
    values.sort_by(f64::total_cmp);
    let at = |part: f64| values[((values.len() - 1) as f64 * part).round() as usize];
    (at(0.5), at(0.1), at(0.9))
}
