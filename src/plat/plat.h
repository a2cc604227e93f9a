/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What machine and kernel give: the contract of every primitive that the rooms above stand on.
 *
 * Knows: system calls, the C library's threads.  Must not know: readers, grace periods, callbacks.
 * No state of its own but what the kernel keeps.  The explorer replaces this room by include path.
 * Every function returns 0 or a value, or -errno; none sets errno.  All are async-signal-safe but
 * plat_fence_by_visit(), plat_thread_attr_init(), plat_cpus_configured(), plat_cpus_exist(), plat_cpus_cut(),
 * plat_thread_create(), plat_thread_join(), plat_thread_exit_prepare(), plat_thread_exit_reserve(), plat_symbol(),
 * plat_copies() and plat_stay_loaded().  Some are so by what glibc does: no standard promises it of vsnprintf(),
 * strtol(), getauxval(), pthread_getspecific() and pthread_setcancelstate().
 */
#ifndef RTRCU_PLAT_PLAT_H
#define RTRCU_PLAT_PLAT_H

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rtrcu/detail/atomic.h>
#include <rtrcu/detail/fence.h>
#include <rtrcu/detail/reader.h>

/* ---- fences: membarrier.c ---- */

/* Ask the kernel for expedited membarriers.  0, or -errno: readers must use full fences. */
int plat_fence_prepare(void);
/* The heavy half: after it, every running thread of the process has passed a full fence since the call. */
int plat_fence_heavy(void);
/* The same by visiting every CPU: slow, needs no membarrier, and reads /proc, for which it allocates memory.  Refuses
 * (-EXDEV) if a thread may run where we may not.  @next: the CPU that it goes to next, for other threads; or NULL. */
int plat_fence_by_visit(uint32_t *next);

/* ---- waiting: futex.c ---- */

#define PLAT_FOREVER INT64_MAX

/* Sleep while *word == expected, at most @timeout_ns.  0 on a wake-up, -EAGAIN, -ETIMEDOUT, -EINTR. */
int plat_futex_wait(uint32_t *word, uint32_t expected, int64_t timeout_ns);
int plat_futex_wake(uint32_t *word, int count);
/* The same on a word that a program's own code wakes, which does not say that it is private to the process. */
int plat_futex_wait_shared(uint32_t *word, uint32_t expected, int64_t timeout_ns);
int plat_futex_wake_shared(uint32_t *word, int count);
/* Priority-inheriting futex: the word holds the owner's thread id, the kernel adds its bits.  -EAGAIN, also where there
 * is no timeout: look at the word, then wait again.  So a waiter finds a word whose owner was refused the hand-over. */
int plat_futex_lock_pi(uint32_t *word, int64_t timeout_ns);
int plat_futex_unlock_pi(uint32_t *word);

/* ---- thread ids: thread.c ---- */

/* Value: a thread, as the kernel numbers it; 0 = nobody.  A shared word keeps the bare number. */
struct plat_tid {
    uint32_t number;
};

#define PLAT_NOBODY ((struct plat_tid){0})

static inline bool plat_tid_is(struct plat_tid one, struct plat_tid other)
{
    return one.number == other.number;
}
static inline bool plat_tid_is_nobody(struct plat_tid tid)
{
    return tid.number == 0;
}

/* ---- time: clock.c ---- */

int64_t plat_clock_now(void); /* CLOCK_MONOTONIC, nanoseconds */
/* CPU time of another thread of ours, -1 = there is none of that id, or the kernel does not tell. */
int64_t plat_clock_of_thread(struct plat_tid thread);
void plat_clock_sleep(int64_t ns);

/* ---- CPUs: cpu.c ---- */

#ifndef PLAT_CPU_MAX /* the explored build has fewer */
#define PLAT_CPU_MAX 1024
#endif

int plat_cpu_current(void);
/* Where the kernel keeps the CPU number of the calling thread up to date, or NULL.  Other threads may read it. */
const uint32_t *plat_cpu_address(void);
int plat_cpu_bind(int cpu); /* the calling thread */
/* How many CPUs this machine can have; at most PLAT_CPU_MAX. */
int plat_cpus_configured(void);

/* A set of CPUs, in the kernel's layout. */
struct plat_cpus {
    uint64_t bits[PLAT_CPU_MAX / 64];
};

