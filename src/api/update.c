/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Entry points of updaters: waiting, cookies, callbacks, barrier.
 *
 * tested by: test/api/synchronize.cc
 */
#include <stdlib.h>

#include "api/api.h"

static void refuse_inside_section(const char *call)
{
    if (CHECK_DEBUG)
        plat_die("rtrcu: thread %u: %s() inside a read-side critical section would wait for itself; call it"
                 " after rcu_read_unlock()\n",
                 lock_thread_number(), call);
    complain(reader_misuse(&rtrcu_domain.registry, READER_MISUSE_WAIT),
             "rtrcu: thread %u: %s() inside a read-side critical section may wait for itself and never return; call"
             " it after rcu_read_unlock()",
             lock_thread_number(), call);
}

bool api_wait_begin(struct reader_call call)
{
    api_init();
    if (section_nesting() != 0) {
        refuse_inside_section(call.name);
        reader_self_waits(call);
    }

    return api_go_offline();
}

bool api_go_offline(void)
{
    if (!section_may_go_offline(&rtrcu_domain.gp))
        return false;
    turn_perform(&rtrcu_domain.drive.turn, section_offline(&rtrcu_domain.gp));
    return true;
}

void api_wait_end(bool was_online)
{
    reader_self_waits((struct reader_call){NULL, 0});
    if (!was_online)
        return;

    section_online(&rtrcu_domain.gp);
    work_driver_online(&rtrcu_domain.drive.work);
}

/* Returns the kind of grace period that a call uses which requests the kind @asked.  The settings `normal` and
 * `expedited` replace one kind by the other; `normal` wins, as in the kernel. */
static enum gp_kind kind_in_force(enum gp_kind asked)
{
    const struct rtrcu_config *config = config_now(&rtrcu_domain.config);
    if (config->normal)
        return GP_NORMAL;
    return config->expedited ? GP_EXPEDITED : asked;
}

static void synchronize(enum gp_kind asked, struct reader_call call)
{
    CALL_SCOPE();
    struct domain_drive *drive = &rtrcu_domain.drive;
    bool was_online = api_wait_begin(call);
    enum gp_kind kind = kind_in_force(asked);
    uint64_t cookie = gp_snap(&rtrcu_domain.gp, kind);

    if (kind == GP_EXPEDITED)
        turn_synchronize_expedited(&drive->turn, cookie);
    else
        turn_synchronize(turn_gp_state(&drive->turn, GP_NORMAL), cookie);

    api_wait_end(was_online);
}

void rtrcu_synchronize(void)
{
    synchronize(GP_NORMAL, API_CALL("synchronize_rcu"));
}

void rtrcu_synchronize_expedited(void)
{
    synchronize(GP_EXPEDITED, API_CALL("synchronize_rcu_expedited"));
}

uint64_t rtrcu_get_state_expedited(void)
{
    api_init();
    return gp_snap(&rtrcu_domain.gp, GP_EXPEDITED);
}

uint64_t rtrcu_start_poll_expedited(void)
{
    CALL_SCOPE();
    uint64_t cookie = rtrcu_get_state_expedited();
    turn_start_expedited(&rtrcu_domain.drive.turn, cookie);
    return cookie;
}

bool api_may_lock(void)
{
    return !lock_any_held(UINT32_MAX) && !reader_self_is_slow() && !reader_self_is(READER_STATE_DEADLINE);
}

/* May the calling thread wait for a grace period? */
static bool may_wait(void)
{
    return api_may_lock() && section_nesting() == 0;
}

/* Take one step of the polled grace period, since no thread of the library advances it.  Never waits.  Inside a section
 * no step is allowed, which is reported. */
static void step_polled(enum gp_kind kind)
{
    if (may_wait() && kind == GP_NORMAL)
        (void)turn_step(turn_gp_state(&rtrcu_domain.drive.turn, kind));
    else if (may_wait())
        turn_expedited_serve(&rtrcu_domain.drive.turn, NULL);
    else if (api_may_lock())
        complain(&rtrcu_domain.unserved_polls,
                 "rtrcu: thread %u: poll_state_synchronize_rcu() inside a section cannot advance its grace period,"
                 " and the library could not create a thread; poll outside sections, or raise RLIMIT_NPROC",
                 lock_thread_number());
}

/* Has the grace period of @cookie passed?  If not, and the kernel refused the thread that should advance it, try again
 * to create that thread.  If the thread is refused again, take a step here. */
