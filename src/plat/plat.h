/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Services of processor and kernel: the contract of every primitive that the rooms above use.
 *
 * Knows: system calls, the C library's threads.  Must not know: readers, grace periods, callbacks.
 * Has no state of its own besides the kernel's.  The explorer replaces this room by include path.
 * Every function returns 0 or a value, or -errno; none sets errno.  All are async-signal-safe but
 * plat_fence_by_visit(), plat_thread_attr_init(), plat_cpus_configured(), plat_cpus_exist(), plat_cpus_cut(),
 * plat_thread_create(), plat_thread_join(), plat_thread_exit_prepare(), plat_thread_exit_reserve(), plat_symbol(),
 * plat_copies() and plat_stay_loaded().  Some are async-signal-safe only by glibc's implementation: no standard
 * guarantees it for vsnprintf(), strtol(), getauxval(), pthread_getspecific() and pthread_setcancelstate().
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

/* Register with the kernel for expedited membarriers.  0, or -errno: readers must use full fences. */
int plat_fence_prepare(void);
/* The heavy fence: after it, every running thread of the process has executed a full fence since the call. */
int plat_fence_heavy(void);
/* A heavy fence without membarrier: the calling thread moves to every CPU on which a thread of the process may run.
 * Slow; reads /proc, for which it allocates memory.  -EXDEV: a thread may run where the caller may not.  @next, unless
 * NULL, receives the number of each CPU before the move there; other threads may read it. */
int plat_fence_by_visit(uint32_t *next);

/* ---- waiting: futex.c ---- */

#define PLAT_FOREVER INT64_MAX

/* Sleep while *word == expected, at most @timeout_ns.  0: woken; or -EAGAIN, -ETIMEDOUT, -EINTR. */
int plat_futex_wait(uint32_t *word, uint32_t expected, int64_t timeout_ns);
int plat_futex_wake(uint32_t *word, int count);
/* plat_futex_wait() and plat_futex_wake() for a word that program code wakes by a futex call not marked private to the
 * process. */
int plat_futex_wait_shared(uint32_t *word, uint32_t expected, int64_t timeout_ns);
int plat_futex_wake_shared(uint32_t *word, int count);
/* Lock and unlock a priority-inheriting futex, whose word contains the owner's thread id and the kernel's bits.
 * -EAGAIN, also with PLAT_FOREVER: the caller must read the word and try again.  An owner whose hand-over the kernel
 * refuses clears the word and wakes no waiter. */
int plat_futex_lock_pi(uint32_t *word, int64_t timeout_ns);
int plat_futex_unlock_pi(uint32_t *word);

/* ---- event descriptors: event.c ---- */

/* Create an eventfd that is not readable yet; its reads and writes never block, and an execve() closes it.  Returns its
 * number, or -errno. */
int plat_event_make(void);
/* Duplicate an event descriptor; an execve() closes the duplicate too.  @high: choose a number that programs seldom
 * use, if one is free.  Returns the number, or -errno. */
int plat_event_duplicate(int number, bool high);
/* Make an event descriptor readable, which wakes each thread that polls it; make it unreadable; close it. */
void plat_event_set(int number);
void plat_event_clear(int number);
void plat_event_close(int number);

/* ---- thread ids: thread.c ---- */

/* Value: a thread's id in the kernel; 0 = none.  A shared word contains the bare number. */
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
/* CPU time of another thread of the process.  -1: no thread has that id, or the kernel does not report it. */
int64_t plat_clock_of_thread(struct plat_tid thread);
void plat_clock_sleep(int64_t ns);

/* ---- CPUs: cpu.c ---- */

#ifndef PLAT_CPU_MAX /* the explorer's build defines a smaller number */
#define PLAT_CPU_MAX 1024
#endif

int plat_cpu_current(void);
/* Address at which the kernel keeps the calling thread's CPU number up to date, or NULL.  Other threads may read it. */
const uint32_t *plat_cpu_address(void);
int plat_cpu_bind(int cpu); /* binds the calling thread to @cpu */
/* Number of CPUs that this machine can have; at most PLAT_CPU_MAX. */
int plat_cpus_configured(void);

/* A set of CPUs: a bit mask in the kernel's layout. */
struct plat_cpus {
    uint64_t bits[PLAT_CPU_MAX / 64];
};

/* Parse a list of CPUs such as "0-3,7", the form that taskset and cpusets use.  Returns 0; -EINVAL: @text is not such a
 * list, and @cpus is unchanged. */
int plat_cpus_parse(const char *text, struct plat_cpus *cpus);
/* @cpu if it is in the set, else a member that depends on @cpu alone.  The set is not empty. */
uint32_t plat_cpus_pick(const struct plat_cpus *cpus, uint32_t cpu);
/* Does this machine have at least one of these CPUs? */
bool plat_cpus_exist(const struct plat_cpus *cpus);
/* Remove CPUs that this machine cannot have, unless none would be left. */
void plat_cpus_cut(struct plat_cpus *cpus);
static inline bool plat_cpus_has(const struct plat_cpus *cpus, uint32_t cpu)
{
    return cpu < PLAT_CPU_MAX && (cpus->bits[cpu / 64] >> cpu % 64 & 1);
}

