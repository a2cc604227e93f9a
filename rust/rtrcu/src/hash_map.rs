// SPDX-License-Identifier: MIT OR Apache-2.0
//! A map that many threads read and change, entry by entry, while it grows and shrinks.

use std::borrow::Borrow;
use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::io;
use std::ptr::NonNull;

use crate::cell::{Ref, Updating};
use crate::guard::{Protection, read};
use crate::hash_table::{Found, Fresh, Table, Walk};

/// The number of buckets in one step of a walk. A bucket has about four entries.
const STEP: u32 = 16;

/// A hash map that many threads read and change at the same time. Readers never wait, even while the map grows or
/// shrinks. The time of a change does not depend on the size of the map.
///
/// A thread of the library, `rtrcu-resize`, moves the entries of all maps to more or fewer buckets. A change waits
/// neither for a resize nor for a grace period. It waits at most for another change, or for the move of one bucket, in
/// the same part of the map. Hash, comparison and closures of the program run outside of all locks.
///
/// An entry never changes: `insert` and `update` put another entry in its place. An entry that left the map is dropped
/// after a grace period. A reference lives as long as both the map and the guard, or section, under which it was found:
///
/// ```
/// use rtrcu::{read, HashMap};
///
/// let ports = HashMap::new();
/// ports.insert(String::from("http"), 80);
/// let guard = read();
/// assert_eq!(ports.get("http", &guard), Some(&80));
/// std::thread::scope(|scope| {
///     scope.spawn(|| ports.update("http", |port| port + 8000)); // never waits for readers
/// });
/// assert_eq!(ports.get("http", &guard), Some(&8080));
/// ports.remove("http");
/// assert!(ports.get("http", &guard).is_none());
/// ```
///
/// [`RcuMap`](crate::RcuMap) suits small maps that rarely change: its readers see several changes together or none of
/// them, and each change copies the map.
///
/// On a thread with deadlines ([`Turn`](crate::Turn)) a change makes no system call unless it waits for another change,
/// or the allocator makes a system call. The child of a `fork()` can read a map. A change in the child may wait forever
/// if another thread was changing the map during the fork.
pub struct HashMap<K, V, S = RandomState> {
    table: Table<K, V>,
    hasher: S,
}

impl<K, V> HashMap<K, V> {
    /// An empty map.
    ///
    /// # Panics
    ///
    /// If there is no memory, or the library's thread cannot be created;
    /// [`try_with_capacity_and_hasher`](HashMap::try_with_capacity_and_hasher) returns an error instead.
    pub fn new() -> Self {
        Self::with_hasher(RandomState::new())
    }

    /// An empty map with room for `capacity` entries; it does not shrink below that room.
    ///
    /// # Panics
    ///
    /// As [`new`](Self::new).
    pub fn with_capacity(capacity: usize) -> Self {
        Self::with_capacity_and_hasher(capacity, RandomState::new())
    }
}

impl<K, V, S> HashMap<K, V, S> {
    /// An empty map that hashes its keys by `hasher`. If the keys come from outside the program, use a hasher with a
    /// secret seed, such as [`RandomState`].
    ///
    /// # Panics
    ///
    /// As [`new`](HashMap::new).
    pub fn with_hasher(hasher: S) -> Self {
        Self::with_capacity_and_hasher(0, hasher)
    }

    /// An empty map with both settings: see [`with_capacity`](HashMap::with_capacity) and
    /// [`with_hasher`](Self::with_hasher).
    ///
    /// # Panics
    ///
    /// As [`new`](HashMap::new).
    pub fn with_capacity_and_hasher(capacity: usize, hasher: S) -> Self {
        Self::try_with_capacity_and_hasher(capacity, hasher)
            .unwrap_or_else(|error| panic!("rtrcu: a HashMap cannot be created: {error}"))
    }

    /// Like [`with_capacity_and_hasher`](Self::with_capacity_and_hasher), but return an error instead of panicking.
    ///
    /// # Errors
    ///
    /// If there is no memory, if the library's thread cannot be created, or if `capacity` is above 2^34.
    pub fn try_with_capacity_and_hasher(capacity: usize, hasher: S) -> io::Result<Self> {
        // Four entries per bucket: the library grows a table above 4.5.
        let buckets = (capacity as u64).div_ceil(4);
        Ok(Self { table: Table::new(buckets)?, hasher })
    }

    /// The number of entries, exact while no thread changes the map. The call reads one counter for each part of the
    /// map, up to 1,024 counters.
    pub fn len(&self) -> usize {
        self.table.counters().entries as usize
    }

