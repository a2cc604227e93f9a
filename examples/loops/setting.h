/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The work that the loops of this folder share: events read a setting, which the loop and another thread replace.
 *
 * A setting is poisoned before it is freed, so a reader that is not protected sees a wrong value.
 */
#ifndef LOOPS_SETTING_H
#define LOOPS_SETTING_H

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <rtrcu/rcu.h>

#define EVENTS 200
#define GOOD 0x600d
#define POISON 0xdead

struct setting {
    unsigned int state;
    struct rcu_head rcu;
};

static struct setting *current;
static int served, replaced, wrong; /* changed only by the loop */
static int freed, freed_by_loop;    /* atomic: callbacks run on the loop's thread or on a daemon */
static int reloading = 1;           /* atomic: 0 ends the other thread */
static __thread bool is_loop;

static inline struct setting *setting_replace(void)
{
    struct setting *fresh = (struct setting *)malloc(sizeof(*fresh));
    if (!fresh)
        exit(1);
    fresh->state = GOOD;
    return rcu_xchg_pointer(&current, fresh);
}

static inline void setting_free(struct rcu_head *head)
{
    struct setting *old = (struct setting *)((char *)head - offsetof(struct setting, rcu));
    old->state = POISON;
    free(old);
    rtrcu_fetch_add(&freed_by_loop, is_loop ? 1 : 0);
    rtrcu_fetch_add(&freed, 1);
}

/* Handle one event: read the setting twice in one section, and replace it.  @quiescent: the caller is a quiescent-state
 * thread that is online. */
static inline void setting_serve(bool quiescent)
{
    if (quiescent)
        rcu_read_lock_qs();
    else
        rcu_read_lock();
    const struct setting *seen = rcu_dereference(current);
    wrong += seen->state != GOOD;
    sched_yield();
    wrong += seen->state != GOOD;
    if (quiescent)
        rcu_read_unlock_qs();
    else
        rcu_read_unlock();

    if (served++ < EVENTS) {
        call_rcu(&setting_replace()->rcu, setting_free);
        replaced++;
    }
}

/* Returns true if all events have been served, and all settings that the loop replaced have been freed. */
static inline bool setting_done(void)
{
    return served >= EVENTS && rtrcu_load_relaxed(&freed) == replaced;
}

static inline void *reload(void *unused)
{
    while (rtrcu_load_relaxed(&reloading)) {
        struct setting *old = setting_replace();
        synchronize_rcu();
        old->state = POISON;
        free(old);
    }
    return unused;
}

/* Prepare the calling thread for the loop, and start the thread that also replaces the setting. */
static inline pthread_t setting_begin(unsigned int flags)
{
    struct rtrcu_config config;
    pthread_t other;
    rtrcu_config_init(&config);
    config.policy = RTRCU_POLICY_INLINE;
    (void)setting_replace();
    is_loop = true;
    if (rtrcu_configure(&config) != 0 || rtrcu_register_thread(flags) != 0 ||
        pthread_create(&other, NULL, reload, NULL) != 0)
        exit(1);
    return other;
}

/* End the thread that setting_begin() started, print the counts, and return the exit status of the program. */
static inline int setting_end(pthread_t other)
{
    rtrcu_store_relaxed(&reloading, 0);
    rcu_thread_offline();
    pthread_join(other, NULL);
    rtrcu_unregister_thread();
    printf("%d events, %d settings replaced, %d freed, %d of them by the loop, %d wrong\n", served, replaced, freed,
           freed_by_loop, wrong);
    free(current);
    return wrong == 0 && freed == replaced && freed_by_loop > 0 ? 0 : 1;
}

#endif
