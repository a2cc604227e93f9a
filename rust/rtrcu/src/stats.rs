// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counters of this crate's copy of the library.

/// Return a copy of the counters.
///
/// ```
/// let stats = rtrcu::stats();
/// println!("{} values wait to be dropped", stats.callbacks_backlog);
/// ```
pub fn stats() -> Stats {
    let mut library = rtrcu_sys::rtrcu_stats::new();
    // SAFETY: the struct belongs to this function, and contains its size.
    unsafe { rtrcu_sys::rtrcu_stats(&mut library) };
    Stats::copy(library, crate::node::drops_panicked())
}

/// Declare [`Stats`], which has the fields of the library's struct, and the conversion from that struct.
macro_rules! stats {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Counters of the library and of this crate, as [`stats`] copies them: totals since the program began, unless
        /// stated otherwise.
        #[derive(Debug, Clone, Copy)]
        #[non_exhaustive]
        pub struct Stats {
            /// Readers use full fences, since membarrier is refused or disabled.
            pub full_fences: bool,
            $($(#[$doc])* pub $name: u64,)*
            /// The time from the oldest retirement of a batch to the first drop of the batch: element i counts the
            /// batches with 2^i .. 2^(i+1) - 1 µs.
            pub latency_us_log2: [u64; 32],
            /// Drops of retired values, and deferred functions, that panicked.
            pub drops_panicked: u64,
        }

        impl Stats {
            fn copy(library: rtrcu_sys::rtrcu_stats, drops_panicked: u64) -> Self {
                // Names every field: if the library gets a new field, this line no longer compiles.
                let rtrcu_sys::rtrcu_stats { size: _, full_fences, $($name,)* latency_us_log2 } = library;
                Self { full_fences: full_fences != 0, $($name,)* latency_us_log2, drops_panicked }
            }
        }
    };
}

stats! {
    /// Grace periods ended.
    gp_completed,
    /// Of `gp_completed`, how many had to wait for a reader.
    gp_busy,
    /// Of `gp_completed`, how many required the advancing thread to sleep.
    gp_slept,
    /// Grace periods advanced by a caller that waited for them, as in [`synchronize`](crate::synchronize).
    gp_by_caller,
    /// The duration of the latest grace period, nanoseconds.
    gp_ns_last,
    /// The duration of the longest grace period, nanoseconds.
    gp_ns_max,
    /// Heavy fences that the kernel refused.
    fence_refused,
    /// Expedited grace periods ended.
    exp_completed,
    /// Reports of grace periods, barriers and fences that take too long.
    stall_reports,
    /// Threads that are registered now.
    threads_registered,
    /// The largest number of threads that were registered at the same time.
    threads_peak,
    /// Deadline threads that are registered now.
    threads_deadline,
    /// Callbacks queued.
    callbacks_queued,
    /// Callbacks that have run.
    callbacks_invoked,
    /// Of `callbacks_invoked`, how many ran in a call of the queue's owner.
    callbacks_by_owner,
    /// Callbacks that are queued now and have not returned.
    callbacks_backlog,
    /// In the child of a fork: callbacks that other threads of the parent were running or queueing.
    callbacks_lost_at_fork,
    /// Enqueues that succeeded and left a backlog above `qmax`, or above the share in force.
    over_qmax,
    /// Enqueues that waited until the backlog was smaller (`backpressure=block`).
    blocked_at_qmax,
    /// Times that a backlog above `qhimark` removed the limits `blimit` and `maxbatch`.
    limit_raised,
    /// Batches ended by a near deadline.
    deadline_stops,
    /// Batches ended by their time limit.
    budget_stops,
    /// Wake-ups sent to the driver.
    driver_wakeups,
    /// How often the driver has gone through its work.
    driver_passes,
    /// Reader calls that took the slow path, of threads with a record.
    slow_locks,
    /// Times that a thread of the library was refused its scheduling class or priority.
    rt_refused,
    /// Callbacks that `call_rcu_rt()` ran immediately.
    callbacks_direct,
    /// Calls of `call_rcu_rt()` that had to queue their callback.
    direct_refused,
    /// Batches that the queue's owner ran and that ended at the limit `bhlimit` or `maxbatch`.
    limit_stops,
    /// Times that a reader was boosted.
    boosts,
    /// Total time of boosts, nanoseconds.
    boost_ns,
    /// Longest boost, nanoseconds.
    boost_ns_max,
    /// Boosts refused by the kernel, or for lack of real-time permission.
    boost_refused,
    /// Readers that reached their boost limit and were left to the stall report.
    boost_given_up,
    /// Queues passed to a daemon.
    krcud_given,
    /// Pointers that `rcu_free()` leaked: there was no memory to queue them, and the caller could not wait.
    frees_leaked,
    /// Times that scans began to skip a thread, after `idle_scans` scans had found it outside.
    threads_slept,
    /// Times that an idle thread was scanned again, since it read or became a deadline thread.
    threads_woken,
    /// Of `gp_completed`, how many found no reader and completed immediately.
    gp_at_once,
    /// Of the grace periods that are not in `gp_at_once`, how many needed no heavy fence.
    gp_unfenced,
    /// Time at which the oldest callback of the present backlog was queued, nanoseconds of `CLOCK_MONOTONIC`; 0: the
    /// backlog is empty.
    callback_oldest_ns,
    /// The longest running time of a callback, nanoseconds. Up to eight callbacks in a row are timed together, and
    /// their mean counts.
    callback_ns_max,
    /// Address of the longest callback's function.
    callback_longest,
    /// The longest section of C code built with `RTRCU_DEBUG`, nanoseconds; 0: none was measured.
    section_ns_max,
    /// Address at which that section began.
    section_longest,
    /// Of `exp_completed`, how many a caller advanced to the end.
    exp_by_caller,
}
