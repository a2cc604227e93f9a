/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Program whose callbacks throw in rcu_barrier(), which runs them, and in a call of their owner.  It catches the
 * exceptions, and the library continues to work. */
#include <cstdio>
#include <initializer_list>
#include <unistd.h>

#include <rtrcu/rcu.h>

namespace
{

int runs;

void throws(void *)
{
    runs++;
    throw 42;
}

void head_throws(rcu_head *)
{
    runs++;
    throw 42;
}

/* Repeat @call until it has thrown @times times. */
bool throws_in(void (*call)(), int times)
{
    for (int before = runs; runs < before + times;) {
        int seen = runs;
        try {
            call();
        } catch (int number) {
            if (number != 42)
                return false;
            continue;
        }
        if (runs != seen)
            return false;
    }
    return true;
}

void process()
{
    (void)rcu_process_callbacks(-1);
}

} // namespace

int main()
{
    static rcu_head heads[4];
    alarm(60);
    struct rtrcu_config config;
    rtrcu_config_init(&config);
    config.driver = RTRCU_DRIVER_SCHED;
    config.policy = RTRCU_POLICY_INLINE;
    if (rtrcu_configure(&config) != 0)
        return 2;
    for (void (*call)() : {rtrcu_barrier, process}) {
        for (int i = 0; i < 2; i++) {
            call_rcu(&heads[i], head_throws);
            if (rcu_retire(&heads[i + 2], throws) != 0)
                return 3;
        }
        if (!throws_in(call, 4)) {
            fprintf(stderr, "an exception has not come to its caller\n");
            return 4;
        }
    }
    rcu_barrier();
    return runs == 8 ? 0 : 5;
}