/* ---- threads: thread.c, sched.c ---- */

/* Value: attributes of library threads, independent of the creating thread. */
struct plat_thread_attr {
    struct plat_cpus cpus;
    int32_t nice;
    size_t stack_bytes;
    sigset_t signals; /* signal mask recorded by plat_thread_attr_init(), for plat_signals_initial() */
};

/* Record the main thread's CPUs and nice value, and the caller's signal mask, as they are now.  Stacks have
 * PLAT_STACK_BYTES beyond the program's thread-local memory. */
void plat_thread_attr_init(struct plat_thread_attr *attr);

#define PLAT_STACK_BYTES ((size_t)256 * 1024)
/* Sanitizers need larger frames. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PLAT_STACK_FACTOR 8
#else
#define PLAT_STACK_FACTOR 1
#endif
/* Use stacks of @bytes instead of PLAT_STACK_BYTES, if @bytes is larger. */
static inline void plat_thread_attr_set_stack(struct plat_thread_attr *attr, size_t bytes)
{
    if (bytes > PLAT_STACK_BYTES)
        attr->stack_bytes += (bytes - PLAT_STACK_BYTES) * PLAT_STACK_FACTOR;
}

/* A thread of the library; the struct must exist until the thread has exited. */
struct plat_thread {
    char name[16];
    void *(*body)(void *);
    void *argument;
    int32_t priority; /* SCHED_FIFO priority from the thread's start, if permitted; 0 = SCHED_OTHER */
    int32_t nice;
    bool joinable;         /* the holder of the handle joins the thread; else it is detached */
    unsigned long pthread; /* the thread's pthread_t; written by the thread before its id */
    uint32_t thread_id;    /* atomic: written by the thread, 0 = not yet running */
};

/* Fill in a thread that has not been created yet; @name is truncated to the kernel's limit. */
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
/* Make a prepared thread joinable: the holder of the handle will join it. */
static inline void plat_thread_prepare_joinable(struct plat_thread *thread)
{
    thread->joinable = true;
}
/* The thread's pthread_t; valid once plat_thread_tid() is not 0. */
static inline unsigned long plat_thread_handle(const struct plat_thread *thread)
{
    return thread->pthread;
}
/* The thread's id, 0 = not yet running; plat_thread_renumber() sets the id in a fork's child. */
static inline struct plat_tid plat_thread_tid(const struct plat_thread *thread)
{
    return (struct plat_tid){rtrcu_load_acquire(&thread->thread_id)};
}
static inline void plat_thread_renumber(struct plat_thread *thread, struct plat_tid now)
{
    rtrcu_store_relaxed(&thread->thread_id, now.number);
}
/* Create a thread with @thread's name, body, argument and priority, on the CPUs of @attr, detached unless it is
 * joinable.  Its signals are blocked, except SIGABRT and those that its own instructions and system calls raise.  If
 * the system refuses the priority, the thread is an ordinary one; if it refuses the CPUs, the thread runs on its
 * creator's CPUs; if it refuses to set any policy, the thread has its creator's policy.  Returns 0; -errno: no thread
 * can be created now. */
int plat_thread_create(struct plat_thread *thread, const struct plat_thread_attr *attr);
/* Wait until a joinable thread has exited.  The thread must have started: plat_thread_tid() is not 0. */
void plat_thread_join(struct plat_thread *thread);
struct plat_tid plat_thread_id(void); /* from the kernel; from the C library if the system call is refused */
struct plat_tid plat_main_thread(void);
bool plat_thread_is_main(void);
void plat_thread_name(struct plat_tid thread, char *name, size_t size);
/* Store the name of the calling thread in @name.  Async-signal-safe. */
#define PLAT_THREAD_NAME 16
void plat_own_name(char name[PLAT_THREAD_NAME]);
/* The number of threads left in a process whose main thread has exited.  -1: it has not exited, or the kernel does not
 * report it. */
int plat_threads_left(void);

/* Value: a snapshot of another thread, as far as the kernel reports it. */
struct plat_thread_snapshot {
    char state;        /* R running, S asleep, D in the kernel, T stopped, t traced, Z dead, ? unknown */
    long call;         /* number of the system call that the thread is in, -1 = none or unknown */
    uintptr_t address; /* address of the thread's next instruction, 0 = unknown */
};
void plat_thread_snapshot(struct plat_tid thread, struct plat_thread_snapshot *look);

/* Set the calling thread's policy: SCHED_FIFO at @priority, or SCHED_OTHER with @nice if @priority is 0. */
int plat_sched_set(int priority, int nice);
/* Set the calling thread's nice value; under SCHED_FIFO the value takes effect when the thread returns to
 * SCHED_OTHER. */
