/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A handler that forks behind each instruction of a thread that takes a queue.
 */
#include "../../support/stepped.h"
#include "../../support/variant.h"
#include "world.h"

#if defined(__x86_64__)

namespace
{

callback *forked;
volatile long steps_left;
volatile bool is_child;

/* What the child does of it, where the thread has another number: it goes on from here as the child's. */
void fork_behind_a_step(int, siginfo_t *, void *context)
{
    bool took = reader_self_is(READER_STATE_CALLBACK);
    if (!test::SteppedBy::comes_to(steps_left, took, context))
        return;
    plat_tid parents = lock_thread_id();
    rtrcu_store_relaxed(&rtrcu_self.thread_id, parents.number + 1);
    callback_after_fork_child(forked, parents);
    is_child = true;
}

class CallbackSteps : public CallbackWorld
{
  protected:
    static inline cb_queue *queue_;
    static inline uint32_t taken_by_;

    /* A claim that is another's would end the program behind it. */
    static void look(rcu_head *)
    {
        taken_by_ = cbqueue_claimer(queue_->claim).number;
        queue_->claim = lock_thread_number();
    }
};

/* A callback of the child that ends its thread would leave the queue taken for ever: nobody has the parent's number. */
TEST_F(CallbackSteps, AQueueIsTakenByTheThreadThatTheChildHas)
{
    if (TEST_TSAN || TEST_ASAN)
        GTEST_SKIP() << "the sanitizer delivers signals later, or takes too many steps";
    test::SteppedBy traps(fork_behind_a_step);
    reader_record *record = world_.craft(0);
    const callback_budget budget = everything();
    forked = cb_;
    queue_ = &callback_slot(record)->queue;
    long step = 0;
    do {
        enqueue(record, look);
        make_ready(record);
        taken_by_ = 0;
        is_child = false;
        steps_left = ++step;
        test::SteppedBy::begin();
        uint64_t done = callback_invoke(cb_, record, &budget).done;
        test::SteppedBy::end();
        EXPECT_EQ(done, 1u);
        EXPECT_EQ(taken_by_, lock_thread_number()) << "behind instruction " << step;
        EXPECT_EQ(queue_->claim, 0u);
        rtrcu_store_relaxed(&rtrcu_self.thread_id, 0); /* asked for anew */
    } while (is_child && !HasFailure());
    EXPECT_GT(step, 20);
}

} // namespace

#endif
