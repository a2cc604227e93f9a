// SPDX-License-Identifier: MIT OR Apache-2.0
//! The reader's fast path: what `rcu_read_lock()` and `rcu_read_unlock()` of `rtrcu/rcu.h` are inline, as `asm!`.
//!
//! The word of `rtrcu/detail/reader.h` is updated by the one instruction that C uses too. What is added is the check of
//! the nesting: C programs do not leak sections by the hundred thousand, safe Rust may, and a word that overflows would
//! say that the thread is outside. On x86-64 one signed comparison tells both, since the word of a thread of which
//! nothing is asked is the smallest of all: `0x80000000 + nesting`.

#[cfg(target_arch = "x86_64")]
use std::arch::asm;

use crate::types::*;

/// The word of a thread of which nothing is asked, one section short of too many.
#[cfg(target_arch = "x86_64")]
const FULL: i32 = (FLAG_FAST << 24 | NESTING_LIMIT) as i32;

/// What the fast path leaves: a thread that something is asked of, has its first section, or has leaked too many.
#[cold]
#[inline(never)]
fn lock_slow() {
    // SAFETY: anywhere.
    let word = unsafe { word() };
    if word & NESTING_MASK >= NESTING_LIMIT {
        // SAFETY: anywhere. Nothing here may panic, since the caller would return without a guard and with the section
        // counted: safe code could overflow the count.
        unsafe { crate::rtrcu_too_many_sections(NESTING_LIMIT) }
    }
    if word >> 24 != FLAG_FAST {
        // SAFETY: the word has been raised and its flag asks for it.
        unsafe { crate::rtrcu_read_lock_slow() }
    }
}

#[cold]
#[inline(never)]
fn unlock_slow() {
    // SAFETY: the word has been lowered and its flag asks for it.
    unsafe { crate::rtrcu_read_unlock_slow() }
}

/// Begin a read-side critical section of this thread; up to [`NESTING_LIMIT`] nest, then the program is aborted.
///
/// Safe, since a section that never ends only holds up reclamation.
#[inline(always)]
pub fn read_lock() {
    // SAFETY: the word is the calling thread's own. A program whose flag is not "fast" takes the library's slow path.
    if unsafe { enter() } {
        lock_slow();
    }
}

/// End the innermost section of this thread.
///
/// # Safety
///
/// A section that [`read_lock`] has begun on this thread is open and was not given to a task, and no reference that was
/// taken inside is used after it.
#[inline(always)]
pub unsafe fn read_unlock() {
    #[cfg(rtrcu_tsan)]
    tsan::release();
    // SAFETY: as above; the caller has a section.
    if unsafe { leave() } {
        unlock_slow();
    }
}

/// This thread, of the quiescent-state discipline, holds no reference from before.
///
/// # Safety
///
/// So it is: references of its open sections excepted, since with an open section this does nothing.
#[inline(always)]
pub unsafe fn quiescent_state() {
    #[cfg(rtrcu_tsan)]
    tsan::release();
    std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst);
    // SAFETY: anywhere.
    let word = unsafe { word() };
    if word != (FLAG_FAST << 24 | QSBR_ONLINE) && word & NESTING_MASK == 0 {
        // SAFETY: outside of sections.
        unsafe { crate::rtrcu_quiescent_state_slow() }
    }
    std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst);
}

/// ThreadSanitizer sees neither `asm!` nor membarrier: this tells it what the end of a section orders.
#[cfg(rtrcu_tsan)]
mod tsan {
    unsafe extern "C" {
        fn __tsan_release(address: *const std::ffi::c_void);
    }

    pub(super) fn release() {
        // SAFETY: the address is only a name, the one that the library's grace periods acquire.
        unsafe { __tsan_release(crate::rtrcu_read_unlock_slow as *const std::ffi::c_void) }
    }
}

/// Where the thread's word is, from the thread pointer: the same in all threads, so the compiler may keep it.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn offset() -> usize {
    let offset: usize;
    // SAFETY: reads a constant that the linker has put in.
    unsafe {
        asm!(
            concat!("mov {offset}, qword ptr [rip + ", private!("rtrcu_self"), "@GOTTPOFF]"),
            offset = out(reg) offset,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    offset
}

/// Add one to the word; true if the slow path is needed.
///
/// # Safety
///
/// Who calls it takes the slow path then.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn enter() -> bool {
    // Not `nomem`: the compiler moves no access of the section in front of it.
    #[cfg(rtrcu_asm_goto)]
    // SAFETY: the word is thread-local memory of the library, which only this instruction's thread adds to.
    unsafe {
        asm!(
            "inc dword ptr fs:[{offset}]",
            "cmp dword ptr fs:[{offset}], {full}",
            "jge {slow}",
            offset = in(reg) offset(),
            full = const FULL,
            slow = label { return true },
            options(nostack)
        );
        false
    }
    #[cfg(not(rtrcu_asm_goto))]
    // SAFETY: as above.
    unsafe {
        let slow: u8;
        asm!(
            "inc dword ptr fs:[{offset}]",
            "cmp dword ptr fs:[{offset}], {full}",
            "setge {slow}",
            offset = in(reg) offset(),
            full = const FULL,
            slow = out(reg_byte) slow,
            options(nostack)
        );
        slow != 0
    }
}

