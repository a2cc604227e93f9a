/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Priorities of the driver and the daemons: the transitions of the table in realtime.h.
 *
 * tested by: test/unit/work/realtime.cc, test/api/realtime.cc
 */
#include "work/work.h"

/* The period over which a share is counted; a thread may use half of a period's share without a break. */
#define PERIOD_NS 100000000

static struct work_worker *worker_of(struct work *work)
{
    return work_worker(work, WORK_WORKER_SHARE);
}

static int32_t setting_of(const struct rtrcu_config *config, enum work_rt_kind kind)
{
    return kind == WORK_RT_DRIVER ? config->gp_rtprio : config->krcud_rtprio;
}

static bool follows_producers(const struct rtrcu_config *config)
{
    return config->gp_rtprio == RTRCU_RTPRIO_AUTO || config->krcud_rtprio == RTRCU_RTPRIO_AUTO;
}

/* Does a setting give the driver or the daemons a fixed priority, even without real-time producers? */
static bool is_demanded(const struct rtrcu_config *config)
{
    return config->gp_rtprio > 0 || config->krcud_rtprio > 0;
}

/* The priority for a thread of @kind.  @active: real-time threads queue callbacks. */
static int32_t wanted(const struct rtrcu_config *config, enum work_rt_kind kind, bool active)
{
    int32_t setting = setting_of(config, kind);
    return setting == RTRCU_RTPRIO_AUTO ? (active ? WORK_RT_AUTO : 0) : setting;
}

int work_rt_priority(const struct work *work, enum work_rt_kind kind)
{
    return wanted(config_now(work->config), kind, rtrcu_load_relaxed(&work->rt.state) != WORK_RT_OFF);
}

/* The priority of the worker: one above the highest priority that it may give to other threads; 0 if none. */
static int priority_by(const struct rtrcu_config *config)
{
    int32_t driver = wanted(config, WORK_RT_DRIVER, true), daemon = wanted(config, WORK_RT_DAEMON, true);
    int32_t highest = driver > daemon ? driver : daemon;
    return highest ? highest + 1 : 0;
}

static int priority_now(void *work)
{
    return priority_by(config_now(((struct work *)work)->config));
}

static int first_priority(const struct rtrcu_config *config, int creator)
{
    (void)creator;
    return priority_by(config);
}

/* ---- called by the threads themselves ---- */

static bool was_refused(const struct work *work, int64_t now)
{
    int64_t refused = rtrcu_load_relaxed(&work->rt.refused_ns);
    return refused && now - refused < WORK_REFUSED_NS;
}

/* Set the priority of one thread.  Under the lock.  False: refused. */
static bool change(struct work *work, struct work_rt_thread *rt, struct plat_tid thread, int32_t priority)
{
    if (rt->priority == priority)
        return true;

    int error = plat_sched_lift(thread, priority);
    if (error) {
        work_refuse_rt(work, error);
        return false;
    }
    rtrcu_store_relaxed(&rt->priority, priority);
    return true;
}

/* Under the lock: set the priority of each thread until the next check.  False: a change was refused. */
static bool change_all(struct work *work, const struct rtrcu_config *config, bool active)
{
    bool may = true;
    for (struct work_rt_thread *rt = work->rt.first; rt; rt = rt->next) { /* the driver, and two for each CPU */
        struct plat_tid thread = plat_thread_tid(&rt->thread->plat);
        if (!plat_tid_is_nobody(thread) && !change(work, rt, thread, rt->spent ? 0 : wanted(config, rt->kind, active)))
            may = false;
    }
    return may;
}

/* Called when the state has become ON: wake the worker, or create it.  If that is refused, the state is OFF again, and
 * no thread keeps the priority that the setting `auto` gave it, since no worker would lower it. */
static void start(struct work *work)
{
    struct work_rt *rt = &work->rt;
    if (work_worker_start(worker_of(work)) == 0) {
        work_worker_wake(worker_of(work));
        return;
    }

    lock_acquire(&rt->lock);
    rtrcu_store_relaxed(&rt->refused_ns, plat_clock_now());
    rtrcu_store_relaxed(&rt->state, WORK_RT_OFF);
    (void)change_all(work, config_now(work->config), false);
    lock_release(&rt->lock);
}

/* Is @rt on the list?  Under the lock. */
static bool is_listed(const struct work_rt *all, const struct work_rt_thread *rt)
{
    const struct work_rt_thread *at = all->first;
    while (at && at != rt)
        at = at->next;
    return at != NULL;
}

/* Under the lock: lower the calling thread if the state is OFF, since no worker would.  The state may have become OFF
 * after the thread's creator had read it, and it becomes OFF if the worker cannot be created. */
static void lower_self_if_off(struct work *work, struct work_rt_thread *rt)
{
    int32_t priority = wanted(config_now(work->config), rt->kind, false);
    if (rtrcu_load_relaxed(&work->rt.state) == WORK_RT_OFF && rt->priority > priority)
        (void)change(work, rt, lock_thread_id(), priority);
}

