// SPDX-License-Identifier: MIT OR Apache-2.0
// src/plat/plat.h implemented by the simulated machine.
// It is compiled with the headers of the explored source, since the initial contents of a thread's block depend on the
// layout.  SIM_TWO_WORDS selects that layout, in this file only.
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "machine/world.h"

extern "C" {
#include "plat/plat.h"
#include <rtrcu/detail/word.h>
}

using sim::world;

extern "C" {

#ifdef SIM_TWO_WORDS
const bool sim_two_words = true;
#else
const bool sim_two_words = false;
#endif

void sim_thread_block_init(void *block)
{
    static_assert(sizeof(struct rtrcu_thread) <= sim::kThreadBlock, "the block has no room for the layout");
    memset(block, 0, sim::kThreadBlock);
    auto *thread = static_cast<struct rtrcu_thread *>(block);
    thread->word = RTRCU_WORD_INITIAL;
    thread->flag = RTRCU_FLAG_INITIAL;
}

int plat_fence_prepare(void)
{
    return world() && world()->exploring() ? world()->fence_heavy(false) : 0;
}

int plat_fence_heavy(void)
{
    return world()->fence_heavy(false);
}

int plat_fence_by_visit(uint32_t *)
{
    return world()->fence_heavy(true);
}

int plat_futex_wait(uint32_t *word, uint32_t expected, int64_t timeout_ns)
{
    return world()->futex_wait(reinterpret_cast<uintptr_t>(word), expected, timeout_ns);
}

int plat_futex_wake(uint32_t *word, int count)
{
    return world()->futex_wake(reinterpret_cast<uintptr_t>(word), count);
}

int plat_futex_wait_shared(uint32_t *word, uint32_t expected, int64_t timeout_ns)
{
    return plat_futex_wait(word, expected, timeout_ns);
}

int plat_futex_wake_shared(uint32_t *word, int count)
{
    return plat_futex_wake(word, count);
}

int plat_futex_lock_pi(uint32_t *word, int64_t timeout_ns)
{
    return world()->futex_lock_pi(reinterpret_cast<uintptr_t>(word), timeout_ns);
}

int plat_futex_unlock_pi(uint32_t *word)
{
    return world()->futex_unlock_pi(reinterpret_cast<uintptr_t>(word));
}

int plat_event_make(void)
{
    return world()->event_make();
}

int plat_event_duplicate(int number, bool)
{
    return world()->event_duplicate(number);
}

void plat_event_set(int number)
{
    world()->event_set(number);
}

void plat_event_clear(int number)
{
    world()->event_clear(number);
}

void plat_event_close(int number)
{
    world()->event_close(number);
}

int64_t plat_clock_now(void)
{
    return world()->clock_now();
}

// Counts steps: a waiting thread takes none.
int64_t plat_clock_of_thread(struct plat_tid thread)
{
    return world()->cpu_ns_of(thread.number);
}

void plat_clock_sleep(int64_t ns)
{
    world()->clock_sleep(ns);
}

int plat_cpu_current(void)
{
    return 0;
}

const uint32_t *plat_cpu_address(void)
{
    return nullptr;
}

int plat_cpus_configured(void)
{
    return 1;
}

int plat_cpu_bind(int cpu)
{
    (void)cpu;
    return 0;
}

int plat_cpus_parse(const char *text, struct plat_cpus *cpus)
{
    (void)text;
    (void)cpus;
    return 0;
}

bool plat_cpus_exist(const struct plat_cpus *cpus)
{
    (void)cpus;
    return true;
}

void plat_cpus_cut(struct plat_cpus *)
{
}

uint32_t plat_cpus_pick(const struct plat_cpus *cpus, uint32_t cpu)
{
    (void)cpus;
    (void)cpu;
    return 0;
}

void plat_thread_attr_init(struct plat_thread_attr *attr)
{
    *attr = {};
    attr->cpus.bits[0] = 1;
}

int plat_thread_create(struct plat_thread *thread, const struct plat_thread_attr *attr)
{
    (void)attr;
    if (world()->refuses(sim::kThreads))
        return -EAGAIN;
    int id = world()->add_thread(thread->name, thread->body, thread->argument, true);
    world()->set_rt_priority(static_cast<uint32_t>(id + 1), thread->priority);
    thread->thread_id = static_cast<uint32_t>(id + 1); // only a thread that forked has another number
    return 0;
}

void plat_thread_join(struct plat_thread *thread)
{
    if (plat_tid_is_nobody(plat_thread_tid(thread)))
        world()->fail("a thread is joined that is not there");
}

struct plat_tid plat_thread_id(void)
{
    return {world()->current()->number};
}

struct plat_tid plat_main_thread(void)
{
    return {1};
}

bool plat_thread_is_main(void)
{
    return false;
}

int plat_threads_left(void)
{
    return -1;
}

void plat_thread_name(struct plat_tid thread, char *name, size_t size)
{
    snprintf(name, size, "%u", thread.number);
}

void plat_own_name(char name[PLAT_THREAD_NAME])
{
    snprintf(name, PLAT_THREAD_NAME, "simulated");
}

void plat_thread_snapshot(struct plat_tid thread, struct plat_thread_snapshot *look)
{
    (void)thread;
    look->state = '?';
    look->call = -1;
    look->address = 0;
}

void plat_symbol(uintptr_t address, char *text, size_t size)
{
    snprintf(text, size, "%#lx", static_cast<unsigned long>(address));
}

int plat_sched_set(int priority, int nice)
{
    world()->current()->rt_priority = priority;
    world()->current()->nice = nice;
    return 0;
}

int plat_sched_set_nice(int nice)
{
    world()->current()->nice = nice;
    return 0;
}

int plat_sched_lift(struct plat_tid thread, int priority)
{
    world()->set_rt_priority(thread.number, priority);
    return 0;
}

int32_t plat_sched_nice(struct plat_tid thread)
{
    return world()->nice_of(thread.number);
}

int plat_sched_rt_priority(void)
{
    return world()->current()->rt_priority;
}

void plat_signals_block(sigset_t *saved)
{
    memset(saved, 0, sizeof(*saved));
    if (world()->block_signals(true))
        sigaddset(saved, SIGUSR1);
}

void plat_signals_restore(const sigset_t *saved)
{
    world()->block_signals(sigismember(saved, SIGUSR1) == 1);
}

int plat_cancel_hold(void)
{
    return 0;
}

void plat_cancel_restore(int)
{
}

void plat_signals_initial(const struct plat_thread_attr *attr)
{
    (void)attr;
}

bool plat_signals_added(const sigset_t *before)
{
    (void)before;
    return false;
}

int plat_thread_exit_prepare(unsigned int *key, void (*destructor)(void *))
{
    *key = 0;
    if (destructor == free) // explored threads have only one exit hook, by which they leave
        return -ENOSYS;
    world()->set_exit_hook(destructor);
    return 0;
}

// Explored forks continue in the child.
int plat_fork_hooks(void (*prepare)(), void (*)(), void (*child)())
{
    world()->set_fork_hooks(prepare, child);
    return 0;
}

bool plat_thread_exit_is_reserved(unsigned int key)
{
    (void)key;
    return true;
}

int plat_thread_exit_reserve(unsigned int key, void *value)
{
    (void)key;
    (void)value;
    return 0;
}

void *plat_thread_own(unsigned int key)
{
    (void)key;
    return nullptr;
}

int plat_thread_exit_arm(unsigned int key, void *value)
{
    (void)key;
    if (world()->refuses(sim::kExitHooks))
        return -ENOMEM;
    world()->arm_exit(value);
    return 0;
}

void *plat_mem_pages(size_t bytes)
{
    if (world()->refuses(sim::kPages))
        return nullptr;
    if (world()->active())
        return world()->allocate_pages(bytes);
    void *pages = aligned_alloc(4096, (bytes + 4095) & ~size_t{4095});
    return pages ? memset(pages, 0, bytes) : nullptr;
}

/* Pages allocated before the first schedule are kept. */
void plat_mem_release(void *pages, size_t bytes)
{
    if (world()->active())
        world()->release_pages(pages, bytes);
}

uint64_t plat_random(void)
{
    return 1;
}

char **plat_environment(void)
{
    return nullptr;
}

void plat_print(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    world()->print(format, arguments);
    va_end(arguments);
}

bool plat_code_object(uintptr_t, struct plat_object *)
{
    return false;
}

int plat_try_read(uintptr_t)
{
    return 0;
}

bool plat_code(uintptr_t address, char *text, size_t size)
{
    snprintf(text, size, "0x%lx", static_cast<unsigned long>(address));
    return false;
}

void plat_print_stack(void)
{
}

void plat_write(const char *text)
{
    plat_print("%s", text);
}

void plat_die(const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    world()->fail(text);
}

void plat_stay_loaded(void)
{
}

int plat_copies(void)
{
    return 1;
}
}
