/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Readers that change threads inside their sections, and the updater beside them.
 */
#ifndef RTRCU_TEST_API_MOVING_H
#define RTRCU_TEST_API_MOVING_H

#include <rtrcu/rcu.h>

#include <atomic>

#include "../support/sync.h"

namespace moving
{

struct Object {
    std::atomic<bool> good{true};
};

struct Shared {
    std::atomic<Object *> current{new Object};
    std::atomic<int> running{0}, moved{0}, bad{0};
    std::atomic<bool> stop{false};

    ~Shared()
    {
        delete current.load();
    }
};

/* Replace the object until readers have moved often enough; then they stop.  False: they did not move in time. */
inline bool replace_until_moved(Shared &shared, int rounds_wanted)
{
    int rounds = 0;
    bool done = test::eventually([&] {
        Object *old = shared.current.exchange(new Object);
        synchronize_rcu();
        old->good = false;
        delete old;
        return ++rounds >= rounds_wanted && shared.moved >= 100;
    });
    shared.stop = true;
    return done;
}

} // namespace moving

#endif
