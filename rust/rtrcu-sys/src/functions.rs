// SPDX-License-Identifier: MIT OR Apache-2.0
//! The functions of the C library, under the names of its private copy.

use std::ffi::{c_char, c_ulong};

use crate::types::*;

macro_rules! c_functions {
    ($($(#[$doc:meta])* fn $name:ident ( $($argument:ident : $type:ty),* ) $(-> $result:ty)?, $symbol:literal;)*) => {
        unsafe extern "C" {
            $(
                $(#[$doc])*
                #[doc = ""]
                #[doc = "# Safety"]
                #[doc = ""]
                #[doc = "The context that the block of the function in `rtrcu/rcu.h` or `rtrcu/task.h` asks for."]
                #[link_name = private!($symbol)]
                pub fn $name($($argument: $type),*) $(-> $result)?;
            )*
        }
    };
}

c_functions! {
    /// The library's version.
    fn rtrcu_version() -> *const c_char, "rtrcu_version";
    /// What `rcu_read_lock()` does when the word asks for it.
    fn rtrcu_read_lock_slow(), "rtrcu_private_lock_slow";
    /// End the program, which has `limit` sections open on one thread: a message where it can be written, and abort.
    fn rtrcu_too_many_sections(limit: u32) -> !, "rtrcu_private_too_many_sections";
    /// What `rcu_read_unlock()` does when the word asks for it.
    fn rtrcu_read_unlock_slow(), "rtrcu_read_unlock_slow";
    /// What `rcu_quiescent_state()` does when the word asks for it.
    fn rtrcu_quiescent_state_slow(), "rtrcu_quiescent_state_slow";
    /// Wait until every section that began before the call has ended.
    fn rtrcu_synchronize(), "rtrcu_synchronize";
    /// The same, at once.
    fn rtrcu_synchronize_expedited(), "rtrcu_synchronize_expedited";
    /// A cookie for a full grace period from now.
    fn rtrcu_get_state() -> u64, "rtrcu_get_state";
    /// The same, and ask for that grace period.
    fn rtrcu_start_poll() -> u64, "rtrcu_start_poll";
    /// Has it ended?
    fn rtrcu_poll_state(cookie: u64) -> bool, "rtrcu_poll_state";
    /// Wait for it, unless it has ended.
    fn rtrcu_cond_synchronize(cookie: u64), "rtrcu_cond_synchronize";
    /// A cookie for a full expedited grace period from now.
    fn rtrcu_get_state_expedited() -> u64, "rtrcu_get_state_expedited";
    /// The same, and ask for it.
    fn rtrcu_start_poll_expedited() -> u64, "rtrcu_start_poll_expedited";
    /// Has it ended?
    fn rtrcu_poll_state_expedited(cookie: u64) -> bool, "rtrcu_poll_state_expedited";
    /// Wait for it, unless it has ended.
    fn rtrcu_cond_synchronize_expedited(cookie: u64), "rtrcu_cond_synchronize_expedited";
    /// Where stall reports go, line by line; `None` is standard error.
    fn rtrcu_set_stall_handler(handler: Option<unsafe extern "C" fn(line: *const c_char)>), "rtrcu_set_stall_handler";
    /// Run `func(head)` after a grace period.
    fn rtrcu_call(head: *mut rcu_head, func: rcu_callback_t), "rtrcu_call";
    /// The same, but -EAGAIN where the backlog has reached `qmax`.
    fn rtrcu_call_try(head: *mut rcu_head, func: rcu_callback_t) -> i32, "rtrcu_call_try";
    /// The same, and the grace period begins now.
    fn rtrcu_call_hurry(head: *mut rcu_head, func: rcu_callback_t), "rtrcu_call_hurry";
    /// Wait until every callback that was queued before has returned.
    fn rtrcu_barrier(), "rtrcu_barrier";
    /// Run ready callbacks of the calling thread; 0 is the configured budget.
    fn rtrcu_process_callbacks(budget_ns: i64) -> c_ulong, "rtrcu_process_callbacks";
    /// Register the calling thread.
    fn rtrcu_register_thread(flags: u32) -> i32, "rtrcu_register_thread";
    /// Unregister it before it ends.
    fn rtrcu_unregister_thread() -> i32, "rtrcu_unregister_thread";
    /// What a thread calls that ends inside a section.
    fn rtrcu_set_exit_handler(handler: Option<unsafe extern "C" fn()>), "rtrcu_set_exit_handler";
    /// A quiescent-state thread goes on.
    fn rtrcu_thread_online(), "rtrcu_thread_online";
    /// A quiescent-state thread is about to sleep.
    fn rtrcu_thread_offline(), "rtrcu_thread_offline";
    /// The time of the loop's next event, on CLOCK_MONOTONIC.
    fn rtrcu_set_deadline(deadline_ns: i64), "rtrcu_set_deadline";
    /// Prepare a task.
    fn rtrcu_task_init(task: *mut rcu_task, name: *const c_char), "rtrcu_task_init";
    /// The section that this thread entered last becomes the task's.
    fn rtrcu_task_list(task: *mut rcu_task), "rtrcu_task_list";
    /// That section ends.
    fn rtrcu_task_unlist(task: *mut rcu_task), "rtrcu_task_unlist";
    /// Does a grace period wait for the task?
    fn rtrcu_task_blocking(task: *const rcu_task) -> bool, "rtrcu_task_blocking";
    /// Choose policy, driver and limits.
    fn rtrcu_configure(config: *const rtrcu_config) -> i32, "rtrcu_configure";
    /// Why the last configuration of this thread was refused.
    fn rtrcu_config_error() -> *const c_char, "rtrcu_config_error";
    /// Set one field by its name.
    fn rtrcu_config_set(config: *mut rtrcu_config, name: *const c_char, value: *const c_char) -> i32,
        "rtrcu_config_set";
    /// Defaults and environment.
    fn rtrcu_config_init_sized(config: *mut rtrcu_config, size: u32), "rtrcu_config_init_sized";
    /// The configuration in force.
    fn rtrcu_config_get_sized(config: *mut rtrcu_config, size: u32), "rtrcu_config_get_sized";
    /// Copy the counters.
    fn rtrcu_stats(stats: *mut rtrcu_stats) -> i32, "rtrcu_stats";
}

unsafe extern "C" {
    /// What the library's compiler makes of the structs: see `src/private.c`.
    #[doc(hidden)]
    #[link_name = private!("rtrcu_layout")]
    pub static LAYOUT: [usize; 0];
    /// How many numbers [`LAYOUT`] has.
    #[doc(hidden)]
    #[link_name = private!("rtrcu_layout_count")]
    pub static LAYOUT_COUNT: usize;
}
