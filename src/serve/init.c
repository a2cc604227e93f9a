/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Initialisation of the room, and its counters.
 *
 * tested by: test/unit/serve/daemon.cc
 */
#include "serve/serve.h"

void serve_leaf_init(struct serve_leaf *part, struct reader_leaf *leaf)
{
    for (uint32_t slot = 0; slot < READER_FANOUT; slot++)
        lock_init(&part->slot[slot].ready.lock, LOCK_RANK_READY);
    reader_leaf_join(leaf, READER_SERVE, part);
}

void serve_init(struct serve *serve, const struct config *config, struct callback *cb, struct watch *watch,
                struct work *work, struct turn *turn)
{
    serve->config = config;
    serve->registry = callback_registry(cb);
    serve->cb = cb;
    serve->watch = watch;
    serve->work = work;
    serve->turn = turn;
    work_end_after(work, serve_is_invoking, serve);

    lock_init(&serve->barrier_lock, LOCK_RANK_BARRIER);
    lock_init(&serve->aside.lock, LOCK_RANK_DAEMON);
    serve->aside.serve = serve;
    serve->aside.list = &serve->aside;
    for (uint32_t cpu = 0; cpu < PLAT_CPU_MAX; cpu++) {
        lock_init(&serve->daemon[cpu].lock, LOCK_RANK_DAEMON);
        serve->daemon[cpu].cpu = cpu;
        serve->daemon[cpu].serve = serve;
        serve->daemon[cpu].list = &serve->daemon[cpu];
    }
}

void serve_stats(const struct serve *serve, struct rtrcu_stats *stats)
{
    stats->krcud_given = counter_read(&serve->krcud_given);
}
