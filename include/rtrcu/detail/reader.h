/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The reader word and the inline fast paths of readers: the frozen layout that programs are compiled against.
 *
 * One word in initial-exec thread-local storage says everything a grace period must know of a thread:
 *
 *   bits  0..19  nesting of explicit read-side critical sections (writer: the owner)
 *   bit   20     quiescent-state discipline and online: inside until it says otherwise (writer: the owner)
 *   bits 24..31  flag byte: 0x80 nothing asked, 0x20 special, 0x40 not registered
 *
 * The flag is inverted, so that "fast" is the sign bit of the word after the increment or decrement (on x86-64 an
 * increment that overflows takes the slow path):
 *
 *   fast          0x80   lock and unlock do nothing more.
 *   special       0x20   both take the slow path: a grace period waits for the thread, callbacks are ready for it, it
 *                        has only just registered, or readers use full fences.  Other threads set it under the leaf
 *                        lock, or the owner does; the owner alone clears it.  If it is set for nothing, that costs a
 *                        slow path.  An update of the owner that is under way can lose it.
 *   unregistered  0x40   any nesting keeps it, since a signal handler may lock before registration is done.
 *
 * src/reader/word.h has the transitions from one to another.
 *
 * On x86-64 the owner's update is one instruction, so a handler sees it done or not begun.  Elsewhere the flag is a
 * word of its own.  The asm forms the thread's address anew each time: a compiler that cached it across a fiber switch
 * would make a fiber unlock the thread it left.
 */
#ifndef RTRCU_DETAIL_READER_H
#define RTRCU_DETAIL_READER_H

#include <stddef.h>
#include <stdint.h>

#include <rtrcu/detail/atomic.h>
#include <rtrcu/detail/fence.h>

