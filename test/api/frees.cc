/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests that every pointer passed to rcu_free() and rcu_free_head() is freed once, after its grace period.
 * This program defines free(), which counts the frees of each pointer of an arena. */
#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

#include "../support/sync.h"
#include "child.h"

namespace
{

struct Piece {
    char before[24];
    rcu_head head;
};

constexpr size_t pieces = 20000;
Piece arena[pieces];
std::atomic<int> freed[pieces];

[[maybe_unused]] bool is_ours(const void *memory)
{
    return memory >= static_cast<const void *>(arena) && memory < static_cast<const void *>(arena + pieces);
}

} // namespace

#if !TEST_ASAN && !TEST_TSAN /* the sanitizers replace free() themselves */
extern "C" void __libc_free(void *memory);

extern "C" void free(void *memory) noexcept
{
    if (is_ours(memory))
        freed[static_cast<Piece *>(memory) - arena]++;
    else
        __libc_free(memory);
}
#endif

namespace
{

class Frees : public testing::Test
{
  protected:
    void SetUp() override
    {
        if (TEST_ASAN || TEST_TSAN)
            GTEST_SKIP() << "the sanitizer defines free()";
        for (auto &times : freed)
            times = 0;
    }
    static void expect_each_freed(size_t first, size_t last, int times)
    {
        size_t wrong = 0;
        for (size_t i = first; i < last; i++)
            wrong += freed[i] != times;
        EXPECT_EQ(wrong, 0u) << "of those from " << first << " to " << last << " are not freed " << times << " times";
    }
};

/* There are full blocks, partly filled ones, and blocks of threads that exit. */
TEST_F(Frees, EachPointerIsFreedOnce)
{
    std::vector<std::thread> threads;
    for (size_t t = 0; t < 4; t++) {
        threads.emplace_back([t] {
            for (size_t i = t * pieces / 4; i < (t + 1) * pieces / 4; i++) {
                if (i % 3 == 0)
                    rcu_free_head(&arena[i], head);
                else
                    rcu_free(&arena[i]);
                if (i % 1000 == 0)
                    synchronize_rcu();
            }
        });
    }
    for (auto &thread : threads)
        thread.join();
    rcu_barrier();
    expect_each_freed(0, pieces, 1);
}

TEST_F(Frees, PointerIsNotFreedBeforeItsGracePeriod)
{
    test::Worker reader, other;
    reader.run([] { rcu_read_lock(); });
    uint64_t busy = test::stats().gp_busy;
    for (size_t i = 0; i < 2000; i++)
        rcu_free(&arena[i]);
    other.run([] {
        for (size_t i = 2000; i < 2010; i++)
            rcu_free_head(&arena[i], head);
    });
    ASSERT_TRUE(test::eventually([&] { return test::stats().gp_busy > busy; }));
    expect_each_freed(0, 2010, 0);
    reader.run([] { rcu_read_unlock(); });
    rcu_barrier();
    expect_each_freed(0, 2010, 1);
}

/* A barrier after each few pointers leaves blocks of every small size. */
TEST_F(Frees, BlocksOfEachSizeAreFreed)
{
    for (size_t i = 0; i < 300; i++) {
        for (size_t k = 0; k <= i % 7; k++)
            rcu_free(&arena[10 * i + k]);
        rcu_barrier();
        expect_each_freed(10 * i, 10 * i + i % 7 + 1, 1);
    }
}

} // namespace
