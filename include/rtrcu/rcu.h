/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* rtrcu: real-time RCU for user space.  The public interface.
 *
 * Names and meanings are the Linux kernel's if it has them.  Every block below states context, whether the call blocks,
 * ordering, and result.  "Section" means read-side critical section, "gp" means grace period.
 */
#include <rtrcu/detail/liburcu.h> /* first, since it may define this header's guard */

#ifndef RTRCU_RCU_H
#define RTRCU_RCU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rtrcu/config.h>
#include <rtrcu/detail/head.h>
#include <rtrcu/detail/reader.h>
#include <rtrcu/task.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RTRCU_VERSION_MAJOR 0
#define RTRCU_VERSION_MINOR 2
#define RTRCU_VERSION_PATCH 0

/* "0.2.0", the version of the library in use. */
const char *rtrcu_version(void);

/* ---- readers ---------------------------------------------------------------------------------------------------- */

/*
 * rcu_read_lock - begin a read-side critical section.  Nests up to 524,287 deep.
 * Context:  any thread, any signal handler; registers the thread at its first use.
 * Blocks:   never.  Wait-free; no atomic instruction, fence or system call on the fast path.
 * Ordering: a section that begins after a gp began sees everything published before that gp began. [O1]
 * Returns:  nothing; cannot fail.
 * See:      rcu_read_lock_qs() for quiescent-state threads
 */
static __attribute__((always_inline)) inline void rcu_read_lock(void) /* always inline: the call site is the caller's */
{
    if (__builtin_expect(rtrcu_word_enter(), 0))
        rtrcu_read_lock_slow();
#ifdef RTRCU_DEBUG
    rtrcu_note_entry();
#endif
}

/*
 * rcu_read_unlock - end the innermost section.
 * Context:  the thread that began it, or for a parked task the thread on which it resumed.
 * Blocks:   never; runs no callback.  An outermost unlock that a gp waits for reports to it.  An unlock that ends a
 *           section that was parked takes a short lock.
 * Ordering: every access of the section happens before the end of a gp that waited for it. [O1]
 * Returns:  nothing; cannot fail.  An unlock without a lock is reported on standard error and has no effect.  In an
 *           online quiescent-state thread it is reported late, by the next call that takes a slow path.  On other
 *           processors than x86-64 no gp waits for a section of a signal handler that runs before the report.
 */
static inline void rcu_read_unlock(void)
{
#ifdef RTRCU_DEBUG
    rtrcu_note_leave();
#endif
    rtrcu_tsan_release(rtrcu_read_unlock_slow);
    if (__builtin_expect(rtrcu_word_leave(), 0))
        rtrcu_read_unlock_slow();
}

/* Out-of-line versions of the inline functions, for languages without C's inline functions. */
void rtrcu_read_lock(void);
void rtrcu_read_unlock(void);
bool rtrcu_read_lock_held(void);
void rtrcu_quiescent_state(void);

/* Is the calling thread inside a section, or an online quiescent-state thread?  Does not consider tasks listed by
 * rcu_task_list().  Never blocks. */
static inline bool rcu_read_lock_held(void)
{
    return (rtrcu_word_read() & RTRCU_INSIDE_MASK) != 0;
}

/* Like rcu_read_lock(), in both disciplines.  While the thread is in such a section, call_rcu_rt() in a signal handler
 * or a nested event of that thread queues, instead of running the function immediately. */
void rtrcu_read_lock_bh(void);
void rtrcu_read_unlock_bh(void);
static inline void rcu_read_lock_bh(void)
{
    rtrcu_read_lock_bh();
}
static inline void rcu_read_unlock_bh(void)
{
    rtrcu_read_unlock_bh();
}

void rtrcu_assert_qsbr(const char *call);
/* For a check that has failed: the calling thread is outside, and @condition is false.  Ends the program, unless a task
 * is parked or listed: the running code may be a listed task, whose section its thread does not show. */
void rtrcu_check_held(const char *call, const char *condition, const char *file, int line);
void rtrcu_check_failed(const char *call, const char *condition, const char *file, int line) __attribute__((noreturn));
#ifdef RTRCU_DEBUG
#define RTRCU_ASSERT_QSBR(call) rtrcu_assert_qsbr(call)
#else
#define RTRCU_ASSERT_QSBR(call) ((void)0)
#endif

