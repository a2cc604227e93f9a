/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Entry points of domains that programs define.
 *
 * tested by: test/api/srcu.cc
 */
#include "api/api.h"

static struct srcu *all(void)
{
    return &rtrcu_domain.srcu;
}

void rtrcu_srcu_define(struct srcu_struct *domain, const char *name)
{
    CALL_SCOPE();
    api_init();
    (void)srcu_domain_init(all(), domain, name);
}

void rtrcu_srcu_forget(struct srcu_struct *domain)
{
    CALL_SCOPE();
    srcu_domain_forget(all(), domain);
}

/* Also creates the worker, so that signal handlers may queue callbacks. */
int rtrcu_srcu_init(struct srcu_struct *domain, const char *name)
{
    CALL_SCOPE();
    api_init();
    int error = srcu_domain_init(all(), domain, name);
    if (!error)
        (void)srcu_notify(all());
    return error;
}

int rtrcu_srcu_cleanup(struct srcu_struct *domain)
{
    CALL_SCOPE();
    return srcu_domain_destroy(all(), domain);
}

/* ---- readers ---- */

/* Begins a section that any thread may end, since a guard of another language may move to another thread. */
int rtrcu_srcu_read_lock(struct srcu_struct *domain)
{
    return srcu_down_read(domain);
}

void rtrcu_srcu_read_unlock(struct srcu_struct *domain, int index)
{
    srcu_read_unlock(domain, index);
}

void rtrcu_srcu_sample(struct srcu_struct *domain)
{
    srcu_sample(all(), domain, rtrcu_cpu_hint());
}

void rtrcu_srcu_stale(const struct srcu_struct *domain, int index)
{
    srcu_stale(all(), domain, index);
}

void rtrcu_srcu_wake(uint32_t *slot, uint32_t announced)
{
    srcu_wake(slot, announced);
}

void rtrcu_srcu_must_have_begun(const struct srcu_struct *domain, const char *call)
{
    srcu_must_be_initialised(domain, call);
}

void rtrcu_srcu_note_lock(struct srcu_struct *domain, int index, bool stays)
{
    srcu_note_lock(all(), domain, index, (uintptr_t)__builtin_return_address(0) - 1, stays);
}

void rtrcu_srcu_note_unlock(struct srcu_struct *domain, int index)
{
    srcu_must_be_initialised(domain, "srcu_read_unlock");
    srcu_note_unlock(all(), domain, index, (uintptr_t)__builtin_return_address(0) - 1);
}

/* ---- waiting ---- */

void rtrcu_srcu_synchronize(struct srcu_struct *domain)
{
    CALL_SCOPE();
    srcu_must_be_initialised(domain, "synchronize_srcu");
    srcu_note_wait(all(), domain, "synchronize_srcu");
    bool was_online = api_go_offline();
    srcu_wait(all(), domain, srcu_snap(domain));
    api_wait_end(was_online);
}

uint64_t rtrcu_srcu_get_state(struct srcu_struct *domain)
{
    return srcu_snap(domain);
}

uint64_t rtrcu_srcu_start_poll(struct srcu_struct *domain)
{
    CALL_SCOPE();
    srcu_must_be_initialised(domain, "start_poll_synchronize_srcu");
    uint64_t cookie = srcu_snap(domain);
    srcu_want(domain, cookie);
    (void)srcu_notify(all());
    return cookie;
}

bool rtrcu_srcu_poll_state(struct srcu_struct *domain, uint64_t cookie)
{
    if (srcu_reached(domain, cookie))
        return true;
    CALL_SCOPE();
    if (api_may_lock())
        (void)srcu_step(domain);
    return srcu_reached(domain, cookie);
}

/* ---- callbacks ---- */

void rtrcu_srcu_call(struct srcu_struct *domain, struct rcu_head *head, rcu_callback_t func)
{
    if (!func) {
        api_refuse_callback("call_srcu");
        return;
    }

    srcu_must_be_initialised(domain, "call_srcu");
    head->func = func;
    if (srcu_call(all(), domain, head)) {
        CALL_SCOPE();
        if (!srcu_notify(all()))
            srcu_report_no_worker(all());
    }
}

uint64_t rtrcu_srcu_pending(const struct srcu_struct *domain)
{
    return srcu_pending(domain);
}

void rtrcu_srcu_barrier(struct srcu_struct *domain)
{
    CALL_SCOPE();
    srcu_must_be_initialised(domain, "srcu_barrier");
    srcu_note_wait(all(), domain, "srcu_barrier");
    bool was_online = api_go_offline();
    srcu_wait_for_callbacks(all(), domain);
    api_wait_end(was_online);
}
