// SPDX-License-Identifier: MIT OR Apache-2.0
//! Registered threads: loops that report quiescent states, and loops with deadlines.

use std::io;
use std::marker::PhantomData;
use std::time::Instant;

use crate::config::is_in_handler;
use crate::guard::nesting;
use crate::node::is_in_deferred;

fn register(flags: u32) -> io::Result<()> {
    if is_in_deferred() || is_in_handler() {
        return Err(io::Error::other(
            "a deferred drop or a stall handler cannot register its thread, which may be the library's own",
        ));
    }
    // SAFETY: the context is ordinary; inside a section the library refuses the call.
    match unsafe { rtrcu_sys::rtrcu_register_thread(flags) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(-error)),
    }
}

/// A thread that runs a loop with deadlines, such as an audio callback. The thread never wakes another thread, so
/// retiring makes no system call. It drops its own retired values in [`Turn::until`], when it has time.
///
/// If the `Turn` is dropped under a guard, or in a deferred drop, the thread stays a deadline thread.
///
/// ```
/// use std::time::{Duration, Instant};
/// use rtrcu::{Config, Rcu, Turn};
///
/// Config::new().set("policy", "inline")?.apply()?; // the thread that retires a value drops it, within a budget
/// let gains = Rcu::new(vec![1.0f32; 64]);
/// let mut turn = Turn::register()?;
/// for _ in 0..10 {
///     let next = Instant::now() + Duration::from_millis(1);
///     let sum: f32 = gains.get().iter().sum(); // the period's work
///     gains.replace(vec![sum; 64]);
///     turn.until(next); // the time that is left
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "if this is dropped, the thread is an ordinary one again"]
pub struct Turn {
    thread: PhantomData<*mut ()>,
}

impl Turn {
    /// Make the calling thread a deadline thread, until the returned `Turn` is dropped.
    ///
    /// # Errors
    ///
    /// Under a guard, in a deferred drop or a stall handler, and if the library cannot create a thread.
    pub fn register() -> io::Result<Self> {
        register(rtrcu_sys::RTRCU_DEADLINE)?;
        Ok(Self { thread: PhantomData })
    }

    /// Drop values that this thread has retired and no reader holds any more, and return their number.
    ///
    /// `next` is the time of the loop's next event. With the policy `inline`, the call drops no more values than the
    /// configured count and time allow. It stops before a drop that would last beyond `next`, judging by the duration
    /// of the latest drops, and drops nothing once `next` has passed. The other values wait for the next call, or for a
    /// thread of the library if no call drops any value for 100 ms.
    ///
    /// With the default policy, `daemon`, the call does nothing. The policies `krcud`, `throttle` and `unbounded` exist
    /// for comparison, and ignore `next` and the configured time. Under a guard, and in a deferred drop, the call does
    /// nothing.
    pub fn until(&mut self, next: Instant) -> usize {
        if nesting() != 0 || is_in_deferred() {
            return 0;
        }
        // SAFETY: the thread is registered and outside sections.
        unsafe {
            rtrcu_sys::rtrcu_set_deadline(monotonic_ns(next));
            rtrcu_sys::rtrcu_process_callbacks(0) as usize
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        // SAFETY: the context is ordinary. Under a guard, `register()` below fails, and the thread stays a deadline
        // thread.
        unsafe { rtrcu_sys::rtrcu_set_deadline(0) };
        let _ = register(0);
    }
}

/// Convert `at` to the library's clock.
fn monotonic_ns(at: Instant) -> i64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the struct belongs to this function, and the clock exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    let now_ns = now.tv_sec as i64 * 1_000_000_000 + now.tv_nsec as i64;
    let ahead = at.saturating_duration_since(Instant::now());
    // At least 1, since the library takes 0 for "no deadline".
    now_ns.saturating_add(i64::try_from(ahead.as_nanos()).unwrap_or(i64::MAX)).max(1)
}

/// A thread that reports a quiescent state in each round of its loop; grace periods wait for it.
///
/// Guards work as in other threads, and protect all references; the advantage of such a thread is that grace periods
/// need not interrupt it. A thread that no longer reports quiescent states stops reclamation, and the stall report
/// names it. A thread that drops its `Qsbr` under a guard or in a deferred drop remains a quiescent-state thread, and
/// so stops reclamation too.
///
/// ```
/// let mut loop_thread = rtrcu::Qsbr::register()?;
/// for packet in 0..3 {
///     println!("{packet}");
///     loop_thread.quiescent();
/// }
/// let line = loop_thread.offline(|| std::io::stdin().lines().next()); // it may sleep here
/// # drop(line);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "if this is dropped, the thread is an ordinary one again"]
pub struct Qsbr {
    thread: PhantomData<*mut ()>,
}

impl Qsbr {
    /// Make the calling thread a quiescent-state thread, until the returned `Qsbr` is dropped.
    ///
    /// # Errors
    ///
    /// As [`Turn::register`].
    pub fn register() -> io::Result<Self> {
        register(rtrcu_sys::RTRCU_QSBR)?;
        Ok(Self { thread: PhantomData })
    }

    /// Report a quiescent state. Under a guard, and in a deferred drop, this does nothing.
    ///
    /// With a policy by which threads drop their own retired values, the call drops some of them, within the budget.
    #[inline]
    pub fn quiescent(&mut self) {
        if is_in_deferred() {
            return;
        }
        // SAFETY: a guard protects each reference, and under a guard the call does nothing.
        unsafe { rtrcu_sys::quiescent_state() }
    }

    /// Run `f`, which may sleep; grace periods do not wait for this thread meanwhile. `f` may read under guards.
    ///
    /// # Panics
    ///
    /// Under a guard, and in a deferred drop.
    pub fn offline<R>(&mut self, f: impl FnOnce() -> R) -> R {
        struct Online;
        impl Drop for Online {
            fn drop(&mut self) {
                // SAFETY: `offline()` has taken the thread offline.
                unsafe { rtrcu_sys::rtrcu_thread_online() }
            }
        }

        assert!(nesting() == 0 && !is_in_deferred(), "rtrcu: Qsbr::offline() used under a Guard or in a deferred drop");
        // SAFETY: the assertion has checked that the thread is outside sections.
        unsafe { rtrcu_sys::rtrcu_thread_offline() };
        let _online = Online;
        f()
    }
}

impl Drop for Qsbr {
    fn drop(&mut self) {
        // Under a guard the registration fails, and the thread stays a quiescent-state thread.
        let _ = register(0);
    }
}
