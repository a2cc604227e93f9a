// SPDX-License-Identifier: MIT OR Apache-2.0
//! Hash tables of `rtrcu/table.h`: the layout that look-ups read, and the look-up, which is inline in C.

#![allow(non_camel_case_types)] // the names are C's

use std::ffi::c_void;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::Ordering::Acquire;
use std::sync::atomic::{AtomicPtr, AtomicU64};

/// The number of slots for entries in a line.
pub const RTRCU_HASH_SLOTS: usize = 6;
/// The bit that is set in a link to a node, and clear in a link to another line.
pub const RTRCU_HASH_LINK_NODE: usize = 1;
/// The bit that is set in the head of a bucket that has moved to the next generation.
pub const RTRCU_HASH_MOVED: u64 = 1 << 63;

/// The library's part of an entry, inside the program's object.
#[repr(C)]
#[derive(Debug)]
pub struct rtrcu_hash_node {
    /// The mixed hash; written before the node is published.
    pub hash: u64,
    /// The link to the next entry of a chain, in the form of [`rtrcu_hash_line::link`].
    pub link: AtomicPtr<u8>,
}

impl rtrcu_hash_node {
    /// A node that is in no table.
    pub const fn new() -> Self {
        Self { hash: 0, link: AtomicPtr::new(null_mut()) }
    }
}

impl Default for rtrcu_hash_node {
    fn default() -> Self {
        Self::new()
    }
}

/// One cache line of a bucket.
#[repr(C)]
#[derive(Debug)]
pub struct rtrcu_hash_line {
    /// A one-byte tag for each slot, and [`RTRCU_HASH_MOVED`].
    pub head: AtomicU64,
    /// The entries; null: the slot is free.
    pub slots: [AtomicPtr<rtrcu_hash_node>; RTRCU_HASH_SLOTS],
    /// The link to the rest of the bucket: null, the address of another line, or the address of a node plus
    /// [`RTRCU_HASH_LINK_NODE`].
    pub link: AtomicPtr<u8>,
}

/// A generation of a table: its buckets of one size. Each resize creates a generation.
#[repr(C)]
#[derive(Debug)]
pub struct rtrcu_hash_generation {
    /// The buckets.
    pub lines: *mut rtrcu_hash_line,
    /// The number of buckets, less one.
    pub mask: u64,
    /// The next generation, to which the resizer moves the entries of this one; null: there is none.
    pub next: AtomicPtr<rtrcu_hash_generation>,
}

/// The part of a table that look-ups read.
#[repr(C)]
#[derive(Debug)]
pub struct rtrcu_hash {
    /// The generation in which look-ups begin.
    pub current: AtomicPtr<rtrcu_hash_generation>,
}

/// Settings of a new table. A zeroed struct stands for the defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct rtrcu_hash_config {
    /// The smallest number of buckets, rounded up to a power of two; at most 2^32.
    pub buckets: u64,
    /// The limit of the number of entries; 0: no limit.
    pub limit: u64,
    /// The limit of the number of entries in one bucket; 0: no limit.
    pub longest: u64,
    /// The seed of the C library's hash of bytes; 0: random.
    pub seed: u64,
    /// Zeroed.
    pub reserved: [u64; 4],
}

/// Counters of a table.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct rtrcu_hash_counters {
    /// The number of entries.
    pub entries: u64,
    /// The number of buckets of the current generation.
    pub buckets: u64,
    /// The largest number of entries that an insert has seen in one bucket.
    pub longest_chain: u64,
    /// The number of completed resizes.
    pub resizes: u64,
    /// The longest time for which the resizer held a stripe, in nanoseconds.
    pub longest_move_ns: u64,
    /// Attempts to resize that failed for lack of memory.
    pub no_memory: u64,
    /// Resizes requested while no resizer could be started.
    pub no_resizer: u64,
    /// Zeroed.
    pub reserved: [u64; 4],
}

/// A function that returns true if `node` has the key `key`. The library calls it under a lock of the table, and only
/// for nodes of the same hash. It must not unwind.
pub type rtrcu_hash_match_t = unsafe extern "C" fn(node: *const rtrcu_hash_node, key: *const c_void) -> bool;
/// A function that the library calls for each entry of a walk. It must not unwind.
pub type rtrcu_hash_visit_t = unsafe extern "C" fn(node: *mut rtrcu_hash_node, argument: *mut c_void);