/* Sections of a quiescent-state thread: no instruction at all.  Such a thread is inside from one rcu_quiescent_state()
 * to the next.  With RTRCU_DEBUG defined, both check that the calling thread is online and has that discipline. */
static inline void rcu_read_lock_qs(void)
{
    RTRCU_ASSERT_QSBR("rcu_read_lock_qs");
}
static inline void rcu_read_unlock_qs(void)
{
    RTRCU_ASSERT_QSBR("rcu_read_unlock_qs");
}

/* ---- pointers --------------------------------------------------------------------------------------------------- */

/* A check at compile time that @p, which is not evaluated, is a pointer: the accesses below would accept any word.  In
 * C++ @p may also be a std::atomic of a pointer. */
#ifdef __cplusplus
extern "C++" {
template <typename T> char rtrcu_pointer_only(T *const volatile &);
template <template <typename> class Atomic, typename T>
char (&rtrcu_pointer_only(const volatile Atomic<T *> &))[sizeof(Atomic<T *>::is_always_lock_free)];
template <typename P> constexpr P *rtrcu_pointer_place(P &p) noexcept
{
    return __builtin_addressof(p);
}
template <template <typename> class Atomic, typename T> inline T **rtrcu_pointer_place(Atomic<T *> &p) noexcept
{
    static_assert(Atomic<T *>::is_always_lock_free && sizeof(p) == sizeof(T *), "an atomic pointer is one word");
    return reinterpret_cast<T **>(__builtin_addressof(p));
}
template <template <typename> class Atomic, typename T>
inline T *const *rtrcu_pointer_place(const Atomic<T *> &p) noexcept
{
    static_assert(Atomic<T *>::is_always_lock_free && sizeof(p) == sizeof(T *), "an atomic pointer is one word");
    return reinterpret_cast<T *const *>(__builtin_addressof(p));
}
}
#define RTRCU_POINTER_ONLY(p) ((void)sizeof(rtrcu_pointer_only(p)))
#define RTRCU_POINTER_PLACE(p) rtrcu_pointer_place(p)
#else
#define RTRCU_POINTER_ONLY(p) ((void)sizeof(char[__builtin_classify_type(p) == 5 ? 1 : -1]))
#define RTRCU_POINTER_PLACE(p) (&(p))
#endif

/* liburcu's lists define the same names with the same meaning; either definition may come first. */
#undef rcu_dereference
#undef rcu_assign_pointer
#undef rcu_xchg_pointer

