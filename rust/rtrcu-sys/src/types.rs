// SPDX-License-Identifier: MIT OR Apache-2.0
//! The structs and constants of the public headers. `tests/layout.rs` compares them with C's.

#![allow(non_camel_case_types)] // the names are C's

use std::ffi::{c_char, c_void};

/// The bits of [`word`](crate::word) that count explicit read-side critical sections.
pub const NESTING_MASK: u32 = 0x000f_ffff;
/// The bit of [`word`](crate::word) that is set while a quiescent-state thread is online.
pub const QSBR_ONLINE: u32 = 0x0010_0000;
/// The number of open sections of one thread at which the program is aborted. It is half of the range of the nesting:
/// the library takes a larger nesting for an unlock without a lock.
pub const NESTING_LIMIT: u32 = 1 << 19;
/// The flag byte of [`word`](crate::word) while the thread may take the fast path.
pub const FLAG_FAST: u32 = 0x80;

/// A flag of [`rtrcu_register_thread`](crate::rtrcu_register_thread): become a quiescent-state thread.
pub const RTRCU_QSBR: u32 = 1;
/// A flag of [`rtrcu_register_thread`](crate::rtrcu_register_thread): become a deadline thread, which does not wake
/// other threads.
pub const RTRCU_DEADLINE: u32 = 2;

/// The link by which [`rtrcu_call`](crate::rtrcu_call) queues an object; part of that object.
#[repr(C)]
#[derive(Debug)]
pub struct rcu_head {
    /// The next head of the queue; belongs to the library while the object is queued.
    pub next: *mut rcu_head,
    /// The function to be called; belongs to the library while the object is queued.
    pub func: Option<rcu_callback_t>,
}

impl rcu_head {
    /// A head that is in no queue. Rust requires initial values; C programs need not set any.
    pub const fn new() -> Self {
        Self { next: std::ptr::null_mut(), func: None }
    }
}

impl Default for rcu_head {
    fn default() -> Self {
        Self::new()
    }
}

/// A domain that a program defines. Its fields belong to the library, and it must not move.
#[repr(C)]
#[derive(Debug)]
pub struct srcu_struct {
    fields: [u64; 86],
}

impl srcu_struct {
    /// Memory for a domain, not yet prepared by `rtrcu_srcu_init()`.
    pub const fn new() -> Self {
        Self { fields: [0; 86] }
    }
}

impl Default for srcu_struct {
    fn default() -> Self {
        Self::new()
    }
}

/// A function to be called after a grace period. It must not unwind.
pub type rcu_callback_t = unsafe extern "C" fn(head: *mut rcu_head);

/// The library's data of one task, which may be parked. Only the library uses the fields.
#[repr(C)]
#[derive(Debug)]
pub struct rcu_task {
    /// The task's neighbours in a list.
    pub link: [*mut c_void; 2],
    /// The record of the thread that owns the task's list, if a thread owns it.
    pub record: *mut c_void,
    /// The leaf that owns the task's list, if a leaf owns it.
    pub leaf: *mut c_void,
    /// The position of the task in the order of its leaf's list.
    pub position: i64,
    /// The task's name in reports; kept by reference.
    pub name: *const c_char,
    /// The task that was mounted before this one on the same thread.
    pub below: *mut rcu_task,
    /// The kind of list that the task is on: none, a thread's, a leaf's, or the counted tasks of a phase.
    pub where_: u32,
    /// The number of sections that the task held when it was last parked.
    pub nesting: u32,
    /// The nesting of the thread when the task was mounted.
    pub base: u32,
    /// The number of the thread on which the task is mounted; 0: none.
    pub mounted: u32,
    /// If the task was mounted without a section: the base that `below` had at that moment.
    pub outer_base: u32,
}

impl rcu_task {
    /// Memory for a task, not yet prepared by [`rtrcu_task_init`](crate::rtrcu_task_init).
    pub const fn new() -> Self {
        use std::ptr::{null, null_mut};
        Self {
            link: [null_mut(); 2],
            record: null_mut(),
            leaf: null_mut(),
            position: 0,
            name: null(),
            below: null_mut(),
            where_: 0,
            nesting: 0,
            base: 0,
            mounted: 0,
            outer_base: 0,
        }
    }
}

