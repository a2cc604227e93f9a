/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests that rcu_retire() passes each object to its function once, after its grace period. */
#include <atomic>
#include <thread>
#include <vector>

#include "../support/sync.h"
#include "child.h"

namespace
{

constexpr size_t objects = 20000;
std::atomic<int> times[objects];

void count(void *object)
{
    ++*static_cast<std::atomic<int> *>(object);
}
void count_and_one_more(void *object)
{
    count(object);
    EXPECT_EQ(rcu_retire(static_cast<std::atomic<int> *>(object) + 1, count), 0);
}

class Retire : public testing::Test
{
  protected:
    void SetUp() override
    {
        for (auto &each : times)
            each = 0;
    }
    static void retire(size_t object, void (*function)(void *) = count)
    {
        ASSERT_EQ(rcu_retire(&times[object], function), 0);
    }
    static void expect_each(size_t first, size_t end, int expected)
    {
        size_t wrong = 0;
        for (size_t i = first; i < end; i++)
            wrong += times[i] != expected;
        EXPECT_EQ(wrong, 0u) << "of the objects from " << first << " to " << end << " were not passed on " << expected
                             << " times";
    }
};

/* There are full blocks, partly filled ones, and blocks of threads that exit, with frees and callbacks between them. */
TEST_F(Retire, EachObjectsFunctionIsCalledOnce)
{
    std::vector<std::thread> threads;
    for (size_t t = 0; t < 4; t++) {
        threads.emplace_back([t] {
            for (size_t i = t * objects / 4; i < (t + 1) * objects / 4; i++) {
                retire(i);
                if (i % 5 == 0)
                    rcu_free(malloc(8));
                if (i % 1000 == 0)
                    synchronize_rcu();
            }
        });
    }
    for (auto &thread : threads)
        thread.join();
    rcu_barrier();
    expect_each(0, objects, 1);
}

TEST_F(Retire, FunctionIsNotCalledBeforeTheGracePeriodEnds)
{
    test::Worker reader;
    reader.run([] { rcu_read_lock(); });
    uint64_t busy = test::stats().gp_busy;
    for (size_t i = 0; i < 2000; i++)
        retire(i);
    ASSERT_TRUE(test::eventually([&] { return test::stats().gp_busy > busy; }));
    expect_each(0, 2000, 0);
    reader.run([] { rcu_read_unlock(); });
    rcu_barrier();
    expect_each(0, 2000, 1);
}

TEST_F(Retire, RetiredFunctionMayRetireAgain)
{
    for (size_t i = 0; i < 1000; i++)
        retire(2 * i, count_and_one_more);
    rcu_barrier();
    rcu_barrier();
    expect_each(0, 2000, 1);
}

TEST_F(Retire, FunctionReceivesTheNullObject)
{
    static std::atomic<int> nulls;
    ASSERT_EQ(rcu_retire(nullptr, [](void *object) { nulls += object == nullptr; }), 0);
    rcu_barrier();
    EXPECT_EQ(nulls, 1);
}

} // namespace
