// SPDX-License-Identifier: MIT OR Apache-2.0
//! The structs and constants of the public headers. `tests/layout.rs` compares them with C's.

#![allow(non_camel_case_types)] // the names are C's

use std::ffi::{c_char, c_void};

/// The bits of [`word`](crate::word) that count explicit read-side critical sections.
pub const NESTING_MASK: u32 = 0x000f_ffff;
/// The bit of [`word`](crate::word) that is set while a quiescent-state thread is online.
pub const QSBR_ONLINE: u32 = 0x0010_0000;
/// The largest number of sections that one thread may have open at a time; one more ends the program. This number is
/// half of the word's range: the library takes a larger number for an unlock without a lock.
pub const NESTING_LIMIT: u32 = 1 << 19;
/// The flag byte of [`word`](crate::word) of a thread that may take the fast path.
pub const FLAG_FAST: u32 = 0x80;

/// [`rtrcu_register_thread`](crate::rtrcu_register_thread): quiescent-state discipline.
pub const RTRCU_QSBR: u32 = 1;
/// [`rtrcu_register_thread`](crate::rtrcu_register_thread): the thread never wakes another thread.
pub const RTRCU_DEADLINE: u32 = 2;

/// The link by which [`rtrcu_call`](crate::rtrcu_call) queues an object; part of that object.
#[repr(C)]
#[derive(Debug)]
pub struct rcu_head {
    /// Belongs to the library while queued.
    pub next: *mut rcu_head,
    /// Belongs to the library while queued.
    pub func: Option<rcu_callback_t>,
}

impl rcu_head {
    /// A head that is in no queue. C needs no initialisation; Rust does.
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
    /// Memory for a domain.
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

/// One parked task. Its fields belong to the library.
#[repr(C)]
#[derive(Debug)]
pub struct rcu_task {
    /// The task's neighbours in a list.
    pub link: [*mut c_void; 2],
    /// The owner of the task's list, if the list is a thread's.
    pub record: *mut c_void,
    /// The owner of the task's list, if the list is a leaf's.
    pub leaf: *mut c_void,
    /// Order within the leaf's list.
    pub position: i64,
    /// The task's name in reports; kept by reference.
    pub name: *const c_char,
    /// The task that was mounted before this one on the same thread.
    pub below: *mut rcu_task,
    /// The kind of list that the task is on: none, a thread's, or a leaf's.
    pub where_: u32,
    /// The number of sections that the task held when it was last parked.
    pub nesting: u32,
    /// The nesting of the thread when the task was mounted.
    pub base: u32,
    /// The number of the thread on which the task is mounted.
    pub mounted: u32,
    /// If mounted without a section: the base of `below`.
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

/// Memory for a configuration: `struct rtrcu_config` begins with its size, and its fields are set by their names with
/// [`rtrcu_config_set`](crate::rtrcu_config_set), so Rust need not declare them.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
pub struct rtrcu_config {
    /// The size that the library has filled in.
    pub size: u32,
    rest: [u32; 255],
}

impl rtrcu_config {
    /// Uninitialised settings: all zero.
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
            /// The size of the struct, set by the caller; receives the size that was filled in.
            pub size: u32,
            /// 1: readers use full fences, since membarrier is refused or disabled.
            pub full_fences: u32,
            $($(#[$doc])* pub $name: u64,)*
            /// Time from the oldest retirement of a batch to the batch's first drop: bucket i counts 2^i .. 2^(i+1) - 1
            /// µs.
            pub latency_us_log2: [u64; RTRCU_LATENCY_BUCKETS],
            /// Pointers passed to `rcu_free()` without memory to queue them, when the caller could not wait.
            pub frees_leaked: u64,
            /// Times that scans began to skip a thread, after `idle_scans` scans had found it outside.
            pub threads_slept: u64,
            /// Times that an idle thread was scanned again.
            pub threads_woken: u64,
            /// Of `gp_completed`, how many found no reader and completed immediately.
            pub gp_at_once: u64,
            /// Of the other grace periods, how many needed no heavy fence.
            pub gp_unfenced: u64,
            /// Time at which the oldest callback of the present backlog was queued, nanoseconds of `CLOCK_MONOTONIC`;
            /// 0: the backlog is empty.
            pub callback_oldest_ns: u64,
            /// Longest callback: the mean of up to eight that ran in a row.
            pub callback_ns_max: u64,
            /// Address of the longest callback's function.
            pub callback_longest: u64,
            /// Longest section of C code built with `RTRCU_DEBUG`; 0: none was measured.
            pub section_ns_max: u64,
            /// Address at which that section began.
            pub section_longest: u64,
            /// Of `exp_completed`, how many a caller advanced to the end.
            pub exp_by_caller: u64,
        }

        impl rtrcu_stats {
            /// All zero, with its size set.
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
    /// Of these grace periods, how many had to wait for a reader.
    gp_busy,
    /// Of the grace periods that waited for a reader, how many slept.
    gp_slept,
    /// Grace periods advanced by a caller that waited.
    gp_by_caller,
    /// Duration of the last grace period, nanoseconds.
    gp_ns_last,
    /// Longest grace period so far, nanoseconds.
    gp_ns_max,
    /// Heavy fences that the kernel refused.
    fence_refused,
    /// Expedited grace periods ended.
    exp_completed,
    /// Stall reports.
    stall_reports,
    /// Threads that are registered now.
    threads_registered,
    /// Most threads registered at a time.
    threads_peak,
    /// Deadline threads now.
    threads_deadline,
    /// Callbacks queued.
    callbacks_queued,
    /// Callbacks that have run.
    callbacks_invoked,
    /// Of these callbacks, how many ran in a call of the queue's owner.
    callbacks_by_owner,
    /// Callbacks that are queued now and have not returned.
    callbacks_backlog,
    /// In the child of a fork: callbacks that were running in threads that the fork did not copy.
    callbacks_lost_at_fork,
    /// Enqueues that succeeded and left a backlog above `qmax`.
    over_qmax,
    /// Enqueues that waited for a smaller backlog.
    blocked_at_qmax,
    /// Times that a backlog above `qhimark` removed the limit of count.
    limit_raised,
    /// Batches ended by a near deadline.
    deadline_stops,
    /// Batches ended by their time limit.
    budget_stops,
    /// Wake-ups sent to the driver.
    driver_wakeups,
    /// Passes of the driver.
    driver_passes,
    /// Reader calls that took the slow path.
    slow_locks,
    /// Times that a thread of the library was refused its scheduling class or priority.
    rt_refused,
    /// Callbacks that `call_rcu_rt()` ran immediately.
    callbacks_direct,
    /// Calls of `call_rcu_rt()` that had to queue their callback.
    direct_refused,
    /// Owner's batches that ended at `bhlimit` or `maxbatch`.
    limit_stops,
    /// Times a reader was boosted.
    boosts,
    /// Total time of boosts, nanoseconds.
    boost_ns,
    /// Longest boost, nanoseconds.
    boost_ns_max,
    /// Boosts refused by the kernel, or for lack of real-time permission.
    boost_refused,
    /// Readers that reached their boost limit.
    boost_given_up,
    /// Queues passed to a daemon.
    krcud_given,
}

impl Default for rtrcu_stats {
    fn default() -> Self {
        Self::new()
    }
}