/// Mix a hash, so that its tag and bucket depend on each of its bits. A bijection: different hashes stay different.
#[inline(always)]
pub const fn rtrcu_hash_mix(hash: u64) -> u64 {
    let mixed = (hash ^ hash >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ mixed >> 32
}

/// The lowest bit of the byte of each slot.
const BYTES: u64 = 0x0000_0101_0101_0101;

/// Bit 7 of each byte of `head` whose slot may hold an entry of the hash `mixed`. A bit above a match may be set in
/// error, so the caller also compares the hash of the entry.
#[inline(always)]
const fn fits(head: u64, mixed: u64) -> u64 {
    let differs = head ^ (mixed >> 56).wrapping_mul(BYTES);
    differs.wrapping_sub(BYTES) & !differs & BYTES << 7
}

/// The node to which `link` leads; `None` if the link is null or leads to a line.
#[inline(always)]
pub(crate) fn linked_node(link: *mut u8) -> Option<NonNull<rtrcu_hash_node>> {
    if link.addr() & RTRCU_HASH_LINK_NODE == 0 {
        return None;
    }
    NonNull::new(link.wrapping_byte_sub(RTRCU_HASH_LINK_NODE).cast())
}

/// The bucket of the hash `mixed` in the first generation from which it has not moved, and the content of its head.
///
/// # Safety
///
/// The contract of [`rtrcu_hash_lookup`].
#[inline(always)]
unsafe fn bucket(table: *const rtrcu_hash, mixed: u64) -> (*const rtrcu_hash_line, u64) {
    // SAFETY: the table exists, and its generations exist until the section ends. The mask keeps the index among the
    // lines. The acquires pair with the resizer's releases, so a bucket that has moved is complete in the next
    // generation.
    unsafe {
        let mut generation = (*table).current.load(Acquire);
        loop {
            let line = (*generation).lines.add((mixed & (*generation).mask) as usize);
            let head = (*line).head.load(Acquire);
            if head & RTRCU_HASH_MOVED == 0 {
                return (line, head);
            }
            generation = (*generation).next.load(Acquire);
        }
    }
}

/// Find an entry of the hash `hash` that `matches` accepts, as `rtrcu_hash_lookup()` of `rtrcu/table.h` does.
/// Wait-free; `matches` may unwind.
///
/// # Safety
///
/// The table exists. A section of this thread or of a task is open, and lasts as long as the entry is used.
#[inline(always)]
pub unsafe fn rtrcu_hash_lookup(
    table: *const rtrcu_hash,
    hash: u64,
    mut matches: impl FnMut(NonNull<rtrcu_hash_node>) -> bool,
) -> Option<NonNull<rtrcu_hash_node>> {
    let mixed = rtrcu_hash_mix(hash);
    // SAFETY: the caller keeps the contract of this function.
    let (mut line, mut head) = unsafe { bucket(table, mixed) };
    loop {
        let mut fits = fits(head, mixed);
        while fits != 0 {
            // SAFETY: each bit of `fits` is in the byte of a slot. The line exists as long as its generation.
            let slot = unsafe { (*line).slots.get_unchecked(fits.trailing_zeros() as usize / 8) };
            // The acquire pairs with the release of an insert.
            if let Some(node) = NonNull::new(slot.load(Acquire)) {
                // SAFETY: an entry is freed a grace period after it was removed, and its hash does not change.
                if unsafe { node.as_ref() }.hash == mixed && matches(node) {
                    return Some(node);
                }
            }
            fits &= fits - 1;
        }
        // SAFETY: as above.
        let mut link = unsafe { (*line).link.load(Acquire) };
        while let Some(node) = linked_node(link) {
            // SAFETY: as above.
            if unsafe { node.as_ref() }.hash == mixed && matches(node) {
                return Some(node);
            }
            // SAFETY: an entry is freed a grace period after it was removed; a node that was removed meanwhile keeps
            // its link.
            link = unsafe { node.as_ref() }.link.load(Acquire);
        }
        if link.is_null() {
            return None;
        }
        line = link.cast();
        // SAFETY: a link that is neither null nor leads to a node is the address of a line of this generation.
        head = unsafe { (*line).head.load(Acquire) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fits_finds_the_slot_whose_tag_equals_the_tag_of_the_hash() {
        let head = 0x00_00_06_05_04_03_02_01;
        for slot in 0..RTRCU_HASH_SLOTS as u64 {
            let found = fits(head, (slot + 1) << 56);
            assert_eq!(u64::from(found.trailing_zeros()) / 8, slot);
        }
        assert_eq!(fits(head, 7 << 56), 0);
    }

    #[test]
    fn fits_never_reports_the_two_bytes_beyond_the_slots() {
        for head in [0, u64::MAX, 0x0101_0101_0101_0101, 0x8080_8080_8080_8080] {
            for tag in 0..=255 {
                assert_eq!(fits(head, tag << 56) >> (8 * RTRCU_HASH_SLOTS), 0);
            }
        }
    }
}