/// Take one from the word; true if the slow path is needed.
///
/// # Safety
///
/// The thread has a section, and who calls it takes the slow path then.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn leave() -> bool {
    #[cfg(rtrcu_asm_goto)]
    // SAFETY: as in `enter()`.
    unsafe {
        asm!(
            "dec dword ptr fs:[{offset}]",
            "jns {slow}",
            offset = in(reg) offset(),
            slow = label { return true },
            options(nostack)
        );
        false
    }
    #[cfg(not(rtrcu_asm_goto))]
    // SAFETY: as in `enter()`.
    unsafe {
        let slow: u8;
        asm!(
            "dec dword ptr fs:[{offset}]",
            "setns {slow}",
            offset = in(reg) offset(),
            slow = out(reg_byte) slow,
            options(nostack)
        );
        slow != 0
    }
}

/// The whole word of the calling thread, its flag byte on top.
///
/// # Safety
///
/// None is asked for; unsafe as its neighbours are.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub unsafe fn word() -> u32 {
    let word: u32;
    // SAFETY: reads the thread's own word.
    unsafe {
        asm!(
            "mov {word:e}, dword ptr fs:[{offset}]",
            offset = in(reg) offset(),
            word = out(reg) word,
            options(nostack, preserves_flags)
        );
    }
    word
}

#[cfg(target_arch = "aarch64")]
pub use aarch64::word;
#[cfg(target_arch = "aarch64")]
use aarch64::{enter, leave};

/// Where the word's update is not one instruction the flag is a word of its own.
#[cfg(target_arch = "aarch64")]
mod aarch64 {
    use std::arch::asm;
    use std::sync::atomic::Ordering::{Relaxed, Release, SeqCst};
    use std::sync::atomic::{AtomicU32, compiler_fence};

    use crate::types::*;

    /// The beginning of `struct rtrcu_thread`.
    #[repr(C)]
    struct Thread {
        word: AtomicU32,
        flag: AtomicU32,
    }

    /// Formed anew each time: code that went on on another thread must not use the address of the one that it left.
    #[inline(always)]
    fn this_thread() -> &'static Thread {
        let (offset, address): (usize, usize);
        // SAFETY: reads a constant that the linker has put in, and the thread pointer. The struct lives as long as the
        // thread, and the reference is used before the caller returns.
        unsafe {
            asm!(
                concat!("adrp {offset}, :gottprel:", private!("rtrcu_self")),
                concat!("ldr {offset}, [{offset}, #:gottprel_lo12:", private!("rtrcu_self"), "]"),
                offset = out(reg) offset,
                options(pure, nomem, nostack, preserves_flags)
            );
            asm!(
                "mrs {address}, tpidr_el0",
                "add {address}, {address}, {offset}",
                address = out(reg) address,
                offset = in(reg) offset,
                options(nostack, preserves_flags)
            );
            &*(address as *const Thread)
        }
    }

    /// Add one to the word; true if the slow path is needed.
    ///
    /// # Safety
    ///
    /// Who calls it takes the slow path then.
    #[inline(always)]
    pub(super) unsafe fn enter() -> bool {
        let this = this_thread();
        let word = this.word.load(Relaxed).wrapping_add(1);
        this.word.store(word, Relaxed);
        compiler_fence(SeqCst);
        this.flag.load(Relaxed) != FLAG_FAST || word & NESTING_LIMIT != 0
    }

    /// Take one from the word; true if the slow path is needed.
    ///
    /// # Safety
    ///
    /// The thread has a section, and who calls it takes the slow path then.
    #[inline(always)]
    pub(super) unsafe fn leave() -> bool {
        let this = this_thread();
        // A release: what the section read is read before a grace period can see us outside.
        this.word.store(this.word.load(Relaxed).wrapping_sub(1), Release);
        compiler_fence(SeqCst);
        this.flag.load(Relaxed) != FLAG_FAST
    }

    /// The whole word of the calling thread, its flag byte on top.
    ///
    /// # Safety
    ///
    /// None is asked for; unsafe as its neighbours are.
    #[inline(always)]
    pub unsafe fn word() -> u32 {
        let this = this_thread();
        this.word.load(Relaxed) & 0x00ff_ffff | this.flag.load(Relaxed) << 24
    }
}
