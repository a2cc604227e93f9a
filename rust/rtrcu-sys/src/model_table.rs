// SPDX-License-Identifier: MIT OR Apache-2.0
//! A model of the library's hash tables for Miri. It has the library's layout and memory orders, so Miri checks the
//! real look-ups. Unlike the library, it has one lock per table, and a table grows inside an insert.

use std::ffi::c_void;
use std::ptr::{NonNull, null_mut};
use std::sync::Mutex;
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::sync::atomic::{AtomicPtr, AtomicU64};

use crate::table::*;

const EEXIST: i32 = 17;
const ENOENT: i32 = 2;
/// A table grows above this number of entries per bucket: a little more than a bucket's slots, so that chains occur.
const BOUND: u64 = 8;

#[repr(C)]
struct Model {
    shown: rtrcu_hash,
    state: Mutex<State>,
}

struct State {
    entries: u64,
    resizes: u64,
    /// All generations, old ones included. They and the overflow lines exist until the table is destroyed.
    generations: Vec<NonNull<rtrcu_hash_generation>>,
    overflow: Vec<NonNull<rtrcu_hash_line>>,
}

/// The place of an entry in its bucket: a slot of a line, or the link that leads to the entry.
enum Place {
    Slot(*const AtomicPtr<rtrcu_hash_node>),
    Link(*const AtomicPtr<u8>),
}

fn new_line() -> rtrcu_hash_line {
    rtrcu_hash_line {
        head: AtomicU64::new(0),
        slots: [const { AtomicPtr::new(null_mut()) }; RTRCU_HASH_SLOTS],
        link: AtomicPtr::new(null_mut()),
    }
}

fn new_generation(buckets: u64) -> NonNull<rtrcu_hash_generation> {
    let lines: Box<[rtrcu_hash_line]> = (0..buckets).map(|_| new_line()).collect();
    let lines = Box::into_raw(lines).cast();
    NonNull::from(Box::leak(Box::new(rtrcu_hash_generation { lines, mask: buckets - 1, next: AtomicPtr::default() })))
}

/// # Safety
///
/// The table exists. Callers of the unsafe functions below also hold its lock.
unsafe fn model<'a>(table: *const rtrcu_hash) -> &'a Model {
    // SAFETY: `rtrcu_hash_create()` allocated the table, whose first part is the struct that look-ups read.
    unsafe { &*table.cast::<Model>() }
}

unsafe fn bucket(model: &Model, mixed: u64) -> &rtrcu_hash_line {
    // SAFETY: generations exist until the table is destroyed. The caller holds the table's lock, so no other thread
    // makes the table grow.
    unsafe {
        let generation = &*model.shown.current.load(Relaxed);
        &*generation.lines.add((mixed & generation.mask) as usize)
    }
}

/// Call `visit` with each entry of a bucket and the entry's place, until `visit` returns true.
unsafe fn search(bucket: &rtrcu_hash_line, mut visit: impl FnMut(NonNull<rtrcu_hash_node>, Place) -> bool) {
    let mut line = bucket;
    loop {
        for slot in &line.slots {
            if NonNull::new(slot.load(Relaxed)).is_some_and(|node| visit(node, Place::Slot(slot))) {
                return;
            }
        }
        let mut from = &raw const line.link;
        loop {
            // SAFETY: `from` points to the link of a line, or to that of an entry of the table.
            let link = unsafe { (*from).load(Relaxed) };
            let Some(node) = linked_node(link) else {
                if link.is_null() {
                    return;
                }
                // SAFETY: the link leads to an overflow line.
                line = unsafe { &*link.cast::<rtrcu_hash_line>() };
                break;
            };
            if visit(node, Place::Link(from)) {
                return;
            }
            // SAFETY: the link leads to an entry of the table.
            from = unsafe { &raw const (*node.as_ptr()).link };
        }
    }
}

unsafe fn put_in_line(line: &rtrcu_hash_line, node: NonNull<rtrcu_hash_node>) -> bool {
    let Some(slot) = line.slots.iter().position(|slot| slot.load(Relaxed).is_null()) else { return false };
    // SAFETY: the node is new, or it is an entry of the table, whose lock is held.
    let tag = unsafe { (*node.as_ptr()).hash } >> 56;
    let others = line.head.load(Relaxed) & !(0xff << (8 * slot));
    line.head.store(others | tag << (8 * slot), Relaxed);
    line.slots[slot].store(node.as_ptr(), Release);
    true
}

fn link_to(node: NonNull<rtrcu_hash_node>) -> *mut u8 {
    node.as_ptr().cast::<u8>().wrapping_byte_add(RTRCU_HASH_LINK_NODE)
}

/// Double the number of buckets and move all entries. Like the library's resizer, write no node's link, and put entries
/// that find no free slot into overflow lines.
unsafe fn grow(model: &Model, state: &mut State) {
    // SAFETY: as in `bucket()`. The new generation and the new lines exist until the table is destroyed.
    unsafe {
        let old = &*model.shown.current.load(Relaxed);
        let next = new_generation((old.mask + 1) * 2);
        state.generations.push(next);
        old.next.store(next.as_ptr(), Release);
        for index in 0..=old.mask {
            let from = &*old.lines.add(index as usize);
            search(from, |node, _| {
                let to = &*next.as_ref().lines.add(((*node.as_ptr()).hash & next.as_ref().mask) as usize);
                if !put_in_line(to, node) {
                    let line = NonNull::from(Box::leak(Box::new(new_line())));
                    state.overflow.push(line);
                    put_in_line(line.as_ref(), node);
                    line.as_ref().link.store(to.link.load(Relaxed), Relaxed);
                    to.link.store(line.as_ptr().cast(), Release);
                }
                false
            });
            from.head.store(from.head.load(Relaxed) | RTRCU_HASH_MOVED, Release);
        }
        model.shown.current.store(next.as_ptr(), Release);
    }
    state.resizes += 1;
}