void work_rt_begins(struct work *work, struct work_rt_thread *rt, const struct work_thread *thread,
                    enum work_rt_kind kind)
{
    lock_acquire(&work->rt.lock);
    rt->thread = thread;
    rt->kind = kind;
    rtrcu_store_relaxed(&rt->priority, plat_sched_rt_priority());
    rt->cpu_ns = plat_clock_of_thread(lock_thread_id());
    rt->debt_ns = 0;
    rt->spent = false;
    if (!is_listed(&work->rt, rt)) {
        rt->next = work->rt.first;
        work->rt.first = rt;
    }
    lower_self_if_off(work, rt);
    lock_release(&work->rt.lock);
}

static bool is_wanted(const struct work *work)
{
    const struct rtrcu_config *config = config_now(work->config);
    int64_t producer_ns = rtrcu_load_relaxed(&work->rt.producer_ns);
    bool demanded = is_demanded(config);
    if (!demanded && (!producer_ns || !follows_producers(config)))
        return false; /* the usual case reads no clock */

    int64_t now = plat_clock_now();
    return (demanded || now - producer_ns < WORK_RT_HOLD_NS) && !was_refused(work, now);
}

void work_rt_runs(struct work *work, struct work_rt_thread *thread)
{
    struct work_rt *rt = &work->rt;
    bool off = rtrcu_load_relaxed(&rt->state) == WORK_RT_OFF;
    if (off && !is_wanted(work)) {
        if (rtrcu_load_relaxed(&thread->priority) > 0) {
            lock_acquire(&rt->lock);
            lower_self_if_off(work, thread);
            lock_release(&rt->lock);
        }
        return;
    }

    lock_acquire(&rt->lock);
    thread->went_on = true;
    bool starts = rtrcu_load_relaxed(&rt->state) != WORK_RT_ON;
    if (starts)
        rtrcu_store_relaxed(&rt->state, WORK_RT_ON);
    lock_release(&rt->lock);

    if (starts)
        start(work);
}

/* ---- called by producers ---- */

/* Is the calling thread a real-time thread?  A deadline thread makes no system call here: its class was read when it
 * registered. */
static bool is_realtime(struct work_producer *producer, int64_t now, bool deadline)
{
    bool known = producer->thread == lock_thread_number();
    if (deadline || (known && now - producer->read_ns < WORK_RT_CLASS_NS))
        return known && producer->realtime;

    producer->thread = lock_thread_number();
    producer->realtime = plat_sched_rt_priority() > 0;
    producer->read_ns = now;
    return producer->realtime;
}

/* Store the time of a real-time producer, and start the worker if this call may: a call that creates the driver may
 * also create the worker, and so may a registration.  Other calls may be in signal handlers: there the worker is only
 * woken, and the driver creates it.  A producer that finds the state ON just before the worker sets it to OFF wakes the
 * worker at the producer's next call. */
static void note(struct work *work, int64_t now, bool may_wake, bool may_create)
{
    uint32_t off = WORK_RT_OFF;
    if (now - rtrcu_load_relaxed(&work->rt.producer_ns) > WORK_RT_LOOK_NS)
        rtrcu_store_relaxed(&work->rt.producer_ns, now);
    if (!may_wake || rtrcu_load_relaxed(&work->rt.state) != WORK_RT_OFF || was_refused(work, now))
        return;
    if (!work_driver_has_thread(work) || !(may_create || work_worker_runs(worker_of(work))))
        return;
    if (rtrcu_compare_exchange(&work->rt.state, &off, WORK_RT_ON))
        start(work);
}

void work_rt_note(struct work *work, struct work_producer *producer)
{
    bool deadline = reader_self_is(READER_STATE_DEADLINE);
    if (!follows_producers(config_now(work->config)) || reader_self_is(READER_STATE_OURS) || call_is_nested())
        return; /* a callback that queues another does not keep its own thread real-time */

    int64_t now = plat_clock_now();
    if (is_realtime(producer, now, deadline))
        note(work, now, !deadline, !work_driver_runs(work));
}

void work_rt_note_at_registration(struct work *work, struct work_producer *producer)
{
    if (!follows_producers(config_now(work->config)))
        return;

    *producer = (struct work_producer){0};
    int64_t now = plat_clock_now();
    if (is_realtime(producer, now, false))
        note(work, now, true, true);
}

/* ---- the worker ---- */

/* Under the lock: count what the thread has used of its share.  Use as an ordinary thread is free.  A daemon that has
 * used its share stays an ordinary thread until its batch ends: a callback may spin until an ordinary thread has
 * run. */
