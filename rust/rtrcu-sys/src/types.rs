// SPDX-License-Identifier: MIT OR Apache-2.0
//! The structs and constants of the public headers. `tests/layout.rs` compares them with what C makes of them.

#![allow(non_camel_case_types)] // the names are C's

use std::ffi::{c_char, c_void};

/// The bits of [`word`](crate::word) that count explicit read-side critical sections.
pub const NESTING_MASK: u32 = 0x000f_ffff;
/// The bit of [`word`](crate::word) that says: a quiescent-state thread, and online.
pub const QSBR_ONLINE: u32 = 0x0010_0000;
/// How many sections of one thread may be open at a time; the next one ends the program. Half of what the word can
/// count: from there on the library would take the number for an unlock too many.
pub const NESTING_LIMIT: u32 = 1 << 19;
/// The flag byte of [`word`](crate::word) when nothing is asked of the thread.
pub const FLAG_FAST: u32 = 0x80;

/// [`rtrcu_register_thread`](crate::rtrcu_register_thread): quiescent-state discipline.
pub const RTRCU_QSBR: u32 = 1;
/// [`rtrcu_register_thread`](crate::rtrcu_register_thread): the thread never wakes anybody.
pub const RTRCU_DEADLINE: u32 = 2;

/// What [`rtrcu_call`](crate::rtrcu_call) hangs in its queue; part of the object that is to be reclaimed.
#[repr(C)]
#[derive(Debug)]
pub struct rcu_head {
    /// The library's while queued.
    pub next: *mut rcu_head,
    /// The library's while queued.
    pub func: Option<rcu_callback_t>,
}

impl rcu_head {
    /// A head that is in no queue. It needs no initialisation; this is one for Rust's sake.
    pub const fn new() -> Self {
        Self { next: std::ptr::null_mut(), func: None }
    }
}

impl Default for rcu_head {
    fn default() -> Self {
        Self::new()
    }
}

/// What runs after a grace period. It must not unwind.
pub type rcu_callback_t = unsafe extern "C" fn(head: *mut rcu_head);

/// One parked task: its fields are the library's.
#[repr(C)]
#[derive(Debug)]
pub struct rcu_task {
    /// Its neighbours in a list.
    pub link: [*mut c_void; 2],
    /// Whose list it is on, while on a thread's.
    pub record: *mut c_void,
    /// Whose list it is on, while on a leaf's.
    pub leaf: *mut c_void,
    /// Order within the leaf's list.
    pub position: i64,
    /// For reports; kept by reference.
    pub name: *const c_char,
    /// Mounted beneath it on the same thread.
    pub below: *mut rcu_task,
    /// On no list, a thread's, a leaf's.
    pub where_: u32,
    /// Sections that it held when it was parked last.
    pub nesting: u32,
    /// Sections of the thread beneath it, while mounted.
    pub base: u32,
    /// On which thread.
    pub mounted: u32,
    /// Mounted without a section: what lies beneath `below`.
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

/// How many buckets [`rtrcu_stats::latency_us_log2`] has.
pub const RTRCU_LATENCY_BUCKETS: usize = 32;

/// Memory for a configuration: `struct rtrcu_config` begins with its size, and its fields are set by their names with
/// [`rtrcu_config_set`](crate::rtrcu_config_set), so that Rust need not know them.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
pub struct rtrcu_config {
    /// The size that the library has filled in.
    pub size: u32,
    rest: [u32; 255],
}

impl rtrcu_config {
    /// Memory that nothing has been filled into.
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
        /// The library's counters: totals since the program began, unless said otherwise.
        #[repr(C)]
        #[derive(Debug, Clone, Copy)]
        pub struct rtrcu_stats {
            /// The size of the struct; in, and out: what was filled in.
            pub size: u32,
            /// 1: readers use full fences, since membarrier is refused or off.
            pub full_fences: u32,
            $($(#[$doc])* pub $name: u64,)*
            /// From the oldest retirement of a batch to the batch's first drop: bucket i counts 2^i .. 2^(i+1) - 1 µs.
            pub latency_us_log2: [u64; RTRCU_LATENCY_BUCKETS],
            /// Pointers of `rcu_free()` that no memory was left to note.
            pub frees_leaked: u64,
            /// Times a thread was put to sleep, since it had not read for `idle_scans` scans.
            pub threads_slept: u64,
            /// Times one woke.
            pub threads_woken: u64,
            /// Of `gp_completed`, how many found that nobody read, and turned nothing.
            pub gp_at_once: u64,
            /// How many of the others needed no heavy fence.
            pub gp_unfenced: u64,
            /// Now: when the oldest of the backlog was queued, nanoseconds of `CLOCK_MONOTONIC`; 0: there is none.
            pub callback_oldest_ns: u64,
            /// The longest that a callback ran: the mean of up to eight that ran in a row.
            pub callback_ns_max: u64,
            /// The address of its function.
            pub callback_longest: u64,
            /// The longest section of C code built with `RTRCU_DEBUG`; 0: none was measured.
            pub section_ns_max: u64,
            /// The address where it began.
            pub section_longest: u64,
            /// Of `exp_completed`, how many a caller turned to their end.
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
    /// Of these, how many had to wait for a reader.
    gp_busy,
    /// Of these, how many had to sleep.
    gp_slept,
    /// Grace periods that a waiting caller turned itself.
    gp_by_caller,
    /// Duration of the last grace period, nanoseconds.
    gp_ns_last,
    /// The longest so far.
    gp_ns_max,
    /// Heavy fences that the kernel refused.
    fence_refused,
    /// Expedited grace periods ended.
    exp_completed,
    /// Stall reports.
    stall_reports,
    /// Threads that are registered now.
    threads_registered,
    /// The most at a time.
    threads_peak,
    /// Deadline threads now.
    threads_deadline,
    /// Callbacks queued.
    callbacks_queued,
    /// Callbacks that have run.
    callbacks_invoked,
    /// Of these, in a call of the queue's owner.
    callbacks_by_owner,
    /// Now: queued and not yet returned.
    callbacks_backlog,
    /// Under way in threads that a fork did not copy.
    callbacks_lost_at_fork,
    /// Enqueues that went through above `qmax`.
    over_qmax,
    /// Enqueues that waited.
    blocked_at_qmax,
    /// Times a backlog passed `qhimark`.
    limit_raised,
    /// Batches that ended since the deadline was near.
    deadline_stops,
    /// Batches that ended since the time was used up.
    budget_stops,
    /// Wake-ups sent to the driver.
    driver_wakeups,
    /// Turns of the driver's loop.
    driver_passes,
    /// Reader calls that took the slow path.
    slow_locks,
    /// Times that a thread of the library was refused its scheduling.
    rt_refused,
    /// Callbacks that `call_rcu_rt()` ran at once.
    callbacks_direct,
    /// Calls of `call_rcu_rt()` that had to queue.
    direct_refused,
    /// Owner's batches that ended at `bhlimit` or `maxbatch`.
    limit_stops,
    /// Times a reader was boosted.
    boosts,
    /// For how long in all, nanoseconds.
    boost_ns,
    /// The longest single time.
    boost_ns_max,
    /// Boosting that the kernel refused.
    boost_refused,
    /// Readers that used up their share.
    boost_given_up,
    /// Queues handed to a daemon.
    krcud_given,
}

impl Default for rtrcu_stats {
    fn default() -> Self {
        Self::new()
    }
}