static bool poll_state(enum gp_kind kind, uint64_t cookie)
{
    struct domain_drive *drive = &rtrcu_domain.drive;
    if (gp_reached(&rtrcu_domain.gp, kind, cookie))
        return true;

    CALL_SCOPE();
    bool left = kind == GP_NORMAL ? gp_is_needed(&rtrcu_domain.gp, kind) : turn_expedited_is_left(&drive->turn);
    if (!left || work_driver_runs(&drive->work))
        return false;

    work_driver_start_in_call(&drive->work);
    work_driver_wake(&drive->work, true);
    if (work_driver_is_refused(&drive->work))
        step_polled(kind);
    return gp_reached(&rtrcu_domain.gp, kind, cookie);
}

bool rtrcu_poll_state_expedited(uint64_t cookie)
{
    return poll_state(GP_EXPEDITED, cookie);
}

void rtrcu_cond_synchronize_expedited(uint64_t cookie)
{
    if (gp_reached(&rtrcu_domain.gp, GP_EXPEDITED, cookie))
        return;

    CALL_SCOPE();
    bool was_online = api_wait_begin(API_CALL("cond_synchronize_rcu_expedited"));
    turn_synchronize_expedited(&rtrcu_domain.drive.turn, cookie);
    api_wait_end(was_online);
}

uint64_t rtrcu_get_state(void)
{
    api_init();
    return gp_snap(&rtrcu_domain.gp, GP_NORMAL);
}

uint64_t rtrcu_start_poll(void)
{
    CALL_SCOPE();
    struct work *work = &rtrcu_domain.drive.work;
    uint64_t cookie = rtrcu_get_state();
    (void)gp_request(&rtrcu_domain.gp, GP_NORMAL, cookie);
    work_driver_start_in_call(work); /* in a fork's child the driver may be missing although a request exists */
    work_driver_wake(work, true);    /* urgent: otherwise, if callbacks have requested this grace period already, the
                                        driver waits for its tick */
    return cookie;
}

bool rtrcu_poll_state(uint64_t cookie)
{
    return poll_state(GP_NORMAL, cookie);
}

void rtrcu_cond_synchronize(uint64_t cookie)
{
    if (gp_reached(&rtrcu_domain.gp, GP_NORMAL, cookie))
        return;

    CALL_SCOPE();
    bool was_online = api_wait_begin(API_CALL("cond_synchronize_rcu"));
    turn_synchronize(turn_gp_state(&rtrcu_domain.drive.turn, GP_NORMAL), cookie);
    api_wait_end(was_online);
}

/* ---- callbacks ---- */

/* May a thread wait in a call that need not wait?  Not while online in the quiescent-state discipline, which counts as
 * inside: neither call_rcu() nor rcu_free() is a quiescent state. */
static bool may_wait_unasked(void)
{
    return may_wait() && !section_may_go_offline(&rtrcu_domain.gp);
}

/* May an enqueue wait for the backlog to shrink?  @may_wait: the public function may wait. */
static bool may_block(const struct domain *domain, bool may_wait)
{
    return may_wait && config_now(&domain->config)->backpressure == RTRCU_BACKPRESSURE_BLOCK && may_wait_unasked() &&
           !reader_self_is(READER_STATE_CALLBACK);
}

/* Report once that backpressure=block cannot make this caller wait, since the caller is inside a section or online: the
 * program may rely on that wait. */
static __attribute__((noinline)) void report_unblocked(struct domain *domain, const struct reader_record *record)
{
    bool blocks = config_now(&domain->config)->backpressure == RTRCU_BACKPRESSURE_BLOCK;
    if (!blocks || may_wait_unasked() || !api_may_lock() || reader_self_is(READER_STATE_CALLBACK))
        return;
    if (rtrcu_load_relaxed(&domain->unblocked) || rtrcu_exchange(&domain->unblocked, 1))
        return;

    plat_print(
        "rtrcu: thread %u: %llu of its callbacks and frees are pending, above its limit of %llu, and with"
        " backpressure=block call_rcu() cannot wait %s, so they are queued (printed once); queue them outside, or by"
        " call_rcu_try()\n",
        lock_thread_number(), (unsigned long long)callback_pending(record),
        (unsigned long long)callback_full_at(&domain->cb),
        reader_self_is(READER_STATE_QSBR) ? "while the thread is online" : "inside a read-side critical section");
}

