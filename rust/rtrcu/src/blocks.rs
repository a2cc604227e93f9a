// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory for nodes: blocks of sixteen sizes, which threads reuse and exchange in batches.
//!
//! The thread that frees a replaced value's node is usually not the one that allocates the next, so more blocks are in
//! use than an allocator caches for a thread. Each thread therefore keeps up to two batches of each size. A third batch
//! goes to a depot, from which threads without blocks take it.
//!
//! No thread waits here. A thread that finds the depot of its size busy uses the allocator, which also serves larger
//! values. In a fork's child a depot that another thread of the parent was using stays busy.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::{Cell, UnsafeCell};
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicUsize};

/// The sizes of blocks are multiples of this number of bytes, and blocks are aligned to it.
const STEP: usize = 16;
const SIZES: usize = 16;
/// The number of blocks in a batch.
const BATCH: usize = 64;
/// The most bytes that the depots of all sizes keep.
const DEPOT_BYTES: usize = 1 << 20;

/// False under Miri and AddressSanitizer, which cannot detect an access to a dropped value if its block is reused. True
/// in unit tests.
const REUSES: bool = cfg!(any(test, not(any(miri, rtrcu_asan))));

/// The index of the smallest block size that fits; `None`: the program's allocator serves the layout.
const fn size_index(layout: Layout) -> Option<usize> {
    let fits = REUSES && layout.size() <= STEP * SIZES && layout.align() <= STEP && layout.size() != 0;
    if fits { Some((layout.size() - 1) / STEP) } else { None }
}

const fn bytes(index: usize) -> usize {
    (index + 1) * STEP
}

const fn block_layout(index: usize) -> Layout {
    // SAFETY: the alignment is a power of two, and the size a small multiple of it.
    unsafe { Layout::from_size_align_unchecked(bytes(index), STEP) }
}

/// A free block, as an element of a list of free blocks.
struct Free {
    next: *mut Free,
    /// The next batch of the depot; used only in the first block of a batch.
    next_batch: *mut Free,
}

/// The free blocks of one size that a thread keeps.
struct Kept {
    /// A list of `count` blocks, from which the thread takes blocks and to which it returns them.
    first: Cell<*mut Free>,
    count: Cell<usize>,
    /// A further full batch, or null. Without it, a thread that in turn takes and returns a few blocks could use the
    /// depot each time.
    spare: Cell<*mut Free>,
}

struct KeptSizes([Kept; SIZES]);

thread_local! {
    static KEPT: KeptSizes = const {
        KeptSizes(
            [const { Kept { first: Cell::new(null_mut()), count: Cell::new(0), spare: Cell::new(null_mut()) } }; SIZES],
        )
    };
}

/// Free batches of one size, which belong to no thread.
struct Depot {
    /// Set while a thread uses `batches`. No thread waits until this is clear.
    is_busy: AtomicBool,
    batches: UnsafeCell<*mut Free>,
}

// SAFETY: only the thread that has set `is_busy` uses `batches`.
unsafe impl Sync for Depot {}

static DEPOTS: [Depot; SIZES] =
    [const { Depot { is_busy: AtomicBool::new(false), batches: UnsafeCell::new(null_mut()) } }; SIZES];
/// Bytes in all depots, including batches about to be added.
static DEPOT_USED: AtomicUsize = AtomicUsize::new(0);

/// Memory for `layout`.
#[inline]
pub(crate) fn take(layout: Layout) -> NonNull<u8> {
    let kept = size_index(layout).and_then(|index| {
        KEPT.try_with(|sizes| sizes.0[index].take(index)).ok().and_then(NonNull::new).map(NonNull::cast)
    });
    kept.unwrap_or_else(|| allocate(layout))
}

/// Return memory to be reused or freed.
///
/// # Safety
///
/// [`take`] returned it for the same layout, and it is no longer used.
#[inline]
pub(crate) unsafe fn give(memory: NonNull<u8>, layout: Layout) {
    let Some(index) = size_index(layout) else {
        // SAFETY: memory of a layout without a block size came from the allocator, with this layout.
        return unsafe { dealloc(memory.as_ptr(), layout) };
    };
    let block = memory.cast::<Free>().as_ptr();
    // SAFETY: the block belongs to this call, and is large enough and aligned; it came from `take()` with this index.
    let kept = KEPT.try_with(|sizes| unsafe { sizes.0[index].give(block, index) });
    if kept.is_err() {
        // SAFETY: the block came from the allocator with this layout. This thread is exiting and keeps no blocks.
        unsafe { dealloc(memory.as_ptr(), block_layout(index)) }
    }
}

#[cold]
#[inline(never)]
fn allocate(layout: Layout) -> NonNull<u8> {
    let layout = size_index(layout).map_or(layout, block_layout);
    // SAFETY: a node has a head, so the size of its layout is not 0.
    NonNull::new(unsafe { alloc(layout) }).unwrap_or_else(|| handle_alloc_error(layout))
}