int plat_sched_set_nice(int nice);
/* If the calling thread is under SCHED_FIFO, let the threads and processes that it creates start under SCHED_OTHER. */
void plat_sched_keep_class(void);
/* Set SCHED_FIFO at @priority, or SCHED_OTHER if that is 0, for another thread of the process. */
int plat_sched_lift(struct plat_tid thread, int priority);
/* Nice value of @thread; INT32_MAX if it is SCHED_IDLE, INT32_MIN if ordinary threads cannot preempt it. */
int32_t plat_sched_nice(struct plat_tid thread);
/* Real-time priority of the calling thread, 0 if it has none.  A thread of SCHED_DEADLINE, which precedes those of
 * SCHED_FIFO, counts as one of the highest priority. */
#define PLAT_RT_HIGHEST 99
int plat_sched_rt_priority(void);

/* Disable cancellation of the calling thread; returns the previous state. */
int plat_cancel_hold(void);
void plat_cancel_restore(int saved);

/* Block all signals except those raised by the thread's own instructions and system calls; and restore the mask. */
void plat_signals_block(sigset_t *saved);
void plat_signals_restore(const sigset_t *saved);
/* Set the calling thread's signal mask to the one that plat_thread_attr_init() recorded in @attr. */
void plat_signals_initial(const struct plat_thread_attr *attr);

/* Like pthread_atfork(), but returns -errno on failure. */
int plat_fork_hooks(void (*prepare)(void), void (*parent)(void), void (*child)(void));

/* Create a key whose @destructor runs at the exit of each thread that armed the key, after the destructors of lower
 * keys.  -errno: no key is left, and @key is one that no thread can arm. */
int plat_thread_exit_prepare(unsigned int *key, void (*destructor)(void *));
/* Set the calling thread's value of @key.  May allocate memory, so a signal handler must not call it.  Afterwards the
 * thread can arm @key in a handler too. */
int plat_thread_exit_reserve(unsigned int key, void *value);
/* Set the calling thread's value of @key, so that the destructor runs at its exit.  Async-signal-safe.  -EAGAIN: this
 * would allocate memory; plat_thread_exit_reserve() must be called first. */
int plat_thread_exit_arm(unsigned int key, void *value);
/* Can every thread arm @key without reserving it first? */
bool plat_thread_exit_is_reserved(unsigned int key);
/* The calling thread's value for a key, NULL = none yet. */
void *plat_thread_own(unsigned int key);

/* ---- memory: mem.c ---- */

/* Allocate zeroed pages.  NULL: the kernel has none left. */
void *plat_mem_pages(size_t bytes);
/* Return pages of plat_mem_pages() to the kernel. */
void plat_mem_release(void *pages, size_t bytes);

/* ---- random numbers: random.c ---- */

/* A random number that cannot be predicted outside the process; never waits.  If the kernel refuses one, it is derived
 * from the clock and an address. */
uint64_t plat_random(void);

/* ---- the environment: environment.c ---- */

/* The process's environment, NULL if it must not be trusted: the program runs with more rights than the user who set
 * the environment (set-user-id, set-group-id, file capabilities). */
char **plat_environment(void);

/* ---- addresses of code: code.c ---- */

/* Value: a loaded object: its addresses, the difference between these and the addresses in its file, and the file's
 * name. */
struct plat_object {
    uintptr_t begin, end, base;
    char file[128]; /* truncated to fit */
};

/* Find the object that contains @address.  False: no known object does. */
bool plat_code_object(uintptr_t address, struct plat_object *object);
/* Write "FILE 0x12", which addr2line reads.  For an address in no known object, write "0x..." and return false. */
bool plat_code(uintptr_t address, char *text, size_t size);
/* Write "function+0x12 (object)" if the object has the function's name, else as plat_code().  Takes the loader's
 * lock. */
void plat_symbol(uintptr_t address, char *text, size_t size);
/* Can the word that contains @address be read?  0: yes; -EFAULT: no; another -errno: the kernel does not report it. */
int plat_try_read(uintptr_t address);

/* ---- messages: print.c, stack.c ---- */

/* Format and write to standard error in one call, at most 1,023 bytes.  If standard error has no room now (a full pipe,
 * a stopped terminal), the message is lost.  The call waits only if another writer fills that room first, or if a
 * terminal has room for a part of the message alone.  The program does not receive the signals that a write may raise:
 * SIGPIPE, SIGXFSZ, SIGTTOU. */
void plat_print(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Print the caller's stack, one line per frame, as plat_print() does, as far as frame pointers lead.
 * Async-signal-safe. */
void plat_print_stack(void);
/* Write all of @text to standard error.  Waits for room, and raises no signal. */
void plat_write(const char *text);
/* Print like plat_print(), then abort(): for misuse that the library cannot survive. */
void plat_die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* Prevent the object that contains this code from being unloaded: its threads, exit hooks and fork handlers persist. */
void plat_stay_loaded(void);
/* Number of objects in this process with the library's ELF note; each such object has a native domain of its own. */
int plat_copies(void);

#endif
