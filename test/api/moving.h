/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Readers that change threads inside their sections, and an updater that replaces the object that they read. */
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

/* Replace the object until readers have moved often and sections have outlived the object that they read; then stop the
 * readers.  Returns false if time ran out. */
inline bool replace_until_moved(Shared &shared, int rounds_wanted)
{
    bool done =
        test::eventually([&] { return shared.replace_until_spanned(rounds_wanted, 100) && shared.moved >= 100; });
    shared.stop = true;
    return done;
}

} // namespace moving

#endif
