// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shared parts of the tests: values that record their drop and detect readers after it, and futures that
//! are polled by hand.
#![allow(dead_code)]

use std::future::{Future, poll_fn};
use std::ops::DerefMut;
use std::pin::{Pin, pin};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

const ALIVE: u64 = 0x0a11_4e00_0a11_4e00;
const DEAD: u64 = 0xdead_dead_dead_dead;

/// A value that records whether it has been dropped; its drop increments its counter.
pub struct Probe {
    state: AtomicU64,
    pub number: u64,
    dropped: Arc<AtomicU64>,
}

impl Probe {
    pub fn new(number: u64, dropped: &Arc<AtomicU64>) -> Self {
        Self { state: AtomicU64::new(ALIVE), number, dropped: Arc::clone(dropped) }
    }

    #[track_caller]
    pub fn check(&self) {
        let state = self.state.load(SeqCst);
        assert_eq!(state, ALIVE, "value {} was dropped under its reader", self.number);
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        assert_eq!(self.state.swap(DEAD, SeqCst), ALIVE, "value {} was dropped twice", self.number);
        self.dropped.fetch_add(1, SeqCst);
    }
}

pub fn counter() -> Arc<AtomicU64> {
    Arc::new(AtomicU64::new(0))
}

pub type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A future that is pending once.
pub fn pause() -> impl Future<Output = ()> + Send {
    let mut paused = false;
    poll_fn(move |context| {
        if std::mem::replace(&mut paused, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
}

/// Poll once, with a waker that does nothing.
pub fn poll<P: DerefMut<Target: Future>>(future: &mut Pin<P>) -> Poll<<P::Target as Future>::Output> {
    future.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

const A_MINUTE: Duration = Duration::from_secs(60);

/// Wait until `done` returns true; panic after one minute.
#[track_caller]
pub fn eventually(mut done: impl FnMut() -> bool) {
    let end = Instant::now() + A_MINUTE;
    while !done() {
        assert!(Instant::now() < end, "the condition was not true within a minute");
        thread::yield_now();
    }
}

/// Wait for the future's output; panic after one minute.
#[track_caller]
pub fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Arc::new(Unpark(thread::current())).into();
    let mut future = pin!(future);
    let end = Instant::now() + A_MINUTE;
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        let left = end.saturating_duration_since(Instant::now());
        assert!(!left.is_zero(), "the future was not ready within a minute");
        thread::park_timeout(left);
    }
}

/// A waker that counts how often it is called.
#[derive(Default)]
pub struct Bell {
    rung: AtomicU64,
}

impl Bell {
    pub fn new() -> (Arc<Self>, Waker) {
        let bell = Arc::new(Self::default());
        (Arc::clone(&bell), bell.into())
    }

    pub fn rung(&self) -> u64 {
        self.rung.load(SeqCst)
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.rung.fetch_add(1, SeqCst);
    }
}

/// Whether the test runs under an emulator, which lacks some of the kernel's services.
pub fn is_emulated() -> bool {
    std::env::var_os("RTRCU_TEST_RUNNER").is_some()
}

/// For tests that change state of the process, or that leak: run the test `name` alone in a child process. Returns
/// whether the child succeeded, and its output; called in the child, returns `None`. Leaks are detected unless `leaks`
/// is set.
pub fn alone(name: &str, leaks: bool) -> Option<(bool, String)> {
    let child = child(name, leaks)?.output().unwrap();
    let said = [child.stdout, child.stderr].concat();
    Some((child.status.success(), String::from_utf8_lossy(&said).into_owned()))
}

/// Returns the command that runs the test `name` alone in a child process; called in the child, returns `None`.
pub fn child(name: &str, leaks: bool) -> Option<Command> {
    if std::env::var_os("RTRCU_TEST_ALONE").is_some() {
        return None;
    }
    // If this process runs under an emulator, the child needs the emulator too.
    let runner = std::env::var("RTRCU_TEST_RUNNER").unwrap_or_default();
    let program = std::env::current_exe().unwrap();
    let mut words = runner.split_whitespace().map(Into::into).chain([program.into_os_string()]);
    let mut command = Command::new(words.next().unwrap());
    command
        .args(words)
        .args([name, "--exact", "--nocapture", "--test-threads=1"])
        .env("RTRCU_TEST_ALONE", "1")
        .env("ASAN_OPTIONS", if leaks { "detect_leaks=0" } else { "" })
        .env("TSAN_OPTIONS", "die_after_fork=0"); // forked children create threads
    Some(command)
}

/// Run the rest of the test in a child process; in the parent, return after the child's success.
#[allow(unused_macros)]
macro_rules! alone {
    ($name:literal $(, leaks = $leaks:literal)?) => {
        if let Some((success, said)) = support::alone($name, false $(|| $leaks)?) {
            assert!(success, "{said}");
            return;
        }
    };
}

/// A generator for random tests. Its seed is RTRCU_TEST_SEED, or else the time; it prints the seed, for a replay.
pub struct Random(u64);

impl Random {
    pub fn new() -> Self {
        let given = std::env::var("RTRCU_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = given.unwrap_or_else(|| {
            let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
            since.as_nanos() as u64
        });
        println!("RTRCU_TEST_SEED={seed}");
        Self(seed | 1)
    }

    /// An independent generator.
    pub fn split(&mut self) -> Self {
        Self(self.next() | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}