impl Kept {
    /// Take a block from the list; null: the thread has none, and the depot is empty or busy.
    #[inline]
    fn take(&self, index: usize) -> *mut Free {
        if self.first.get().is_null() && !self.refill(index) {
            return null_mut();
        }
        let block = self.first.get();
        // SAFETY: only this thread uses the blocks of the list.
        self.first.set(unsafe { (*block).next });
        self.count.set(self.count.get() - 1);
        block
    }

    /// Put a block on the list.
    ///
    /// # Safety
    ///
    /// The block belongs to the caller, and has the size of `index`.
    #[inline]
    unsafe fn give(&self, block: *mut Free, index: usize) {
        if self.count.get() == BATCH {
            self.make_room(index);
        }
        // SAFETY: the block is large enough, and belongs to the caller.
        unsafe { block.write(Free { next: self.first.get(), next_batch: null_mut() }) };
        self.first.set(block);
        self.count.set(self.count.get() + 1);
    }

    /// Refill the empty list with the spare batch or a batch of the depot. Returns false if there is neither.
    #[cold]
    #[inline(never)]
    fn refill(&self, index: usize) -> bool {
        let spare = self.spare.replace(null_mut());
        self.first.set(if spare.is_null() { DEPOTS[index].take(index) } else { spare });
        self.count.set(if self.first.get().is_null() { 0 } else { BATCH });
        self.count.get() != 0
    }

    /// Empty the list, which is full: its blocks become the spare batch. The previous spare batch is added to the
    /// depot, or freed if the depot refuses it.
    #[cold]
    #[inline(never)]
    fn make_room(&self, index: usize) {
        let spare = self.spare.replace(self.first.replace(null_mut()));
        self.count.set(0);
        if !spare.is_null() && !DEPOTS[index].give(spare, index) {
            free_all(spare, index);
        }
    }
}

/// Frees the blocks that the thread keeps, when the thread exits.
impl Drop for KeptSizes {
    fn drop(&mut self) {
        for (index, kept) in self.0.iter().enumerate() {
            free_all(kept.first.get(), index);
            free_all(kept.spare.get(), index);
        }
    }
}

/// Return the blocks of the caller's list to the allocator.
fn free_all(mut block: *mut Free, index: usize) {
    while !block.is_null() {
        // SAFETY: the list is the caller's, and its blocks came from the allocator with this layout.
        let next = unsafe { (*block).next };
        // SAFETY: the allocator gave the block this layout, and the block is not used after this.
        unsafe { dealloc(block.cast(), block_layout(index)) };
        block = next;
    }
}

impl Depot {
    /// Take a batch; null: the depot is empty or busy.
    fn take(&self, index: usize) -> *mut Free {
        let taken = self.alone(|batches| {
            let batch = *batches;
            if !batch.is_null() {
                // SAFETY: batches of the depot belong to the thread that has set `is_busy`.
                *batches = unsafe { (*batch).next_batch };
            }
            batch
        });
        let batch = taken.unwrap_or(null_mut());
        if !batch.is_null() {
            DEPOT_USED.fetch_sub(BATCH * bytes(index), Relaxed);
        }
        batch
    }

    /// Add a batch. Returns false if the depots are full or this depot is busy; the batch then still belongs to the
    /// caller.
    fn give(&self, batch: *mut Free, index: usize) -> bool {
        let size = BATCH * bytes(index);
        let given = DEPOT_USED.fetch_add(size, Relaxed) + size <= DEPOT_BYTES
            && self
                .alone(|batches| {
                    // SAFETY: the batch belonged to the caller, and now belongs to the depot.
                    unsafe { (*batch).next_batch = *batches };
                    *batches = batch;
                })
                .is_some();
        if !given {
            DEPOT_USED.fetch_sub(size, Relaxed);
        }
        given
    }

