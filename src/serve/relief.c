/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Relief of a daemon that is inside a callback which does not return: a second thread serves the same list.
 *
 * The claim of a queue gives it one invoker at a time.  So callbacks of one thread still run in order, and a slow
 * callback delays the later callbacks of the same thread.
 * tested by: test/api/callbacks.cc
 */
#include "serve/serve.h"

/* True if @daemon has served the same queue for at least SERVE_RELIEF_NS, and no callback of that queue has returned
 * meanwhile.  The caller holds the lock of @daemon's list. */
static bool is_stuck(struct serve_daemon *daemon, int64_t now)
{
    struct reader_record *served = rtrcu_load_relaxed(&daemon->served);
    uint64_t returned = served ? callback_returned(served) : 0;

    if (!served || served != daemon->seen_served || returned != daemon->seen_returned) {
        daemon->seen_served = served;
        daemon->seen_returned = returned;
        daemon->seen_since_ns = now;
        return false;
    }

    return now - daemon->seen_since_ns >= SERVE_RELIEF_NS;
}

static void complain_stuck(struct serve *serve, uint32_t cpu)
{
    complain_by(&serve->no_relief, callback_message_box(serve->cb),
                "rtrcu: both threads of daemon krcud/%u have been inside callbacks for %d ms, and other callbacks wait"
                " for them; a callback should pass long work to a thread",
                cpu, SERVE_RELIEF_NS / 1000000);
}

static void start(struct serve *serve, struct serve_daemon *relief)
{
    if (serve_daemon_start(relief, config_now(serve->config), work_attr(serve->work)) != 0)
        return; /* refused: the next tick tries again */

    rtrcu_fence_full();
    if (work_thread_sleeps(&relief->thread))
        work_thread_wake(&relief->thread);
}

static void look(struct serve *serve, uint32_t cpu, int64_t now)
{
    struct serve_daemon *daemon = &serve->daemon[cpu], *relief = &serve->relief[cpu];

    lock_acquire(&daemon->lock);
    bool stuck = rtrcu_load_relaxed(&daemon->first) && is_stuck(daemon, now);
    bool both = stuck && work_thread_runs(&relief->thread) && is_stuck(relief, now);
    bool report = both && !relief->reported;
    relief->reported = both;
    if (stuck && !relief->list) {
        relief->serve = serve;
        relief->cpu = cpu;
        relief->list = daemon;
    }
    lock_release(&daemon->lock);

    if (report)
        complain_stuck(serve, cpu);
    if (stuck && !both)
        start(serve, relief);
}

void serve_relieve(struct serve *serve, int64_t now)
{
    if (!work_driver_has_thread(serve->work))
        return;
    for (uint32_t cpu = 0; cpu < rtrcu_load_relaxed(&serve->daemon_cpus); cpu++) {
        if (rtrcu_load_relaxed(&serve->daemon[cpu].first))
            look(serve, cpu, now);
    }
}