/* A list as taskset and cpusets write it: "0-3,7".  0; -EINVAL: no such list, or empty, and @cpus is untouched. */
int plat_cpus_parse(const char *text, struct plat_cpus *cpus);
/* @cpu if it is of the set, else a member that depends on @cpu alone.  The set is not empty. */
uint32_t plat_cpus_pick(const struct plat_cpus *cpus, uint32_t cpu);
/* Has this machine one of them? */
bool plat_cpus_exist(const struct plat_cpus *cpus);
/* Leave out those that it cannot have, unless none would be left. */
void plat_cpus_cut(struct plat_cpus *cpus);
static inline bool plat_cpus_has(const struct plat_cpus *cpus, uint32_t cpu)
{
    return cpu < PLAT_CPU_MAX && (cpus->bits[cpu / 64] >> cpu % 64 & 1);
}

/* ---- threads: thread.c, sched.c ---- */

/* Value: how threads of our own run, whoever makes them. */
struct plat_thread_attr {
    struct plat_cpus cpus;
    int32_t nice;
    size_t stack_bytes;
    sigset_t signals; /* that the process blocked: for programs that callbacks start */
};

/* The process's CPUs, nice value and signals as they are now; stacks of PLAT_STACK_BYTES above the program's TLS. */
void plat_thread_attr_init(struct plat_thread_attr *attr);

#define PLAT_STACK_BYTES ((size_t)256 * 1024)
/* Sanitizers put more into a frame. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PLAT_STACK_FACTOR 8
#else
#define PLAT_STACK_FACTOR 1
#endif
/* Stacks of @bytes in the place of PLAT_STACK_BYTES, if that is more. */
static inline void plat_thread_attr_set_stack(struct plat_thread_attr *attr, size_t bytes)
{
    if (bytes > PLAT_STACK_BYTES)
        attr->stack_bytes += (bytes - PLAT_STACK_BYTES) * PLAT_STACK_FACTOR;
}

/* A thread of our own; lives as long as it does. */
struct plat_thread {
    char name[16];
    void *(*body)(void *);
    void *argument;
    int32_t priority; /* SCHED_FIFO from its start, where that is allowed; 0 = SCHED_OTHER */
    int32_t nice;
    bool joinable;         /* not detached: the holder of the handle joins it */
    unsigned long pthread; /* its handle; written by the thread before its id */
    uint32_t thread_id;    /* atomic: written by the thread, 0 = not yet running */
};

/* Fill in one that has not been made yet; @name is cut to what the kernel keeps. */
static inline void plat_thread_prepare(struct plat_thread *thread, const char *name, void *(*body)(void *),
                                       void *argument, int priority)
{
    bool ends = false;
    for (size_t i = 0; i < sizeof(thread->name); i++) {
        ends = ends || !name[i] || i + 1 == sizeof(thread->name);
        thread->name[i] = ends ? '\0' : name[i];
    }
    thread->body = body;
    thread->argument = argument;
    thread->priority = priority;
    thread->nice = 0;
    thread->joinable = false;
    rtrcu_store_relaxed(&thread->thread_id, 0);
}
/* Behind that: the holder of the handle joins it. */
static inline void plat_thread_prepare_joinable(struct plat_thread *thread)
{
    thread->joinable = true;
}
/* As pthread_t, once it has an id. */
static inline unsigned long plat_thread_handle(const struct plat_thread *thread)
{
    return thread->pthread;
}
/* Its id, 0 = not yet running; and, in a fork's child, what it is now. */
static inline struct plat_tid plat_thread_tid(const struct plat_thread *thread)
{
    return (struct plat_tid){rtrcu_load_acquire(&thread->thread_id)};
}
static inline void plat_thread_renumber(struct plat_thread *thread, struct plat_tid now)
{
    rtrcu_store_relaxed(&thread->thread_id, now.number);
}
/* Make a thread at home, detached unless it is joinable: at its priority, on the home's CPUs, with all signals blocked
 * that do not tell of a fault of its own. @thread's name, body and argument are filled in. Where the kernel or a
 * sandbox refuses one of them, that one alone is left out: the priority for an ordinary thread, the CPUs for those of
 * its maker, and its maker's policy only where none can be set. 0; -errno: there is no room for a thread now. */
int plat_thread_create(struct plat_thread *thread, const struct plat_thread_attr *attr);
/* Wait for the end of one that is joinable and has run. */
void plat_thread_join(struct plat_thread *thread);
struct plat_tid plat_thread_id(void); /* asks the kernel, or the C library where that refuses to tell */
struct plat_tid plat_main_thread(void);
bool plat_thread_is_main(void);
void plat_thread_name(struct plat_tid thread, char *name, size_t size);
/* The name of the calling thread.  Async-signal-safe. */
#define PLAT_THREAD_NAME 16
void plat_own_name(char name[PLAT_THREAD_NAME]);
/* Threads that are left in a process whose main thread has ended by itself, which the kernel keeps as long as any is.
 * -1: it has not ended, or the kernel does not tell. */