static void account(struct work_rt_thread *rt, struct plat_tid thread, int64_t elapsed_ns, int32_t share)
{
    int64_t cpu_ns = plat_clock_of_thread(thread);
    int64_t used_ns = rt->priority > 0 ? cpu_ns - rt->cpu_ns : 0;

    rt->cpu_ns = cpu_ns;
    rt->debt_ns += used_ns - elapsed_ns * share / 100;
    if (rt->debt_ns <= 0 || share == 100) {
        rt->debt_ns = 0;
        rt->spent = rt->spent && rt->kind == WORK_RT_DAEMON && !rt->went_on;
    } else if (rt->debt_ns > (int64_t)PERIOD_NS / 2 * share / 100 && !rt->spent) {
        rt->spent = true;
        rt->went_on = false;
    }
}

/* Under the lock: count what all threads have used since the last check.  True: a thread runs, or will run. */
static bool account_all(struct work *work, const struct rtrcu_config *config, int64_t elapsed_ns)
{
    bool runs = false;
    for (struct work_rt_thread *rt = work->rt.first; rt; rt = rt->next) { /* at most the driver, and two for each CPU */
        struct plat_tid thread = plat_thread_tid(&rt->thread->plat);
        if (plat_tid_is_nobody(thread))
            continue;
        account(rt, thread, elapsed_ns, config->rt_share);
        runs |= rt->spent || work_thread_sleeps(rt->thread) != WORK_ASLEEP;
    }
    return runs;
}

/* Account for all threads and set their priorities; returns the state that follows.  If the worker was refused a
 * priority above theirs, it could not lower them: then `auto` raises no thread, and only a setting with a number
 * does. */
static enum work_rt_state look(struct work *work, int64_t now)
{
    const struct rtrcu_config *config = config_now(work->config);
    struct work_rt *all = &work->rt;
    bool above = work_worker_priority(worker_of(work)) >= priority_by(config);
    bool active = above && now - rtrcu_load_relaxed(&all->producer_ns) < WORK_RT_HOLD_NS;
    int64_t elapsed_ns = now - all->looked_ns;
    all->looked_ns = now;

    lock_acquire(&all->lock);
    enum work_rt_state state = account_all(work, config, elapsed_ns) ? WORK_RT_ON : WORK_RT_RESTING;
    bool refused = !change_all(work, config, active) || !above;
    if (refused) {
        (void)change_all(work, config, false);
        rtrcu_store_relaxed(&all->refused_ns, now);
    }
    if (refused || (!active && !is_demanded(config)))
        state = WORK_RT_OFF;
    rtrcu_store_relaxed(&all->state, state);
    lock_release(&all->lock);
    return state;
}

/* Longest sleep of the worker after look() returned @state.  Threads that sleep become ordinary threads
 * WORK_RT_HOLD_NS after the last real-time producer, even if none of them wakes. */
static int64_t next_look_ns(const struct work *work, enum work_rt_state state, int64_t now)
{
    if (state == WORK_RT_ON)
        return WORK_RT_LOOK_NS;
    if (state == WORK_RT_OFF || !follows_producers(config_now(work->config)))
        return PLAT_FOREVER;

    int64_t held_ns = rtrcu_load_relaxed(&work->rt.producer_ns) + WORK_RT_HOLD_NS - now;
    return held_ns > 0 ? held_ns : PLAT_FOREVER;
}

static void *share_body(void *argument)
{
    struct work_worker *worker = argument;
    struct work *work = work_worker_owner(worker);

    while (work_goes_on(work)) {
        uint32_t event = work_worker_event(worker);
        work_worker_settle(worker, priority_now);
        work_worker_appears(worker);
        int64_t now = plat_clock_now();
        enum work_rt_state state = look(work, now);
        work_worker_sleep(worker, event, next_look_ns(work, state, now));
    }
    rtrcu_store_relaxed(&work->rt.state, WORK_RT_OFF);
    return NULL;
}

const struct work_job work_job_share = {"rtrcu-share", share_body, first_priority, NULL};

void work_rt_changed(struct work *work)
{
    struct work_worker *worker = worker_of(work);
    bool may_create = is_demanded(config_now(work->config)) && work_driver_has_thread(work) && work_driver_runs(work);
    if (work_worker_runs(worker) || (may_create && work_worker_start(worker) == 0))
        work_worker_wake(worker);
}

/* ---- fork ---- */

/* Resets all priorities: the kernel has put the forking thread under SCHED_OTHER, since real-time threads of the
 * library do not pass their class on. */
void work_rt_after_fork_child(struct work *work)
{
    lock_reset(&work->rt.lock);
    work->rt.state = WORK_RT_OFF;
    work->rt.producer_ns = 0;
    work->rt.refused_ns = 0;
    for (struct work_rt_thread *rt = work->rt.first; rt; rt = rt->next) {
        rt->priority = 0;
        rt->cpu_ns = 0;
        rt->debt_ns = 0;
        rt->spent = false;
    }
}
