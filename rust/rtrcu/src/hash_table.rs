// SPDX-License-Identifier: MIT OR Apache-2.0
//! Entries of keys and values in a hash table of the C library: the unsafe part of [`HashMap`](crate::HashMap).
//!
//! C never calls code of the program, and no lock of a table is held while such code runs: look-ups, which are Rust,
//! compare keys, and the library compares addresses under its lock. So a comparison may panic, wait, or use the map.

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::io;
use std::marker::PhantomData;
use std::mem::offset_of;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::AtomicPtr;

use rtrcu_sys::{rtrcu_hash, rtrcu_hash_config, rtrcu_hash_counters, rtrcu_hash_node};

use crate::guard::{Protection, read};
use crate::node::{Node, Owned, OwnedList, retire};

/// An entry of a table: the links by which the table finds it, its key and its value.
#[repr(C)]
struct Entry<K, V> {
    /// Belongs to the library from the insertion on.
    links: UnsafeCell<rtrcu_hash_node>,
    key: K,
    value: V,
}

/// The address of the node that contains an entry.
type Place<K, V> = NonNull<Node<Entry<K, V>>>;

/// The offset of an entry's links in its node.
const fn links_at<K, V>() -> usize {
    offset_of!(Node<Entry<K, V>>, value) + offset_of!(Entry<K, V>, links)
}

fn links_of<K, V>(place: Place<K, V>) -> *mut rtrcu_hash_node {
    // SAFETY: the offset is within the node.
    unsafe { place.as_ptr().byte_add(links_at::<K, V>()).cast() }
}

/// The node that contains `links`.
///
/// # Safety
///
/// `links` is the field of an `Entry<K, V>` in a node.
#[inline(always)]
unsafe fn place_of<K, V>(links: NonNull<rtrcu_hash_node>) -> Place<K, V> {
    // SAFETY: `links` is at the offset `links_at()` in its node.
    unsafe { links.byte_sub(links_at::<K, V>()).cast() }
}

/// An entry of a table. A section protects the entry for `'g`.
pub(crate) struct Found<'g, K, V> {
    place: Place<K, V>,
    lives: PhantomData<&'g Entry<K, V>>,
}

impl<K, V> Clone for Found<'_, K, V> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<K, V> Copy for Found<'_, K, V> {}

impl<'g, K, V> Found<'g, K, V> {
    /// # Safety
    ///
    /// The table exists for `'g`, and a section lasts for `'g`. The entry was in the table at some time in that
    /// section.
    #[inline(always)]
    unsafe fn new(place: Place<K, V>) -> Self {
        Self { place, lives: PhantomData }
    }

    #[inline(always)]
    pub(crate) fn key(self) -> &'g K {
        // SAFETY: by the contract of `new()`, the entry is dropped after `'g`: a removed entry after a grace period,
        // any other entry with its table. Keys of a table do not change.
        unsafe { &(*self.place.as_ptr()).value.key }
    }

    #[inline(always)]
    pub(crate) fn value(self) -> &'g V {
        // SAFETY: as in `key()`, the entry is dropped after `'g`. A value changes only for the sole owner of the table.
        unsafe { &(*self.place.as_ptr()).value.value }
    }

    /// The entry's address, which no other existing entry has.
    pub(crate) fn address(self) -> *const () {
        self.place.as_ptr().cast()
    }
}

/// An entry that is in no table yet.
pub(crate) struct Fresh<K, V>(Owned<Entry<K, V>>);

impl<K, V> Fresh<K, V> {
    pub(crate) fn new(key: K, value: V) -> Self {
        let place = Node::leak(Entry { links: UnsafeCell::new(rtrcu_hash_node::new()), key, value });
        // SAFETY: the entry is new.
        Self(unsafe { Owned::from_raw(place) })
    }

    pub(crate) fn key(&self) -> &K {
        // SAFETY: only `self` has the entry.
        unsafe { &(*self.0.as_raw().as_ptr()).value.key }
    }

    pub(crate) fn into_pair(self) -> (K, V) {
        let entry = self.0.into_value();
        (entry.key, entry.value)
    }

    /// Pass the entry to a table, to which it belongs from now on.
    fn release(self) -> Place<K, V> {
        std::mem::ManuallyDrop::new(self.0).as_raw()
    }
}

