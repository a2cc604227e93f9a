// SPDX-License-Identifier: MIT OR Apache-2.0
// Helpers of the scenarios.
#include "scenarios/common.h"

#include <stdlib.h>

namespace scenarios
{

struct object *shared;
uint32_t updaters;
int invoked;

void prepare_domain()
{
    api_init();
    // Two slices, so that a reader can use up the limit: no schedule is long enough for the default limit.
    rtrcu_domain.drive.turn.boost_limit_ns = 2000000;
    // Switch off the set of queued heads: it only finds misuse, and adds steps to each schedule.
    rtrcu_domain.cb.tracks_heads = false;
    struct reader_registry *registry = &rtrcu_domain.registry;
    uint32_t used = registry->leaf[0]->used;
    registry->leaf[0]->used = UINT32_MAX;
    (void)reader_slot_take(registry); // grows the registry
    registry->leaf[0]->used = used;
    registry->leaf[1]->used = 0;
    registry->leaf_count = 1;
    /* The two kinds have different sequence numbers, so that a number used for the wrong kind is detected. */
    struct gp_machine *expedited = &rtrcu_domain.gp.machine[GP_EXPEDITED];
    expedited->seq = expedited->needed = expedited->seq + 5 * SEQ_STEP;
}

struct rtrcu_config *configure()
{
    struct rtrcu_config *config = &rtrcu_domain.config.first;
    config->spin_us = 0;
    config->stall_timeout_ms = 0;
    config->tick_us = 1000;
    config->kthread_prio = 0;
    config->boost = 0;
    config->idle_scans = 0;
    updaters = 1;
    invoked = 0;
    return config;
}

void use_driver(int32_t driver)
{
    rtrcu_domain.config.first.driver = driver;
    rtrcu_domain.drive.work.row = driver_of(driver);
}

void register_reader()
{
    rcu_read_lock();
    rcu_read_unlock();
}

void register_and_start_driver()
{
    register_reader();
    (void)work_driver_start(&rtrcu_domain.drive.work);
}

void register_qsbr()
{
    (void)section_register(&rtrcu_domain.gp, RTRCU_QSBR);
}

void register_deadline()
{
    (void)section_register(&rtrcu_domain.gp, RTRCU_DEADLINE);
}

void register_in_last_slot()
{
    struct reader_leaf *leaf = rtrcu_domain.registry.leaf[0];
    uint32_t used = leaf->used;
    leaf->used = UINT32_MAX >> 1;
    register_reader();
    leaf->used = used | reader_bit(rtrcu_self.record);
}

void register_in_second_leaf()
{
    struct reader_registry *registry = &rtrcu_domain.registry;
    registry->leaf_count = 2;
    uint32_t used = registry->leaf[0]->used;
    registry->leaf[0]->used = UINT32_MAX;
    register_reader();
    registry->leaf[0]->used = used;
}

struct object *make_object()
{
    auto *object = static_cast<struct object *>(malloc(sizeof(struct object)));
    object->value = 42;
    return object;
}

void use_object()
{
    struct object *object = rcu_dereference(shared);
    sim::expect(object->value == 42, "a reader sees the object as it was published");
    sim::step();
    sim::expect(object->value == 42, "a reader may use the object until its section ends");
}

void read_once()
{
    rcu_read_lock();
    use_object();
    rcu_read_unlock();
}

static bool no_updaters()
{
    return updaters == 0;
}

void stay()
{
    sim::until(no_updaters);
}

void read_and_stay()
{
    read_once();
    stay();
}

struct object *replace_object()
{
    struct object *old = rcu_access_pointer(shared);
    rcu_assign_pointer(shared, make_object());
    return old;
}

void free_object(struct object *object)
{
    object->value = 0;
    free(object);
}

void free_callback(struct rcu_head *head)
{
    invoked++;
    free_object(container_of(head, struct object, head));
}

void replace_and_wait()
{
    struct object *old = replace_object();
    synchronize_rcu();
    free_object(old);
    rtrcu_fetch_add(&updaters, (uint32_t)-1);
}

void replace_twice()
{
    replace_and_wait();
    replace_and_wait();
}

void exchange_and_wait()
{
    struct object *old = rcu_xchg_pointer(&shared, make_object());
    synchronize_rcu();
    free_object(old);
    rtrcu_fetch_add(&updaters, (uint32_t)-1);
}

void exchange_and_expedite()
{
    struct object *old = rcu_xchg_pointer(&shared, make_object());
    synchronize_rcu_expedited();
    free_object(old);
    rtrcu_fetch_add(&updaters, (uint32_t)-1);
}

void expect_nothing_left()
{
    sim::expect(sim::live_allocations() == 1, "after rcu_barrier() nothing is left but the object in use");
}

// Expect that the lowest counter equals the number of leaf words and lists that scans must visit, and that each counter
// above it is 1 if the one below is not 0, else 0.
static void expect_counts()
{
    const struct reader_registry *registry = &rtrcu_domain.registry;
    uint32_t reasons = 0;
    for (uint32_t i = 0; i < registry->leaf_count; i++)
        reasons += (registry->leaf[i]->scanned.word != 0) + (registry->leaf[i]->scanned.listed != 0);
    for (const struct reader_count *node = registry->leaf[0]->scanned.above; node; node = node->above) {
        sim::expect(node->reasons.number == reasons, "a count is that of the reasons below it at the end");
        reasons = reasons != 0;
    }
}

void expect_idle()
{
    expect_counts();
    const struct gp *gp = &rtrcu_domain.gp;
    for (int kind = 0; kind < GP_KINDS; kind++) {
        const struct gp_machine *machine = &gp->machine[kind];
        sim::expect(!seq_is_running(machine->seq), "no grace period is in progress at the end");
        sim::expect(machine->gp_lock.word == 0, "no thread holds a gp lock at the end");
        sim::expect(tally_read(&rtrcu_domain.drive.turn.gp_state[kind].sleeping) == 0,
                    "no thread counts as asleep over a gp lock at the end");
    }
    for (uint32_t i = 0; i < rtrcu_domain.registry.leaf_count; i++)
        sim::expect(rtrcu_domain.registry.leaf[i]->lock.word == 0, "no thread holds a leaf at the end");
    sim::expect(rtrcu_domain.registry.anonymous == 0, "no reader without a record is left at the end");
}

void check_invariants()
{
    static const uint32_t slots[] = {0, 1, 2, 3, 31}; // the slots that scenarios use
    struct reader_registry *registry = &rtrcu_domain.registry;
    for (uint32_t i = 0; i < registry->leaf_count; i++) {
        struct reader_leaf *leaf = registry->leaf[i];
        sim::expect((leaf->registered & ~leaf->used) == 0, "INV-RD1: registered is a subset of used");
        for (const struct reader_count *node = leaf->scanned.above; node; node = node->above)
            sim::expect(node->reasons.number || !leaf->scanned.word,
                        "INV-RD3: the counts above a leaf that has a thread to look at are not 0");
        uint32_t sleep = leaf->registered & ~reader_scanned_of(&leaf->scanned);
        for (uint32_t slot : slots) {
            const struct reader_record *record = &leaf->record[slot];
            bool fast = (sleep & reader_bit(record)) && rtrcu_word_of(record->self) >> 24 == RTRCU_FLAG_FAST;
            sim::expect(!fast, "INV-RD4: the flag of a thread that sleeps is set");
            const struct cb_queue *queue = &callback_slot(&leaf->record[slot])->queue;
            sim::expect((int64_t)(queue->enqueued - queue->invoked) >= 0, "INV-CB1: invoked <= enqueued");
        }
    }
    for (int kind = 0; kind < GP_KINDS; kind++) {
        const struct gp_machine *machine = &rtrcu_domain.gp.machine[kind];
        bool owes = gp_word_is_pending(gp_node_word(&rtrcu_domain.gp.level0[0], static_cast<gp_kind>(kind)));
        sim::expect(seq_is_running(machine->seq) || !owes, "INV-GP1: while idle, no node word has a mask bit");
    }
}

} // namespace scenarios