/* Wake the driver, which serves the backlog; record a backlog at qmax. */
static void push(struct domain *domain, const struct reader_record *record, enum callback_pressure pressure)
{
    /* While ready callbacks wait to be invoked, another grace period would only take CPU time from their invoker. */
    work_driver_wake(&domain->drive.work, !callback_has_ready(record));
    if (pressure >= CALLBACK_FULL)
        work_mark_flooded(&domain->drive.work);
}

static void press(struct domain *domain, struct reader_record *record, enum callback_pressure pressure, bool may_wait)
{
    if (pressure == CALLBACK_CALM)
        return;

    push(domain, record, pressure);
    if (pressure < CALLBACK_FULL ||
        (may_block(domain, may_wait) && serve_wait_below_full(&domain->drive.serve, record)))
        return;

    if (pressure == CALLBACK_OVER) {
        callback_count_over_qmax(&domain->cb);
        report_unblocked(domain, record);
    }
}

/* The record of the queue whose limits apply to a thread with @record.  Threads without a record share one queue. */
static struct reader_record *queue_of(struct reader_record *record)
{
    return record ? record : reader_shared_record(&rtrcu_domain.registry);
}

/* Record the caller's scheduling class, so that the driver and the daemons are created as real-time threads for a
 * real-time caller. */
static void note_class(struct domain *domain, const struct reader_record *own)
{
    struct work_producer unknown = {0};
    work_rt_note(&domain->drive.work, own ? serve_producer(own) : &unknown);
}

/* Slow path of an enqueue: the inbox was empty, or the limits must be checked. */
static __attribute__((noinline)) void call_slow(struct reader_record *own, enum callback_enqueued seen, bool may_wait)
{
    struct domain *domain = &rtrcu_domain;
    struct reader_record *record = queue_of(own);

    CALL_SCOPE();
    reader_self_count_slow();
    note_class(domain, own);
    work_driver_start_in_call(&domain->drive.work);

    if (seen & CALLBACK_FIRST)
        work_driver_wake(&domain->drive.work, false);
    if (seen & CALLBACK_CHECK_LIMITS)
        press(domain, record, callback_check_limits(&domain->cb, record), may_wait);

    rtrcu_fence_full(); /* orders the check of the limits before the read of the driver's state; see
                           on_thread_end() in work/driver.c */
    if (!work_driver_runs(&domain->drive.work))
        callback_check_again(record); /* no thread can be created now: the next call tries again */
}

static struct reader_record *own_record(void)
{
    struct reader_record *record = reader_self();
    if (__builtin_expect(record != NULL, 1))
        return record;

    api_init();
    return section_record(&rtrcu_domain.gp);
}

__attribute__((noinline)) void api_refuse_callback(const char *call)
{
    if (CHECK_DEBUG)
        plat_die("rtrcu: thread %u: %s() of a null function\n", lock_thread_number(), call);
    complain(reader_misuse(&rtrcu_domain.registry, READER_MISUSE_CALLBACK),
             "rtrcu: thread %u: %s() of a null function; refused, nothing is queued", lock_thread_number(), call);
}

static inline void enqueue(struct rcu_head *head, rcu_callback_t func, bool may_wait)
{
    struct reader_record *record = own_record();
    enum callback_enqueued seen = callback_enqueue(&rtrcu_domain.cb, record, head, func);
    if (__builtin_expect(seen, 0))
        call_slow(record, seen, may_wait);
}

void rtrcu_call(struct rcu_head *head, rcu_callback_t func)
{
    if (__builtin_expect(!func, 0))
        api_refuse_callback("call_rcu");
    else
        enqueue(head, func, true);
}

/* Refuse an enqueue at qmax.  Nothing is queued, but the driver is started and woken: the caller may retry until the
 * backlog has been served. */
static __attribute__((noinline)) int call_later(struct reader_record *record)
{
    CALL_SCOPE();
    work_driver_start_in_call(&rtrcu_domain.drive.work);
    push(&rtrcu_domain, record, CALLBACK_FULL);
    return -EAGAIN;
}

int rtrcu_call_try(struct rcu_head *head, rcu_callback_t func)
{
    if (__builtin_expect(!func, 0)) {
        api_refuse_callback("call_rcu_try");
        return -EINVAL;
    }

    struct reader_record *record = queue_of(own_record());
    if (callback_is_full(&rtrcu_domain.cb, record))
        return call_later(record);

    enqueue(head, func, false);
    return 0;
}

