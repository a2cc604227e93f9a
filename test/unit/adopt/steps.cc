/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A fork behind each instruction of a server's thread.
 */
#include <thread>

#include "../../support/stepped.h"
#include "../../support/variant.h"
#include "world.h"

#if defined(__x86_64__)

namespace
{

adopt *all;
adopt_server *server;
volatile long steps_left;
volatile bool raised, at_work;
tally_ticket paused;

/* What a forker does: it raises the flag, then looks whether the server is at work, for which it would wait. */
void fork_behind_a_step(int, siginfo_t *, void *context)
{
    at_work = rtrcu_load_relaxed(&server->serving) != 0;
    if (!test::SteppedBy::comes_to(steps_left, at_work, context))
        return;
    paused = tally_raise(&all->forking);
    raised = true;
}

class Steps : public AdoptWorld
{
  protected:
    rcu_head head_ = {};
    static inline std::atomic<int> ran_;

    /* From its beginning to its end; @body is that of any server. */
    void run_stepped(void *(*body)(void *))
    {
        ran_ = 0;
        server->stop = server->ended = server->owed = 0;
        server->state = DRIVE_RUNNING;
        head_.func = [](rcu_head *) { ran_++; };
        (void)cbqueue_push(&server->queue, &head_, CB_ANYBODY);
        std::thread thread([body] {
            plat_thread_renumber(&server->thread, lock_thread_id());
            test::SteppedBy::begin();
            (void)body(server);
        });
        EXPECT_TRUE(test::eventually([] { return raised || at_work || ran_ == 1; }));
        if (raised) {
            EXPECT_TRUE(test::eventually([] { return rtrcu_load_acquire(&server->owed) == 1; }));
            EXPECT_FALSE(cbqueue_inbox_is_empty(&server->queue)) << "the child would not have it";
            EXPECT_EQ(rtrcu_load_acquire(&server->serving), 0u);
            adopt_resume(all, paused);
        }
        EXPECT_TRUE(test::eventually([] { return ran_ == 1; }));
        rtrcu_exchange(&server->stop, 1);
        rtrcu_fetch_add(&server->event, 1);
        plat_futex_wake(&server->event, INT32_MAX);
        thread.join();
    }
};

/* Until it is at work, and the forker would wait, it takes nothing beside a fork. */
TEST_F(Steps, NothingIsTakenBesideAFork)
{
    if (TEST_TSAN || TEST_ASAN)
        GTEST_SKIP() << "the sanitizer takes too many steps";
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_MEMB);
    adopt_server *another = adopt_server_create(adopted, 0, -1);
    ASSERT_NE(another, nullptr);
    void *(*body)(void *) = another->thread.body;
    adopt_server_free(adopted, another);

    test::SteppedBy traps(fork_behind_a_step);
    all = &all_;
    server = &adopted->ordinary;
    at_work = false;
    long step = 0;
    while (!at_work && !HasFailure()) {
        raised = false;
        steps_left = ++step;
        run_stepped(body);
    }
    EXPECT_GT(step, 20);
}

} // namespace

#endif
