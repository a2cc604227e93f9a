// SPDX-License-Identifier: MIT OR Apache-2.0
//! The reader's fast path: `rcu_read_lock()` and `rcu_read_unlock()` of `rtrcu/rcu.h`, as `asm!`.
//!
//! `read_lock()` updates the word of `rtrcu/detail/reader.h` by the same instruction as C. In addition it checks the
//! nesting: safe Rust may leak hundreds of thousands of sections, and a word that overflows would show the thread
//! outside. On x86-64 one signed comparison checks flag and nesting, since a word whose flag is "fast" is the smallest:
//! `0x80000000 + nesting`.

#[cfg(all(target_arch = "x86_64", not(feature = "dylib")))]
use std::arch::asm;

use crate::types::*;

/// The word of a thread whose flag is "fast" and whose nesting has reached the limit.
#[cfg(all(target_arch = "x86_64", not(feature = "dylib")))]
const FULL: i32 = (FLAG_FAST << 24 | NESTING_LIMIT) as i32;

/// The slow path of [`read_lock`]: the flag of the thread is not "fast", for example in its first section, or the
/// thread has [`NESTING_LIMIT`] sections open.
#[cold]
#[inline(never)]
fn lock_slow() {
    // SAFETY: `word()` may be called anywhere.
    let word = unsafe { word() };
    if word & NESTING_MASK >= NESTING_LIMIT {
        // SAFETY: the call is allowed anywhere. No code here may panic: the caller would unwind with the section
        // counted but without a guard, and safe code could overflow the count.
        unsafe { crate::rtrcu_too_many_sections(NESTING_LIMIT) }
    }
    if word >> 24 != FLAG_FAST {
        // SAFETY: the word was incremented, and its flag is not "fast".
        unsafe { crate::rtrcu_read_lock_slow() }
    }
}

#[cold]
#[inline(never)]
fn unlock_slow() {
    // SAFETY: the word was decremented, and its flag is not "fast".
    unsafe { crate::rtrcu_read_unlock_slow() }
}

/// Begin a read-side critical section of this thread. Sections nest; when [`NESTING_LIMIT`] are open, the program is
/// aborted.
///
/// The function is safe: a section that never ends only delays reclamation.
#[cfg_attr(not(feature = "dylib"), inline(always))]
#[cfg_attr(feature = "dylib", inline(never))]
pub fn read_lock() {
    // SAFETY: the word is the calling thread's own. A thread whose flag is not "fast" takes the slow path.
    if unsafe { enter() } {
        lock_slow();
    }
}

/// End the innermost section of this thread.
///
/// # Safety
///
/// This thread has an open section that [`read_lock`] began and that was not transferred to a task. No reference that
/// was loaded inside the section is used after the call.
#[cfg_attr(not(feature = "dylib"), inline(always))]
#[cfg_attr(feature = "dylib", inline(never))]
pub unsafe fn read_unlock() {
    #[cfg(rtrcu_tsan)]
    tsan::release();
    // SAFETY: the word is the calling thread's own, and the thread has an open section.
    if unsafe { leave() } {
        unlock_slow();
    }
}

/// Pass a quiescent state: the calling quiescent-state thread holds no reference that it loaded before the call. Inside
/// an open section the function does nothing.
///
/// # Safety
///
/// The thread holds no reference that it loaded before the call, unless an open section of the thread protects the
/// reference.
#[cfg_attr(not(feature = "dylib"), inline(always))]
#[cfg_attr(feature = "dylib", inline(never))]
pub unsafe fn quiescent_state() {
    #[cfg(rtrcu_tsan)]
    tsan::release();
    std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst);
    // SAFETY: `word()` may be called anywhere.
    let word = unsafe { word() };
    if word != (FLAG_FAST << 24 | QSBR_ONLINE) && word & NESTING_MASK == 0 {
        // SAFETY: the thread is outside sections.
        unsafe { crate::rtrcu_quiescent_state_slow() }
    }
    std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst);
}

/// Tells ThreadSanitizer that the accesses of a section happen before the end of a grace period that waited for the
/// section: ThreadSanitizer sees neither `asm!` nor membarrier.
#[cfg(rtrcu_tsan)]
mod tsan {
    unsafe extern "C" {
        fn __tsan_release(address: *const std::ffi::c_void);
    }

    pub(super) fn release() {
        // SAFETY: the address only identifies the synchronization; the library's grace periods acquire the same
        // address.
        unsafe { __tsan_release(crate::rtrcu_read_unlock_slow as *const std::ffi::c_void) }
    }
}

