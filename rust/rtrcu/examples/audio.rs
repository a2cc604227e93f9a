// SPDX-License-Identifier: MIT OR Apache-2.0
//! A loop with a deadline, as in an audio engine: it reads parameters that others change, changes some itself, and
//! drops its replaced values in the time that is left of its period; no drop begins after it.
//!
//! `cargo run --example audio`

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rtrcu::{Config, Rcu, Turn};

const PERIOD: Duration = Duration::from_millis(1);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The thread that retires a value also drops it, within a budget; with the default policy daemons would drop the
    // values.
    Config::new().set("policy", "inline")?.set("budget_ns", 200_000)?.apply()?;
    let gains = Rcu::new(vec![1.0f32; 256]);
    let delay_line = Rcu::new(vec![0.0f32; 4096]);
    let done = AtomicBool::new(false);

    std::thread::scope(|scope| {
        // An ordinary thread, which changes `gains` as a user would; the library drops the old values.
        scope.spawn(|| {
            let mut number = 0;
            while !done.load(Ordering::Relaxed) {
                number += 1;
                gains.replace(vec![number as f32; 256]);
                std::thread::sleep(Duration::from_micros(300));
            }
            rtrcu::barrier();
        });

        let mut turn = Turn::register().expect("the thread can be registered");
        let (mut dropped, mut latest) = (0, Duration::ZERO);
        let mut next = Instant::now() + PERIOD;
        for _ in 0..500 {
            let gain = gains.get()[0];
            let mut samples = delay_line.get().clone();
            samples.iter_mut().for_each(|sample| *sample = *sample * 0.5 + gain);
            delay_line.replace(samples); // no system call, no wake-up

            dropped += turn.until(next); // a drop begins only if it is expected to end before `next`
            latest = latest.max(Instant::now().saturating_duration_since(next));
            std::thread::sleep(next.saturating_duration_since(Instant::now()));
            next += PERIOD;
        }
        done.store(true, Ordering::Relaxed);
        println!(
            "500 periods, in which turns dropped {dropped} values; the latest turn ended {latest:?} after its deadline"
        );
    });
    Ok(())
}
