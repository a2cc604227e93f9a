/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The domain: its memory, its beginning, and what a fork does to it.
 *
 * tested by: test/api/fork.cc
 */
#include <pthread.h>
#include <stdlib.h>

#include "api/api.h"

struct domain rtrcu_domain;
__thread struct rtrcu_thread rtrcu_self __attribute__((tls_model("initial-exec"))) = {
    .word = RTRCU_WORD_INITIAL,
    .flag = RTRCU_FLAG_INITIAL,
};

static void on_thread_exit(void *self)
{
    (void)self;
    callback_thread_ends(&rtrcu_domain.cb);
    callback_rt_awake(&rtrcu_domain.cb, false); /* what was awake goes with the thread */
    drive_perform(&rtrcu_domain.drive, section_leave(&rtrcu_domain.gp, true));
    drive_leave(&rtrcu_domain.drive);
    if (plat_thread_is_main())
        drive_main_ends(&rtrcu_domain.drive);
}

/* The main thread has the hook whether it reads or not: when it ends, its process may go on. */
static void arm_main(struct domain *domain)
{
    if (plat_thread_is_main())
        (void)plat_thread_exit_reserve(domain->registry.exit_key, &rtrcu_self);
}

static void on_fork_prepare(void)
{
    drive_before_fork(&rtrcu_domain.drive);
}

static void on_fork_parent(void)
{
    drive_after_fork_parent(&rtrcu_domain.drive);
}

/* The forking thread is the child's only one.  Threads are made again when first needed, not here. */
static void on_fork_child(void)
{
    struct domain *domain = &rtrcu_domain;
    uint32_t old_thread_id = rtrcu_self.thread_id;
    rtrcu_self.thread_id = 0;
    rtrcu_self.locks_held = 0;
    drive_after_fork_child(&domain->drive, old_thread_id);
    gp_after_fork(&domain->gp);
    reader_after_fork(&domain->registry, rtrcu_self.record);
    callback_after_fork(&domain->cb, old_thread_id);
    if (!reader_fences_are_full(&domain->registry) && plat_fence_prepare() != 0)
        reader_fences_switch(&domain->registry);
    (void)plat_thread_exit_arm(domain->registry.exit_key, &rtrcu_self); /* it is the main thread now */
}

static void choose_fences(struct domain *domain)
{
    bool off = domain->first_config.membarrier == RTRCU_MEMBARRIER_OFF;
    domain->fence_error = off ? 0 : plat_fence_prepare();
    if (!off && domain->fence_error == 0)
        return;
    if (domain->first_config.membarrier == RTRCU_MEMBARRIER_ON)
        plat_print("rtrcu: RTRCU_MEMBARRIER=on, but the kernel refuses membarrier() (error %d); full fences are used\n",
                   -domain->fence_error);
    reader_fences_start_full(&domain->registry);
}

void api_init(void)
{
    struct domain *domain = &rtrcu_domain;
    if (domain->initialized)
        return;
    if (plat_copies() > 1)
        plat_die(
            "rtrcu: two copies of the library in one process (one may be linked statically into a plugin): readers of"
            " one would be invisible to the other; link them all to librtrcu.so\n");
    api_config_from_environment(&domain->first_config);
    reader_registry_init(&domain->registry);
    gp_init(&domain->gp, &domain->registry);
    domain->cb = (struct callback){.gp = &domain->gp, .config = &domain->first_config};
    watch_init(&domain->watch, &domain->gp, &domain->cb);
    drive_init(&domain->drive, &domain->gp, &domain->cb, &domain->watch);
    choose_fences(domain);
    if (plat_thread_exit_prepare(&domain->registry.exit_key, on_thread_exit) != 0)
        plat_print("rtrcu: no thread-exit hook is left (pthread_key_create); readers are counted without records\n");
    else if (!plat_thread_exit_is_reserved(domain->registry.exit_key))
        plat_print("rtrcu: many thread-specific keys are in use; readers that do not call rcu_register_thread() are"
                   " counted without records\n");
    arm_main(domain);
    domain->message_error = plat_thread_exit_prepare(&domain->message_key, free);
    pthread_atfork(on_fork_prepare, on_fork_parent, on_fork_child);
    domain->initialized = 1;
}

__attribute__((constructor(101))) static void init_before_main(void)
{
    api_init();
    plat_stay_loaded();
}
