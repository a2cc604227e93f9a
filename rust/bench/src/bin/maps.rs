// SPDX-License-Identifier: MIT OR Apache-2.0
//! Hash maps of numbers beside papaya, dashmap and scc: look-ups, inserts and changes, by each map in turns, all with
//! one hasher. Times are CPU time of the calling thread, and of the process, which includes threads that move and drop.
//!
//! usage: maps [ROUNDS [PART OF A WORK'S NAME [MAP]]]

use std::any::Any;
use std::hash::{BuildHasherDefault, Hasher};
use std::hint::black_box;

/// A fast hash in which every bit depends on every bit of the key, so that the maps are compared and not the hasher.
#[derive(Default, Clone)]
struct Fold(u64);

impl Hasher for Fold {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }
    #[inline(always)]
    fn write_u64(&mut self, number: u64) {
        let product = u128::from(self.0 ^ number ^ 0x9e37_79b9_7f4a_7c15) * 0xa076_1d64_78bd_642f;
        self.0 = product as u64 ^ (product >> 64) as u64;
    }
    #[inline(always)]
    fn finish(&self) -> u64 {
        self.0
    }
}

type Build = BuildHasherDefault<Fold>;

/// The calls of a map that are measured.
trait Map: 'static {
    const NAME: &'static str;
    fn empty() -> Self;
    fn insert(&self, key: u64, value: u64);
    fn remove(&self, key: u64);
    /// Add one to a value.
    fn increment(&self, key: u64);
    /// Return the value; each call has a guard of its own.
    fn get(&self, key: u64) -> Option<u64>;
    /// Return the sum of the values, under one guard if the map has guards.
    fn sum(&self, keys: &[u64]) -> u64;
    /// Wait until removed entries have been dropped, if the map can do that.
    fn settle() {}
}

struct Ours(rtrcu::HashMap<u64, u64, Build>);

impl Map for Ours {
    const NAME: &'static str = "rtrcu";
    fn empty() -> Self {
        Self(rtrcu::HashMap::default())
    }
    fn insert(&self, key: u64, value: u64) {
        self.0.insert(key, value);
    }
    fn remove(&self, key: u64) {
        self.0.remove(&key);
    }
    fn increment(&self, key: u64) {
        self.0.update(&key, |value| value + 1);
    }
    #[inline(always)]
    fn get(&self, key: u64) -> Option<u64> {
        self.0.get(&key, &rtrcu::read()).copied()
    }
    #[inline(always)]
    fn sum(&self, keys: &[u64]) -> u64 {
        let guard = rtrcu::read();
        keys.iter().map(|key| self.0.get(key, &guard).copied().unwrap_or(0)).sum()
    }
    fn settle() {
        rtrcu::barrier();
    }
}

struct Papaya(papaya::HashMap<u64, u64, Build>);

impl Map for Papaya {
    const NAME: &'static str = "papaya";
    fn empty() -> Self {
        Self(papaya::HashMap::default())
    }
    fn insert(&self, key: u64, value: u64) {
        self.0.pin().insert(key, value);
    }
    fn remove(&self, key: u64) {
        self.0.pin().remove(&key);
    }
    fn increment(&self, key: u64) {
        self.0.pin().update(key, |value| value + 1);
    }
    #[inline(always)]
    fn get(&self, key: u64) -> Option<u64> {
        self.0.pin().get(&key).copied()
    }
    #[inline(always)]
    fn sum(&self, keys: &[u64]) -> u64 {
        let map = self.0.pin();
        keys.iter().map(|key| map.get(key).copied().unwrap_or(0)).sum()
    }
}

struct Dash(dashmap::DashMap<u64, u64, Build>);

impl Map for Dash {
    const NAME: &'static str = "dashmap";
    fn empty() -> Self {
        Self(dashmap::DashMap::default())
    }
    fn insert(&self, key: u64, value: u64) {
        self.0.insert(key, value);
    }
    fn remove(&self, key: u64) {
        self.0.remove(&key);
    }
    fn increment(&self, key: u64) {
        if let Some(mut value) = self.0.get_mut(&key) {
            *value += 1;
        }
    }
    #[inline(always)]
    fn get(&self, key: u64) -> Option<u64> {
        self.0.get(&key).map(|value| *value)
    }
    #[inline(always)]
    fn sum(&self, keys: &[u64]) -> u64 {
        keys.iter().map(|key| self.get(*key).unwrap_or(0)).sum()
    }
}

struct Scc(scc::HashMap<u64, u64, Build>);

