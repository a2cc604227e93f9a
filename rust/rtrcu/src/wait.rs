// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waiting for grace periods: by blocking, by cookie, and in async code.

use std::ffi::c_void;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::ptr::null_mut;
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::Ordering::{AcqRel, Acquire};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::{guard, node, section};

/// Panic if `call` would wait for itself: inside a section, or in a deferred drop or function.
#[track_caller]
pub(crate) fn may_wait(call: &str) {
    outside(call);
    if node::is_in_deferred() {
        panic!("rtrcu: {call} in a deferred drop or function would wait for itself");
    }
}

/// The check of [`may_wait`] that every poll of a future makes, ready or not: the future's grace period may wait for a
/// section that began since the previous poll.
#[track_caller]
pub(crate) fn outside(call: &str) {
    if guard::nesting() != 0 {
        panic!("rtrcu: {call} under a Guard, or in the first poll of a section, would wait for itself");
    }
    if section::is_polling() {
        panic!("rtrcu: {call} inside a section would wait for itself");
    }
}

/// Wait until every section that began before the call has ended.
///
/// # Panics
///
/// Under a [`Guard`](crate::Guard), inside a [`section`](crate::section()), and in the drop of a retired value: the
/// call would wait for itself.
pub fn synchronize() {
    may_wait("synchronize()");
    // SAFETY: `may_wait()` has checked that the thread is outside sections. Safe code does not run in signal handlers.
    unsafe { rtrcu_sys::rtrcu_synchronize() }
}

/// Like [`synchronize`], but faster: the call waits by an expedited grace period, which boosts readers immediately.
///
/// # Panics
///
/// As [`synchronize`].
pub fn synchronize_expedited() {
    may_wait("synchronize_expedited()");
    // SAFETY: as in `synchronize()`, the thread is outside sections and signal handlers.
    unsafe { rtrcu_sys::rtrcu_synchronize_expedited() }
}

/// Wait until all values retired before the call, by any thread, have been dropped, and all functions deferred before
/// the call have returned.
///
/// It blocks; async code awaits [`async_barrier`].
///
/// # Panics
///
/// As [`synchronize`].
pub fn barrier() {
    may_wait("barrier()");
    // SAFETY: `may_wait()` has checked that the thread is outside sections and callbacks.
    unsafe { rtrcu_sys::rtrcu_barrier() }
}

/// Like [`barrier`], for async code: a future that is ready when all values retired before its first poll, by any
/// thread, have been dropped, and all functions deferred before that poll have returned. Concurrent waiters share one
/// thread, which exits when no waiter is left. The child of a fork lacks that thread: the next poll of a pending future
/// starts the wait again there, but nothing wakes the future for that poll.
///
/// ```
/// let cell = rtrcu::Rcu::new(String::from("old"));
/// # smol::block_on(async {
/// cell.replace(String::from("new"));
/// rtrcu::async_barrier().await; // "old" has been dropped
/// # });
/// ```
///
/// # Panics
///
/// Each poll panics inside a section or under a [`Guard`](crate::Guard), even if the first poll was outside. A poll in
/// the drop of a retired value panics, unless the future is ready. The first poll panics if no thread can be created.
pub fn async_barrier() -> AsyncBarrier {
    AsyncBarrier { begun: None }
}

/// The future of [`async_barrier`].
#[must_use = "futures do nothing unless polled"]
pub struct AsyncBarrier {
    /// Set by the first poll: the state of this future, and the waiters of the process in which the poll ran.
    begun: Option<(Shared, &'static Barriers)>,
}

/// The names of the futures in panic messages.
const BARRIER: &str = "async_barrier().await";
const GRACE_PERIOD: &str = "grace_period().await";

impl Future for AsyncBarrier {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        outside(BARRIER);
        let barriers = Barriers::of_this_process();
        // In a fork's child, the thread that serves the parent's waiters does not exist, and the lock of their queue
        // may stay locked for ever. So the wait begins again.
        match &self.begun {
            Some((shared, of)) if std::ptr::eq(*of, barriers) => return poll_shared(shared, context, BARRIER),
            _ => {}
        }
        may_wait(BARRIER);
        let shared = begin_waiting(context);
        barriers.add(Arc::clone(&shared));
        self.begun = Some((shared, barriers)); // set last, since the calls above may panic
        Poll::Pending
    }
}

impl fmt::Debug for AsyncBarrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncBarrier").finish_non_exhaustive()
    }
}

/// The waiters for barriers in one process, and the thread that serves them. In a fork's child that thread does not
/// exist, and the lock may stay locked for ever, so the child creates a new `Barriers`.
struct Barriers {
    process: u32,
    queue: Mutex<Queue>,
}

