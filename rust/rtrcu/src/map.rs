// SPDX-License-Identifier: MIT OR Apache-2.0
//! A map for tables that are read all the time and changed now and then.

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

/// A hash map that readers look into without waiting, and that writers change by copies: a lookup costs what it costs
/// in a `HashMap`, a change costs a copy of the map, however many entries it changes. Readers see each change whole.
///
/// For maps with as many changes as lookups there are better ones, that change in place.
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
    /// Writers copy, one at a time.
    writer: Mutex<()>,
    /// Which thread that is, by [`this_thread`]; 0: none.
    changing: AtomicUsize,
}

/// Another number in each thread that runs.
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
    /// The map as it is now; it does not change under its reader.
    #[inline]
    pub fn snapshot<'g>(&'g self, inside: &'g impl Protection) -> &'g HashMap<K, V, S> {
        self.map.load(inside)
    }

    /// The map as it is now, with a guard of its own.
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
    /// Change a copy of the map and publish it: all changes of a call for the price of one.
    ///
    /// # Panics
    ///
    /// Inside another change of the same map by this thread, for which it would wait.
    pub fn update<R>(&self, change: impl FnOnce(&mut HashMap<K, V, S>) -> R) -> R {
        struct Changing<'m>(&'m AtomicUsize);
        impl Drop for Changing<'_> {
            fn drop(&mut self) {
                self.0.store(0, Relaxed);
            }
        }

        let inside = self.changing.load(Relaxed) == this_thread(); // which only this thread has stored
        assert!(!inside, "rtrcu: a change of an RcuMap inside another of the same map would wait for itself");
        let _one = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let _changing = Changing(&self.changing);
        self.changing.store(this_thread(), Relaxed);
        let mut copy = self.map.get().clone();
        let result = change(&mut copy);
        self.map.replace(copy);
        result
    }

    /// Set the value of `key`, and return the one before.
    pub fn insert(&self, key: K, value: V) -> Option<V> {
        self.update(|map| map.insert(key, value))
    }

    /// Take `key` out, and return its value.
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
