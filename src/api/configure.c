/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The application of a configuration; statistics; version.
 *
 * tested by: test/api/config.cc
 */
#include <stdio.h>
#include <string.h>

#include "api/api.h"

#define TEXT(x) #x
#define VERSION(a, b, c) TEXT(a) "." TEXT(b) "." TEXT(c)

const char *rtrcu_version(void)
{
    return VERSION(RTRCU_VERSION_MAJOR, RTRCU_VERSION_MINOR, RTRCU_VERSION_PATCH);
}

/* Switch between light and full fences, with both gp locks held, so that no grace period is between fence and scan. */
static int change_fences(struct domain *domain, int32_t wanted, struct config_message *why)
{
    struct reader_registry *registry = &domain->registry;
    bool full = reader_fences_are_full(registry);

    if (wanted == RTRCU_MEMBARRIER_OFF && !full) {
        reader_fences_switch(registry);
        (void)turn_fence(&domain->drive.turn); /* the switch is confirmed here or, if that fails, in the next grace
                                                  period */
    }

    if (wanted != RTRCU_MEMBARRIER_OFF && full) {
        domain->fence_error = plat_fence_prepare();
        if (domain->fence_error == 0) {
            reader_fences_restore(registry);
        } else if (wanted == RTRCU_MEMBARRIER_ON) {
            snprintf(why->text, sizeof(why->text),
                     "membarrier \"on\": the kernel refuses it (error %d); allowed here are auto, off",
                     -domain->fence_error);
            return -EINVAL;
        }
    }

    return 0;
}

/* Create all daemons for policy krcud, which is refused if a daemon cannot be created. */
static int start_daemons(struct domain *domain, const struct rtrcu_config *config, const struct plat_thread_attr *attr,
                         struct config_message *why)
{
    if (config->policy != RTRCU_POLICY_KRCUD || config->bhlimit == 0)
        return 0;

    int error = serve_daemon_start_all(&domain->drive.serve, config, attr);
    if (error)
        snprintf(why->text, sizeof(why->text),
                 "policy krcud: a daemon cannot be created (error %d); raise the limit of threads, or set bhlimit to 0",
                 -error);
    return error;
}

static int apply(struct domain *domain, const struct rtrcu_config *config, struct config_message *why)
{
    struct domain_drive *drive = &domain->drive;
    const struct rtrcu_config *copy = config_copy(&domain->config, config);
    const struct plat_thread_attr *attr = work_attr_for(&drive->work, config);

    if (!copy || !attr) {
        snprintf(why->text, sizeof(why->text), "no memory for a configuration");
        return -ENOMEM;
    }

    int error = start_daemons(domain, copy, attr, why);
    if (error)
        return error;

    turn_gp_lock(turn_gp_state(&drive->turn, GP_NORMAL));
    turn_gp_lock(turn_gp_state(&drive->turn, GP_EXPEDITED));

    /* Hold the driver's thread only after the wait for the gp locks, and so only briefly: a thread that registers waits
     * until the driver's thread is released. */
    bool changes_driver = config->driver != config_now(&domain->config)->driver;
    bool may = !changes_driver || work_driver_hold(&drive->work);
    error = may ? change_fences(domain, config->membarrier, why) : -EINVAL;

    if (!error) {
        config_change(&domain->config, copy);
        callback_bound_judge(&domain->cb);
        callback_check_again_all(&domain->cb); /* owners check their limits at intervals; after a change they check at
                                                  their next call */
        work_driver_change(&drive->work, driver_of(config->driver), attr);
    } else if (!may) {
        snprintf(why->text, sizeof(why->text),
                 "driver: the driver runs already; choose it before the first call_rcu() or registration");
    }

    turn_gp_unlock(turn_gp_state(&drive->turn, GP_EXPEDITED));
    turn_gp_unlock(turn_gp_state(&drive->turn, GP_NORMAL));

    if (changes_driver && may)
        work_driver_changed(&drive->work);
    if (!error)
        work_rt_changed(&drive->work);
    return error;
}

/* Copy the program's settings into @whole, and check them.  Fields that the program does not know keep the value in
 * force. */
static int take(const struct rtrcu_config *config, struct rtrcu_config *whole, struct config_message *why)
{
    if (config->size < offsetof(struct rtrcu_config, boost)) {
        snprintf(why->text, sizeof(why->text),
                 "size %u is not that of struct rtrcu_config: call rtrcu_config_init() first", config->size);
        return -EINVAL;
    }

    memcpy(whole, config, config->size < sizeof(*whole) ? config->size : sizeof(*whole));
    whole->size = sizeof(*whole);
    return config_check(whole, why);
}

int rtrcu_configure(const struct rtrcu_config *config)
{
    CALL_SCOPE();
    struct domain *domain = &rtrcu_domain;
    struct config_message why;
    bool was_online = api_wait_begin(API_CALL("rtrcu_configure"));

    work_take_long(&domain->drive.work, &domain->config_lock);

    struct rtrcu_config whole = *config_now(&domain->config);
    int error = take(config, &whole, &why);
    if (!error)
        error = apply(domain, &whole, &why);

    lock_release(&domain->config_lock);
    api_message_keep(error ? &why : NULL);

    if (error)
        complain(&domain->refused, "rtrcu: configuration refused: %s", why.text);

    api_wait_end(was_online);
    return error;
}

void rtrcu_set_stall_handler(void (*handler)(const char *line))
{
    watch_set_handler(&rtrcu_domain.watch, handler);
}

static void count_own(struct rtrcu_stats *stats)
{
    watch_stats(&rtrcu_domain.watch, stats);
    api_drive_stats(&rtrcu_domain.drive, stats);
}

int rtrcu_stats_of(const char *flavour, struct rtrcu_stats *stats)
{
    uint32_t size = stats->size;

    if (size == 0 || size % 8 != 0)
        return -EINVAL;

    size = size < sizeof(*stats) ? size : (uint32_t)sizeof(*stats);
    api_init();

    struct rtrcu_stats all = {.size = size};
    struct rtrcu_adopted *adopted = flavour ? urcu_named(&rtrcu_domain.urcu, flavour) : NULL;
    if (flavour && !adopted)
        return -ENOENT;

    if (adopted)
        urcu_stats(adopted, &all);
    else
        count_own(&all);

    memcpy(stats, &all, size);
    return 0;
}

int rtrcu_stats(struct rtrcu_stats *stats)
{
    return rtrcu_stats_of(NULL, stats);
}