impl Map for Scc {
    const NAME: &'static str = "scc";
    fn empty() -> Self {
        Self(scc::HashMap::default())
    }
    fn insert(&self, key: u64, value: u64) {
        self.0.upsert(key, value);
    }
    fn remove(&self, key: u64) {
        self.0.remove(&key);
    }
    fn increment(&self, key: u64) {
        self.0.update(&key, |_, value| *value += 1);
    }
    #[inline(always)]
    fn get(&self, key: u64) -> Option<u64> {
        self.0.read(&key, |_, value| *value)
    }
    #[inline(always)]
    fn sum(&self, keys: &[u64]) -> u64 {
        keys.iter().map(|key| self.get(*key).unwrap_or(0)).sum()
    }
}

/// No map: measures the loop around the calls.
struct NoMap;

impl Map for NoMap {
    const NAME: &'static str = "loop alone";
    fn empty() -> Self {
        Self
    }
    fn insert(&self, key: u64, _: u64) {
        black_box(key);
    }
    fn remove(&self, key: u64) {
        black_box(key);
    }
    fn increment(&self, key: u64) {
        black_box(key);
    }
    #[inline(always)]
    fn get(&self, key: u64) -> Option<u64> {
        Some(black_box(key))
    }
    #[inline(always)]
    fn sum(&self, keys: &[u64]) -> u64 {
        keys.iter().map(|key| black_box(*key)).sum()
    }
}

/// One map in a measured work: `run` does the work once, and returns objects that are dropped outside of the
/// measurement.
struct Side {
    name: &'static str,
    run: Box<dyn FnMut() -> Box<dyn Any>>,
    settle: fn(),
}

struct Work {
    name: String,
    /// Operations of one run.
    times: u64,
    sides: Vec<Side>,
}

/// Keys in an order that a processor cannot predict. Each key costs few instructions, which do not depend on the
/// previous key.
struct Keys(u64);

impl Keys {
    #[inline(always)]
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
        ((u128::from(mixed) * u128::from(limit)) >> 64) as u64
    }
}

/// Fills a map with `entries` numbers, and returns a side that calls `run` on the map with random keys.
fn prepared<M: Map>(entries: u64, mut run: impl FnMut(&M, &mut Keys) + 'static) -> Side {
    let map = M::empty();
    (0..entries).for_each(|key| map.insert(key, key));
    M::settle();
    let mut keys = Keys(0x1234_5678_9abc_def1);
    let run = move || -> Box<dyn Any> {
        run(&map, &mut keys);
        Box::new(())
    };
    Side { name: M::NAME, run: Box::new(run), settle: M::settle }
}

const LOOKUPS: u64 = 100_000;
const UNDER_ONE_GUARD: u64 = 50;

fn get<M: Map>(entries: u64, offset: u64) -> Side {
    prepared::<M>(entries, move |map, keys| {
        let mut found = 0;
        for _ in 0..LOOKUPS {
            found += map.get(keys.below(entries) + offset).unwrap_or(0);
        }
        black_box(found);
    })
}

fn sum<M: Map>(entries: u64) -> Side {
    prepared::<M>(entries, move |map, keys| {
        let mut found = 0;
        let mut some = [0; UNDER_ONE_GUARD as usize];
        for _ in 0..LOOKUPS / UNDER_ONE_GUARD {
            some.fill_with(|| keys.below(entries));
            found += map.sum(&some);
        }
        black_box(found);
    })
}

fn increment<M: Map>(entries: u64, times: u64) -> Side {
    prepared::<M>(entries, move |map, keys| {
        for _ in 0..times {
            map.increment(keys.below(entries));
        }
    })
}

/// Insert a new key and remove the oldest key, `times` times, in a map of `entries` entries.
fn turn_over<M: Map>(entries: u64, times: u64) -> Side {
    let mut next = entries;
    prepared::<M>(entries, move |map, _| {
        for _ in 0..times {
            map.insert(next, next);
            map.remove(next - entries);
            next += 1;
        }
    })
}

/// Insert `entries` keys into an empty map, which grows.
fn fill<M: Map>(entries: u64) -> Side {
    let run = move || -> Box<dyn Any> {
        let map = M::empty();
        (0..entries).for_each(|key| map.insert(key, key));
        Box::new(map)
    };
    Side { name: M::NAME, run: Box::new(run), settle: M::settle }
}

/// Builds a `Work` whose sides run the same operations on each kind of map.
macro_rules! work {
    ($name:expr, $times:expr, $make:ident($($argument:expr),*)) => {
        Work {
            name: $name,
            times: $times,
            sides: vec![$make::<Ours>($($argument),*), $make::<Papaya>($($argument),*), $make::<Dash>($($argument),*),
                        $make::<Scc>($($argument),*), $make::<NoMap>($($argument),*)],
        }
    };
}