/* Read a pointer that updaters publish; the object may be used until the section ends. */
#define rcu_dereference(p) (RTRCU_POINTER_ONLY(p), rtrcu_load_consume(RTRCU_POINTER_PLACE(p)))
/* Read the pointer but not the object, which may have been freed. */
#define rcu_access_pointer(p) (RTRCU_POINTER_ONLY(p), rtrcu_load_relaxed(RTRCU_POINTER_PLACE(p)))
#ifdef RTRCU_DEBUG
#define rcu_dereference_check(p, c)                                                                                    \
    (((c) || rcu_read_lock_held()) ? (void)0 : rtrcu_check_held("rcu_dereference_check", #c, __FILE__, __LINE__),      \
     rcu_dereference(p))
#define rcu_dereference_protected(p, c)                                                                                \
    ((c) ? (void)0 : rtrcu_check_failed("rcu_dereference_protected", #c, __FILE__, __LINE__), rcu_access_pointer(p))
#else
#define rcu_dereference_check(p, c) rcu_dereference(p)
#define rcu_dereference_protected(p, c) rcu_access_pointer(p)
#endif

/* Publish: everything stored to *v before is visible to a reader that dereferences p.  In this macro and the two below,
 * v is converted to p's type as by an assignment, with the compiler's warnings or errors. */
#define rcu_assign_pointer(p, v)                                                                                       \
    __extension__({                                                                                                    \
        __typeof__(*RTRCU_POINTER_PLACE(p)) rtrcu_assigned = (v);                                                      \
        RTRCU_POINTER_ONLY(p);                                                                                         \
        rtrcu_store_release(RTRCU_POINTER_PLACE(p), rtrcu_assigned);                                                   \
    })
/* Publish and return the previous pointer; @p is the address of the pointer.  A full fence. */
#define rcu_xchg_pointer(p, v)                                                                                         \
    __extension__({                                                                                                    \
        __typeof__(*RTRCU_POINTER_PLACE(*(p))) rtrcu_exchanged = (v);                                                  \
        RTRCU_POINTER_ONLY(*(p));                                                                                      \
        rtrcu_exchange(RTRCU_POINTER_PLACE(*(p)), rtrcu_exchanged);                                                    \
    })
/* Publish without ordering: NULL, or while no reader can reach the pointer. */
#define RCU_INIT_POINTER(p, v)                                                                                         \
    __extension__({                                                                                                    \
        __typeof__(*RTRCU_POINTER_PLACE(p)) rtrcu_initial = (v);                                                       \
        RTRCU_POINTER_ONLY(p);                                                                                         \
        rtrcu_store_relaxed(RTRCU_POINTER_PLACE(p), rtrcu_initial);                                                    \
    })

/* ---- waiting for a grace period --------------------------------------------------------------------------------- */

void rtrcu_synchronize(void);
void rtrcu_synchronize_expedited(void);
uint64_t rtrcu_get_state(void);
uint64_t rtrcu_start_poll(void);
bool rtrcu_poll_state(uint64_t cookie);
void rtrcu_cond_synchronize(uint64_t cookie);
uint64_t rtrcu_get_state_expedited(void);
uint64_t rtrcu_start_poll_expedited(void);
bool rtrcu_poll_state_expedited(uint64_t cookie);
void rtrcu_cond_synchronize_expedited(uint64_t cookie);

/*
 * synchronize_rcu - wait until every section that began before the call has ended.
 * Context:  any thread outside sections, even in a callback; not in signal handlers.  A quiescent-state thread without
 *           an explicit section is offline while it waits.
 * Blocks:   yes.  A caller takes the steps of the gp itself if no other thread does; several callers share one gp.
 * Ordering: full fence before and after; a gp's usual guarantee. [O1][O2]
 * Returns:  nothing; cannot fail.  Inside a section: debug builds abort with a message; release builds print the
 *           message, and the stall report follows, since the call can never return.
 */
static inline void synchronize_rcu(void)
{
    rtrcu_synchronize();
}
/* Like synchronize_rcu(), but by an expedited gp, which does not wait for normal gps. */
static inline void synchronize_rcu_expedited(void)
{
    rtrcu_synchronize_expedited();
}

/* Both functions return a cookie for "a full gp from now"; lock-free.  start_poll_synchronize_rcu() also requests that
 * gp, and may create a thread; if the kernel refuses the thread now, the polling call tries again. */
static inline unsigned long get_state_synchronize_rcu(void)
{
    return rtrcu_get_state();
}
static inline unsigned long start_poll_synchronize_rcu(void)
{
    return rtrcu_start_poll();
}
/* Has the gp of @cookie ended?  Never waits.  Lock-free while the driver exists; otherwise the call may create it, or
 * take a step of the gp itself if the kernel refuses the thread.  True orders like the return of synchronize_rcu(). */
static inline bool poll_state_synchronize_rcu(unsigned long cookie)
{
    return rtrcu_poll_state(cookie);
}
/* Wait for the gp of @cookie, unless it has ended already.  Context and ordering as for synchronize_rcu(). */
static inline void cond_synchronize_rcu(unsigned long cookie)
{
    rtrcu_cond_synchronize(cookie);
}

/* The same four functions for expedited gps; a cookie is valid only for the kind of gp for which it was returned. */
static inline unsigned long get_state_synchronize_rcu_expedited(void)
{
    return rtrcu_get_state_expedited();
}
static inline unsigned long start_poll_synchronize_rcu_expedited(void)
{
    return rtrcu_start_poll_expedited();
}
static inline bool poll_state_synchronize_rcu_expedited(unsigned long cookie)
{
    return rtrcu_poll_state_expedited(cookie);
}
static inline void cond_synchronize_rcu_expedited(unsigned long cookie)
{
    rtrcu_cond_synchronize_expedited(cookie);
}

/*
 * rtrcu_set_stall_handler - set the function that receives stall reports, line by line; NULL = standard error.
 * Context:  any; in force from the next report on, and a report in progress may end with the old handler.
 * Blocks:   never.  @handler runs in a thread of the library, at kthread_prio, that holds no lock: it may wait, even
 *           for grace periods, and may end its thread, but not throw.  While it runs no other report is printed.
 * Ordering: stores before the call are visible to @handler.
 * Returns:  nothing; cannot fail.
 */
void rtrcu_set_stall_handler(void (*handler)(const char *line));

/* ---- callbacks -------------------------------------------------------------------------------------------------- */

void rtrcu_call(struct rcu_head *head, rcu_callback_t func);
int rtrcu_call_try(struct rcu_head *head, rcu_callback_t func);
void rtrcu_call_hurry(struct rcu_head *head, rcu_callback_t func);
void rtrcu_call_rt(struct rcu_head *head, rcu_callback_t func, bool in_handler);
void rtrcu_barrier(void);
void rtrcu_free(void *memory);
int rtrcu_retire(void *object, void (*func)(void *object)) __attribute__((warn_unused_result));
unsigned long rtrcu_process_callbacks(int64_t budget_ns);

/*
 * call_rcu - run @func(@head) after a grace period.
 * Context:  any thread, inside a section or not; in a signal handler only on a thread that registered explicitly.
 * Blocks:   never (but see backpressure=block); no lock, no allocation; no system call on a deadline thread, unless it
 *           is offline.
 * Ordering: stores before the call are visible to @func; @func runs after every section that began before it. [O1][O5]
 * Returns:  nothing; cannot fail, and never runs a callback.  @head belongs to the library until @func starts.  A null
 *           @func is refused with a message, and nothing is queued.
 * See:      rcu_barrier(), docs/callbacks.md
 */
static inline void call_rcu(struct rcu_head *head, rcu_callback_t func)
{
    rtrcu_call(head, func);
}
/* Like call_rcu(), but at the limit nothing is queued, and the call returns -EAGAIN.  The limit of the thread's backlog
 * is qmax, or its share of qmax_process while the backlog of the process is above qmax_process.  -EINVAL: a null
 * function.  Never waits, even with backpressure=block. */
static inline int call_rcu_try(struct rcu_head *head, rcu_callback_t func)
{
    return rtrcu_call_try(head, func);
}
/*
 * call_rcu_rt - run @func(@head) immediately if no other reader can exist, else as call_rcu().
 * Context:  as call_rcu(), after the object was unlinked and with no reference to it left in the calling thread; a
 *           quiescent-state thread guarantees that itself.  In a signal handler use call_rcu_rt_handler().
 * Blocks:   never, unless @func does.
 * Ordering: full fence before the check; pairs with registration. [O12]
 * Returns:  nothing; cannot fail.  Runs @func immediately only while the calling thread is the only registered one and
 *           in no section; callbacks that call it nest at most 8 deep, then queue.
 */
static inline void call_rcu_rt(struct rcu_head *head, rcu_callback_t func)
{
    rtrcu_call_rt(head, func, false);
}
/* Like call_rcu_rt(), for signal handlers.  The sections of a quiescent-state thread are invisible, so on such a thread
 * it queues, unless the thread's readers use rcu_read_lock_bh(), which is counted. */
static inline void call_rcu_rt_handler(struct rcu_head *head, rcu_callback_t func)
{
    rtrcu_call_rt(head, func, true);
}
/* Like call_rcu(), but the gp begins now rather than at the next tick. */
static inline void call_rcu_hurry(struct rcu_head *head, rcu_callback_t func)
{
    rtrcu_call_hurry(head, func);
}

/*
 * rcu_barrier - wait until every callback that was queued before the call, by any thread, has returned.
 * Context:  any thread outside sections, callbacks and signal handlers.  Inside a callback, or an exit handler run by
 *           its exit(), the call would wait for itself, so it ends the program with a message.
 * Blocks:   yes.  Callbacks queued meanwhile, even by callbacks, do not prolong it.  It does not wait for readers:
 *           synchronize_rcu() does.
 * Ordering: the effects of those callbacks are visible to the caller. [O5]
 * Returns:  nothing; cannot fail.
 */
static inline void rcu_barrier(void)
{
    rtrcu_barrier();
}

/*
 * rcu_free - free(@memory) after a grace period, in bulk; the memory contains no head.
 * Context:  any thread, inside a section or not; not in signal handlers.
 * Blocks:   no longer than malloc() of one block for every 500 pointers (but see backpressure=block).  If malloc() and
 *           the kernel have no memory left the call waits for a gp.  Where it must not wait (in a section,
 *           online in the quiescent-state discipline, on a deadline thread) the memory is never freed, which is
 *           reported once and counted in frees_leaked.
 * Ordering: as call_rcu().
 * Returns:  nothing; cannot fail.  NULL does nothing.
 */
static inline void rcu_free(void *memory)
{
    rtrcu_free(memory);
}

/*
 * rcu_retire - run @func(@object) after a grace period, in bulk; the object contains no head.
 * Context:  as rcu_free().
 * Blocks:   no longer than malloc() of one block for every 250 objects (but see backpressure=block).
 * Ordering: as call_rcu().
 * Returns:  0; -ENOMEM if malloc() and the kernel have no memory left, -EINVAL for a null @func: then nothing is
 *           queued.  @object is passed on unchanged, even NULL.
 */
static inline __attribute__((warn_unused_result)) int rcu_retire(void *object, void (*func)(void *object))
{
    return rtrcu_retire(object, func);
}

/* A head's offset in its object, as an argument of rtrcu_call().  The cast is here so that a C++ program with
 * -Wold-style-cast gets no warning about its own line. */
static inline rcu_callback_t rtrcu_free_from(size_t offset)
{
    return (rcu_callback_t)(offset + 1);
}
/* Like call_rcu() with a function that frees @ptr.  @member is the object's struct rcu_head; it begins within the first
 * 4,096 bytes, else the call does not compile. */
#define rcu_free_head(ptr, member)                                                                                     \
    __extension__({                                                                                                    \
        __typeof__(&(ptr)->member) rtrcu_head = &(ptr)->member;                                                        \
        (void)sizeof(char[offsetof(__typeof__(*(ptr)), member) < 4096 ? 1 : -1]);                                      \
        rtrcu_call(rtrcu_head, rtrcu_free_from(offsetof(__typeof__(*(ptr)), member)));                                 \
    })

/* ---- threads ---------------------------------------------------------------------------------------------------- */

#define RTRCU_QSBR 1u     /* quiescent-state discipline */
#define RTRCU_DEADLINE 2u /* never wakes a thread: no system call in call_rcu() and rcu_read_unlock() */

/*
 * rtrcu_register_thread - register the calling thread with @flags, or change its flags.
 * Context:  ordinary context, outside sections.  It also creates the driver, so that signal handlers of the thread may
 *           call call_rcu() from now on.  Threads register automatically at their first section, without flags.
 * Blocks:   may create a thread.
 * Ordering: full fence.
 * Returns:  0; -EBUSY inside a section; -EINVAL for unknown flags; -EAGAIN: the driver's thread cannot be created now;
 *           -ENOMEM: no memory for a record, or the thread's exit hook has run.  On failure nothing is changed.
 *           A second call changes the flags.
 */
int rtrcu_register_thread(unsigned int flags);
/* Unregister now instead of at thread exit; callbacks stay queued.  -EBUSY inside a section. */
int rtrcu_unregister_thread(void);
/*
 * rtrcu_set_exit_handler - set a function to be called by a thread that exits inside a section; NULL = none.
 * Context:  any; @handler runs in the exiting thread, before its record is released, if its nesting is not 0.  It may
 *           leave sections, or transfer them to tasks by rcu_task_list().  Sections that are still open after it, or
 *           without a handler, are reported and ended.  Exceptions: a thread that has neither record nor exit hook, for
 *           lack of memory; and a section that begins after the hook, in a later destructor: grace periods wait for it.
 * Blocks:   never.
 * Ordering: stores before the call are visible to @handler.
 * Returns:  nothing; cannot fail.
 */
void rtrcu_set_exit_handler(void (*handler)(void));
void rtrcu_thread_online(void);
void rtrcu_thread_offline(void);
void rtrcu_set_deadline(int64_t deadline_ns);
void rtrcu_rt_awake(bool awake);

static inline int rcu_register_thread(void)
{
    return rtrcu_register_thread(0);
}
static inline int rcu_register_thread_qsbr(void)
{
    return rtrcu_register_thread(RTRCU_QSBR);
}
static inline void rcu_unregister_thread(void)
{
    (void)rtrcu_unregister_thread();
}

/* A quiescent-state thread that is about to sleep goes offline: gps do not wait for it.  In other threads these two
 * functions do nothing.  They never block, except as rcu_quiescent_state() does with driver=sched.  A deadline thread
 * that was offline for 100 ticks may have to wake the driver when it comes online. */
static inline void rcu_thread_offline(void)
{
    rtrcu_thread_offline();
}
static inline void rcu_thread_online(void)
{
    rtrcu_thread_online();
}

/*
 * rcu_quiescent_state - announce that this thread holds no reference obtained before.
 * Context:  a quiescent-state thread without an explicit section; in other threads it only invokes callbacks, and with
 *           driver=sched takes steps of grace periods.
 * Blocks:   never, unless callbacks do; one load and one branch while nothing is requested.  With an owner's policy it
 *           invokes ready callbacks within the budget.  With driver=sched it takes a step of a grace period, for which
 *           it may wait for short priority-inheriting locks; a deadline thread never does.
 * Ordering: full, if a gp waits for this thread; else none.
 * Returns:  nothing.
 */
static inline void rcu_quiescent_state(void)
{
    rtrcu_tsan_release(rtrcu_read_unlock_slow);
    rtrcu_fence_light();
    if (__builtin_expect((rtrcu_word_read() & ~(uint32_t)RTRCU_NESTING_MASK) != RTRCU_WORD_QUIET, 0))
        rtrcu_quiescent_state_slow();
    rtrcu_fence_light();
}

/*
 * rcu_process_callbacks - invoke ready callbacks of the calling thread, as many as the policy allows.
 * Context:  outside sections and callbacks.  Where no daemon can exist, it also invokes callbacks meant for one.
 * Blocks:   never, unless the callbacks do, and as rcu_quiescent_state() with driver=sched.  @budget_ns: 0 = as
 *           configured, negative = no limit of time or count; a deadline that was set applies in any case.
 * Ordering: as call_rcu() guarantees for its callbacks.
 * Returns:  how many of the thread's own callbacks have returned, including frees of rcu_free().
 */
static inline unsigned long rcu_process_callbacks(int64_t budget_ns)
{
    return rtrcu_process_callbacks(budget_ns);
}

/*
 * rtrcu_ready_fd - a descriptor that is readable while ready callbacks wait for the calling thread.
 * Context:  a thread that runs its own callbacks by rcu_process_callbacks(), for the loop in which it sleeps; not in
 *           signal handlers.  A thread that is not registered is registered.  The loop never reads or writes the
 *           descriptor: rcu_process_callbacks() clears it, and sets it again where the budget leaves callbacks.
 * Blocks:   may create a thread, as rtrcu_register_thread().
 * Ordering: none beyond that of rcu_process_callbacks().
 * Returns:  a descriptor that the caller closes; each call returns a new duplicate.  It is valid until the thread
 *           unregisters or ends.  -ENOTSUP: with this policy or driver no thread runs callbacks of its own, or no
 *           thread of the library could set the descriptor; else as rtrcu_register_thread(), or -errno of eventfd().
 *           After fork() the child calls again.
 * See:      docs/callbacks.md
 */
int rtrcu_ready_fd(void);

/*
 * rtrcu_shutdown - run all queued callbacks, and end every thread of the library.
 * Context:  outside sections and callbacks.  No other thread is in a call of the library, and all domains and tables
 *           have been cleaned up, or are not in use meanwhile.  A later call of the library creates its threads again;
 *           before that call a different driver may be configured.
 * Blocks:   as rcu_barrier(), and until the threads have exited.
 * Ordering: as rcu_barrier().
 * Returns:  0.  -EDEADLK: called inside a section or a callback; nothing has ended.
 * Remains:  no memory of malloc().  The records of threads stay mapped, and are used again.  Threads that serve a
 *           flavour of liburcu are not ended.
 */
int rtrcu_shutdown(void);

/* Set the absolute CLOCK_MONOTONIC time, in nanoseconds, of the loop's next event: with policy inline no callback in
 * the thread's own calls begins after a clock reading past this time.  0 = none.  Makes the calling thread a deadline
 * thread, as rtrcu_register_thread() does; if that is refused, as inside a section, no deadline is set. */
static inline void rcu_set_deadline(int64_t deadline_ns)
{
    rtrcu_set_deadline(deadline_ns);
}

/* State that real-time work waits on this CPU (policy krcud then keeps to bhlimit), or that it no longer does.  The
 * statement applies to the CPU of the call, until the thread revokes it, unregisters or exits.  Has no effect in a
 * thread whose exit hook has run, or that cannot have one.  Never blocks. */
static inline void rcu_rt_awake(bool awake)
{
    rtrcu_rt_awake(awake);
}

#ifdef __cplusplus
}
#endif

#endif