    /// True if the map has no entries; as exact as [`len`](Self::len).
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The hasher of the keys.
    pub fn hasher(&self) -> &S {
        &self.hasher
    }

    /// The counters of the map.
    pub fn stats(&self) -> HashMapStats {
        let now = self.table.counters();
        HashMapStats {
            entries: now.entries,
            buckets: now.buckets,
            longest_chain: now.longest_chain,
            resizes: now.resizes,
            longest_move_ns: now.longest_move_ns,
            no_memory: now.no_memory,
            no_resizer: now.no_resizer,
        }
    }

    /// Iterate over all entries, in no particular order, inside the caller's section. An entry that is in the map
    /// during the whole iteration is returned once. Any other entry is returned at most once for each time that it is
    /// inserted.
    ///
    /// The section lasts as long as the iteration. With [`for_each`](Self::for_each) and [`step`](Self::step), sections
    /// can be short.
    pub fn iter<'g>(&'g self, inside: &'g impl Protection) -> Iter<'g, K, V> {
        Iter { found: Vec::new(), rest: Some(Walk::new(&self.table, 0, inside)) }
    }

    /// Return the entries of the next `buckets` buckets, with about four entries each, and move `cursor` beyond them.
    /// After the last bucket the cursor is at the start again. A walk by such steps returns the same entries as
    /// [`iter`](Self::iter), even if the map grows or shrinks between the steps.
    ///
    /// ```
    /// use rtrcu::{Cursor, HashMap, read};
    ///
    /// let sessions: HashMap<u32, u64> = (0..100).map(|user| (user, u64::from(user))).collect();
    /// let mut sweep = Cursor::default(); // kept from one request to the next
    /// loop {
    ///     let guard = read(); // a section for each step
    ///     for (user, expires) in sessions.step(&mut sweep, 4, &guard) {
    ///         if *expires < 50 {
    ///             sessions.remove(user);
    ///         }
    ///     }
    ///     if sweep.is_at_start() {
    ///         break;
    ///     }
    /// }
    /// assert_eq!(sessions.len(), 50);
    /// ```
    pub fn step<'g>(&'g self, cursor: &mut Cursor, buckets: u32, inside: &'g impl Protection) -> Iter<'g, K, V> {
        let mut found = Vec::new();
        let mut walk = Walk::new(&self.table, cursor.0, inside);
        walk.next(buckets.max(1), &mut found);
        cursor.0 = walk.cursor;
        Iter { found, rest: None }
    }

    /// Call `visit` with the entries that [`iter`](Self::iter) would return, by steps of a few buckets, each in a
    /// section of its own. `visit` may change the map.
    pub fn for_each(&self, mut visit: impl FnMut(&K, &V)) {
        self.for_each_found(|found| visit(found.key(), found.value()));
    }

    fn for_each_found(&self, mut visit: impl FnMut(Found<'_, K, V>)) {
        let mut cursor = Cursor::default();
        loop {
            let guard = read();
            self.step(&mut cursor, STEP, &guard).found.into_iter().for_each(&mut visit);
            if cursor.is_at_start() {
                return;
            }
        }
    }
}

impl<K: Eq + Hash, V, S: BuildHasher> HashMap<K, V, S> {
    /// The value of `key`, which `inside` protects. Wait-free if the hash and the comparison of keys are.
    #[inline]
    pub fn get<'g, Q>(&'g self, key: &Q, inside: &'g impl Protection) -> Option<&'g V>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        self.find_hashed(key, self.hasher.hash_one(key), inside).map(Found::value)
    }

    /// The value of `key`, as [`get`](Self::get) returns it, together with the key in the map.
    #[inline]
    pub fn get_key_value<'g, Q>(&'g self, key: &Q, inside: &'g impl Protection) -> Option<(&'g K, &'g V)>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        self.find_hashed(key, self.hasher.hash_one(key), inside).map(|found| (found.key(), found.value()))
    }

    /// The value of `key` together with a guard of its own.
    ///
    /// ```
    /// let limits = rtrcu::HashMap::new();
    /// limits.insert("uploads", 10);
    /// assert_eq!(limits.find("uploads").as_deref(), Some(&10));
    /// ```
    #[inline]
    pub fn find<Q>(&self, key: &Q) -> Option<Ref<'_, V>>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        let guard = read();
        let value = NonNull::from(self.get(key, &guard)?);
        Some(Ref::new(value, guard))
    }

    /// True if `key` has a value.
    #[inline]
    pub fn contains_key<Q>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        self.get(key, &read()).is_some()
    }

    /// A mutable reference to the value of `key`: `&mut self` rules out other users.
    pub fn get_mut<Q>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        let hash = self.hasher.hash_one(key);
        self.table.value_mut(hash, |other| other.borrow() == key)
    }

    #[inline(always)]
    fn find_hashed<'g, Q>(&'g self, key: &Q, hash: u64, inside: &'g impl Protection) -> Option<Found<'g, K, V>>
    where
        K: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        self.table.find(inside, hash, |found| found.key().borrow() == key)
    }
}