int plat_threads_left(void);

/* Value: what another thread is doing now, as far as the kernel tells. */
struct plat_thread_snapshot {
    char state;        /* R running, S asleep, D in the kernel, T stopped, t traced, Z dead, ? unknown */
    long call;         /* number of the system call it is in, -1 = none or unknown */
    uintptr_t address; /* of its next instruction, 0 = unknown */
};
void plat_thread_snapshot(struct plat_tid thread, struct plat_thread_snapshot *look);

/* SCHED_FIFO at @priority, or SCHED_OTHER with @nice if @priority is 0.  The calling thread. */
int plat_sched_set(int priority, int nice);
/* SCHED_FIFO at @priority for another thread of ours. */
int plat_sched_lift(struct plat_tid thread, int priority);
/* Nice value of that thread; INT32_MAX if it is SCHED_IDLE, INT32_MIN if it comes before ordinary
 * threads. */
int32_t plat_sched_nice(struct plat_tid thread);
/* Real-time priority of the calling thread, 0 if it has none. */
int plat_sched_rt_priority(void);

/* Cancellation of the calling thread waits, and what was. */
int plat_cancel_hold(void);
void plat_cancel_restore(int saved);

/* All signals off but those that the thread's own instructions and system calls raise, and back. */
void plat_signals_block(sigset_t *saved);
void plat_signals_restore(const sigset_t *saved);
/* The calling thread blocks what the process blocked. */
void plat_signals_initial(const struct plat_thread_attr *attr);

/* pthread_atfork().  -errno */
int plat_fork_hooks(void (*prepare)(void), void (*parent)(void), void (*child)(void));

/* @destructor runs at the exit of each thread that called plat_thread_exit_arm(), behind those of lower keys.  -errno:
 * none is left, and @key is one that nobody can arm. */
int plat_thread_exit_prepare(unsigned int *key, void (*destructor)(void *));
/* In ordinary context: from now on the calling thread can arm @key in a handler too. */
int plat_thread_exit_reserve(unsigned int key, void *value);
/* -EAGAIN: it would have to allocate, so it must be reserved before. */
int plat_thread_exit_arm(unsigned int key, void *value);
/* May threads arm @key without reserving it? */
bool plat_thread_exit_is_reserved(unsigned int key);
/* What the calling thread gave to one of these, NULL = nothing yet. */
void *plat_thread_own(unsigned int key);

/* ---- memory: mem.c ---- */

/* Zeroed pages.  NULL when the kernel has none left. */
void *plat_mem_pages(size_t bytes);
/* Give them back. */
void plat_mem_release(void *pages, size_t bytes);

/* ---- the environment: environment.c ---- */

/* The process's environment, NULL where it must not be trusted: the program runs with more rights than whoever chose
 * the environment (set-user-id, set-group-id, file capabilities). */
char **plat_environment(void);

/* ---- addresses of code: code.c ---- */

/* Value: an object, its memory, and the difference between the addresses there and those in its file. */
struct plat_object {
    uintptr_t begin, end, base;
    char file[128]; /* cut to what fits */
};

/* The object that contains @address.  False: none that is known. */
bool plat_code_object(uintptr_t address, struct plat_object *object);
/* "FILE 0x12", as addr2line takes it, or "0x..." for an address in no object that is known: then false. */
bool plat_code(uintptr_t address, char *text, size_t size);
/* "function+0x12 (object)" where the object has the function's name, else as plat_code().  Takes the loader's lock. */
void plat_symbol(uintptr_t address, char *text, size_t size);
/* Can the word that contains @address be read?  0; -EFAULT: no; another -errno: the kernel does not tell. */
int plat_try_read(uintptr_t address);

/* ---- messages: print.c, stack.c ---- */

/* Format and write to standard error in one go, at most 1,023 bytes.  Never waits: where standard error has no room for
 * it now (a full pipe, a terminal that was stopped) the message is lost.  That is as far as poll() knows: another
 * writer there may take the room in between.  No signal of the write reaches the program: SIGPIPE, SIGXFSZ, SIGTTOU. */
void plat_print(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The caller's stack, a line a frame, as plat_print() does: as far as frame pointers lead.  Async-signal-safe. */
void plat_print_stack(void);
/* Write to standard error, however long that takes, likewise without a signal. */
void plat_write(const char *text);
/* plat_print() and abort(): a mistake of the program that the library cannot live with. */
void plat_die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* Keep the object that this code lies in from being unloaded: its threads, exit hooks and fork handlers stay. */
void plat_stay_loaded(void);
/* How many objects in this process carry the library's ELF note.  More than one: more than one domain. */
int plat_copies(void);

#endif
