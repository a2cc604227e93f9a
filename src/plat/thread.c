/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads of the library and their attributes, names and ids, and the hook at thread exit.
 *
 * tested by: test/unit/plat/plat.cc
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "plat/plat.h"
#include "plat/syscall.h"

/* Largest stack that plat_thread_create() tries: it doubles a stack that is refused as too small. */
#define STACK_MOST_BYTES ((size_t)64 * 1024 * 1024)

/* Fill @set with all signals except those that an instruction or a system call of the thread itself raises.  A crash
 * handler and a sandbox's handler of system calls must receive these, and the kernel ends a process whose thread blocks
 * them. */
static void all_foreign(sigset_t *set)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    sigfillset(set);
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        sigdelset(set, own[i]);
}

void plat_signals_block(sigset_t *saved)
{
    sigset_t foreign;
    all_foreign(&foreign);
    plat_syscall(SYS_rt_sigprocmask, SIG_BLOCK, (long)&foreign, (long)saved, 8, 0, 0);
}

void plat_signals_restore(const sigset_t *saved)
{
    plat_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)saved, 0, 8, 0, 0);
}

void plat_signals_initial(const struct plat_thread_attr *attr)
{
    plat_signals_restore(&attr->signals);
}

/* The signals that the calling thread blocks now. */
static void signals_blocked(sigset_t *now)
{
    sigemptyset(now);
    plat_syscall(SYS_rt_sigprocmask, SIG_BLOCK, 0, (long)now, 8, 0, 0);
}

int plat_cancel_hold(void)
{
    int saved;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &saved);
    return saved;
}

void plat_cancel_restore(int saved)
{
    pthread_setcancelstate(saved, NULL);
}

/* Add the size of an object's thread-local memory to @bytes: the C library takes this memory from the stack, except for
 * objects loaded later. */
static int add_tls(struct dl_phdr_info *info, size_t size, void *bytes)
{
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type == PT_TLS)
            *(size_t *)bytes += info->dlpi_phdr[i].p_memsz + info->dlpi_phdr[i].p_align;
    }
    return 0;
}

void plat_thread_attr_init(struct plat_thread_attr *attr)
{
    long process =
        (long)plat_main_thread().number; /* queried instead of the calling thread, which may be bound to one CPU */

    memset(&attr->cpus, 0, sizeof(attr->cpus));
    if (plat_syscall(SYS_sched_getaffinity, process, sizeof(attr->cpus), (long)&attr->cpus, 0, 0, 0) <= 0)
        memset(&attr->cpus, 0xff, sizeof(attr->cpus));
    plat_cpus_cut(&attr->cpus);

    long nice = plat_syscall(SYS_getpriority, PRIO_PROCESS, process, 0, 0, 0, 0);
    attr->nice = nice > 0 ? 20 - (int32_t)nice : 0;
    signals_blocked(&attr->signals);
    attr->stack_bytes = PLAT_STACK_BYTES * PLAT_STACK_FACTOR;
    dl_iterate_phdr(add_tls, &attr->stack_bytes);
    attr->stack_bytes = (attr->stack_bytes + 0xffff) & ~(size_t)0xffff;
}

/* Set the signal mask of a new thread: all signals blocked, except those that its own instructions raise, and SIGABRT,
 * so that abort() reaches the program's handler. */
static void set_signals(void)
{
    sigset_t set;
    all_foreign(&set);
    sigdelset(&set, SIGABRT);
    plat_signals_restore(&set);
}

static void *begin(void *argument)
{
    struct plat_thread *thread = argument;
    set_signals();
    if (thread->priority > 0)
        plat_sched_keep_class();

    thread->pthread = (unsigned long)pthread_self();
    rtrcu_store_release(&thread->thread_id, plat_thread_id().number);
    plat_syscall(SYS_prctl, PR_SET_NAME, (long)thread->name, 0, 0, 0, 0);
    plat_syscall(SYS_setpriority, PRIO_PROCESS, 0, thread->nice, 0, 0, 0);
    return thread->body(thread->argument);
}

/* Set the policy in the attributes, so that the thread has it from its start.  If the thread had to set its own policy,
 * a creator that never leaves its CPU at a real-time priority could keep it from running at all. */
