// SPDX-License-Identifier: MIT OR Apache-2.0
// The library's own source with its default settings, except for the policy: each CPU runs its own callbacks.  A daemon
// that serves a CPU runs there, and would share its cache.
extern "C" {
#include "api/api.h"
}

#include "subject.h"

namespace
{

void begin()
{
    api_init();
    struct rtrcu_config *config = &rtrcu_domain.config.first;
    config->idle_scans = 8;
    config->stall_timeout_ms = 0;
    config->kthread_prio = 0;
    config->policy = RTRCU_POLICY_INLINE;
}

void enter_section()
{
    rcu_read_lock();
}

void leave_section()
{
    rcu_read_unlock();
}

void enter()
{
    enter_section();
    leave_section();
}

void reclaim(struct rcu_head *head)
{
    head->next = nullptr;
}

void queue(void *memory)
{
    call_rcu((struct rcu_head *)memory, reclaim);
}

// The driver's thread would do this; here the run chooses the CPU.
void serve_callbacks()
{
    static const struct turn_options options = {};
    (void)driver_pass(&rtrcu_domain.drive.driver, &options);
}

void run()
{
    while (rcu_process_callbacks(-1) != 0)
        ;
}

} // namespace

const Subject rtrcu_subject = {"rtrcu",
                               "this library's source",
                               begin,
                               enter,
                               rcu_unregister_thread,
                               enter_section,
                               leave_section,
                               rtrcu_synchronize,
                               queue,
                               serve_callbacks,
                               run};
