/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Readers that change threads inside their sections, and the updater beside them.
 */
#ifndef RTRCU_TEST_API_MOVING_H
#define RTRCU_TEST_API_MOVING_H

#include <rtrcu/rcu.h>

#include <atomic>

#include "../support/replaced.h"
#include "../support/sync.h"

namespace moving
{

struct Shared : test::Replaced {
    std::atomic<int> running{0}, moved{0}, bad_sections{0};
    std::atomic<bool> stop{false};
};

/* Replace the object until readers have moved often enough, with sections that outlived what they saw; then they stop.
 * False: they did not move in time. */
inline bool replace_until_moved(Shared &shared, int rounds_wanted)
{
    bool done =
        test::eventually([&] { return shared.replace_until_spanned(rounds_wanted, 100) && shared.moved >= 100; });
    shared.stop = true;
    return done;
}

} // namespace moving

#endif
