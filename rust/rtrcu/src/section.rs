// SPDX-License-Identifier: MIT OR Apache-2.0
//! Read-side critical sections of async code, which stay open across `.await` on whichever thread the code continues.
//!
//! During its first poll a section is one nesting of the polling thread. If the body is then pending, the section moves
//! from the thread to the library's list of parked tasks, where it stays until it ends; later polls do not involve
//! their threads. A body that is ready in its first poll costs as much as a guard.

use std::cell::Cell;
use std::fmt;
use std::future::Future;
use std::mem::ManuallyDrop;
use std::panic::Location;
use std::pin::{Pin, pin};
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::task::{Context, Poll};

use rtrcu_sys::rcu_task;

/// Run an async body as one read-side critical section. References that it loads through its argument live across
/// `.await`. The future is `Send` if all values that the body holds are.
///
/// ```
/// use rtrcu::{section, Rcu};
/// # use smol::{block_on, future::yield_now};
///
/// let table = Rcu::new(vec!["eth0", "eth1"]);
/// let sent = block_on(section(async |s| {
///     let routes = table.load(s);
///     yield_now().await;
///     table.replace(vec![]);
///     yield_now().await;
///     routes.len() // as they were: this section began before
/// }));
/// assert_eq!(sent, 2);
/// ```
///
/// Dropping the future ends the section, on any thread. A future that is leaked after its first poll delays reclamation
/// for ever; the stall report shows the line that called `section()`. Waiting for a grace period inside a section
/// panics.
#[track_caller]
pub fn section<F, R>(body: F) -> impl Future<Output = R> + use<F, R>
where
    F: AsyncFnOnce(&Section) -> R,
{
    let place = Location::caller();
    async move {
        // The order matters: `hold` is dropped after the body, whose locals may hold loaded references.
        let mut hold = Hold { place, state: State::Outside };
        let token = Section { task: AtomicPtr::new(null_mut()) };
        hold.enter();
        let mut body = pin!(Body::new(|| body(&token)));
        std::future::poll_fn(|context| {
            let polled = body.as_mut().poll(context);
            if polled.is_pending() {
                hold.list(&token);
            }
            polled
        })
        .await
    }
}

/// The section of an async body, which it passes to `load()`: see [`section`](crate::section()).
pub struct Section {
    /// Null during the first poll.
    task: AtomicPtr<rcu_task>,
}

impl Section {
    /// Does a grace period wait for this section now? A hint, for bodies that could end early.
    pub fn is_waited_for(&self) -> bool {
        let task = self.task.load(Acquire);
        // SAFETY: the task lives until the hold is dropped, after all borrows of this token have ended.
        !task.is_null() && unsafe { rtrcu_sys::rtrcu_task_blocking(task) }
    }
}

impl fmt::Debug for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Section")
    }
}

/// The owner of an open section: of its nesting, or of its listed task. Its drop ends the section.
struct Hold {
    place: &'static Location<'static>,
    state: State,
}

enum State {
    Outside,
    /// During the first poll: the section is one nesting of the polling thread. Never the state between polls.
    Thread,
    /// After a first poll that was pending: the section is a task on the library's list of parked tasks.
    Listed(NonNull<Listed>),
}

// SAFETY: between polls the state is `Outside` or `Listed`, and any thread may end a listed task. `Thread` lasts no
// longer than the first poll, which has returned or unwound before the future can move.
unsafe impl Send for Hold {}
// SAFETY: no method takes a shared `Hold`.
unsafe impl Sync for Hold {}

impl Hold {
    fn enter(&mut self) {
        rtrcu_sys::read_lock();
        self.state = State::Thread;
    }

    /// Called when a poll is pending: in the first poll, move the section to a task.
    fn list(&mut self, token: &Section) {
        if let State::Thread = self.state {
            let listed = Listed::leak(self.place);
            // SAFETY: this poll entered the section on this thread, and the task takes it over. The task is initialised
            // and does not move until it is unlisted.
            unsafe { rtrcu_sys::rtrcu_task_list(listed.as_ptr().cast()) }
            self.state = State::Listed(listed);
            token.task.store(listed.as_ptr().cast(), Release);
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        match self.state {
            State::Outside => {}
            // SAFETY: this is still the poll that entered the section, on the same thread. The body was dropped, and
            // its references with it.
            State::Thread => unsafe { rtrcu_sys::read_unlock() },
            // SAFETY: `list()` listed the task once, and only this call unlists it. After that, the memory of the task
            // belongs to this code again.
            State::Listed(listed) => unsafe {
                rtrcu_sys::rtrcu_task_unlist(listed.as_ptr().cast());
                drop(Box::from_raw(listed.as_ptr()));
            },
        }
    }
}

/// A task of the library and its name, on the heap, where both stay if the future is leaked. The task is the first
/// field, so that its address is that of the struct.
#[repr(C)]
struct Listed {
    task: rcu_task,
    name: [u8; Self::NAME],
}

impl Listed {
    const NAME: usize = 72;

