/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A fork behind each instruction of a server's thread, by another thread and by a handler.
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

/* Its own handler finds what is queued in the inbox, in the batch or under way, whenever one can come. */
rcu_head head;
volatile bool taken, lost;

void look_behind_a_step(int, siginfo_t *, void *context)
{
    bool comes = !sigismember(&static_cast<ucontext_t *>(context)->uc_sigmask, SIGUSR1);
    bool left = server->invoked == 0, inside = server->started != server->invoked;
    bool in_batch = server->batch.first == &head, in_inbox = server->queue.stub.next == &head;
    inside = inside && server->running != server->batch.first;
    taken = taken || in_batch;
    lost = lost || (comes && in_inbox + in_batch + inside != left);
    if (!left)
        test::SteppedBy::end_behind(context);
}

class Steps : public AdoptWorld
{
  protected:
    void *(*body_)(void *);
    static inline std::atomic<int> ran_;

    void SetUp() override
    {
        AdoptWorld::SetUp();
        if (TEST_TSAN || TEST_ASAN)
            GTEST_SKIP() << "the sanitizer takes too many steps";
        rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_MEMB);
        adopt_server *another = adopt_server_create(adopted, 0, -1);
        ASSERT_NE(another, nullptr);
        body_ = another->thread.body;
        adopt_server_free(adopted, another);
        all = &all_;
        server = &adopted->ordinary;
        for (volatile bool *flag : {&raised, &at_work, &taken, &lost})
            *flag = false;
    }
    /* From its beginning to its end. */
    void run_stepped()
    {
        ran_ = 0;
        server->stop = server->ended = server->owed = 0;
        server->state = DRIVE_RUNNING;
        head.func = [](rcu_head *) { ran_++; };
        (void)cbqueue_push(&server->queue, &head, CB_ANYBODY);
        std::thread thread([this] {
            plat_thread_renumber(&server->thread, lock_thread_id());
            test::SteppedBy::begin();
            (void)body_(server);
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
    test::SteppedBy traps(fork_behind_a_step);
    long step = 0;
    while (!at_work && !HasFailure()) {
        raised = false;
        steps_left = ++step;
        run_stepped();
    }
    EXPECT_GT(step, 20);
}

/* In a fork's child, where a callback has returned, handlers come on it. */
TEST_F(Steps, NothingIsInItsHandsAloneWhereAHandlerForks)
{
    test::SteppedBy traps(look_behind_a_step);
    run_stepped();
    EXPECT_TRUE(taken) << "it comes to a callback";
    EXPECT_FALSE(lost);
}

} // namespace

#endif
