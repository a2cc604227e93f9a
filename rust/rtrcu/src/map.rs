// SPDX-License-Identifier: MIT OR Apache-2.0
//! A map for tables that are read often and changed seldom.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, PoisonError};

use crate::cell::{Rcu, Ref};
use crate::guard::Protection;

/// A hash map that readers search without waiting, and that writers replace by a changed copy. A lookup costs as
/// much as in a `HashMap`; a change costs a copy of the map, however many entries it changes. Readers see all of a
/// change or none of it.
///
/// Choose this map for up to some thousands of entries that change rarely or several at a time. Choose
/// [`HashMap`](crate::HashMap) for larger maps, and for maps that change often: a `HashMap` changes single entries, and
/// its readers may see one of two changes without the other.
///
/// ```
/// use rtrcu::{read, RcuMap};
///
/// let routes = RcuMap::new();
/// routes.insert("10.0.0.0/8", 1);
/// routes.update(|all| {
///     all.insert("10.1.0.0/16", 2);
///     all.remove("10.0.0.0/8");
/// });
/// let guard = read();
/// assert_eq!(routes.get("10.1.0.0/16", &guard), Some(&2));
/// assert_eq!(routes.snapshot(&guard).len(), 1);
/// ```
pub struct RcuMap<K, V, S = RandomState> {
    map: Rcu<HashMap<K, V, S>>,
    /// Locked by the writer that copies the map.
    writer: Mutex<()>,
    /// The number of the thread that holds `writer`, as [`this_thread`] returns it; 0: none.
    changing: AtomicUsize,
}

/// A number that differs between threads that run at the same time.
fn this_thread() -> usize {
    thread_local! {
        static PLACE: u8 = const { 0 };
    }
    PLACE.with(|place| std::ptr::from_ref(place).addr())
}

impl<K, V> RcuMap<K, V> {
    /// An empty map.
    pub fn new() -> Self {
        Self::from(HashMap::new())
    }
}

impl<K, V, S> RcuMap<K, V, S> {
    /// The current map; it does not change while the caller reads it.
    #[inline]
    pub fn snapshot<'g>(&'g self, inside: &'g impl Protection) -> &'g HashMap<K, V, S> {
        self.map.load(inside)
    }

    /// The current map, together with a guard that protects it.
    pub fn read(&self) -> Ref<'_, HashMap<K, V, S>> {
        self.map.get()
    }
}

impl<K: Eq + Hash, V, S: BuildHasher> RcuMap<K, V, S> {
    /// The value of `key`.
    #[inline]
    pub fn get<'g, Q>(&'g self, key: &Q, inside: &'g impl Protection) -> Option<&'g V>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        self.map.load(inside).get(key)
    }
}

impl<K, V, S> RcuMap<K, V, S>
where
    K: Eq + Hash + Clone + Send + 'static,
    V: Clone + Send + 'static,
    S: BuildHasher + Clone + Send + 'static,
{
    /// Change a copy of the map and publish it: one copy for all changes of the call.
    ///
    /// # Panics
    ///
    /// If this thread is already inside a change of the same map: the inner change would wait for the outer one.
    pub fn update<R>(&self, change: impl FnOnce(&mut HashMap<K, V, S>) -> R) -> R {
        struct Changing<'m>(&'m AtomicUsize);
        impl Drop for Changing<'_> {
            fn drop(&mut self) {
                self.0.store(0, Relaxed);
            }
        }

        let inside = self.changing.load(Relaxed) == this_thread(); // only this thread stores its own number
        assert!(!inside, "rtrcu: a change of an RcuMap inside another change of the same map would wait for itself");
        let _one = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let _changing = Changing(&self.changing);
        self.changing.store(this_thread(), Relaxed);
        let mut copy = self.map.get().clone();
        let result = change(&mut copy);
        self.map.replace(copy);
        result
    }

    /// Set the value of `key`, and return its previous value.
    pub fn insert(&self, key: K, value: V) -> Option<V> {
        self.update(|map| map.insert(key, value))
    }

    /// Remove `key`, and return its value.
    pub fn remove<Q>(&self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        self.update(|map| map.remove(key))
    }
}

impl<K, V, S> From<HashMap<K, V, S>> for RcuMap<K, V, S> {
    fn from(map: HashMap<K, V, S>) -> Self {
        Self { map: Rcu::new(map), writer: Mutex::new(()), changing: AtomicUsize::new(0) }
    }
}

impl<K, V> Default for RcuMap<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: fmt::Debug, V: fmt::Debug, S> fmt::Debug for RcuMap<K, V, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.map.get().fmt(f)
    }
}
