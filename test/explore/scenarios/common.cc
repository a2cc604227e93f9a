// SPDX-License-Identifier: MIT OR Apache-2.0
// What the scenarios share.
#include "scenarios/common.h"

namespace scenarios
{

void configure()
{
    struct rtrcu_config *config = &rtrcu_domain.first_config;
    config->spin_us = 0;
    config->stall_timeout_ms = 0;
    config->tick_us = 1000;
}

void register_reader()
{
    rcu_read_lock();
    rcu_read_unlock();
}

void expect_idle()
{
    const struct gp_machine *machine = &rtrcu_domain.gp.machine[GP_NORMAL];
    sim::expect(!seq_is_running(machine->seq), "no grace period is under way at the end");
    sim::expect(machine->crank.word == 0, "nobody holds the crank at the end");
    sim::expect(rtrcu_domain.registry.anonymous == 0, "no reader without a record is left at the end");
}

void check_invariants()
{
    struct reader_registry *registry = &rtrcu_domain.registry;
    for (uint32_t i = 0; i < registry->leaf_count; i++) {
        struct reader_leaf *leaf = registry->leaf[i];
        sim::expect(!leaf || (leaf->registered & ~leaf->used) == 0, "INV-RD1: registered is a subset of used");
    }
}

} // namespace scenarios
