/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A callback that throws in a call of its owner, which catches: in a plugin of a C program, or in a program with an
 * unwinder of its own. */
#include <atomic>
#include <chrono>

#include <rtrcu/rcu.h>

namespace
{

rcu_head throwing, following;
std::atomic<bool> followed{false};

void throws(rcu_head *)
{
    throw 42;
}

void follows(rcu_head *)
{
    followed = true;
}

bool caught()
{
    auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (std::chrono::steady_clock::now() < until) {
        try {
            rcu_process_callbacks(-1);
        } catch (int number) {
            return number == 42;
        }
    }
    return false;
}

} // namespace

/* Returns 0 if the exception arrived here and the queue still works. */
extern "C" int plugin_work(void)
{
    struct rtrcu_config config;
    rtrcu_config_init(&config);
    config.policy = RTRCU_POLICY_INLINE;
    config.backpressure = RTRCU_BACKPRESSURE_HELP;
    if (rtrcu_configure(&config) != 0)
        return 2;
    call_rcu(&throwing, throws);
    if (!caught())
        return 3;
    call_rcu(&following, follows);
    rcu_barrier();
    return followed ? 0 : 4;
}
