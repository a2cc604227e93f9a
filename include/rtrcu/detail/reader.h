/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The reader word and the inline fast paths of readers: the frozen layout compiled into programs.
 *
 * One word in initial-exec thread-local storage holds the complete state of a thread for grace periods:
 *
 *   bits  0..19  nesting of explicit read-side critical sections (writer: the owner)
 *   bit   20     online in the quiescent-state discipline: inside until its next quiescent state (writer: the owner)
 *   bits 24..31  flag byte: 0x80 fast, 0x20 special, 0x40 not registered
 *
 * The flag is inverted, so that "fast" is the sign bit of the word after the increment or decrement (on x86-64 an
 * increment that overflows takes the slow path):
 *
 *   fast          0x80   lock and unlock do nothing more.
 *   special       0x20   both take the slow path: a grace period waits for the thread, callbacks are ready for it, it
 *                        has just registered, or readers use full fences.  Set by other threads under the leaf lock, or
 *                        by the owner; cleared by the owner alone.  A needless flag costs one slow path.  A concurrent
 *                        update by the owner can lose it.
 *   unregistered  0x40   set at any nesting, since a signal handler may lock before registration is done.
 *
 * src/reader/word.h has the transitions between these values.
 *
 * On x86-64 the owner's update is one instruction, so a handler sees it either done or not begun.  Elsewhere the flag
 * is a word of its own.  The thread's address is computed anew each time, by assembly or by a function of the library:
 * if a compiler cached it across a fiber switch, a fiber would unlock the thread that it left.
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
    RTRCU_NESTING_MAX = 0x0007ffff, /* deepest nesting; a higher value results from unlocks without locks */
    RTRCU_QSBR_ONLINE = 0x00100000,
    RTRCU_INSIDE_MASK = 0x00ffffff, /* nesting and discipline: if not 0, a grace period must wait */
};
#define RTRCU_FLAG_FAST UINT32_C(0x80)
#define RTRCU_FLAG_SPECIAL UINT32_C(0x20)
#define RTRCU_FLAG_UNREGISTERED UINT32_C(0x40)

/* The word of an online quiescent-state thread whose flag is clear, whatever its nesting. */
#define RTRCU_WORD_QUIET (RTRCU_FLAG_FAST << 24 | (uint32_t)RTRCU_QSBR_ONLINE)

/* A thread's state in thread-local storage.  Installed layout: grows only at the end. */
struct rtrcu_thread {
    uint32_t word;  /* atomic: with RTRCU_ONE_WORD the reader word, else its low 24 bits only.  @room reader, api */
    uint32_t flag;  /* with RTRCU_ONE_WORD unused, else the flag byte.  @room reader, api */
    uint32_t state; /* owner-private bits, see reader/reader.h.  @room reader */
    uint32_t bh;    /* nesting of rcu_read_lock_bh(), kept by the owner.  @room api, callback */
    struct reader_record *record; /* NULL while not registered.  @room reader */
    uint32_t thread_id;           /* atomic for handlers: the kernel's id, 0 = not queried yet.  @room base */
    uint32_t torn;   /* atomic for handlers: this process was forked inside a call; see src/base/call.h.  @room base */
    uint32_t *boost; /* the PI futex in the thread's record by which it is boosted.  @room reader */
    struct rcu_task *task; /* atomic for others: innermost task with a listed section.  @room section, reader */
    uintptr_t entered;     /* atomic: call site of the outermost section, with RTRCU_DEBUG.  @room api, reader */
    uint32_t direct_depth; /* call_rcu_rt() callbacks running in this thread.  @room callback */
    uint32_t rt_awake_cpu; /* 1 + the CPU on which this thread called rcu_rt_awake(true).  @room callback */
    uint32_t
        locks_held; /* atomic for others: ranks of locks that the thread holds or is taking, as bits.  @room base */
    uint32_t slow;  /* atomic for others: slow paths in progress; read when full fences are confirmed.  @room reader */
    uint32_t sched; /* cached scheduling class, and number of calls for which it is valid; see caller.c.  @room work */
    uint32_t mount_id; /* the thread's id as stored by tasks, 0 = none yet; survives a fork.  @room reader, parked */
    struct rcu_task *bare; /* innermost mounted task without a section; compared, never dereferenced.  @room section */
    uint32_t bare_base;    /* nesting below that task.  @room section */
    uint32_t calls;        /* atomic for handlers: calls in progress that a fork would tear.  @room base */
    int64_t entered_ns; /* atomic for others: begin of the section, 0 = none or unknown.  @room api, section, reader */
    const char *waits_in; /* atomic for others: call in progress that waits for its own section.  @room reader */
    uintptr_t waits_from; /* atomic for others: call site of @waits_in.  @room reader */
    uint32_t *waits_at;   /* atomic for handlers: word of the lock for which the thread sleeps.  @room base */
    /* Counters of rtrcu_thread_stats(), accessed only by the owner. */
    uint64_t system_calls; /* @room plat, api */
    uint64_t lock_waits;   /* @room base, api */
    uint64_t slow_paths;   /* @room reader, api */
    uint64_t callback_ns;  /* @room callback, api */
    uint64_t batch_ns_max; /* @room callback, api */
};

