/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The program's own calls around a fork.
 */
#include "world.h"

namespace
{

using Fork = AdoptWorld;

int calls;

void count(void *)
{
    calls++;
}

TEST_F(Fork, HooksAreCounted)
{
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_MEMB);
    rtrcu_fork_hooks hooks = {count, count, count, nullptr};
    auto fork = [&] {
        int before = calls;
        adopt_fork_begins(adopted);
        adopt_fork_ends(adopted, false);
        return calls - before;
    };
    adopt_hooks(adopted, &hooks, false); /* once too often */
    EXPECT_EQ(fork(), 0);
    adopt_hooks(adopted, &hooks, true);
    adopt_hooks(adopted, &hooks, true);
    EXPECT_EQ(fork(), 2);
    adopt_hooks(adopted, &hooks, false);
    EXPECT_EQ(fork(), 2);
    adopt_hooks(adopted, &hooks, false);
    EXPECT_EQ(fork(), 0);
    EXPECT_EQ(adopted->ordinary.state, static_cast<uint32_t>(DRIVE_NONE)) << "the parent's servers are as they were";
}

/* A callback that forks goes on in the child, on a thread that serves still; any other server has none. */
TEST_F(Fork, AServersOwnThreadGoesOnInTheChild)
{
    constexpr uint32_t parents = 77;
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_MEMB);
    adopt_server *server = &adopted->ordinary;
    for (uint32_t forked_by : {parents, parents + 1}) {
        bool survives = forked_by == parents;
        plat_thread_renumber(&server->thread, {parents});
        server->state = DRIVE_RUNNING;
        server->serving = 1;
        server->joined_by_program = true;
        adopt_after_fork_child(&all_, {forked_by});
        EXPECT_EQ(plat_thread_tid(&server->thread).number, survives ? lock_thread_number() : 0);
        EXPECT_EQ(server->state, static_cast<uint32_t>(survives ? DRIVE_RUNNING : DRIVE_NONE));
        EXPECT_EQ(server->serving, survives ? 1u : 0u);
        EXPECT_FALSE(server->joined_by_program);
    }
}

} // namespace