#ifdef __cplusplus
extern "C" {
#endif

struct reader_record;
struct rcu_task;

enum {
    RTRCU_NESTING_MASK = 0x000fffff,
    RTRCU_NESTING_MAX = 0x0007ffff, /* as deep as sections may nest; above lies what unlocks without locks leave */
    RTRCU_QSBR_ONLINE = 0x00100000,
    RTRCU_INSIDE_MASK = 0x00ffffff, /* nesting and discipline: not 0 means a grace period must wait */
};
#define RTRCU_FLAG_FAST UINT32_C(0x80)
#define RTRCU_FLAG_SPECIAL UINT32_C(0x20)
#define RTRCU_FLAG_UNREGISTERED UINT32_C(0x40)

/* The word of an online quiescent-state thread of which nothing is asked, whatever its nesting. */
#define RTRCU_WORD_QUIET (RTRCU_FLAG_FAST << 24 | (uint32_t)RTRCU_QSBR_ONLINE)

/* What a thread keeps in thread-local storage.  Installed layout: grows only at the end. */
struct rtrcu_thread {
    uint32_t word;  /* atomic: x86-64: the reader word.  Elsewhere: its low 24 bits only.  @room reader, api */
    uint32_t flag;  /* elsewhere: the flag byte.  x86-64: unused.  @room reader, api */
    uint32_t state; /* owner-private bits, see reader/reader.h.  @room reader */
    uint32_t bh;    /* nesting of rcu_read_lock_bh(), kept by the owner.  @room api, callback */
    struct reader_record *record; /* NULL while not registered.  @room reader */
    uint32_t thread_id;           /* atomic for handlers: as the kernel has it, 0 = not asked yet.  @room base */
    uint32_t torn;   /* atomic for handlers: this process was forked inside a call; see src/base/call.h.  @room base */
    uint32_t *boost; /* the word by which it may have been boosted; the record's.  @room reader */
    struct rcu_task *task; /* atomic for others: the innermost here whose section is listed.  @room section, reader */
    uintptr_t entered;     /* atomic: where the outermost section began, if RTRCU_DEBUG.  @room api, reader */
    uint32_t direct_depth; /* call_rcu_rt() callbacks under way in this thread.  @room callback */
    uint32_t rt_awake_cpu; /* 1 + the CPU where this thread said rcu_rt_awake(true).  @room callback */
    uint32_t locks_held;   /* atomic for others: ranks of locks that it holds or is taking, as bits.  @room base */
    uint32_t
        slow; /* atomic for others: slow paths under way; for the thread that confirms full fences.  @room reader */
    uint32_t sched;        /* what the scheduler makes of it, and for how many calls; caller.c.  @room work */
    uint32_t mount_id;     /* by which tasks know it, 0 = not asked yet; outlives a fork.  @room reader, parked */
    struct rcu_task *bare; /* runs here without a section, the innermost; compared, never looked into.  @room section */
    uint32_t bare_base;    /* what lies beneath it still.  @room section */
    uint32_t calls;        /* atomic for handlers: calls under way that a fork would tear.  @room base */
    int64_t entered_ns;    /* atomic for others: when, 0 = outside, or not known.  @room api, section, reader */
    const char *waits_in;  /* atomic for others: a call under way that waits for its own section.  @room reader */
    uintptr_t waits_from;  /* atomic for others: the place of that call in the program.  @room reader */
};

extern __thread struct rtrcu_thread rtrcu_self __attribute__((tls_model("initial-exec")));

void rtrcu_read_lock_slow(void);
void rtrcu_note_entry(void);
void rtrcu_note_leave(void);
void rtrcu_read_unlock_slow(void);
void rtrcu_quiescent_state_slow(void);

#if defined(__x86_64__)

/* The offset of rtrcu_self from the thread pointer: the same in all threads, so the compiler may keep it. */
static inline uintptr_t rtrcu_self_offset(void)
{
    uintptr_t offset;
    __asm__("{movq rtrcu_self@gottpoff(%%rip), %0|mov %0, QWORD PTR rtrcu_self@gottpoff[rip]}" : "=r"(offset));
    return offset;
}

/* Add one to the word; true if the slow path is needed: no sign, or a sign that came by overflow, which is that of a
 * handler between an unlock too many (0x7fffffff) and its repair. */
static inline bool rtrcu_word_enter(void)
{
    bool slow;
    __asm__ __volatile__("{incl %%fs:(%1)|inc DWORD PTR fs:[%1]}"
                         : "=@ccge"(slow)
                         : "r"(rtrcu_self_offset())
                         : "memory");
    return slow;
}

static inline bool rtrcu_word_leave(void)
{
    bool slow;
    __asm__ __volatile__("{decl %%fs:(%1)|dec DWORD PTR fs:[%1]}"
                         : "=@ccns"(slow)
                         : "r"(rtrcu_self_offset())
                         : "memory");
    return slow;
}

/* The whole word of the calling thread, flag byte on top. */
static inline uint32_t rtrcu_word_read(void)
{
    uint32_t word;
    __asm__ __volatile__("{movl %%fs:(%1), %0|mov %0, DWORD PTR fs:[%1]}"
                         : "=r"(word)
                         : "r"(rtrcu_self_offset())
                         : "memory");
    return word;
}

#elif defined(__aarch64__)

/* Here a handler between an unlock too many and its repair enters with a word of 0, and its section is not seen. */

static inline struct rtrcu_thread *rtrcu_self_address(void)
{
    uintptr_t address, offset;
    __asm__("adrp %0, :gottprel:rtrcu_self\n\tldr %0, [%0, #:gottprel_lo12:rtrcu_self]" : "=r"(offset));
    __asm__ __volatile__("mrs %0, tpidr_el0\n\tadd %0, %0, %1" : "=&r"(address) : "r"(offset) : "memory");
    return (struct rtrcu_thread *)address;
}

static inline bool rtrcu_word_enter(void)
{
    struct rtrcu_thread *self = rtrcu_self_address();
    rtrcu_store_relaxed(&self->word, rtrcu_load_relaxed(&self->word) + 1);
    rtrcu_fence_light();
    return rtrcu_load_relaxed(&self->flag) != RTRCU_FLAG_FAST;
}

/* The store is a release: what the section read is read before a grace period can see us outside. [O1] */
static inline bool rtrcu_word_leave(void)
{
    struct rtrcu_thread *self = rtrcu_self_address();
    uint32_t word = rtrcu_load_relaxed(&self->word) - 1;
    rtrcu_store_release(&self->word, word);
    rtrcu_fence_light();
    return rtrcu_load_relaxed(&self->flag) != RTRCU_FLAG_FAST || (word & RTRCU_INSIDE_MASK) == RTRCU_INSIDE_MASK;
}

static inline uint32_t rtrcu_word_read(void)
{
    struct rtrcu_thread *self = rtrcu_self_address();
    return (rtrcu_load_relaxed(&self->word) & RTRCU_INSIDE_MASK) | rtrcu_load_relaxed(&self->flag) << 24;
}

#else
#error "rtrcu supports x86-64 and aarch64"
#endif

#ifdef __cplusplus
}
#endif

#endif
