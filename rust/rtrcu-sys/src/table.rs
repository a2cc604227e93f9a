// SPDX-License-Identifier: MIT OR Apache-2.0
//! Hash tables of `rtrcu/table.h`: the layout that look-ups read, and the look-up, which is inline in C.

#![allow(non_camel_case_types)] // the names are C's

use std::ffi::c_void;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::Ordering::Acquire;
use std::sync::atomic::{AtomicPtr, AtomicU64};

/// The number of entries of a line.
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
    /// The next entry of a chain.
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
    /// A byte of tag for each slot, and [`RTRCU_HASH_MOVED`].
    pub head: AtomicU64,
    /// The entries; null: the slot is free.
    pub slots: [AtomicPtr<rtrcu_hash_node>; RTRCU_HASH_SLOTS],
    /// The link: null, the address of another line, or the address of a node plus [`RTRCU_HASH_LINK_NODE`].
    pub link: AtomicPtr<u8>,
}

/// The buckets of one size of a table.
#[repr(C)]
#[derive(Debug)]
pub struct rtrcu_hash_generation {
    /// The buckets.
    pub lines: *mut rtrcu_hash_line,
    /// The number of buckets, less one.
    pub mask: u64,
    /// The next generation, to which buckets of this one move.
    pub next: AtomicPtr<rtrcu_hash_generation>,
}

/// The part of a table that look-ups read.
#[repr(C)]
#[derive(Debug)]
pub struct rtrcu_hash {
    /// The generation in which look-ups begin.
    pub current: AtomicPtr<rtrcu_hash_generation>,
}

/// Settings of a new table; zeroed: all defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct rtrcu_hash_config {
    /// The smallest number of buckets, rounded up to a power of two; at most 2^32.
    pub buckets: u64,
    /// The largest number of entries; 0: no limit.
    pub limit: u64,
    /// The largest number of entries in one bucket; 0: no limit.
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
    /// Completed.
    pub resizes: u64,
    /// Longest time that the resizer held a stripe.
    pub longest_move_ns: u64,
    /// Attempts to resize that found no memory.
    pub no_memory: u64,
    /// Resizes requested while no resizer could be started.
    pub no_resizer: u64,
    /// Zeroed.
    pub reserved: [u64; 4],
}

/// True if the node has the key. Called under a lock of the table for nodes of equal hash; it must not unwind.
pub type rtrcu_hash_match_t = unsafe extern "C" fn(node: *const rtrcu_hash_node, key: *const c_void) -> bool;
/// Called for each entry of a walk; it must not unwind.
pub type rtrcu_hash_visit_t = unsafe extern "C" fn(node: *mut rtrcu_hash_node, argument: *mut c_void);

/// Mix a hash, so that its tag and bucket depend on each of its bits. A bijection: different hashes stay different.
#[inline(always)]
pub const fn rtrcu_hash_mix(hash: u64) -> u64 {
    let mixed = (hash ^ hash >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ mixed >> 32
}

/// A one in the byte of each slot.
const BYTES: u64 = 0x0000_0101_0101_0101;

/// Bit 7 of each byte whose slot may hold the mixed hash; a byte may be set in error.
#[inline(always)]
const fn fits(head: u64, mixed: u64) -> u64 {
    let differs = head ^ (mixed >> 56).wrapping_mul(BYTES);
    differs.wrapping_sub(BYTES) & !differs & BYTES << 7
}

/// The node that a link leads to, if it leads to one.
#[inline(always)]
pub(crate) fn linked_node(link: *mut u8) -> Option<NonNull<rtrcu_hash_node>> {
    if link.addr() & RTRCU_HASH_LINK_NODE == 0 {
        return None;
    }
    NonNull::new(link.wrapping_byte_sub(RTRCU_HASH_LINK_NODE).cast())
}

/// The bucket of a mixed hash that has not moved, and its head.
///
/// # Safety
///
/// That of [`rtrcu_hash_lookup`].
#[inline(always)]
unsafe fn bucket(table: *const rtrcu_hash, mixed: u64) -> (*const rtrcu_hash_line, u64) {
    // SAFETY: the table exists, and its generations do until the section ends; the mask keeps the index among the
    // lines. The acquires pair with the resizer's releases: the bucket in the next generation is whole.
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

/// An entry of equal hash that `matches` accepts: see `rtrcu_hash_lookup()` of `rtrcu/table.h`. Wait-free; `matches`
/// may unwind.
///
/// # Safety
///
/// The table exists, and a section is open, of this thread or of a task, which lasts as long as the entry is used.
#[inline(always)]
pub unsafe fn rtrcu_hash_lookup(
    table: *const rtrcu_hash,
    hash: u64,
    mut matches: impl FnMut(NonNull<rtrcu_hash_node>) -> bool,
) -> Option<NonNull<rtrcu_hash_node>> {
    let mixed = rtrcu_hash_mix(hash);
    // SAFETY: the caller's.
    let (mut line, mut head) = unsafe { bucket(table, mixed) };
    loop {
        let mut fits = fits(head, mixed);
        while fits != 0 {
            // SAFETY: each bit of the mask is in the byte of a slot. The line exists as long as its generation.
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
        // SAFETY: a link that is neither null nor a node is a line of this generation.
        head = unsafe { (*line).head.load(Acquire) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_fits_if_its_tag_equals_that_of_the_hash() {
        let head = 0x00_00_06_05_04_03_02_01;
        for slot in 0..RTRCU_HASH_SLOTS as u64 {
            let found = fits(head, (slot + 1) << 56);
            assert_eq!(u64::from(found.trailing_zeros()) / 8, slot);
        }
        assert_eq!(fits(head, 7 << 56), 0);
    }

    #[test]
    fn bytes_beyond_the_slots_never_fit() {
        for head in [0, u64::MAX, 0x0101_0101_0101_0101, 0x8080_8080_8080_8080] {
            for tag in 0..=255 {
                assert_eq!(fits(head, tag << 56) >> (8 * RTRCU_HASH_SLOTS), 0);
            }
        }
    }
}
