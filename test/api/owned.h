/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Callbacks that free their object and count how many have run. */
#ifndef RTRCU_TEST_API_OWNED_H
#define RTRCU_TEST_API_OWNED_H

#include <rtrcu/rcu.h>

#include <atomic>

namespace owned
{

inline std::atomic<long> runs{0};

struct Owned {
    rcu_head head;
};

inline void run(rcu_head *head)
{
    runs++;
    delete reinterpret_cast<Owned *>(head);
}

inline void queue(int count)
{
    for (int i = 0; i < count; i++)
        call_rcu(&(new Owned)->head, run);
}

} // namespace owned

#endif