    /// Run `f` on the list of batches; if another thread is using the depot, do nothing and return `None`. `f` must not
    /// panic.
    fn alone<R>(&self, f: impl FnOnce(&mut *mut Free) -> R) -> Option<R> {
        if self.is_busy.swap(true, Acquire) {
            return None;
        }
        // SAFETY: `is_busy` was clear, so no other thread reaches this until it is cleared again.
        let result = f(unsafe { &mut *self.batches.get() });
        self.is_busy.store(false, Release);
        Some(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::collections::HashSet;
    use std::sync::{Mutex, PoisonError};
    use std::thread;

    /// A layout of `bytes` bytes. Each test uses a block size that no other test uses.
    fn layout(bytes: usize) -> Layout {
        Layout::from_size_align(bytes, 8).unwrap()
    }

    /// Locked by each test of the depots: the depots share one limit, so these tests run one after the other.
    static DEPOT_TESTS: Mutex<()> = Mutex::new(());

    struct Sent(NonNull<u8>);
    // SAFETY: any thread may use and return a block.
    unsafe impl Send for Sent {}

    fn take_many(count: usize, layout: Layout) -> Vec<Sent> {
        (0..count).map(|_| Sent(take(layout))).collect()
    }

    fn give_all(blocks: Vec<Sent>, layout: Layout) {
        for block in blocks {
            // SAFETY: the block was taken for this layout, and is returned once.
            unsafe { give(block.0, layout) }
        }
    }

    fn addresses(blocks: &[Sent]) -> HashSet<usize> {
        blocks.iter().map(|block| block.0.addr().get()).collect()
    }

    #[test]
    fn a_thread_reuses_the_blocks_that_it_freed() {
        let layout = layout(250);
        for count in [1, BATCH, BATCH + 1, 2 * BATCH] {
            let first = take_many(count, layout);
            let before = addresses(&first);
            assert_eq!(before.len(), count);
            give_all(first, layout);

            let second = take_many(count, layout);
            assert_eq!(addresses(&second), before);
            give_all(second, layout);
        }
    }

    #[test]
    fn blocks_that_one_thread_freed_are_reused_by_another_thread() {
        let _alone = DEPOT_TESTS.lock().unwrap_or_else(PoisonError::into_inner);
        let layout = layout(230);
        let blocks = take_many(3 * BATCH, layout);
        let before = addresses(&blocks);

        thread::spawn(move || give_all(blocks, layout)).join().unwrap();

        let after = take_many(BATCH, layout);
        assert!(addresses(&after).is_subset(&before));
        give_all(after, layout);
    }

    #[test]
    fn no_thread_waits_for_a_busy_depot() {
        let _alone = DEPOT_TESTS.lock().unwrap_or_else(PoisonError::into_inner);
        let layout = layout(210);
        let depot = &DEPOTS[size_index(layout).unwrap()];
        depot.is_busy.store(true, Relaxed);

        let blocks = take_many(4 * BATCH, layout);
        assert_eq!(addresses(&blocks).len(), 4 * BATCH);
        give_all(blocks, layout);

        // SAFETY: `is_busy` is set, so no other thread uses this depot.
        assert!(unsafe { *depot.batches.get() }.is_null());
        depot.is_busy.store(false, Relaxed);
    }

    #[test]
    #[cfg_attr(miri, ignore = "it takes too many blocks for Miri")]
    fn depots_keep_no_more_than_their_limit() {
        let _alone = DEPOT_TESTS.lock().unwrap_or_else(PoisonError::into_inner);
        let layout = layout(190);
        let blocks = take_many(2 * DEPOT_BYTES / 192, layout);

        thread::spawn(move || give_all(blocks, layout)).join().unwrap();
        let used = DEPOT_USED.load(Relaxed);
        assert!(DEPOT_BYTES / 2 < used && used <= DEPOT_BYTES, "{used}");

        // Restore the state for other tests: the depot is empty, and so is this thread's list.
        let again = take_many(2 * DEPOT_BYTES / 192, layout);
        assert_eq!(addresses(&again).len(), 2 * DEPOT_BYTES / 192);
        for block in again {
            // SAFETY: the block came from the allocator with this layout.
            unsafe { dealloc(block.0.as_ptr(), block_layout(size_index(layout).unwrap())) }
        }
    }

    #[test]
    fn values_that_fit_no_block_come_from_the_allocator() {
        for layout in [layout(257), Layout::from_size_align(64, 64).unwrap()] {
            assert_eq!(size_index(layout), None);
            let block = take(layout);
            assert_eq!(block.addr().get() % layout.align(), 0);
            give_all(vec![Sent(block)], layout);
        }
    }

    /// A block has one owner at a time, and keeps what its owner wrote.
    #[test]
    fn threads_that_exchange_blocks_never_own_the_same_block() {
        let _alone = DEPOT_TESTS.lock().unwrap_or_else(PoisonError::into_inner);
        let layout = layout(170);
        let rounds = if cfg!(miri) { 3 } else { 300 };
        let pool = Mutex::new(Vec::<Sent>::new());
        let mark = |block: &Sent| block.0.addr().get() as u64 ^ 0x5151_5151;
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..rounds {
                        let mine = take_many(BATCH + 7, layout);
                        for block in &mine {
                            // SAFETY: the block is this thread's, large enough and aligned.
                            unsafe { block.0.cast::<[u64; 4]>().write([mark(block); 4]) }
                        }
                        let others = std::mem::replace(&mut *pool.lock().unwrap(), mine);
                        for block in &others {
                            // SAFETY: the thread that took the block has written it.
                            assert_eq!(unsafe { block.0.cast::<[u64; 4]>().read() }, [mark(block); 4]);
                        }
                        give_all(others, layout);
                    }
                });
            }
        });
        give_all(pool.into_inner().unwrap(), layout);
    }
}
