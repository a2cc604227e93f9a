/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of Boost.Fiber with the library's scheduling algorithm: a section stays with its fiber on any thread. */
#include <mutex>
#include <thread>
#include <unistd.h>
#include <vector>

#include <boost/fiber/all.hpp>
#include <rtrcu/boost_fiber.hpp>

#include "../support/sync.h"
#include "child.h"
#include "moving.h"

namespace
{

namespace fibers = boost::fibers;

using moving::Shared;

void read_and_yield(Shared &shared)
{
    while (!shared.stop) {
        rtrcu::guard section;
        auto seen = shared.see();
        /* not pthread_self(), whose value the compiler may keep in a register within one function */
        pid_t began = gettid();
        boost::this_fiber::yield();
        shared.moved += began != gettid();
        shared.check(seen);
        shared.bad_sections += !rcu_read_lock_held();
    }
}

/* The carrier threads share their fibers, so fibers change threads inside their sections. */
TEST(BoostFiber, FiberKeepsItsSectionOnAnyThread)
{
    constexpr int carriers = 3, readers = 16;
    Shared shared;
    std::mutex lock;
    fibers::condition_variable_any all_done;
    int running = readers;
    auto carry = [&](int first) {
        fibers::use_scheduling_algorithm<rtrcu::fiber_algorithm<fibers::algo::shared_work>>(true);
        for (int i = first; i < readers; i += carriers) {
            fibers::fiber([&] {
                read_and_yield(shared);
                std::unique_lock hold(lock);
                if (--running == 0) {
                    hold.unlock();
                    all_done.notify_all();
                }
            }).detach();
        }
        std::unique_lock hold(lock);
        all_done.wait(hold, [&] { return running == 0; });
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < carriers; i++)
        threads.emplace_back(carry, i);
    EXPECT_TRUE(moving::replace_until_moved(shared, 20));
    for (auto &thread : threads)
        thread.join();
    EXPECT_EQ(shared.bad(), 0);
    EXPECT_EQ(shared.bad_sections, 0);
}

TEST(BoostFiber, GracePeriodWaitsForASuspendedFiber)
{
    std::thread([] {
        fibers::use_scheduling_algorithm<rtrcu::fiber_algorithm<>>();
        fibers::promise<void> go_on;
        auto waits = go_on.get_future();
        fibers::fiber reader(fibers::launch::dispatch, [&] {
            rtrcu::guard section;
            waits.wait();
            EXPECT_TRUE(rcu_read_lock_held());
        });
        EXPECT_FALSE(rcu_read_lock_held()) << "the fiber is inside, the thread is not";
        auto later = get_state_synchronize_rcu();
        std::atomic<bool> over{false};
        std::thread updater([&] {
            synchronize_rcu();
            over = true;
        });
        for (int i = 0; i < 100; i++) {
            rtrcu::guard section; /* a section of the thread itself */
            EXPECT_FALSE(poll_state_synchronize_rcu(later));
            boost::this_fiber::yield();
        }
        EXPECT_FALSE(over);
        go_on.set_value();
        reader.join();
        updater.join();
        EXPECT_TRUE(poll_state_synchronize_rcu(later));
    }).join();
}

/* With launch::dispatch the new fiber runs immediately, while the launching fiber is suspended inside its section. */
TEST(BoostFiber, NewFiberIsOutsideItsCreatorsSection)
{
    std::thread([] {
        boost::fibers::use_scheduling_algorithm<rtrcu::fiber_algorithm<boost::fibers::algo::round_robin>>();
        auto launched_body = [] {
            EXPECT_FALSE(rcu_read_lock_held()) << "the section belongs to the launching fiber";
            rtrcu::guard section;
            boost::this_fiber::yield();
            EXPECT_TRUE(rcu_read_lock_held());
        };
        auto launch_inside_a_section = [&] {
            rtrcu::guard section;
            boost::fibers::fiber launched(boost::fibers::launch::dispatch, launched_body);
            EXPECT_TRUE(rcu_read_lock_held());
            launched.join();
            EXPECT_TRUE(rcu_read_lock_held());
        };

        launch_inside_a_section(); /* in the main fiber */
        EXPECT_FALSE(rcu_read_lock_held());

        boost::fibers::fiber(launch_inside_a_section).join();
        EXPECT_FALSE(rcu_read_lock_held());
    }).join();
    synchronize_rcu();
}

} // namespace