    /// An initialised task; reports call it by `place`.
    fn leak(place: &Location<'_>) -> NonNull<Self> {
        let listed = Box::leak(Box::new(Self { task: rcu_task::new(), name: [0; Self::NAME] }));
        name_of(place.file(), place.line(), &mut listed.name);
        let listed = NonNull::from(listed);
        // SAFETY: the memory of the task is alive. The name ends with a zero byte, and lives as long as the task.
        unsafe { rtrcu_sys::rtrcu_task_init(listed.as_ptr().cast(), (&raw const (*listed.as_ptr()).name).cast()) };
        listed
    }
}

/// Write "file:line" and a zero byte to `name`; a long path loses its beginning. Formatted by hand for speed: each
/// section that becomes pending calls this function.
fn name_of(file: &str, mut line: u32, name: &mut [u8; Listed::NAME]) {
    let mut digits = [0; 10];
    let mut first = digits.len();
    loop {
        first -= 1;
        digits[first] = b'0' + (line % 10) as u8;
        line /= 10;
        if line == 0 {
            break;
        }
    }
    let digits = &digits[first..];
    let file = file.as_bytes();
    let room = name.len() - 2 - digits.len();
    let file = &file[file.len().saturating_sub(room)..];
    name[..file.len()].copy_from_slice(file);
    name[file.len()] = b':';
    name[file.len() + 1..][..digits.len()].copy_from_slice(digits);
}

/// The body's future. While it is created, polled or dropped, its thread counts as inside a section.
struct Body<F> {
    future: ManuallyDrop<F>,
}

impl<F> Body<F> {
    fn new(make: impl FnOnce() -> F) -> Self {
        let _polling = Polling::new();
        Self { future: ManuallyDrop::new(make()) }
    }
}

impl<F: Future> Future for Body<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let _polling = Polling::new();
        // SAFETY: the field is pinned with its struct: it is never moved, and is dropped in place below.
        unsafe { self.map_unchecked_mut(|body| &mut *body.future) }.poll(context)
    }
}

impl<F> Drop for Body<F> {
    fn drop(&mut self) {
        let _polling = Polling::new();
        // SAFETY: the future is dropped once, and not used after this.
        unsafe { ManuallyDrop::drop(&mut self.future) }
    }
}

thread_local! {
    static POLLING: Cell<u32> = const { Cell::new(0) };
}

/// Does this thread create, poll or drop the body of a section?
pub(crate) fn is_polling() -> bool {
    POLLING.get() != 0
}

/// While this is alive, [`is_polling`] is true on its thread.
struct Polling {
    /// Not `Send`: a variable of its thread counts it.
    thread: std::marker::PhantomData<*mut ()>,
}

impl Polling {
    fn new() -> Self {
        POLLING.set(POLLING.get() + 1);
        Self { thread: std::marker::PhantomData }
    }
}

impl Drop for Polling {
    fn drop(&mut self) {
        POLLING.set(POLLING.get() - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(file: &str, line: u32) -> String {
        let mut name = [0; Listed::NAME];
        name_of(file, line, &mut name);
        std::ffi::CStr::from_bytes_until_nul(&name).unwrap().to_str().unwrap().to_owned()
    }

    #[test]
    fn a_listed_section_is_named_after_its_file_and_line() {
        let place = Location::caller();
        let listed = Listed::leak(place);
        // SAFETY: the memory is alive, and its task is initialised.
        let name = unsafe { std::ffi::CStr::from_ptr((*listed.as_ptr()).task.name) };
        assert_eq!(name.to_str().unwrap(), format!("{}:{}", place.file(), place.line()));
        // SAFETY: the task came from a box, and is on no list.
        drop(unsafe { Box::from_raw(listed.as_ptr()) });
    }

    #[test]
    fn the_name_of_a_section_omits_the_beginning_of_a_long_path() {
        assert_eq!(named("src/main.rs", 0), "src/main.rs:0");
        assert_eq!(named("a.rs", u32::MAX), "a.rs:4294967295");
        let long = format!("{}/b.rs", "a".repeat(Listed::NAME));
        for line in [1, 23, 4567, u32::MAX] {
            let name = named(&long, line);
            assert_eq!(name.len(), Listed::NAME - 1);
            assert!(format!("{long}:{line}").ends_with(&name), "{name}");
        }
    }
}