static void set_policy(pthread_attr_t *attributes, int priority)
{
    struct sched_param parameter = {.sched_priority = priority};
    pthread_attr_setinheritsched(attributes, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(attributes, priority ? SCHED_FIFO : SCHED_OTHER);
    pthread_attr_setschedparam(attributes, &parameter);
}

/* Attributes to try for a new thread; the system may refuse each of them. */
struct place {
    const struct plat_cpus *cpus; /* NULL: the creator's */
    bool inherits; /* true: the thread inherits the creator's scheduling policy, and @priority is unused */
    int priority;
};

#if defined(__GLIBC__)

static int create_on(const struct plat_cpus *cpus, pthread_attr_t *attributes, struct plat_thread *thread)
{
    pthread_t handle;
    if (cpus)
        pthread_attr_setaffinity_np(attributes, sizeof(*cpus), (const cpu_set_t *)cpus);
    plat_count_call();
    return pthread_create(&handle, attributes, begin, thread);
}

#else

/* Create a thread on @cpus without an attribute for CPUs: the creator moves to @cpus meanwhile, and the new thread
 * inherits them. */
static int create_on(const struct plat_cpus *cpus, pthread_attr_t *attributes, struct plat_thread *thread)
{
    pthread_t handle;
    struct plat_cpus own;
    plat_count_call();
    if (!cpus)
        return pthread_create(&handle, attributes, begin, thread);

    long bytes = plat_syscall(SYS_sched_getaffinity, 0, sizeof(own), (long)&own, 0, 0, 0);
    long error = bytes < 0 ? bytes : plat_syscall(SYS_sched_setaffinity, 0, sizeof(*cpus), (long)cpus, 0, 0, 0);
    if (error)
        return (int)-error;
    error = pthread_create(&handle, attributes, begin, thread);
    plat_syscall(SYS_sched_setaffinity, 0, bytes, (long)&own, 0, 0, 0);
    return (int)error;
}

#endif

static int create(struct plat_thread *thread, size_t stack_bytes, struct place place)
{
    pthread_attr_t attributes;

    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, thread->joinable ? PTHREAD_CREATE_JOINABLE : PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, stack_bytes);

    if (!place.inherits)
        set_policy(&attributes, place.priority);

    sigset_t signals; /* the new thread inherits the mask: no handler of the program may run in it */
    plat_signals_block(&signals);
    int error = create_on(place.cpus, &attributes, thread);
    plat_signals_restore(&signals);

    pthread_attr_destroy(&attributes);
    return error;
}

/* Does @error mean that no thread can be created now, whatever its attributes and stack? */
static bool is_refused(int error)
{
    return error == EAGAIN || error == ENOMEM;
}

/* Create a thread, without each of priority, CPUs and policy that the system refuses: the process may have lost these
 * CPUs, and a sandbox may return any error.  The last attempt inherits all of them from the creator. */
static int create_somewhere(struct plat_thread *thread, const struct plat_cpus *cpus, size_t stack_bytes)
{
    const struct place places[] = {
        {.cpus = cpus, .priority = thread->priority},
        {.cpus = cpus},
        {.priority = thread->priority},
        {.priority = 0},
        {.cpus = cpus, .inherits = true},
        {.inherits = true},
    };

    int error = EPERM;
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]) && error && !is_refused(error); i++)
        error = create(thread, stack_bytes, places[i]);
    return error;
}

/* After EINVAL, tries a larger stack: the C library may reserve more of each stack than is known here, such as room for
 * the thread-local memory of objects loaded later. */
int plat_thread_create(struct plat_thread *thread, const struct plat_thread_attr *attr)
{
    int saved = errno;
    size_t bytes = attr->stack_bytes;

    thread->nice = attr->nice;
    rtrcu_store_relaxed(&thread->thread_id, 0);

    int error = create_somewhere(thread, &attr->cpus, bytes);
    while (error == EINVAL && (bytes *= 2) <= STACK_MOST_BYTES)
        error = create_somewhere(thread, &attr->cpus, bytes);

    errno = saved;
    return -error;
}

void plat_thread_join(struct plat_thread *thread)
{
    plat_count_call();
    pthread_join((pthread_t)thread->pthread, NULL);
}

/* The thread id that the C library knows, without a system call.  The id of the thread's CPU clock contains it,
 * inverted, above three bits for the kind of clock. */
static long noted_number(void)
{
    clockid_t clock;
    return pthread_getcpuclockid(pthread_self(), &clock) == 0 ? ~((long)clock >> 3) : 0;
}

/* Uses the number that the C library knows if a sandbox refuses the system call: locks and claims need a number in any
 * case. */
struct plat_tid plat_thread_id(void)
{
    long number = plat_syscall(SYS_gettid, 0, 0, 0, 0, 0, 0);
    return (struct plat_tid){(uint32_t)(number > 0 ? number : noted_number())};
}

