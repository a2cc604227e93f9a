// SPDX-License-Identifier: MIT OR Apache-2.0
//! The functions of the C library, under the names of its private copy.

use std::ffi::{c_char, c_ulong, c_void};

use crate::table::*;
use crate::types::*;

/// Declares functions of the C library. With the feature `dylib`, a function of this crate wraps each C function: a
/// Rust `dylib` exports the wrapper and hides the C function.
#[cfg(feature = "dylib")]
macro_rules! c_functions {
    ($($(#[$doc:meta])* fn $name:ident ( $($argument:ident : $type:ty),* ) $(-> $result:ty)?, $symbol:literal;)*) => {
        $(
            $(#[$doc])*
            #[doc = ""]
            #[doc = "# Safety"]
            #[doc = ""]
            #[doc = "The caller keeps the contract that the function's C header documents, such as `rtrcu/rcu.h`."]
            #[inline(never)]
            pub unsafe extern "C" fn $name($($argument: $type),*) $(-> $result)? {
                unsafe extern "C" {
                    #[link_name = private!($symbol)]
                    fn function($($argument: $type),*) $(-> $result)?;
                }
                // SAFETY: the caller keeps the contract of the C function.
                unsafe { function($($argument),*) }
            }
        )*
    };
}

#[cfg(not(feature = "dylib"))]
macro_rules! c_functions {
    ($($(#[$doc:meta])* fn $name:ident ( $($argument:ident : $type:ty),* ) $(-> $result:ty)?, $symbol:literal;)*) => {
        unsafe extern "C" {
            $(
                $(#[$doc])*
                #[doc = ""]
                #[doc = "# Safety"]
                #[doc = ""]
                #[doc = "The caller keeps the contract that the function's C header documents, such as `rtrcu/rcu.h`."]
                #[link_name = private!($symbol)]
                pub fn $name($($argument: $type),*) $(-> $result)?;
            )*
        }
    };
}

c_functions! {
    /// The library's version.
    fn rtrcu_version() -> *const c_char, "rtrcu_version";
    /// The slow path of `rcu_read_lock()`.
    fn rtrcu_read_lock_slow(), "rtrcu_private_lock_slow";
    /// End the program, since one thread has `limit` sections open: print a message if that does not block, and abort.
    fn rtrcu_too_many_sections(limit: u32) -> !, "rtrcu_private_too_many_sections";
    /// The slow path of `rcu_read_unlock()`.
    fn rtrcu_read_unlock_slow(), "rtrcu_read_unlock_slow";
    /// The slow path of `rcu_quiescent_state()`.
    fn rtrcu_quiescent_state_slow(), "rtrcu_quiescent_state_slow";
    /// Wait until every section that began before the call has ended.
    fn rtrcu_synchronize(), "rtrcu_synchronize";
    /// Like `rtrcu_synchronize()`, but wait by an expedited grace period.
    fn rtrcu_synchronize_expedited(), "rtrcu_synchronize_expedited";
    /// Return the cookie of a full grace period that begins after the call.
    fn rtrcu_get_state() -> u64, "rtrcu_get_state";
    /// Like `rtrcu_get_state()`, but also request the cookie's grace period.
    fn rtrcu_start_poll() -> u64, "rtrcu_start_poll";
    /// Has the grace period of `cookie` ended?
    fn rtrcu_poll_state(cookie: u64) -> bool, "rtrcu_poll_state";
    /// Wait for the grace period of `cookie`, unless it has ended.
    fn rtrcu_cond_synchronize(cookie: u64), "rtrcu_cond_synchronize";
    /// Return the cookie of a full expedited grace period that begins after the call.
    fn rtrcu_get_state_expedited() -> u64, "rtrcu_get_state_expedited";
    /// Like `rtrcu_get_state_expedited()`, but also request the cookie's grace period.
    fn rtrcu_start_poll_expedited() -> u64, "rtrcu_start_poll_expedited";
    /// Has the expedited grace period of `cookie` ended?
    fn rtrcu_poll_state_expedited(cookie: u64) -> bool, "rtrcu_poll_state_expedited";
    /// Wait for the expedited grace period of `cookie`, unless it has ended.
    fn rtrcu_cond_synchronize_expedited(cookie: u64), "rtrcu_cond_synchronize_expedited";
    /// Set the function that receives stall reports, line by line; `None` is standard error.
    fn rtrcu_set_stall_handler(handler: Option<unsafe extern "C" fn(line: *const c_char)>), "rtrcu_set_stall_handler";
    /// Run `func(head)` after a grace period.
    fn rtrcu_call(head: *mut rcu_head, func: rcu_callback_t), "rtrcu_call";
    /// Like `rtrcu_call()`, but return -EAGAIN if the backlog has reached `qmax`.
    fn rtrcu_call_try(head: *mut rcu_head, func: rcu_callback_t) -> i32, "rtrcu_call_try";
    /// Like `rtrcu_call()`, but the grace period begins immediately.
    fn rtrcu_call_hurry(head: *mut rcu_head, func: rcu_callback_t), "rtrcu_call_hurry";
    /// Wait until every callback that was queued before the call has returned.
    fn rtrcu_barrier(), "rtrcu_barrier";
    /// Run ready callbacks of the calling thread within a budget in nanoseconds; 0: the configured budget.
    fn rtrcu_process_callbacks(budget_ns: i64) -> c_ulong, "rtrcu_process_callbacks";
    /// Return a descriptor that is readable while ready callbacks wait for the calling thread, or -errno.
    fn rtrcu_ready_fd() -> i32, "rtrcu_ready_fd";
    /// Initialise a domain, whose memory must not move.
    fn rtrcu_srcu_init(domain: *mut srcu_struct, name: *const c_char) -> i32, "rtrcu_srcu_init";
    /// Destroy a domain. Returns -EBUSY if the domain is in use; it is then not destroyed.
    fn rtrcu_srcu_cleanup(domain: *mut srcu_struct) -> i32, "rtrcu_srcu_cleanup";
    /// Begin a section of the domain. Returns the index with which `rtrcu_srcu_read_unlock()` ends the section.
    fn rtrcu_srcu_read_lock(domain: *mut srcu_struct) -> i32, "rtrcu_srcu_read_lock";
    /// End the section of the domain for which `rtrcu_srcu_read_lock()` returned `index`.
    fn rtrcu_srcu_read_unlock(domain: *mut srcu_struct, index: i32), "rtrcu_srcu_read_unlock";
    /// Wait until every section of the domain that began before the call has ended.
    fn rtrcu_srcu_synchronize(domain: *mut srcu_struct), "rtrcu_srcu_synchronize";
    /// Run `func(head)` after a grace period of the domain.
    fn rtrcu_srcu_call(domain: *mut srcu_struct, head: *mut rcu_head, func: rcu_callback_t), "rtrcu_srcu_call";
    /// Wait until every callback that was queued to the domain before the call has returned.
    fn rtrcu_srcu_barrier(domain: *mut srcu_struct), "rtrcu_srcu_barrier";
    /// Register the calling thread.
    fn rtrcu_register_thread(flags: u32) -> i32, "rtrcu_register_thread";
    /// Unregister the calling thread before its exit.
    fn rtrcu_unregister_thread() -> i32, "rtrcu_unregister_thread";
    /// Set a function that a thread calls when it exits inside a section.
    fn rtrcu_set_exit_handler(handler: Option<unsafe extern "C" fn()>), "rtrcu_set_exit_handler";
    /// Take the calling quiescent-state thread online.
    fn rtrcu_thread_online(), "rtrcu_thread_online";
    /// Take the calling quiescent-state thread offline, before it sleeps.
    fn rtrcu_thread_offline(), "rtrcu_thread_offline";
    /// Set the calling thread's deadline, the time of its loop's next event, in nanoseconds of CLOCK_MONOTONIC; 0:
    /// none.
    fn rtrcu_set_deadline(deadline_ns: i64), "rtrcu_set_deadline";
    /// Initialise a task.
    fn rtrcu_task_init(task: *mut rcu_task, name: *const c_char), "rtrcu_task_init";
    /// Transfer the innermost section of this thread to `task`.
    fn rtrcu_task_list(task: *mut rcu_task), "rtrcu_task_list";
    /// End the section that `rtrcu_task_list()` transferred to `task`.
    fn rtrcu_task_unlist(task: *mut rcu_task), "rtrcu_task_unlist";
    /// Does a grace period wait for the task?
    fn rtrcu_task_blocking(task: *const rcu_task) -> bool, "rtrcu_task_blocking";
    /// Create a table.
    fn rtrcu_hash_create(table: *mut *mut rtrcu_hash, config: *const rtrcu_hash_config) -> i32, "rtrcu_hash_create";
    /// Destroy a table; its entries still belong to the caller.
    fn rtrcu_hash_destroy(table: *mut rtrcu_hash), "rtrcu_hash_destroy";
    /// Insert `node`, unless the table has an entry with the hash `hash` that `matches` accepts: then return -EEXIST,
    /// and store that entry in `existing`.
    fn rtrcu_hash_insert(table: *mut rtrcu_hash, hash: u64, node: *mut rtrcu_hash_node, matches: rtrcu_hash_match_t,
        key: *const c_void, existing: *mut *mut rtrcu_hash_node) -> i32, "rtrcu_hash_insert";
    /// Replace the entry `old` by `fresh`. Returns -ENOENT if `old` is not in the table.
    fn rtrcu_hash_replace(table: *mut rtrcu_hash, old: *mut rtrcu_hash_node, fresh: *mut rtrcu_hash_node) -> i32,
        "rtrcu_hash_replace";
    /// Remove the entry `node`. Returns -ENOENT if the entry is not in the table.
    fn rtrcu_hash_remove(table: *mut rtrcu_hash, node: *mut rtrcu_hash_node) -> i32, "rtrcu_hash_remove";
    /// Visit the entries of the next `buckets` buckets from `cursor` on. Returns false if these were the last buckets.
    fn rtrcu_hash_walk(table: *mut rtrcu_hash, cursor: *mut u64, buckets: u32, visit: rtrcu_hash_visit_t,
        argument: *mut c_void) -> bool, "rtrcu_hash_walk";
    /// Copy the counters of `table` into `counters`.
    fn rtrcu_hash_stats(table: *const rtrcu_hash, counters: *mut rtrcu_hash_counters), "rtrcu_hash_stats";
    /// Put the settings of `config` into force: policy, driver, limits and others.
    fn rtrcu_configure(config: *const rtrcu_config) -> i32, "rtrcu_configure";
    /// Return the reason why this thread's latest `rtrcu_configure()` or `rtrcu_config_set()` was refused.
    fn rtrcu_config_error() -> *const c_char, "rtrcu_config_error";
    /// Set the field `name` of `config` to `value`, which is text.
    fn rtrcu_config_set(config: *mut rtrcu_config, name: *const c_char, value: *const c_char) -> i32,
        "rtrcu_config_set";
    /// Fill `config` with the defaults, and then with the values that environment variables set.
    fn rtrcu_config_init_sized(config: *mut rtrcu_config, size: u32), "rtrcu_config_init_sized";
    /// Fill `config` with the settings in force.
    fn rtrcu_config_get_sized(config: *mut rtrcu_config, size: u32), "rtrcu_config_get_sized";
    /// Copy the library's counters into `stats`.
    fn rtrcu_stats(stats: *mut rtrcu_stats) -> i32, "rtrcu_stats";
}

unsafe extern "C" {
    /// Sizes and offsets of the structs in C: see `src/private.c`.
    #[doc(hidden)]
    #[link_name = private!("rtrcu_layout")]
    pub static LAYOUT: [usize; 0];
    /// The number of elements of [`LAYOUT`].
    #[doc(hidden)]
    #[link_name = private!("rtrcu_layout_count")]
    pub static LAYOUT_COUNT: usize;
}