impl Default for rcu_task {
    fn default() -> Self {
        Self::new()
    }
}

/// The length of [`rtrcu_stats::latency_us_log2`].
pub const RTRCU_LATENCY_BUCKETS: usize = 32;

/// Memory for a C `struct rtrcu_config`. Rust declares only its first field:
/// [`rtrcu_config_set`](crate::rtrcu_config_set) sets the others by their names.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
pub struct rtrcu_config {
    /// The size that the library has filled in.
    pub size: u32,
    rest: [u32; 255],
}

impl rtrcu_config {
    /// Zeroed memory, not yet filled with settings.
    pub const fn new() -> Self {
        Self { size: 0, rest: [0; 255] }
    }
}

impl Default for rtrcu_config {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for rtrcu_config {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("rtrcu_config").field("size", &self.size).finish_non_exhaustive()
    }
}

macro_rules! stats {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// The library's counters: totals since the program began, unless stated otherwise.
        #[repr(C)]
        #[derive(Debug, Clone, Copy)]
        pub struct rtrcu_stats {
            /// The size of the struct, which the caller sets; the library replaces it by the size that it filled in.
            pub size: u32,
            /// 1: readers use full fences, since membarrier is refused or disabled.
            pub full_fences: u32,
            $($(#[$doc])* pub $name: u64,)*
            /// The time from the oldest `rtrcu_call()` of a batch to the first callback of the batch: bucket i counts
            /// the batches with 2^i .. 2^(i+1) - 1 µs.
            pub latency_us_log2: [u64; RTRCU_LATENCY_BUCKETS],
            /// Pointers that `rcu_free()` leaked: there was no memory to queue them, and the caller could not wait.
            pub frees_leaked: u64,
            /// Times that scans began to skip a thread, after `idle_scans` scans had found it outside.
            pub threads_slept: u64,
            /// Times that an idle thread was scanned again, since it read or became a deadline thread.
            pub threads_woken: u64,
            /// Of `gp_completed`, how many found no reader and completed immediately.
            pub gp_at_once: u64,
            /// Of the grace periods that are not in `gp_at_once`, how many needed no heavy fence.
            pub gp_unfenced: u64,
            /// Time at which the oldest callback of the present backlog was queued, nanoseconds of `CLOCK_MONOTONIC`;
            /// 0: the backlog is empty.
            pub callback_oldest_ns: u64,
            /// The longest running time of a callback, nanoseconds. Up to eight callbacks in a row are timed together,
            /// and their mean counts.
            pub callback_ns_max: u64,
            /// Address of the longest callback's function.
            pub callback_longest: u64,
            /// The longest section of C code built with `RTRCU_DEBUG`, nanoseconds; 0: none was measured.
            pub section_ns_max: u64,
            /// Address at which that section began.
            pub section_longest: u64,
            /// Of `exp_completed`, how many a caller advanced to the end.
            pub exp_by_caller: u64,
        }

        impl rtrcu_stats {
            /// Counters of 0, with the size of the struct set.
            pub const fn new() -> Self {
                Self {
                    size: size_of::<Self>() as u32,
                    full_fences: 0,
                    $($name: 0,)*
                    latency_us_log2: [0; RTRCU_LATENCY_BUCKETS],
                    frees_leaked: 0,
                    threads_slept: 0,
                    threads_woken: 0,
                    gp_at_once: 0,
                    gp_unfenced: 0,
                    callback_oldest_ns: 0,
                    callback_ns_max: 0,
                    callback_longest: 0,
                    section_ns_max: 0,
                    section_longest: 0,
                    exp_by_caller: 0,
                }
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
    /// Grace periods advanced by a caller of `synchronize_rcu()`.
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
}

impl Default for rtrcu_stats {
    fn default() -> Self {
        Self::new()
    }
}