static bool call_direct(struct rcu_head *head, rcu_callback_t func, bool in_handler)
{
    CALL_SCOPE();
    api_init();
    return callback_direct(&rtrcu_domain.cb, head, func, in_handler);
}

void rtrcu_call_rt(struct rcu_head *head, rcu_callback_t func, bool in_handler)
{
    if (!func || !call_direct(head, func, in_handler))
        rtrcu_call(head, func);
}

void rtrcu_call_hurry(struct rcu_head *head, rcu_callback_t func)
{
    rtrcu_call(head, func);

    CALL_SCOPE();
    work_driver_wake(&rtrcu_domain.drive.work, true);
}

/* Store the pointer, to be freed in bulk.  Returns 0, or -ENOMEM with nothing stored. */
static inline int note(struct callback_retired retired)
{
    struct reader_record *record = own_record();
    enum callback_enqueued seen = callback_free(&rtrcu_domain.cb, record, retired);
    if (__builtin_expect(seen, 0))
        call_slow(record, seen, true);
    return seen & CALLBACK_NO_MEMORY ? -ENOMEM : 0;
}

/* Called when neither malloc() nor the kernel has memory to queue @memory.  Readers may still use the object, so it
 * cannot be its own queue entry.  If this thread cannot wait for them, the object is leaked, with a report. */
static __attribute__((noinline)) void free_without_note(void *memory)
{
    /* A grace period that waits for a task may wait for the calling thread. */
    if (may_wait_unasked() && !parked_anywhere(&rtrcu_domain.registry)) {
        rtrcu_synchronize();
        free(memory);
    } else if (callback_count_leaked(&rtrcu_domain.cb)) {
        plat_print(
            "rtrcu: thread %u: rcu_free(): no memory to queue the pointer, and the caller must not wait; the memory is"
            " leaked (printed once, counted in frees_leaked)\n",
            lock_thread_number());
    }
}

void rtrcu_free(void *memory)
{
    if (!memory)
        return;
    if (note((struct callback_retired){memory, free}) != 0)
        free_without_note(memory);
}

int rtrcu_retire(void *object, void (*func)(void *object))
{
    if (__builtin_expect(func != NULL, 1))
        return note((struct callback_retired){object, func});
    api_refuse_callback("rcu_retire");
    return -EINVAL;
}

/* ---- the bound of defer_rcu() ---- */

#define DEFERRED_MAX 4096

static void refuse_to_wait(uint64_t pending)
{
    if (CHECK_DEBUG)
        plat_die("rtrcu: thread %u: defer_rcu() inside a read-side critical section with %llu callbacks pending would"
                 " wait for itself; call it after rcu_read_unlock()\n",
                 lock_thread_number(), (unsigned long long)pending);
    complain(reader_misuse(&rtrcu_domain.registry, READER_MISUSE_WAIT),
             "rtrcu: thread %u: defer_rcu() inside a read-side critical section cannot wait while %llu callbacks are"
             " pending, so their number is unlimited; call defer_rcu() outside sections",
             lock_thread_number(), (unsigned long long)pending);
}

static __attribute__((noinline)) void wait_for_backlog(const struct reader_record *record)
{
    if (section_nesting() != 0)
        refuse_to_wait(callback_pending(record));
    if (!may_wait() || reader_self_is(READER_STATE_CALLBACK))
        return;

    CALL_SCOPE();
    bool was_online = api_wait_begin(API_CALL("defer_rcu"));
    serve_wait_for_backlog(&rtrcu_domain.drive.serve, record, DEFERRED_MAX);
    api_wait_end(was_online);
}

void api_bound_deferred(void)
{
    const struct reader_record *record = queue_of(reader_self());
    if (callback_pending(record) >= DEFERRED_MAX)
        wait_for_backlog(record);
}

static void end_wait(bool *was_online)
{
    api_wait_end(*was_online);
}

void rtrcu_barrier(void)
{
    CALL_SCOPE();
    bool was_online __attribute__((cleanup(end_wait))) = api_wait_begin(API_CALL("rcu_barrier"));
    if (reader_self_is(READER_STATE_CALLBACK))
        plat_die("rtrcu: rcu_barrier() inside a callback would wait for itself; call it outside callbacks\n");
    note_class(&rtrcu_domain, reader_self());
    serve_barrier(&rtrcu_domain.drive.serve);
}
