/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A server of callbacks, and forks beside it.
 */
#include <atomic>
#include <thread>
#include <vector>

#include <sys/resource.h>

#include "world.h"

namespace
{

class Server : public AdoptWorld
{
  protected:
    static inline adopt_server *server_;
    static inline std::atomic<int> ran_;
    static inline std::atomic<uint32_t> seen_serving_;
    rcu_head head_ = {};

    static void note(rcu_head *)
    {
        seen_serving_ = rtrcu_load_acquire(&server_->serving);
        ran_++;
    }
    /* Queued, and its thread does not wait for others to come. */
    void call()
    {
        adopt_server_call(server_, &head_, note);
        (void)adopt_server_urge(server_);
    }
    /* It has gathered what there is, and rests without being idle or waiting for more. */
    static bool is_held_off()
    {
        return cbqueue_inbox_is_empty(&server_->queue) && rtrcu_load_acquire(&server_->sleeping) == ADOPT_AWAKE &&
               test::is_asleep(static_cast<pid_t>(plat_thread_tid(&server_->thread).number));
    }
};

TEST_F(Server, WhomAForkHeldOffIsAtWorkForTheNext)
{
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_MEMB);
    server_ = adopt_server_create(adopted, 0, -1);
    ASSERT_NE(server_, nullptr);
    ran_ = 0;
    for (int i = 1; i <= 20; i++) {
        tally_ticket paused = adopt_pause(&all_);
        call();
        EXPECT_TRUE(test::eventually(is_held_off));
        EXPECT_EQ(ran_, i - 1);
        EXPECT_EQ(rtrcu_load_acquire(&server_->serving), 0u);
        adopt_resume(&all_, paused);
        EXPECT_TRUE(test::eventually([&] { return ran_ == i; }));
        EXPECT_EQ(seen_serving_, 1u) << "a fork would not wait for it";
    }
    adopt_server_free(adopted, server_);
}

int nice_now()
{
    return getpriority(PRIO_PROCESS, 0);
}

std::vector<int> nices;
std::vector<uint64_t> lifts;

/* Above others while the backlog is at qmax, as far as it may be; then as before. */
TEST_F(Server, AFloodLiftsItsThreadUntilItIsOver)
{
    constexpr size_t count = 200;
    bool may_lift = false;
    std::thread([&] { may_lift = plat_sched_set(0, DRIVE_LIFTED_NICE) == 0; }).join();
    config_.qmax = 100;
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_MEMB);
    server_ = adopt_server_create(adopted, 0, -1);
    ASSERT_NE(server_, nullptr);
    ran_ = 0;
    nices.clear();
    lifts.clear();
    std::vector<rcu_head> heads(count);
    tally_ticket paused = adopt_pause(&all_);
    for (rcu_head &head : heads) {
        adopt_server_call(server_, &head, [](rcu_head *) {
            nices.push_back(nice_now());
            lifts.push_back(rtrcu_load_acquire(&server_->adopted->lifts));
            ran_++;
        });
    }
    adopt_resume(&all_, paused);
    EXPECT_TRUE(test::eventually([&] { return ran_ == int{count}; }));
    adopt_server_free(adopted, server_);
    ASSERT_EQ(nices.size(), count);
    EXPECT_EQ(nices.front(), may_lift ? DRIVE_LIFTED_NICE : nice_now());
    EXPECT_EQ(nices.back(), nice_now());
    EXPECT_EQ(lifts.front(), 1u);
    EXPECT_EQ(lifts.back(), 1u);
}

} // namespace
