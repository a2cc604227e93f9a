// SPDX-License-Identifier: MIT OR Apache-2.0
// A reader and an updater: lock, load, use, unlock against publish, wait, free.
#include <stdlib.h>

#include "scenarios/common.h"

namespace scenarios
{

namespace
{

struct object {
    int value;
};

struct object *shared;

struct object *make(int value)
{
    auto *object = static_cast<struct object *>(malloc(sizeof(struct object)));
    object->value = value;
    return object;
}

void reader()
{
    rcu_read_lock();
    struct object *object = rcu_dereference(shared);
    sim::expect(object->value != 0, "the reader sees the object as it was published");
    sim::step();
    sim::expect(object->value != 0, "the reader may still use the object");
    rcu_read_unlock();
}

void updater()
{
    struct object *old = rcu_access_pointer(shared);
    rcu_assign_pointer(shared, make(2));
    synchronize_rcu();
    old->value = 0;
    free(old);
}

void setup()
{
    configure();
    shared = make(1);
    int r = sim::thread("reader", reader);
    sim::thread("updater", updater);
    sim::as_thread(r, register_reader);
    sim::no_timeouts();
}

} // namespace

extern const sim::Scenario kPublish;
const sim::Scenario kPublish = {
    "publish", "lock, load, use, unlock against publish, wait, free", setup, expect_idle, check_invariants, 2000};

} // namespace scenarios
