/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of the priorities of the driver and the daemons while the thread that sets them cannot be created. */
#include <sched.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "../../support/internals.h"
#include "../../support/threads.h"

namespace
{

/* A daemon of the test, which begins at priority 1 and runs in a thread of the test. */
class Priorities : public testing::Test
{
  protected:
    struct work *work_ = &rtrcu_domain.drive.work;
    struct work_rt_thread rt_ = {};
    struct work_thread thread_ = {};

    bool begins_at_1(work_rt_state state)
    {
        struct sched_param parameter = {.sched_priority = 1};
        if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &parameter) != 0)
            return false;
        rtrcu_store_relaxed(&work_->rt.state, uint32_t{state});
        rtrcu_store_relaxed(&thread_.plat.thread_id, static_cast<uint32_t>(gettid()));
        work_rt_begins(work_, &rt_, &thread_, WORK_RT_DAEMON);
        return true;
    }
    void TearDown() override
    {
        rtrcu_store_relaxed(&work_->rt.state, uint32_t{WORK_RT_OFF});
        rtrcu_store_relaxed(&work_->refused_ns, int64_t{0});
        if (work_->rt.first == &rt_)
            work_->rt.first = rt_.next;
    }
};

bool is_ordinary()
{
    return sched_getscheduler(0) == (SCHED_OTHER | SCHED_RESET_ON_FORK);
}

TEST_F(Priorities, ThreadCreatedBeforeTheStateBecameOffBeginsAsAnOrdinaryThread)
{
    test::Worker thread;
    bool allowed = false;
    thread.run([&] {
        allowed = begins_at_1(WORK_RT_OFF);
        EXPECT_TRUE(!allowed || is_ordinary());
    });
    if (!allowed)
        GTEST_SKIP() << "real-time scheduling is refused";
}

TEST_F(Priorities, ThreadsBecomeOrdinaryWhereTheWorkerCannotBeCreated)
{
    test::Worker thread;
    bool allowed = false;
    thread.run([&] {
        allowed = begins_at_1(WORK_RT_ON);
        if (!allowed)
            return;
        EXPECT_FALSE(is_ordinary()) << "real-time threads queue callbacks";

        int64_t now = plat_clock_now();
        rtrcu_store_relaxed(&work_->rt.state, uint32_t{WORK_RT_RESTING});
        rtrcu_store_relaxed(&work_->rt.producer_ns, now);
        rtrcu_store_relaxed(&work_->refused_ns, now + INT64_C(60000000000)); /* no thread can be created */
        work_rt_runs(work_, &rt_);
        EXPECT_EQ(rtrcu_load_relaxed(&work_->rt.state), uint32_t{WORK_RT_OFF});
        EXPECT_TRUE(is_ordinary()) << "no thread would lower it";
    });
    if (!allowed)
        GTEST_SKIP() << "real-time scheduling is refused";
}

} // namespace
