// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values that were removed from a cell, for callers that want to reuse them.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll, ready};

use crate::node::{Node, Owned, retire};
use crate::wait::{Cookie, GracePeriod, grace_period, outside};

/// A value that was removed from a cell and that readers may still hold. After a grace period the caller can take the
/// value: by [`wait`](Self::wait), by `.await`, or by [`try_into_inner`](Self::try_into_inner). If the `Retired` is
/// dropped, the value is dropped after a grace period.
///
/// ```
/// use rtrcu::Rcu;
///
/// let buffer = Rcu::new(vec![0u8; 4096]);
/// let old = buffer.swap(Vec::new());
/// let mut reused: Vec<u8> = old.wait(); // no reader has it any more
/// reused.clear();
/// ```
#[must_use = "if this is dropped, the value is dropped after a grace period"]
pub struct Retired<T: Send + 'static> {
    node: NonNull<Node<T>>,
    cookie: Cookie,
    asked: bool,
}

// SAFETY: a `Retired` owns the value, which is `Send`, and returns it when no reader holds it any more.
unsafe impl<T: Send + 'static> Send for Retired<T> {}
// SAFETY: a shared `Retired` returns only `&T` and a cookie.
unsafe impl<T: Send + Sync + 'static> Sync for Retired<T> {}

impl<T: Send + 'static> Retired<T> {
    /// Take over a node that was removed from a cell.
    ///
    /// # Safety
    ///
    /// The caller, and no other thread, has just removed `node` from a cell.
    pub(crate) unsafe fn new(node: NonNull<Node<T>>) -> Self {
        Self { node, cookie: Cookie::now(), asked: false }
    }

    /// The value; readers may still be using it.
    pub fn get(&self) -> &T
    where
        T: Sync,
    {
        // SAFETY: `self` owns the value, to which only shared references exist. `T` must be `Sync`: `self` may have
        // moved to another thread, while readers on the thread of the cell still use the value.
        unsafe { &self.node.as_ref().value }
    }

    /// The cookie of the grace period that must pass.
    pub fn cookie(&self) -> Cookie {
        self.cookie
    }

    /// Has the value's grace period passed? The first call that returns false requests a grace period.
    pub fn is_ready(&mut self) -> bool {
        if self.cookie.is_reached() {
            return true;
        }
        if !self.asked {
            self.asked = true;
            self.cookie = Cookie::start();
        }
        false
    }

    /// The value, if its grace period has passed.
    ///
    /// # Errors
    ///
    /// Returns `self` if the grace period has not passed; the first such call requests it.
    pub fn try_into_inner(mut self) -> Result<T, Self> {
        if self.is_ready() { Ok(self.into_value()) } else { Err(self) }
    }

    /// Wait for the grace period, and return the value.
    ///
    /// # Panics
    ///
    /// In the situations in which [`synchronize`](crate::synchronize) panics.
    pub fn wait(self) -> T {
        self.cookie.wait();
        self.into_value()
    }

    /// Take the value. The caller has checked that the grace period has passed.
    fn into_value(self) -> T {
        let this = std::mem::ManuallyDrop::new(self);
        // SAFETY: the node came from `Node::leak` and is not retired, since `self` is not dropped; a grace period has
        // passed since it was removed, so no reader holds it.
        unsafe { Owned::from_raw(this.node) }.into_value()
    }
}

impl<T: Send + 'static> Drop for Retired<T> {
    fn drop(&mut self) {
        // SAFETY: only the creator of `self` removed the node from its cell. References from `get()` borrowed `self`.
        unsafe { retire(self.node) }
    }
}

impl<T: Send + 'static> fmt::Debug for Retired<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Retired").field("cookie", &self.cookie).finish_non_exhaustive()
    }
}

impl<T: Send + 'static> IntoFuture for Retired<T> {
    type Output = T;
    type IntoFuture = Reclaimed<T>;

    fn into_future(self) -> Reclaimed<T> {
        Reclaimed { retired: Some(self), passed: grace_period() }
    }
}

/// The future of a [`Retired`] value; it blocks no thread.
///
/// If the future is dropped before it is ready, the value is dropped after a grace period. A poll panics in the
/// situations in which a poll of [`grace_period`] panics.
#[must_use = "futures do nothing unless polled"]
pub struct Reclaimed<T: Send + 'static> {
    retired: Option<Retired<T>>,
    passed: GracePeriod,
}

impl<T: Send + 'static> Unpin for Reclaimed<T> {}

impl<T: Send + 'static> Future for Reclaimed<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        outside("Retired.await");
        let this = &mut *self;
        let reached = this.retired.as_ref().expect("a Reclaimed is not polled after it was ready").cookie.is_reached();
        if !reached {
            ready!(Pin::new(&mut this.passed).poll(context));
        }
        Poll::Ready(this.retired.take().expect("the line above has read its cookie").into_value())
    }
}

impl<T: Send + 'static> fmt::Debug for Reclaimed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Reclaimed").field(&self.retired).finish()
    }
}