impl<K, V, S> HashMap<K, V, S>
where
    K: Eq + Hash + Send + 'static,
    V: Send + 'static,
    S: BuildHasher,
{
    /// Set the value of `key`; readers find the old value or the new one. Returns true if the key had no value.
    /// Otherwise the key in the map is replaced together with its value.
    pub fn insert(&self, key: K, value: V) -> bool {
        let hash = self.hasher.hash_one(&key);
        let mut fresh = Fresh::new(key, value);
        loop {
            let guard = read();
            let (again, old) = match self.table.insert(&guard, hash, fresh) {
                Ok(_) => return true,
                Err(exists) => exists,
            };
            match self.table.replace(old, again) {
                Ok(()) => return false,
                Err(again) => fresh = again, // another thread has removed or replaced `old`
            }
        }
    }

    /// Set the value of `key`, unless the key has a value.
    ///
    /// # Errors
    ///
    /// Returns both arguments if the key has a value.
    ///
    /// ```
    /// let owners = rtrcu::HashMap::new();
    /// assert_eq!(owners.try_insert("lock", 1), Ok(()));
    /// assert_eq!(owners.try_insert("lock", 2), Err(("lock", 2)));
    /// ```
    pub fn try_insert(&self, key: K, value: V) -> Result<(), (K, V)> {
        let hash = self.hasher.hash_one(&key);
        let guard = read();
        let inserted = self.table.insert(&guard, hash, Fresh::new(key, value));
        inserted.map(drop).map_err(|(fresh, _)| fresh.into_pair())
    }

    /// The value of `key`; if it has none, insert the value that `make` returns. If several threads insert a value at
    /// the same time, one value stays in the map, and all threads receive that value.
    ///
    /// ```
    /// use rtrcu::{read, HashMap};
    ///
    /// let cache = HashMap::new();
    /// let guard = read();
    /// assert_eq!(cache.get_or_insert_with(3, || "three", &guard), &"three");
    /// assert_eq!(cache.get_or_insert_with(3, || unreachable!(), &guard), &"three");
    /// ```
    pub fn get_or_insert_with<'g>(&'g self, key: K, make: impl FnOnce() -> V, inside: &'g impl Protection) -> &'g V {
        let hash = self.hasher.hash_one(&key);
        if let Some(found) = self.find_hashed(&key, hash, inside) {
            return found.value();
        }
        match self.table.insert(inside, hash, Fresh::new(key, make())) {
            Ok(found) | Err((_, found)) => found.value(),
        }
    }

    /// Remove `key`; its entry is dropped after a grace period. Returns true if the key had a value. If several threads
    /// remove the key at the same time, one of them receives true.
    pub fn remove<Q>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        self.take(key, &read()).is_some()
    }

    /// Like [`remove`](Self::remove), but return the removed entry, which `inside` protects.
    ///
    /// ```
    /// use rtrcu::{read, HashMap};
    ///
    /// let jobs = HashMap::new();
    /// jobs.insert(7, "print");
    /// let guard = read();
    /// assert_eq!(jobs.take(&7, &guard), Some((&7, &"print")));
    /// assert_eq!(jobs.take(&7, &guard), None);
    /// ```
    pub fn take<'g, Q>(&'g self, key: &Q, inside: &'g impl Protection) -> Option<(&'g K, &'g V)>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        let hash = self.hasher.hash_one(key);
        loop {
            let old = self.find_hashed(key, hash, inside)?;
            if self.table.remove(old) {
                return Some((old.key(), old.value()));
            }
        }
    }

    /// Replace the value of `key` by the result of `change`, which receives the current value. If another thread
    /// replaces the value meanwhile, `change` is called again with the newer value. `change` runs inside a section, so
    /// it must not wait for grace periods. Returns false if the key has no value.
    ///
    /// ```
    /// let hits = rtrcu::HashMap::new();
    /// hits.insert("/", 0);
    /// std::thread::scope(|scope| {
    ///     for _ in 0..4 {
    ///         scope.spawn(|| hits.update("/", |n| n + 1));
    ///     }
    /// });
    /// assert_eq!(*hits.find("/").unwrap(), 4);
    /// ```
    ///
    /// A `change` that itself replaces the value of the key is called again; if it does so each time, the update never
    /// ends.
    ///
    /// # Panics
    ///
    /// If this thread is already inside an update of the same value: the outer update would never end.
    pub fn update<Q>(&self, key: &Q, mut change: impl FnMut(&V) -> V) -> bool
    where
        K: Borrow<Q> + Clone,
        Q: Eq + Hash + ?Sized,
    {
        self.try_update(key, |value| Some(change(value)))
    }

    /// Like [`update`](Self::update), but if `change` returns `None`, the value stays. Returns true if the value was
    /// replaced.
    ///
    /// # Panics
    ///
    /// As [`update`](Self::update).
    pub fn try_update<Q>(&self, key: &Q, mut change: impl FnMut(&V) -> Option<V>) -> bool
    where
        K: Borrow<Q> + Clone,
        Q: Eq + Hash + ?Sized,
    {
        let hash = self.hasher.hash_one(key);
        loop {
            let guard = read();
            let Some(old) = self.find_hashed(key, hash, &guard) else { return false };
            let fresh = Updating::run(old.address(), || {
                let value = change(old.value())?;
                Some(Fresh::new(old.key().clone(), value))
            });
            let Some(fresh) = fresh else { return false };
            if self.table.replace(old, fresh).is_ok() {
                return true;
            }
        }
    }

    /// Remove the entries for which `keep` returns false, in a walk like that of [`for_each`](HashMap::for_each).
    pub fn retain(&self, mut keep: impl FnMut(&K, &V) -> bool) {
        self.for_each_found(|found| {
            if !keep(found.key(), found.value()) {
                self.table.remove(found);
            }
        });
    }

    /// Remove the entries that are in the map during the whole call. Entries that are inserted meanwhile may stay.
    pub fn clear(&self) {
        self.retain(|_, _| false);
    }
}

