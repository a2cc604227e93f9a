// SPDX-License-Identifier: MIT OR Apache-2.0
//! Settings and stall reports of this crate's copy of the library.

use std::cell::Cell;
use std::ffi::{CStr, CString, c_char};
use std::fmt;
use std::panic::catch_unwind;
use std::ptr::null_mut;
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::Ordering::{Acquire, Release};

/// The library's settings, such as which thread drops retired values, when, and how many at a time. Their names are
/// those of the environment variables without `RTRCU_`. The project's page `docs/configuration.md` describes each.
///
/// `stack_kb` sets the stacks of the library's threads, on which values are dropped: 2,048 KiB unless the environment
/// (`RTRCU_STACK_KB`) or a configuration sets another size. A new size applies to threads that are created afterwards,
/// so apply it before the first value is retired.
///
/// With the driver `sched` the library has no thread of its own. Awaiting or polling a
/// [`grace_period`](crate::grace_period), a [`Retired`](crate::Retired) or a [`Cookie`](crate::Cookie) then does not
/// advance its grace period: only blocking calls and other threads' [`Qsbr::quiescent`](crate::Qsbr::quiescent) do.
///
/// ```
/// use rtrcu::Config;
///
/// Config::new().set("policy", "inline")?.set("budget_ns", 50_000)?.apply()?;
/// assert!(Config::new().set("policy", "never").is_err());
/// # Ok::<(), rtrcu::ConfigError>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "a configuration does nothing before it is applied"]
pub struct Config {
    raw: rtrcu_sys::rtrcu_config,
}

impl Config {
    /// The default settings, as changed by environment variables.
    pub fn new() -> Self {
        let mut raw = rtrcu_sys::rtrcu_config::new();
        // SAFETY: the memory belongs to this function and has the size that is passed.
        unsafe { rtrcu_sys::rtrcu_config_init_sized(&mut raw, size_of_val(&raw) as u32) };
        Self { raw }
    }

    /// The configuration in force.
    pub fn current() -> Self {
        let mut raw = rtrcu_sys::rtrcu_config::new();
        // SAFETY: the memory belongs to this function and has the size that is passed.
        unsafe { rtrcu_sys::rtrcu_config_get_sized(&mut raw, size_of_val(&raw) as u32) };
        Self { raw }
    }

    /// Set one field by its name.
    ///
    /// # Errors
    ///
    /// If the name or the value is unknown to the library; the error lists the allowed values.
    pub fn set(mut self, name: &str, value: impl fmt::Display) -> Result<Self, ConfigError> {
        let text = |text: String| CString::new(text).map_err(|_| ConfigError("a setting contains a zero byte".into()));
        let (name, value) = (text(name.to_owned())?, text(value.to_string())?);
        // SAFETY: the library has initialised the configuration, and the other arguments are C strings.
        match unsafe { rtrcu_sys::rtrcu_config_set(&mut self.raw, name.as_ptr(), value.as_ptr()) } {
            0 => Ok(self),
            _ => Err(ConfigError::last()),
        }
    }

    /// Put the settings into force for all users of this crate in the process. Call it before other functions of the
    /// crate, if possible.
    ///
    /// # Errors
    ///
    /// If the settings do not fit together, or the library cannot create what they need. The previous settings stay in
    /// force.
    ///
    /// # Panics
    ///
    /// In the situations in which [`synchronize`](crate::synchronize) panics.
    pub fn apply(&self) -> Result<(), ConfigError> {
        crate::wait::may_wait("Config::apply()");
        // SAFETY: `may_wait()` has checked that the thread is outside sections.
        match unsafe { rtrcu_sys::rtrcu_configure(&self.raw) } {
            0 => Ok(()),
            _ => Err(ConfigError::last()),
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self::new()
    }
}

/// The reason why a setting was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError(String);

impl ConfigError {
    fn last() -> Self {
        // SAFETY: the result is a C string, valid until this thread's next call that sets or applies settings.
        Self(unsafe { CStr::from_ptr(rtrcu_sys::rtrcu_config_error()) }.to_string_lossy().into_owned())
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ConfigError {}

/// The handler of stall reports, as a pointer; null: none.
static HANDLER: AtomicPtr<()> = AtomicPtr::new(null_mut());

thread_local! {
    static HANDLING: Cell<bool> = const { Cell::new(false) };
}

/// Does this thread run the stall handler? If so, the thread may be a thread of the library.
pub(crate) fn is_in_handler() -> bool {
    HANDLING.get()
}

/// Set the function that receives stall reports, line by line; `None`, the default, is standard error. `handler` runs
/// on a thread of the library that holds no lock. It cannot register that thread as a [`Turn`](crate::Turn) or a
/// [`Qsbr`](crate::Qsbr).
pub fn set_stall_handler(handler: Option<fn(&str)>) {
    HANDLER.store(handler.map_or(null_mut(), |handler| handler as *mut ()), Release);
    // SAFETY: `pass_on` may be called at any time, on any thread.
    unsafe { rtrcu_sys::rtrcu_set_stall_handler(handler.map(|_| pass_on as _)) }
}

unsafe extern "C" fn pass_on(line: *const c_char) {
    let handler = HANDLER.load(Acquire);
    if !handler.is_null() {
        // SAFETY: `set_stall_handler()` stored the pointer from a function of this type.
        let handler = unsafe { std::mem::transmute::<*mut (), fn(&str)>(handler) };
        // SAFETY: the library's line is a C string that lives during the call.
        let line = unsafe { CStr::from_ptr(line) }.to_string_lossy();
        let before = HANDLING.replace(true);
        if let Err(payload) = catch_unwind(|| handler(&line)) {
            crate::node::drop_payload(payload);
        }
        HANDLING.set(before);
    }
}