/// The offset of the thread's word from the thread pointer: the same in all threads, so the compiler may keep it.
#[cfg(all(target_arch = "x86_64", not(feature = "dylib")))]
#[inline(always)]
fn offset() -> usize {
    let offset: usize;
    // SAFETY: the instruction reads a constant that the linker has inserted.
    unsafe {
        asm!(
            concat!("mov {offset}, qword ptr [rip + ", private!("rtrcu_self"), "@GOTTPOFF]"),
            offset = out(reg) offset,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    offset
}

/// Add one to the word. Returns true if the slow path is needed.
///
/// # Safety
///
/// If the function returns true, the caller takes the slow path.
#[cfg(all(target_arch = "x86_64", not(feature = "dylib")))]
#[inline(always)]
unsafe fn enter() -> bool {
    // Without the option `nomem`, the compiler moves no access of the section before the `asm!`.
    #[cfg(rtrcu_asm_goto)]
    // SAFETY: the word is thread-local memory of the library; only its thread increments it.
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

/// Subtract one from the word. Returns true if the slow path is needed.
///
/// # Safety
///
/// The thread has an open section. If the function returns true, the caller takes the slow path.
#[cfg(all(target_arch = "x86_64", not(feature = "dylib")))]
#[inline(always)]
unsafe fn leave() -> bool {
    #[cfg(rtrcu_asm_goto)]
    // SAFETY: the word is thread-local memory of the library; only its thread decrements it.
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
    // SAFETY: the word is thread-local memory of the library; only its thread decrements it.
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

/// The word of the calling thread; bits 24 to 31 are its flag.
///
/// # Safety
///
/// No requirement: the function is unsafe because each function of the C library is.
#[cfg(all(target_arch = "x86_64", not(feature = "dylib")))]
#[inline(always)]
pub unsafe fn word() -> u32 {
    let word: u32;
    // SAFETY: the instruction reads the thread's own word.
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

#[cfg(any(not(target_arch = "x86_64"), feature = "dylib"))]
pub use two_words::word;
#[cfg(any(not(target_arch = "x86_64"), feature = "dylib"))]
use two_words::{enter, leave};

/// The fast paths for processors that need several instructions to update the word, and for the feature `dylib`. There
/// the flag is a word of its own.
#[cfg(any(not(target_arch = "x86_64"), feature = "dylib"))]
mod two_words {
    #[cfg(all(target_arch = "aarch64", not(feature = "dylib")))]
    use std::arch::asm;
    use std::sync::atomic::Ordering::{Relaxed, Release, SeqCst};
    use std::sync::atomic::{AtomicU32, compiler_fence};

    use crate::types::*;

    /// The first fields of `struct rtrcu_thread`.
    #[repr(C)]
    struct Thread {
        word: AtomicU32,
        flag: AtomicU32,
    }

    /// The struct of the calling thread; a function of the library returns its address.
    #[cfg(any(not(target_arch = "aarch64"), feature = "dylib"))]
    #[inline(always)]
    fn this_thread() -> &'static Thread {
        unsafe extern "C" {
            #[link_name = private!("rtrcu_self_pointer")]
            safe fn self_pointer() -> *const Thread;
        }
        // SAFETY: the struct lives as long as the thread, and the reference is used before the caller returns.
        unsafe { &*self_pointer() }
    }

    /// The struct of the calling thread. Each call computes the address anew: code that continues on another thread
    /// must not use the address of the previous thread.
    #[cfg(all(target_arch = "aarch64", not(feature = "dylib")))]
    #[inline(always)]
    fn this_thread() -> &'static Thread {
        let (offset, address): (usize, usize);
        // SAFETY: the instructions read a constant that the linker has inserted, and the thread pointer. The struct
        // lives as long as the thread, and the reference is used before the caller returns.
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

    /// Add one to the word. Returns true if the slow path is needed.
    ///
    /// # Safety
    ///
    /// If the function returns true, the caller takes the slow path.
    #[inline(always)]
    pub(super) unsafe fn enter() -> bool {
        let this = this_thread();
        let word = this.word.load(Relaxed).wrapping_add(1);
        this.word.store(word, Relaxed);
        compiler_fence(SeqCst);
        this.flag.load(Relaxed) != FLAG_FAST || word & NESTING_LIMIT != 0
    }

    /// Subtract one from the word. Returns true if the slow path is needed.
    ///
    /// # Safety
    ///
    /// The thread has an open section. If the function returns true, the caller takes the slow path.
    #[inline(always)]
    pub(super) unsafe fn leave() -> bool {
        let this = this_thread();
        // A release: the section's reads happen before a grace period can see this thread outside.
        this.word.store(this.word.load(Relaxed).wrapping_sub(1), Release);
        compiler_fence(SeqCst);
        this.flag.load(Relaxed) != FLAG_FAST
    }

    /// The word of the calling thread; bits 24 to 31 are its flag.
    ///
    /// # Safety
    ///
    /// No requirement: the function is unsafe because each function of the C library is.
    #[cfg_attr(not(feature = "dylib"), inline(always))]
    #[cfg_attr(feature = "dylib", inline(never))]
    pub unsafe fn word() -> u32 {
        let this = this_thread();
        this.word.load(Relaxed) & 0x00ff_ffff | this.flag.load(Relaxed) << 24
    }
}