/// Returns the name of each work, and a function that prepares the maps of this work. The maps of all works together
/// would need too much memory.
fn works() -> Vec<(String, Box<dyn Fn() -> Work>)> {
    let mut works: Vec<(String, Box<dyn Fn() -> Work>)> = Vec::new();
    let mut add = |name: String, make: fn(String, u64) -> Work, entries: u64| {
        let title = format!("{name}, {} entries", if entries < 1_000_000 { "ten thousand" } else { "a million" });
        works.push((title.clone(), Box::new(move || make(title.clone(), entries))));
    };
    for entries in [10_000, 1_000_000] {
        add("look up".into(), |name, entries| work!(name, LOOKUPS, get(entries, 0)), entries);
        add("look up 50 under a guard".into(), |name, entries| work!(name, LOOKUPS, sum(entries)), entries);
        add("look up a missing key".into(), |name, entries| work!(name, LOOKUPS, get(entries, entries)), entries);
        add("insert into an empty map".into(), |name, entries| work!(name, entries, fill(entries)), entries);
        add("insert one, remove one".into(), |name, entries| work!(name, 20_000, turn_over(entries, 20_000)), entries);
        add("update".into(), |name, entries| work!(name, 20_000, increment(entries, 20_000)), entries);
    }
    works
}

/// Returns the time of a CPU-time clock in nanoseconds.
fn cpu_ns(clock: libc::clockid_t) -> f64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: our memory.
    unsafe { libc::clock_gettime(clock, &mut now) };
    now.tv_sec as f64 * 1e9 + now.tv_nsec as f64
}

/// Measures `rounds` rounds. Returns for each side the CPU times in ns per operation: of the thread, and of the
/// process.
fn measure(work: &mut Work, rounds: usize) -> Vec<[Vec<f64>; 2]> {
    let mut samples = vec![[Vec::new(), Vec::new()]; work.sides.len()];
    for round in 0..=rounds {
        for turn in 0..work.sides.len() {
            let which = (turn + round) % work.sides.len();
            let side = &mut work.sides[which];
            let begin = [libc::CLOCK_THREAD_CPUTIME_ID, libc::CLOCK_PROCESS_CPUTIME_ID].map(cpu_ns);
            let rest = (side.run)();
            let thread = cpu_ns(libc::CLOCK_THREAD_CPUTIME_ID) - begin[0];
            (side.settle)();
            let process = cpu_ns(libc::CLOCK_PROCESS_CPUTIME_ID) - begin[1];
            drop(rest);
            // The first round is a warm-up.
            if round > 0 {
                samples[which][0].push(thread / work.times as f64);
                samples[which][1].push(process / work.times as f64);
            }
        }
    }
    samples
}

/// Returns the median, and the 10th and 90th percentile.
fn quantiles(mut values: Vec<f64>) -> (f64, f64, f64) {
    values.sort_by(f64::total_cmp);
    let at = |part: f64| values[((values.len() - 1) as f64 * part).round() as usize];
    (at(0.5), at(0.1), at(0.9))
}

fn main() {
    let rounds = std::env::args().nth(1).and_then(|rounds| rounds.parse().ok()).unwrap_or(31);
    let wanted = std::env::args().nth(2).unwrap_or_default();
    let map = std::env::args().nth(3).unwrap_or_default();
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    println!("{rounds} rounds, load {}\n", load.split(' ').next().unwrap_or_default());
    println!("| work | map | ns, thread | ours / map, median | 10 % .. 90 % | ns, process | ours / map |");
    println!("|---|---|---:|---:|---:|---:|---:|");
    for (_, make) in works().into_iter().filter(|(name, _)| name.contains(&wanted)) {
        let mut work = make();
        work.sides.retain(|side| map.is_empty() || side.name == map);
        let samples = measure(&mut work, rounds);
        let ratios = |which: usize, clock: usize| {
            let pairs = samples[0][clock].iter().zip(&samples[which][clock]);
            quantiles(pairs.map(|(ours, theirs)| ours / theirs).collect())
        };
        for (which, side) in work.sides.iter().enumerate() {
            let ns = [0, 1].map(|clock| quantiles(samples[which][clock].clone()).0);
            let (ratio, low, high) = ratios(which, 0);
            println!(
                "| {} | {} | {:.1} | {ratio:.2} | {low:.2} .. {high:.2} | {:.1} | {:.2} |",
                work.name,
                side.name,
                ns[0],
                ns[1],
                ratios(which, 1).0
            );
        }
    }
}
