// SPDX-License-Identifier: MIT OR Apache-2.0
//! A model of the library for Miri, which runs no C: the same promises, by one lock and without threads of its own.
//!
//! A clock counts events. A section has the time at which it began. A queued function runs in the next call once all
//! sections that began before it was queued have ended, so Miri sees each use after a drop.

use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::ffi::{c_char, c_ulong};
use std::sync::Mutex;

use crate::types::*;

struct Queued {
    head: *mut rcu_head,
    func: rcu_callback_t,
    at: u64,
}

// SAFETY: a queued head belongs to the library, so any thread may call its function.
unsafe impl Send for Queued {}

struct State {
    clock: u64,
    /// For each open section of a thread or a task: the number of the section, and the time at which it began.
    open: Option<HashMap<u64, u64>>,
    /// For each task with an open section: the address of the task, and the number of the section.
    tasks: Option<HashMap<usize, u64>>,
    queue: VecDeque<Queued>,
    running: u64,
}

static STATE: Mutex<State> =
    Mutex::new(State { clock: 1, open: None, tasks: None, queue: VecDeque::new(), running: 0 });

thread_local! {
    static NESTING: Cell<u32> = const { Cell::new(0) };
    static OUTERMOST: Cell<u64> = const { Cell::new(0) };
    static RUNNING_HERE: Cell<u64> = const { Cell::new(0) };
}

fn with<R>(f: impl FnOnce(&mut State) -> R) -> R {
    f(&mut STATE.lock().unwrap())
}

impl State {
    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    fn all_outside(&self, since: u64) -> bool {
        self.open.iter().flatten().all(|(_, &began)| began > since)
    }
}

/// Run the queued functions whose grace period has ended, until none is left. A function may queue others, begin
/// sections and drop values.
fn run_ready() -> c_ulong {
    let mut ran = 0;
    loop {
        let next = with(|state| {
            let index = state.queue.iter().position(|queued| state.all_outside(queued.at))?;
            state.running += 1;
            state.queue.remove(index)
        });
        let Some(next) = next else { return ran };
        RUNNING_HERE.set(RUNNING_HERE.get() + 1);
        // SAFETY: a grace period has passed since the head was queued.
        unsafe { (next.func)(next.head) };
        RUNNING_HERE.set(RUNNING_HERE.get() - 1);
        with(|state| state.running -= 1);
        ran += 1;
    }
}

/// See `rcu_read_lock()`.
pub fn read_lock() {
    NESTING.set(NESTING.get() + 1);
    if NESTING.get() == 1 {
        OUTERMOST.set(with(|state| {
            let number = state.tick();
            state.open.get_or_insert_default().insert(number, number);
            number
        }));
    }
}

/// See `rcu_read_unlock()`.
///
/// # Safety
///
/// A section of this thread is open.
pub unsafe fn read_unlock() {
    assert!(NESTING.get() > 0);
    NESTING.set(NESTING.get() - 1);
    if NESTING.get() == 0 {
        with(|state| state.open.get_or_insert_default().remove(&OUTERMOST.get()));
    }
}

/// The nesting of this thread.
///
/// # Safety
///
/// No requirement.
pub unsafe fn word() -> u32 {
    NESTING.get() | FLAG_FAST << 24
}

/// See `rcu_quiescent_state()`.
///
/// # Safety
///
/// No requirement: the model has no quiescent-state threads.
pub unsafe fn quiescent_state() {
    run_ready();
}

macro_rules! model {
    ($(fn $name:ident ( $($argument:ident : $type:ty),* ) $(-> $result:ty)? $body:block)*) => {
        $(
            /// The model of the C function of the same name.
            ///
            /// # Safety
            ///
            /// The contract of the C function.
            pub unsafe fn $name($($argument: $type),*) $(-> $result)? $body
        )*
    };
}

fn wait_until(done: impl Fn() -> bool) {
    while !done() {
        run_ready();
        std::thread::yield_now();
    }
}