struct Queue {
    /// Waiters for the next barrier.
    waiting: Vec<Shared>,
    is_served: bool,
}

/// The waiters of this process, or of its parent after a fork; null, or from a box that is never freed.
static BARRIERS: AtomicPtr<Barriers> = AtomicPtr::new(null_mut());

impl Barriers {
    fn of_this_process() -> &'static Self {
        let process = std::process::id();
        let mut known = BARRIERS.load(Acquire);
        loop {
            // SAFETY: null, or published whole by the exchange below, and never freed.
            match unsafe { known.as_ref() } {
                Some(barriers) if barriers.process == process => return barriers,
                _ => {}
            }
            let queue = Mutex::new(Queue { waiting: Vec::new(), is_served: false });
            let new = Box::into_raw(Box::new(Self { process, queue }));
            match BARRIERS.compare_exchange(known, new, AcqRel, Acquire) {
                // SAFETY: the box is never freed.
                Ok(_) => return unsafe { &*new },
                Err(other) => {
                    known = other;
                    // SAFETY: no thread has seen the box.
                    drop(unsafe { Box::from_raw(new) });
                }
            }
        }
    }

    fn add(&'static self, shared: Shared) {
        let mut queue = lock(&self.queue);
        if !queue.is_served {
            self.start();
            queue.is_served = true;
        }
        queue.waiting.push(shared);
    }

    /// Create the thread, without `std::thread`: a thread of the standard library takes one of its locks when it begins
    /// and when it ends. If the process forks meanwhile, the lock stays locked in the child, where new threads of the
    /// standard library never begin.
    fn start(&'static self) {
        extern "C" fn body(barriers: *mut c_void) -> *mut c_void {
            // SAFETY: `barriers` is the argument of pthread_create() below, and is never freed.
            let barriers = unsafe { &*barriers.cast::<Barriers>() };
            #[cfg(not(miri))]
            // SAFETY: the name is a C string, and the thread is the calling one.
            unsafe {
                libc::pthread_setname_np(libc::pthread_self(), c"rtrcu-barrier".as_ptr());
            }
            barriers.serve();
            null_mut()
        }

        let argument = std::ptr::from_ref(self).cast_mut().cast();
        let mut attributes = MaybeUninit::uninit();
        let mut thread = MaybeUninit::uninit();
        // SAFETY: the attributes are initialised before they are used, and destroyed after; the thread is detached.
        let error = unsafe {
            libc::pthread_attr_init(attributes.as_mut_ptr());
            libc::pthread_attr_setstacksize(attributes.as_mut_ptr(), 2 << 20); // as std's threads
            let error = libc::pthread_create(thread.as_mut_ptr(), attributes.as_ptr(), body, argument);
            libc::pthread_attr_destroy(attributes.as_mut_ptr());
            if error == 0 {
                libc::pthread_detach(thread.assume_init());
            }
            error
        };
        assert!(
            error == 0,
            "rtrcu: async_barrier() cannot create its thread: {}",
            std::io::Error::from_raw_os_error(error)
        );
    }

    /// The body of the thread: one barrier for all waiters so far, then one for those that arrived meanwhile.
    fn serve(&self) {
        loop {
            let mut queue = lock(&self.queue);
            let waiting = std::mem::take(&mut queue.waiting);
            if waiting.is_empty() {
                queue.is_served = false;
                return;
            }
            drop(queue);
            barrier();
            for shared in waiting {
                // A waker belongs to an executor: a panic of the waker must not affect the other waiters.
                if let Err(payload) = catch_unwind(AssertUnwindSafe(|| finish(&shared))) {
                    node::drop_payload(payload);
                }
            }
        }
    }
}

/// The number of a future grace period, which can be polled at any time without waiting.
///
/// ```
/// let cookie = rtrcu::Cookie::start();
/// // ... something else ...
/// cookie.wait(); // returns immediately if the grace period has ended
/// assert!(cookie.is_reached());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cookie {
    number: u64,
    expedited: bool,
}

impl Cookie {
    /// The cookie of a full grace period that begins after the call. The call does not request the grace period:
    /// [`wait`](Self::wait) and other writers do.
    pub fn now() -> Self {
        // SAFETY: the function may be called anywhere.
        Self { number: unsafe { rtrcu_sys::rtrcu_get_state() }, expedited: false }
    }

