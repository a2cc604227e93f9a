/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The domain: its memory, its initialisation, and its fork handlers.
 *
 * tested by: test/api/fork.cc
 */
#include <stdlib.h>

#include "api/api.h"
#include "api/layout.h"

struct domain rtrcu_domain;

/* The note that leads other processes to the block of inspect.c.  It is here, in an object that every program with the
 * library has.  Its contents are the version of the note, and the distance from that field to the block.  The linker
 * computes the distance, which is right at any load address, and after stripping. */
__asm__(".pushsection .note.rtrcu.inspect, \"a\", %note\n"
        "    .balign 4\n"
        "    .long 6, 16, 0x7269\n"
        "    .asciz \"rtrcu\"\n"
        "    .balign 4\n"
        "    .long 1, 0\n"
        "    .quad rtrcu_inspect - .\n"
        ".popsection\n");

void api_leave(bool exiting)
{
    struct reader_record *record = reader_self();
    callback_rt_awake(&rtrcu_domain.cb, false); /* ends the state that the thread set by rcu_rt_awake() */
    if (record)
        serve_ready_close(record);
    turn_perform(&rtrcu_domain.drive.turn, section_leave(&rtrcu_domain.gp, exiting));

    if (record)
        serve_release_slot(record);
    work_driver_leave(&rtrcu_domain.drive.work);
}

static void on_thread_exit(void *self)
{
    (void)self;
    void (*handler)(void) = rtrcu_load_acquire(&rtrcu_domain.exit_handler);
    if (handler && section_nesting() != 0)
        handler();

    CALL_SCOPE();
    callback_thread_ends(&rtrcu_domain.cb);
    api_leave(true);

    if (plat_thread_is_main())
        work_main_ends(&rtrcu_domain.drive.work);
}

/* Give the main thread the exit hook, even if it never reads: the process may continue after that thread's exit. */
static void arm_main(struct domain *domain)
{
    if (plat_thread_is_main())
        (void)reader_exit_reserve(&domain->registry);
}

/* Ranks of the locks that a forking thread holds from its prepare handler to its parent or child handler.  A signal
 * handler that forks in between would wait for these locks for ever. */
#define FORK_LOCKS (UINT32_MAX << LOCK_RANK_QUEUES)

/* Pauses invokers and takes locks.  Does nothing in a handler that interrupted a call of the library: the child will be
 * torn (base/call.h), and is not repaired. */
static void on_fork_prepare(void)
{
    if (call_is_open())
        return;

    if (lock_any_held(FORK_LOCKS))
        plat_die("rtrcu: thread %u: fork() in a signal handler that interrupted the library; use _Fork() there\n",
                 lock_thread_number());

    CALL_SCOPE();
    urcu_pause(&rtrcu_domain.urcu);
    serve_before_fork(&rtrcu_domain.drive.serve);
    urcu_before_fork(&rtrcu_domain.urcu);
    srcu_before_fork(&rtrcu_domain.srcu);
}

static void on_fork_parent(void)
{
    if (call_is_open())
        return;

    CALL_SCOPE();
    srcu_after_fork_parent(&rtrcu_domain.srcu);
    urcu_after_fork_parent(&rtrcu_domain.urcu);
    serve_after_fork_parent(&rtrcu_domain.drive.serve);
    urcu_resume(&rtrcu_domain.urcu);
}

/* Repairs all rooms for the child, whose only thread is the forking thread.  Library threads are created again when
 * first needed, not here. */