model! {
    fn rtrcu_version() -> *const c_char { concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast() }
    fn rtrcu_synchronize() {
        let now = with(State::tick);
        wait_until(|| with(|state| state.all_outside(now)));
        run_ready();
    }
    fn rtrcu_synchronize_expedited() {
        // SAFETY: the caller keeps the contract of the C function.
        unsafe { rtrcu_synchronize() }
    }
    fn rtrcu_get_state() -> u64 { with(State::tick) }
    fn rtrcu_start_poll() -> u64 { with(State::tick) }
    fn rtrcu_poll_state(cookie: u64) -> bool {
        run_ready();
        with(|state| state.all_outside(cookie))
    }
    fn rtrcu_cond_synchronize(cookie: u64) { wait_until(|| with(|state| state.all_outside(cookie))) }
    fn rtrcu_get_state_expedited() -> u64 { with(State::tick) }
    fn rtrcu_start_poll_expedited() -> u64 { with(State::tick) }
    fn rtrcu_poll_state_expedited(cookie: u64) -> bool { with(|state| state.all_outside(cookie)) }
    fn rtrcu_cond_synchronize_expedited(cookie: u64) { wait_until(|| with(|state| state.all_outside(cookie))) }
    fn rtrcu_call(head: *mut rcu_head, func: rcu_callback_t) {
        with(|state| {
            let at = state.tick();
            // SAFETY: the head belongs to the library from now on. The write makes Miri report a race with a thread
            // that still uses the head.
            unsafe { head.write(rcu_head { next: std::ptr::null_mut(), func: Some(func) }) };
            state.queue.push_back(Queued { head, func, at });
        });
    }
    fn rtrcu_call_hurry(head: *mut rcu_head, func: rcu_callback_t) {
        // SAFETY: the caller keeps the contract of the C function.
        unsafe { rtrcu_call(head, func) }
    }
    fn rtrcu_barrier() {
        let now = with(State::tick);
        let here = RUNNING_HERE.get();
        wait_until(|| with(|state| state.queue.iter().all(|queued| queued.at > now) && state.running <= here));
    }
    fn rtrcu_process_callbacks(_budget_ns: i64) -> c_ulong { run_ready() }
    fn rtrcu_register_thread(_flags: u32) -> i32 { 0 }
    fn rtrcu_unregister_thread() -> i32 { 0 }
    fn rtrcu_thread_online() {}
    fn rtrcu_thread_offline() {}
    fn rtrcu_set_deadline(_deadline_ns: i64) {}
    fn rtrcu_set_stall_handler(_handler: Option<unsafe extern "C" fn(line: *const c_char)>) {}
    fn rtrcu_task_init(task: *mut rcu_task, name: *const c_char) {
        // SAFETY: the memory of the task belongs to the caller.
        unsafe { (*task).name = name }
    }
    fn rtrcu_task_list(task: *mut rcu_task) {
        // The task's section begins when the thread's section began.
        let began = OUTERMOST.get();
        with(|state| {
            let number = state.tick();
            state.open.get_or_insert_default().insert(number, began);
            state.tasks.get_or_insert_default().insert(task as usize, number);
        });
        // SAFETY: this thread has a section open, and the task now holds a copy of the section.
        unsafe { read_unlock() }
    }
    fn rtrcu_task_unlist(task: *mut rcu_task) {
        with(|state| {
            if let Some(number) = state.tasks.get_or_insert_default().remove(&(task as usize)) {
                state.open.get_or_insert_default().remove(&number);
            }
        });
    }
    fn rtrcu_task_blocking(_task: *const rcu_task) -> bool { false }
    fn rtrcu_configure(_config: *const rtrcu_config) -> i32 { 0 }
    fn rtrcu_config_error() -> *const c_char { c"".as_ptr() }
    fn rtrcu_config_set(_config: *mut rtrcu_config, _name: *const c_char, _value: *const c_char) -> i32 { 0 }
    fn rtrcu_config_init_sized(_config: *mut rtrcu_config, _size: u32) {}
    fn rtrcu_config_get_sized(_config: *mut rtrcu_config, _size: u32) {}
    fn rtrcu_stats(_stats: *mut rtrcu_stats) -> i32 { 0 }
}
