/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* An event loop with a deadline: every millisecond a timer event must be served immediately, and in the remaining time
 * the loop itself runs the callbacks that are ready, as many as fit before the next event.
 *
 * The thread is quiescent-state (sections cost nothing; it is offline while it sleeps) and a deadline thread (nothing
 * that it calls wakes a thread or waits).
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <rtrcu/rcu.h>

#define EVENTS 500
#define PERIOD_NS 1000000
#define UPDATES 200 /* routes replaced per event; each replaced route is freed after a grace period */

struct route {
    int port;
    struct rcu_head rcu;
};

static struct route *table[64];
static unsigned long replaced, freed, begun_late; /* not atomic: callbacks of one thread run one at a time */
static int64_t due_ns;                            /* time of the next event; only the loop uses this variable */
static _Thread_local bool is_loop;

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void route_free(struct rcu_head *head)
{
    if (is_loop)
        begun_late += now_ns() > due_ns;
    freed++;
    free((char *)head - offsetof(struct route, rcu));
}

/* The work of an event: routes change.  In a quiescent-state thread the section costs no instruction. */
static void serve(int event)
{
    rcu_read_lock_qs();
    for (int i = 0; i < UPDATES; i++) {
        struct route **place = &table[(event * 7 + i) % 64], *old = rcu_dereference(*place);
        struct route *fresh = malloc(sizeof(*fresh));
        if (!fresh)
            exit(1);
        fresh->port = old ? old->port + 1 : 0;
        rcu_assign_pointer(*place, fresh);
        if (old) {
            call_rcu(&old->rcu, route_free);
            replaced++;
        }
    }
    rcu_read_unlock_qs();
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Serve the events; lateness[i] is how long after its time event i began to be served. */
static void loop(int epoll, int timer, int64_t lateness[])
{
    for (int event = 0; event < EVENTS; event++) {
        struct epoll_event ready;
        uint64_t expirations;
        rcu_thread_offline(); /* while the thread sleeps, no grace period waits for it */
        if (epoll_wait(epoll, &ready, 1, -1) != 1 || read(timer, &expirations, sizeof(expirations)) < 0)
            exit(1);
        rcu_thread_online();
        lateness[event] = now_ns() - due_ns;
        serve(event);
        while (due_ns <= now_ns()) /* periods that were missed entirely are skipped */
            due_ns += PERIOD_NS;
        rcu_set_deadline(due_ns);
        rcu_process_callbacks(0); /* runs callbacks until all have run, the budget is used up or the deadline is near */
    }
}

int main(void)
{
    static int64_t lateness[EVENTS];
    struct rtrcu_config config;
    rtrcu_config_init(&config);
    config.policy = RTRCU_POLICY_INLINE;
    config.budget_ns = PERIOD_NS / 2;
    if (rtrcu_configure(&config) != 0 || rtrcu_register_thread(RTRCU_DEADLINE | RTRCU_QSBR) != 0)
        return 1;

    int timer = timerfd_create(CLOCK_MONOTONIC, 0), epoll = epoll_create1(0);
    struct epoll_event interest = {.events = EPOLLIN};
    is_loop = true;
    due_ns = now_ns() + PERIOD_NS;
    struct itimerspec when = {.it_interval = {0, PERIOD_NS}, .it_value = {due_ns / 1000000000, due_ns % 1000000000}};
    if (timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL) || epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &interest))
        return 1;
    loop(epoll, timer, lateness);
    rtrcu_unregister_thread(); /* ends the deadline: a daemon runs the remaining callbacks */
    rcu_barrier();

    struct rtrcu_stats stats = {.size = sizeof(stats)};
    rtrcu_stats(&stats);
    qsort(lateness, EVENTS, sizeof(lateness[0]), compare);
    printf("%d events, lateness p50 %.1f us, max %.1f us\n", EVENTS, (double)lateness[EVENTS / 2] / 1e3,
           (double)lateness[EVENTS - 1] / 1e3);
    printf(
        "%lu routes replaced, %lu freed, %llu of them by the loop, %lu of these begun late; the loop stopped %llu times"
        " at the deadline, %llu times at the budget\n",
        replaced, freed, (unsigned long long)stats.callbacks_by_owner, begun_late,
        (unsigned long long)stats.deadline_stops, (unsigned long long)stats.budget_stops);
    for (int i = 0; i < 64; i++)
        free(table[i]);
    return replaced > 0 && freed == replaced && stats.callbacks_by_owner > 0 ? 0 : 1;
}