static void on_fork_child(void)
{
    struct domain *domain = &rtrcu_domain;
    sigset_t blocked;
    if (call_after_fork_child()) { /* a torn child: its thread must not wait for ever */
        lock_end_wait();
        turn_end_waits(&domain->drive.turn);
        return;
    }

    plat_signals_block(&blocked);
    struct plat_tid old_thread_id = lock_after_fork_child();
    if (reader_self_is(READER_STATE_OURS)) /* from here on this thread is the program's, so it gets the program's
                                              signal mask */
        blocked = work_attr(&domain->drive.work)->signals;
    reader_self_clear(READER_STATE_OURS);

    lock_reset(&domain->config_lock);
    reader_after_fork_child(&domain->registry, reader_self());
    parked_after_fork_child(&domain->registry);
    gp_after_fork_child(&domain->gp);
    callback_after_fork_child(&domain->cb, old_thread_id);
    watch_after_fork_child(&domain->watch);
    api_drive_after_fork_child(&domain->drive, old_thread_id);
    urcu_after_fork_child(&domain->urcu, old_thread_id);
    srcu_after_fork_child(&domain->srcu, old_thread_id);

    if (!reader_fences_are_full(&domain->registry) && plat_fence_prepare() != 0)
        reader_fences_switch(&domain->registry);
    (void)reader_exit_arm(&domain->registry); /* the forking thread is the child's main thread */
    plat_signals_restore(&blocked);
}

static void choose_fences(struct domain *domain)
{
    bool off = config_now(&domain->config)->membarrier == RTRCU_MEMBARRIER_OFF;
    domain->fence_error = off ? 0 : plat_fence_prepare();
    if (!off && domain->fence_error == 0)
        return;

    if (config_now(&domain->config)->membarrier == RTRCU_MEMBARRIER_ON)
        plat_print("rtrcu: RTRCU_MEMBARRIER=on, but the kernel refuses membarrier() (error %d); full fences are used\n",
                   -domain->fence_error);
    reader_fences_start_full(&domain->registry);
}

static struct reader_leaf *lay_out(void *memory)
{
    struct domain_leaf *leaf = memory;
    reader_leaf_init(&leaf->reader);
    parked_leaf_init(&leaf->parked, &leaf->reader);
    callback_leaf_init(&leaf->callback, &leaf->reader);
    serve_leaf_init(&leaf->serve, &leaf->reader);
    turn_leaf_init(&leaf->turn, &leaf->reader);
    return &leaf->reader;
}

void api_init(void)
{
    static const struct reader_plan plan = {.bytes = sizeof(struct domain_leaf), .lay_out = lay_out};
    struct domain *domain = &rtrcu_domain;

    if (domain->initialized)
        return;

    if (plat_copies() > 1)
        plat_die(
            "rtrcu: two copies of the library in one process (one may be linked statically into a plugin): readers of"
            " one would be invisible to the other; link them all to librtrcu.so\n");

    config_init(&domain->config);
    lock_init(&domain->config_lock, LOCK_RANK_CONFIG);
    reader_registry_init(&domain->registry, &plan, &domain->first_leaf);
    gp_init(&domain->gp, &domain->registry);
    callback_init(&domain->cb, &domain->config, &domain->gp);
    watch_init(&domain->watch, &domain->config, &domain->gp, &domain->cb);
    api_drive_init(&domain->drive, &domain->config, &domain->gp, &domain->cb, &domain->watch);
    urcu_init(&domain->urcu, &domain->config, &domain->registry, &domain->watch, &domain->drive.work);

    srcu_init(&domain->srcu, &domain->config, &domain->cb, &domain->watch, &domain->drive.work);

    choose_fences(domain);

    if (plat_thread_exit_prepare(reader_exit_key(&domain->registry), on_thread_exit) != 0)
        plat_print("rtrcu: no thread-exit hook is left (pthread_key_create); readers are counted without records\n");
    else if (!plat_thread_exit_is_reserved(*reader_exit_key(&domain->registry)))
        plat_print("rtrcu: many thread-specific keys are in use; readers that do not call rcu_register_thread() are"
                   " counted without records\n");

    arm_main(domain);
    domain->message_error = plat_thread_exit_prepare(&domain->message_key, free);

    if (plat_fork_hooks(on_fork_prepare, on_fork_parent, on_fork_child) != 0)
        plat_print(
            "rtrcu: no memory for the fork handlers (pthread_atfork); a child of fork() must not use the library\n");

    domain->initialized = 1;
}
