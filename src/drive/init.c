/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The room's beginning: the tables of drivers and of workers; its counters.
 *
 * tested by: test/api/drivers.cc
 */
#include "drive/drive.h"

#define SHARE_NS 200000000

static const struct drive_job *const jobs[DRIVE_WORKERS] = {
    [DRIVE_WORKER_EXPEDITED] = &drive_job_expedited, [DRIVE_WORKER_BOOST] = &drive_job_boost,
    [DRIVE_WORKER_NUDGE] = &drive_job_nudge,         [DRIVE_WORKER_REPORT] = &drive_job_report,
    [DRIVE_WORKER_TELL] = &drive_job_tell,
};

const struct drive_driver *drive_driver_of(int32_t driver)
{
    switch (driver) {
    case RTRCU_DRIVER_KTHREAD:
        return &drive_driver_kthread;
    case RTRCU_DRIVER_LTIMER:
        return &drive_driver_ltimer;
    case RTRCU_DRIVER_SCHED:
        return &drive_driver_sched;
    case RTRCU_DRIVER_POLL:
        return &drive_driver_poll;
    default:
        return NULL;
    }
}

void drive_leaf_init(struct drive_leaf *part, struct reader_leaf *leaf)
{
    reader_leaf_join(leaf, READER_DRIVE, part);
}

void drive_init(struct drive *drive, const struct config *config, struct gp *gp, struct callback *cb,
                struct watch *watch)
{
    drive->config = config;
    drive->registry = gp_registry(gp);
    drive->gp = gp;
    drive->cb = cb;
    drive->watch = watch;

    drive->driver = drive_driver_of(config_now(config)->driver);
    plat_home_init(&drive->process);
    drive->home = drive_home_on(drive, config_now(config));
    if (!drive->home)
        drive->home = &drive->process;

    lock_init(&drive->barrier_lock, LOCK_RANK_BARRIER);
    lock_init(&drive->aside.lock, LOCK_RANK_DAEMON);
    drive->aside.drive = drive;
    drive->numbers.told = SEQ_FIRST;
    drive->share_ns = SHARE_NS;

    for (enum gp_kind kind = GP_NORMAL; kind < GP_KINDS; kind++)
        drive_turning_init(&drive->turning[kind], drive, kind);
    for (int i = 0; i < DRIVE_WORKERS; i++)
        drive_worker_init(drive, i, jobs[i]);
    for (uint32_t cpu = 0; cpu < PLAT_CPU_MAX; cpu++) {
        lock_init(&drive->krcud[cpu].lock, LOCK_RANK_DAEMON);
        drive->krcud[cpu].cpu = cpu;
        drive->krcud[cpu].drive = drive;
    }
}

void drive_stats(const struct drive *drive, struct rtrcu_stats *stats)
{
    stats->gp_slept = counter_read(&drive->turning[GP_NORMAL].slept);
    stats->gp_unfenced = counter_read(&drive->turning[GP_NORMAL].unfenced);
    stats->gp_by_caller = counter_read(&drive->turning[GP_NORMAL].by_caller);
    stats->exp_by_caller = counter_read(&drive->turning[GP_EXPEDITED].by_caller);
    stats->driver_wakeups = counter_read(&drive->wakeups);
    stats->driver_passes = counter_read(&drive->passes);
    stats->rt_refused = counter_read(&drive->rt_refused);
    stats->boosts = counter_read(&drive->boosts);
    stats->boost_ns = counter_read(&drive->boost_ns);
    stats->boost_ns_max = rtrcu_load_relaxed(&drive->boost_ns_max);
    stats->boost_refused = counter_read(&drive->boost_refused);
    stats->boost_given_up = counter_read(&drive->boost_given_up);
    stats->krcud_given = counter_read(&drive->krcud_given);
    stats->fence_refused = counter_read(&drive->fence_refused);
}

static const struct inside_field fields[] = {
    INSIDE_ARRAY("drive.turning", struct drive, turning),
    INSIDE_FIELD("turning.sleeping", struct drive_turning, sleeping),
    INSIDE_FIELD("turning.slept", struct drive_turning, slept),
    INSIDE_FIELD("turning.by_caller", struct drive_turning, by_caller),
    INSIDE_FIELD("turning.unfenced", struct drive_turning, unfenced),
    INSIDE_FIELD("drive.wakeups", struct drive, wakeups),
    INSIDE_FIELD("drive.passes", struct drive, passes),
    INSIDE_FIELD("drive.rt_refused", struct drive, rt_refused),
    INSIDE_FIELD("drive.boosts", struct drive, boosts),
    INSIDE_FIELD("drive.boost_ns", struct drive, boost_ns),
    INSIDE_FIELD("drive.boost_ns_max", struct drive, boost_ns_max),
    INSIDE_FIELD("drive.boost_refused", struct drive, boost_refused),
    INSIDE_FIELD("drive.boost_given_up", struct drive, boost_given_up),
    INSIDE_FIELD("drive.krcud_given", struct drive, krcud_given),
    INSIDE_FIELD("drive.fence_refused", struct drive, fence_refused),
    INSIDE_FIELD("drive.threads_refused", struct drive, threads_refused),
};

const struct inside_table drive_inside_table = INSIDE_TABLE(fields);