unsafe fn exchange(place: &Place, found: NonNull<rtrcu_hash_node>, fresh: Option<NonNull<rtrcu_hash_node>>) {
    // SAFETY: `place` is the place of `found`, an entry of the table.
    unsafe {
        match *place {
            Place::Slot(slot) => (*slot).store(fresh.map_or(null_mut(), NonNull::as_ptr), Release),
            Place::Link(link) => {
                let rest = (*found.as_ptr()).link.load(Relaxed);
                if let Some(fresh) = fresh {
                    (*fresh.as_ptr()).link.store(rest, Relaxed);
                }
                (*link).store(fresh.map_or(rest, link_to), Release);
            }
        }
    }
}

unsafe fn place_of(model: &Model, node: NonNull<rtrcu_hash_node>) -> Option<Place> {
    let mut place = None;
    // SAFETY: the section of the caller keeps the node alive.
    unsafe {
        search(bucket(model, (*node.as_ptr()).hash), |other, at| {
            if other == node {
                place = Some(at);
            }
            place.is_some()
        });
    }
    place
}

macro_rules! model {
    ($(fn $name:ident ( $($argument:ident : $type:ty),* ) $(-> $result:ty)? $body:block)*) => {
        $(
            /// The model of the C function of the same name.
            ///
            /// # Safety
            ///
            /// The contract of the C function.
            pub unsafe fn $name($($argument: $type),*) $(-> $result)? {
                // SAFETY: the caller keeps the contract of the C function for the table, the nodes and the section.
                unsafe { $body }
            }
        )*
    };
}

model! {
    fn rtrcu_hash_create(table: *mut *mut rtrcu_hash, config: *const rtrcu_hash_config) -> i32 {
        let first = new_generation((*config).buckets.max(1).next_power_of_two());
        let state = State { entries: 0, resizes: 0, generations: vec![first], overflow: Vec::new() };
        let shown = rtrcu_hash { current: AtomicPtr::new(first.as_ptr()) };
        table.write(Box::into_raw(Box::new(Model { shown, state: Mutex::new(state) })).cast());
        0
    }
    fn rtrcu_hash_destroy(table: *mut rtrcu_hash) {
        let state = Box::from_raw(table.cast::<Model>()).state.into_inner().unwrap();
        for generation in state.generations {
            let generation = Box::from_raw(generation.as_ptr());
            let buckets = generation.mask as usize + 1;
            drop(Box::from_raw(std::ptr::slice_from_raw_parts_mut(generation.lines, buckets)));
        }
        for line in state.overflow {
            drop(Box::from_raw(line.as_ptr()));
        }
    }
    fn rtrcu_hash_insert(table: *mut rtrcu_hash, hash: u64, node: *mut rtrcu_hash_node, matches: rtrcu_hash_match_t,
                         key: *const c_void, existing: *mut *mut rtrcu_hash_node) -> i32 {
        let (model, mixed) = (model(table), rtrcu_hash_mix(hash));
        let mut state = model.state.lock().unwrap();
        let mut found = null_mut();
        search(bucket(model, mixed), |node, _| {
            if (*node.as_ptr()).hash == mixed && matches(node.as_ptr(), key) {
                found = node.as_ptr();
            }
            !found.is_null()
        });
        if !found.is_null() {
            existing.write(found);
            return -EEXIST;
        }
        (*node).hash = mixed;
        let (line, node) = (bucket(model, mixed), NonNull::new(node).unwrap());
        if !put_in_line(line, node) {
            (*node.as_ptr()).link.store(line.link.load(Relaxed), Relaxed);
            line.link.store(link_to(node), Release);
        }
        state.entries += 1;
        if state.entries > BOUND * ((*model.shown.current.load(Relaxed)).mask + 1) {
            grow(model, &mut state);
        }
        0
    }
    fn rtrcu_hash_replace(table: *mut rtrcu_hash, old: *mut rtrcu_hash_node, fresh: *mut rtrcu_hash_node) -> i32 {
        let (model, old) = (model(table), NonNull::new(old).unwrap());
        let _state = model.state.lock().unwrap();
        let Some(place) = place_of(model, old) else { return -ENOENT };
        (*fresh).hash = (*old.as_ptr()).hash;
        exchange(&place, old, NonNull::new(fresh));
        0
    }
    fn rtrcu_hash_remove(table: *mut rtrcu_hash, node: *mut rtrcu_hash_node) -> i32 {
        let (model, node) = (model(table), NonNull::new(node).unwrap());
        let mut state = model.state.lock().unwrap();
        let Some(place) = place_of(model, node) else { return -ENOENT };
        exchange(&place, node, None);
        state.entries -= 1;
        0
    }
    fn rtrcu_hash_walk(table: *mut rtrcu_hash, cursor: *mut u64, _buckets: u32, visit: rtrcu_hash_visit_t,
                       argument: *mut c_void) -> bool {
        let model = model(table);
        let _state = model.state.lock().unwrap();
        for mixed in 0..=(*model.shown.current.load(Relaxed)).mask {
            search(bucket(model, mixed), |node, _| {
                visit(node.as_ptr(), argument);
                false
            });
        }
        cursor.write(0);
        false
    }
    fn rtrcu_hash_stats(table: *const rtrcu_hash, counters: *mut rtrcu_hash_counters) {
        let model = model(table);
        let state = model.state.lock().unwrap();
        let buckets = (*model.shown.current.load(Relaxed)).mask + 1;
        let (entries, resizes) = (state.entries, state.resizes);
        counters.write(rtrcu_hash_counters { entries, buckets, resizes, ..Default::default() });
    }
}