/* Returns the process id, which is also the main thread's id. */
struct plat_tid plat_main_thread(void)
{
    return (struct plat_tid){(uint32_t)plat_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0)};
}

bool plat_thread_is_main(void)
{
    return plat_tid_is(plat_thread_id(), plat_main_thread());
}

/* Read a small file of a thread under /proc; the text ends with a NUL, and is empty on failure. */
static void read_task_file(struct plat_tid thread, const char *which, char *text, size_t size)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/task/%u/%s", thread.number, which);
    text[0] = '\0';

    long file = plat_syscall(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
    if (file < 0)
        return;

    long length = plat_syscall(SYS_read, file, (long)text, (long)size - 1, 0, 0, 0);
    plat_syscall(SYS_close, file, 0, 0, 0, 0, 0);
    text[length > 0 ? length : 0] = '\0';
}

void plat_thread_name(struct plat_tid thread, char *name, size_t size)
{
    read_task_file(thread, "comm", name, size);
    name[strcspn(name, "\n")] = '\0';
}

void plat_own_name(char name[PLAT_THREAD_NAME])
{
    name[0] = '\0';
    plat_syscall(SYS_prctl, PR_GET_NAME, (long)name, 0, 0, 0, 0);
}

void plat_thread_snapshot(struct plat_tid thread, struct plat_thread_snapshot *look)
{
    char text[256];
    *look = (struct plat_thread_snapshot){.state = '?', .call = -1};

    read_task_file(thread, "stat", text, sizeof(text));
    const char *behind_name = strrchr(text, ')');
    if (behind_name && behind_name[1] == ' ')
        look->state = behind_name[2];

    read_task_file(thread, "syscall", text, sizeof(text));
    if (text[0] < '0' || text[0] > '9')
        return; /* "running", or the kernel does not report it */

    look->call = strtol(text, NULL, 10);
    const char *last = strrchr(text, ' ');
    look->address = last ? (uintptr_t)strtoull(last + 1, NULL, 16) : 0;
}

/* Parses /proc/self/task/PID/stat.  See proc(5): the state follows the name, and the number of threads is 17 fields
 * further. */
int plat_threads_left(void)
{
    char text[512];
    read_task_file(plat_main_thread(), "stat", text, sizeof(text));

    const char *at = strrchr(text, ')');
    if (!at || at[1] != ' ' || at[2] != 'Z')
        return -1;

    for (int field = 0; field < 18 && at; field++)
        at = strchr(at + 1, ' ');
    return at ? (int)strtol(at, NULL, 10) - 1 : -1;
}

int plat_fork_hooks(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
    return -pthread_atfork(prepare, parent, child);
}

/* The C library stores the values of the first keys in the thread itself, and allocates room for 32 others at a
 * time. */
#define KEYS_IN_THREAD 32

/* Takes the highest free key whose value is stored in the thread.  The C library calls destructors in the order of the
 * keys' numbers, in up to four rounds, so in each round this key's destructor runs after those of lower keys. */
int plat_thread_exit_prepare(unsigned int *key, void (*destructor)(void *))
{
    unsigned int lower[KEYS_IN_THREAD], count = 0, made = 0;
    int error = pthread_key_create(&made, destructor);

    while (!error && made < KEYS_IN_THREAD - 1 && count < KEYS_IN_THREAD) {
        lower[count++] = made;
        error = pthread_key_create(&made, destructor);
    }

    if (count && (error || made >= KEYS_IN_THREAD)) { /* all keys up to the last in-thread key are taken */
        if (!error)
            pthread_key_delete(made);
        made = lower[--count];
        error = 0;
    }

    while (count)
        pthread_key_delete(lower[--count]);

    *key = error ? UINT_MAX : made; /* no such key exists; key 0 may be other code's */
    return -error;
}

bool plat_thread_exit_is_reserved(unsigned int key)
{
    return key < KEYS_IN_THREAD;
}

int plat_thread_exit_reserve(unsigned int key, void *value)
{
    int saved = errno;
    int error = pthread_setspecific(key, value); /* may allocate */
    errno = saved;
    return -error;
}

int plat_thread_exit_arm(unsigned int key, void *value)
{
    if (key >= KEYS_IN_THREAD && !pthread_getspecific(key))
        return -EAGAIN;
    return -pthread_setspecific(key, value);
}

void *plat_thread_own(unsigned int key)
{
    return pthread_getspecific(key);
}
