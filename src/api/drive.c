/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The rooms that wait: initialisation, fork, and the fields that they show to other processes.
 *
 * tested by: test/api/fork.cc
 */
#include "api/api.h"

void api_drive_init(struct domain_drive *drive, const struct config *config, struct gp *gp, struct callback *cb,
                    struct watch *watch)
{
    const struct work_driver *row = driver_of(config_now(config)->driver);
    work_init(&drive->work, config, gp_registry(gp), cb, watch, row, &drive->driver);
    turn_init(&drive->turn, config, gp, watch, &drive->work, &drive->serve);
    serve_init(&drive->serve, config, cb, watch, &drive->work, &drive->turn);
    driver_init(&drive->driver, cb, &drive->work, &drive->turn, &drive->serve);
}

void api_drive_after_fork_child(struct domain_drive *drive, struct plat_tid old_thread_id)
{
    work_after_fork_child(&drive->work, old_thread_id);
    turn_after_fork_child(&drive->turn);
    serve_after_fork_child(&drive->serve, old_thread_id);
}

void api_drive_stats(const struct domain_drive *drive, struct rtrcu_stats *stats)
{
    work_stats(&drive->work, stats);
    turn_stats(&drive->turn, stats);
    serve_stats(&drive->serve, stats);
    driver_stats(&drive->driver, stats);
}

static const struct inspect_field fields[] = {
    TURN_INSPECT(struct domain_drive, turn),
    WORK_INSPECT(struct domain_drive, work),
    SERVE_INSPECT(struct domain_drive, serve),
    DRIVER_INSPECT(struct domain_drive, driver),
};

const struct inspect_table api_drive_table = INSPECT_TABLE(fields);