/// The result of an insert. On success: the new entry of the table. Otherwise: the entry that was not inserted, and the
/// entry of the table that has the same key.
pub(crate) type Inserted<'g, K, V> = Result<Found<'g, K, V>, (Fresh<K, V>, Found<'g, K, V>)>;

/// A hash table of the C library, with its entries, which it owns.
pub(crate) struct Table<K, V> {
    table: NonNull<rtrcu_hash>,
    /// Invariant in both types, as a cell is.
    owns: PhantomData<AtomicPtr<Node<Entry<K, V>>>>,
}

// SAFETY: the sole owner of the table owns its entries. The library's functions may be called by any thread.
unsafe impl<K: Send, V: Send> Send for Table<K, V> {}
// SAFETY: a shared table gives `&K` and `&V` to several threads (`Sync`), and removes entries that other threads drop
// (`Send`).
unsafe impl<K: Send + Sync, V: Send + Sync> Sync for Table<K, V> {}

impl<K, V> Table<K, V> {
    /// An empty table with at least `buckets` buckets; 0: the library's default.
    pub(crate) fn new(buckets: u64) -> io::Result<Self> {
        let config = rtrcu_hash_config { buckets, ..Default::default() };
        let mut table = null_mut();
        // SAFETY: the call is made in ordinary context.
        let error = unsafe { rtrcu_sys::rtrcu_hash_create(&mut table, &config) };
        let table = NonNull::new(table).ok_or_else(|| io::Error::from_raw_os_error(-error))?;
        Ok(Self { table, owns: PhantomData })
    }

    /// Find an entry of this hash that `matches` accepts. Wait-free.
    #[inline(always)]
    pub(crate) fn find<'g>(
        &'g self,
        inside: &'g impl Protection,
        hash: u64,
        mut matches: impl FnMut(Found<'g, K, V>) -> bool,
    ) -> Option<Found<'g, K, V>> {
        let _ = inside;
        let found = |links| {
            // SAFETY: entries of this table are of these types, and both the table and a section are borrowed.
            unsafe { Found::new(place_of(links)) }
        };
        // SAFETY: the table and the section are borrowed, so both last during the call.
        unsafe { rtrcu_sys::rtrcu_hash_lookup(self.table.as_ptr(), hash, |links| matches(found(links))).map(found) }
    }

    pub(crate) fn counters(&self) -> rtrcu_hash_counters {
        let mut counters = rtrcu_hash_counters::default();
        // SAFETY: the table is borrowed.
        unsafe { rtrcu_sys::rtrcu_hash_stats(self.table.as_ptr(), &mut counters) };
        counters
    }

    /// A mutable reference to the value of an entry of this hash that `matches` accepts.
    pub(crate) fn value_mut(&mut self, hash: u64, matches: impl Fn(&K) -> bool) -> Option<&mut V> {
        let place = self.find(&read(), hash, |found| matches(found.key()))?.place;
        // SAFETY: the table is borrowed exclusively, so no other thread uses it, and references to its entries have
        // ended. The library's thread, which moves entries, does not read values.
        Some(unsafe { &mut (*place.as_ptr()).value.value })
    }
}

/// A walk through a table, inside a section that is borrowed for `'g`.
pub(crate) struct Walk<'g, K, V> {
    table: &'g Table<K, V>,
    /// The position of the walk; 0 before the first bucket and after the last.
    pub(crate) cursor: u64,
    inside: PhantomData<&'g ()>,
}

impl<'g, K, V> Walk<'g, K, V> {
    pub(crate) fn new(table: &'g Table<K, V>, cursor: u64, inside: &'g impl Protection) -> Self {
        let _ = inside;
        Self { table, cursor, inside: PhantomData }
    }