impl<K, V, S: Default> Default for HashMap<K, V, S> {
    fn default() -> Self {
        Self::with_hasher(S::default())
    }
}

impl<K, V, S> FromIterator<(K, V)> for HashMap<K, V, S>
where
    K: Eq + Hash + Send + 'static,
    V: Send + 'static,
    S: BuildHasher + Default,
{
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let map = Self::default();
        for (key, value) in entries {
            map.insert(key, value);
        }
        map
    }
}

impl<K: fmt::Debug, V: fmt::Debug, S> fmt::Debug for HashMap<K, V, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter(&read())).finish()
    }
}

/// An iterator over entries of a map: see [`HashMap::iter`] and [`HashMap::step`].
pub struct Iter<'g, K, V> {
    found: Vec<Found<'g, K, V>>,
    rest: Option<Walk<'g, K, V>>,
}

impl<'g, K, V> Iterator for Iter<'g, K, V> {
    type Item = (&'g K, &'g V);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(found) = self.found.pop() {
                return Some((found.key(), found.value()));
            }
            if !self.rest.as_mut()?.next(STEP, &mut self.found) {
                self.rest = None;
            }
        }
    }
}

impl<K, V> fmt::Debug for Iter<'_, K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Iter")
    }
}

/// The position of a walk through a map: see [`HashMap::step`]. Use a separate cursor for each map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor(u64);

impl Cursor {
    /// True before the first step and after the last step of a walk.
    pub fn is_at_start(&self) -> bool {
        self.0 == 0
    }
}

/// Counters of a [`HashMap`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct HashMapStats {
    /// The number of entries, exact while no thread changes the map.
    pub entries: u64,
    /// The number of buckets; during a resize, the number before the resize.
    pub buckets: u64,
    /// The largest number of entries that an insert has seen in one bucket.
    pub longest_chain: u64,
    /// Completed resizes.
    pub resizes: u64,
    /// Longest time for which the library's thread has locked a part of the map, in nanoseconds.
    pub longest_move_ns: u64,
    /// Attempts to resize that failed for lack of memory. Until a resize succeeds, the map is slower.
    pub no_memory: u64,
    /// Resizes requested while the library's thread could not be started. Until a resize succeeds, the map is slower.
    pub no_resizer: u64,
}