    /// Like [`now`](Self::now), but also request that grace period.
    pub fn start() -> Self {
        // SAFETY: the function may be called anywhere except in signal handlers.
        Self { number: unsafe { rtrcu_sys::rtrcu_start_poll() }, expedited: false }
    }

    /// The cookie of a full expedited grace period that begins after the call; the call requests that grace period.
    pub fn start_expedited() -> Self {
        // SAFETY: the function may be called anywhere except in signal handlers.
        Self { number: unsafe { rtrcu_sys::rtrcu_start_poll_expedited() }, expedited: true }
    }

    /// Returns true if the grace period has ended: then all effects of sections that began before it are visible.
    pub fn is_reached(self) -> bool {
        // SAFETY: the function may be called anywhere except in signal handlers; the number is a cookie of this kind of
        // grace period.
        unsafe {
            if self.expedited {
                rtrcu_sys::rtrcu_poll_state_expedited(self.number)
            } else {
                rtrcu_sys::rtrcu_poll_state(self.number)
            }
        }
    }

    /// Wait for the grace period, unless it has ended.
    ///
    /// # Panics
    ///
    /// As [`synchronize`], even if the grace period has ended.
    pub fn wait(self) {
        may_wait("Cookie::wait()");
        // SAFETY: `may_wait()` has checked that the thread is outside sections; the number is a cookie of this kind of
        // grace period.
        unsafe {
            if self.expedited {
                rtrcu_sys::rtrcu_cond_synchronize_expedited(self.number)
            } else {
                rtrcu_sys::rtrcu_cond_synchronize(self.number)
            }
        }
    }
}

impl fmt::Debug for Cookie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cookie({}{})", self.number, if self.expedited { ", expedited" } else { "" })
    }
}

impl IntoFuture for Cookie {
    type Output = ();
    type IntoFuture = GracePeriod;

    fn into_future(self) -> GracePeriod {
        GracePeriod { cookie: Some(self), shared: None }
    }
}

/// A future that is ready when every section that began before its first poll has ended. It blocks no thread.
///
/// ```
/// # fn block_on<F: Future>(future: F) -> F::Output { smol::block_on(future) }
/// block_on(async {
///     rtrcu::grace_period().await;
/// });
/// ```
///
/// # Panics
///
/// Each poll panics inside a section or under a [`Guard`](crate::Guard), even if the first poll was outside: the future
/// could wait for its own thread. A poll in the drop of a retired value panics, unless the future is ready.
pub fn grace_period() -> GracePeriod {
    GracePeriod { cookie: None, shared: None }
}

/// The future of [`grace_period`], and of a [`Cookie`]'s `.await`.
#[must_use = "futures do nothing unless polled"]
pub struct GracePeriod {
    /// The cookie for which the future waits; if it is reached, the future is ready immediately.
    cookie: Option<Cookie>,
    shared: Option<Shared>,
}

/// State shared by a future and the code that finishes it.
type Shared = Arc<Mutex<Progress>>;

enum Progress {
    Waiting(Option<Waker>),
    Done,
}

fn begin_waiting(context: &Context<'_>) -> Shared {
    Arc::new(Mutex::new(Progress::Waiting(Some(context.waker().clone()))))
}

fn poll_shared(shared: &Mutex<Progress>, context: &Context<'_>, call: &str) -> Poll<()> {
    if matches!(*lock(shared), Progress::Done) {
        return Poll::Ready(());
    }
    may_wait(call);
    let mut progress = lock(shared);
    let Progress::Waiting(waker) = &mut *progress else { return Poll::Ready(()) };
    let known = waker.as_ref().is_some_and(|waker| waker.will_wake(context.waker()));
    let before = if known { None } else { waker.replace(context.waker().clone()) };
    drop(progress);
    drop(before); // after the lock is released: the drop of a waker runs code of its executor
    Poll::Pending
}

fn finish(shared: &Mutex<Progress>) {
    let before = std::mem::replace(&mut *lock(shared), Progress::Done);
    if let Progress::Waiting(Some(waker)) = before {
        waker.wake();
    }
}

impl Future for GracePeriod {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        outside(GRACE_PERIOD);
        if self.cookie.is_some_and(Cookie::is_reached) {
            return Poll::Ready(());
        }
        if let Some(shared) = &self.shared {
            return poll_shared(shared, context, GRACE_PERIOD);
        }
        may_wait(GRACE_PERIOD);
        let shared = begin_waiting(context);
        self.shared = Some(Arc::clone(&shared));
        node::defer_hurry(move || finish(&shared));
        Poll::Pending
    }
}

fn lock<T>(shared: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for GracePeriod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GracePeriod").finish_non_exhaustive()
    }
}