    /// Add the entries of the next `buckets` buckets to `found`. Returns false if these were the last buckets.
    pub(crate) fn next(&mut self, buckets: u32, found: &mut Vec<Found<'g, K, V>>) -> bool {
        unsafe extern "C" fn add<K, V>(links: *mut rtrcu_hash_node, found: *mut c_void) {
            // SAFETY: `found` is the vector that is passed below, whose lifetime parameter is not used here. `links`
            // belongs to an entry of this table.
            unsafe { (*found.cast::<Vec<Found<'_, K, V>>>()).push(Found::new(place_of(NonNull::new_unchecked(links)))) }
        }

        let (table, found) = (self.table.table.as_ptr(), std::ptr::from_mut(found).cast());
        // SAFETY: the table is borrowed; `add` is for these types, and aborts instead of unwinding. The section that is
        // borrowed protects the entries.
        unsafe { rtrcu_sys::rtrcu_hash_walk(table, &mut self.cursor, buckets, add::<K, V>, found) }
    }
}

/// Updates. Each begins a section of the calling thread, which C requires, even if another section protects the result.
impl<K: Send + 'static, V: Send + 'static> Table<K, V> {
    /// Insert `fresh`. If the table has an entry with the same key already, insert nothing, and return both entries.
    pub(crate) fn insert<'g>(&'g self, inside: &'g impl Protection, hash: u64, fresh: Fresh<K, V>) -> Inserted<'g, K, V>
    where
        K: Eq,
    {
        let _section = read();
        let mut others = Vec::new();
        // The loop ends when no other thread inserts an entry of the same hash between the look-up and the insert.
        while let Err(existing) = self.insert_beside(hash, &fresh, &others) {
            // SAFETY: `existing` is an entry of this table, and was found inside the borrowed section.
            let existing: Found<'g, K, V> = unsafe { Found::new(existing) };
            if existing.key() == fresh.key() {
                return Err((fresh, existing));
            }
            others.clear();
            let equal = self.find(inside, hash, |found| {
                let is_equal = found.key() == fresh.key();
                if !is_equal {
                    others.push(links_of(found.place).cast_const());
                }
                is_equal
            });
            if let Some(equal) = equal {
                return Err((fresh, equal));
            }
            others.sort_unstable();
        }
        // SAFETY: the entry is in this table, and was inserted inside the borrowed section.
        Ok(unsafe { Found::new(fresh.release()) })
    }

    /// Insert `fresh`, unless the table has an entry of this hash that is not in `others`, which is sorted: then return
    /// that entry. No new entry has an address of `others`: the section in which `others` were found is still open.
    fn insert_beside(
        &self,
        hash: u64,
        fresh: &Fresh<K, V>,
        others: &Vec<*const rtrcu_hash_node>,
    ) -> Result<(), Place<K, V>> {
        unsafe extern "C" fn is_new(links: *const rtrcu_hash_node, others: *const c_void) -> bool {
            // SAFETY: `others` is the vector that is passed below.
            unsafe { &*others.cast::<Vec<*const rtrcu_hash_node>>() }.binary_search(&links).is_err()
        }

        let (links, others) = (links_of(fresh.0.as_raw()), std::ptr::from_ref(others).cast());
        let mut existing = null_mut();
        // SAFETY: the thread is inside a section. The entry is alive and in no table. `is_new` receives the vector
        // `others`, and does not unwind.
        let error =
            unsafe { rtrcu_sys::rtrcu_hash_insert(self.table.as_ptr(), hash, links, is_new, others, &mut existing) };
        match NonNull::new(existing) {
            // SAFETY: `existing` belongs to an entry of this table.
            Some(existing) => Err(unsafe { place_of(existing) }),
            None => {
                assert_eq!(error, 0, "rtrcu: a HashMap has no limit, but refused an entry");
                Ok(())
            }
        }
    }

    /// Replace `old` by `fresh`, whose key has the same hash, and retire `old`. If `old` has left the table, do nothing
    /// and return `fresh`.
    pub(crate) fn replace(&self, old: Found<'_, K, V>, fresh: Fresh<K, V>) -> Result<(), Fresh<K, V>> {
        let _section = read();
        let (old_links, links) = (links_of(old.place), links_of(fresh.0.as_raw()));
        // SAFETY: the thread is inside a section. `old` is protected, and `fresh` is alive and in no table.
        if unsafe { rtrcu_sys::rtrcu_hash_replace(self.table.as_ptr(), old_links, links) } != 0 {
            return Err(fresh);
        }
        fresh.release();
        // SAFETY: only this call removed the entry from the table.
        unsafe { retire(old.place) }
        Ok(())
    }

    /// Remove and retire `old`. Returns false if `old` has left the table already.
    pub(crate) fn remove(&self, old: Found<'_, K, V>) -> bool {
        let _section = read();
        // SAFETY: the thread is inside a section, and `old` is protected.
        if unsafe { rtrcu_sys::rtrcu_hash_remove(self.table.as_ptr(), links_of(old.place)) } != 0 {
            return false;
        }
        // SAFETY: only this call removed the entry from the table.
        unsafe { retire(old.place) }
        true
    }
}

impl<K, V> Drop for Table<K, V> {
    fn drop(&mut self) {
        unsafe extern "C" fn take<K, V>(links: *mut rtrcu_hash_node, list: *mut c_void) {
            // SAFETY: `list` is the list that is passed below. `links` belongs to an entry of this table, which only
            // this thread and the library's own thread use. The library's thread does not read the head, by which the
            // list links its elements.
            unsafe { (*list.cast::<OwnedList<Entry<K, V>>>()).push(place_of(NonNull::new_unchecked(links))) }
        }

        let mut entries = OwnedList::<Entry<K, V>>::new();
        let (list, mut cursor) = ((&raw mut entries).cast(), 0);
        // SAFETY: this code owns the table, so no other thread changes it, and the walk visits each entry once.
        // References to entries borrowed the table, so they have ended. `take` receives this list, and does not unwind.
        unsafe { while rtrcu_sys::rtrcu_hash_walk(self.table.as_ptr(), &mut cursor, 64, take::<K, V>, list) {} }
        // SAFETY: the table is not used afterwards. From here on the library uses no entry, so the list may drop all
        // entries.
        unsafe { rtrcu_sys::rtrcu_hash_destroy(self.table.as_ptr()) }
    }
}