/* Thread-local storage of the initial-exec model is scarce in objects that dlopen() loads: glibc has 1,664 bytes for
 * all of them.  A private copy may be built without this model (RTRCU_DYNAMIC_TLS): its readers call a function. */
#if defined(RTRCU_DYNAMIC_TLS)
#define RTRCU_TLS
#else
#define RTRCU_TLS __attribute__((tls_model("initial-exec")))
#endif
/* Flag and nesting share one word on processors that update a word of thread-local storage by one instruction. */
#if defined(__x86_64__) && !defined(RTRCU_DYNAMIC_TLS)
#define RTRCU_ONE_WORD
#endif
extern __thread struct rtrcu_thread rtrcu_self RTRCU_TLS;

void rtrcu_read_lock_slow(void);
void rtrcu_note_entry(void);
void rtrcu_note_leave(void);
void rtrcu_read_unlock_slow(void);
void rtrcu_quiescent_state_slow(void);
struct rtrcu_thread *rtrcu_self_pointer(void);

#if defined(RTRCU_ONE_WORD)

/* The offset of rtrcu_self from the thread pointer: the same in all threads, so the compiler may keep it. */
static inline uintptr_t rtrcu_self_offset(void)
{
    uintptr_t offset;
    __asm__("{movq rtrcu_self@gottpoff(%%rip), %0|mov %0, QWORD PTR rtrcu_self@gottpoff[rip]}" : "=r"(offset));
    return offset;
}

/* Add one to the word.  True: the slow path is needed, since the sign is clear or an overflow set it.  An overflow
 * occurs in a handler that runs between an unlock without a lock (0x7fffffff) and its repair. */
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

#else

/* A handler that runs between an unlock without a lock and its repair enters with a word of 0 here, and its section is
 * not seen. */

#if defined(__aarch64__) && !defined(RTRCU_DYNAMIC_TLS)
static inline struct rtrcu_thread *rtrcu_self_address(void)
{
    uintptr_t address, offset;
    __asm__("adrp %0, :gottprel:rtrcu_self\n\tldr %0, [%0, #:gottprel_lo12:rtrcu_self]" : "=r"(offset));
    __asm__ __volatile__("mrs %0, tpidr_el0\n\tadd %0, %0, %1" : "=&r"(address) : "r"(offset) : "memory");
    return (struct rtrcu_thread *)address;
}
#else
/* The address of rtrcu_self, by a call: no compiler may keep its result across a fiber switch. */
static inline struct rtrcu_thread *rtrcu_self_address(void)
{
    return rtrcu_self_pointer();
}
#endif

static inline bool rtrcu_word_enter(void)
{
    struct rtrcu_thread *self = rtrcu_self_address();
    rtrcu_store_relaxed(&self->word, rtrcu_load_relaxed(&self->word) + 1);
    rtrcu_fence_light();
    return rtrcu_load_relaxed(&self->flag) != RTRCU_FLAG_FAST;
}

/* The store is a release: the section's reads happen before a grace period can see this thread outside. [O1] */
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

#endif

#ifdef __cplusplus
}
#endif

#endif
