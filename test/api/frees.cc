/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Every pointer that is given to rcu_free() and rcu_free_head() is freed once, and behind its grace period: counted one
 * by one, by a free() of this program's own.
 *
 * The pointers lie in an arena, which is no memory of the allocator.  The library's calls of free() come here, as those
 * of any library do where the program defines it.
 */
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

#if !TEST_ASAN && !TEST_TSAN /* they replace free() themselves */
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
            GTEST_SKIP() << "the sanitizer's runtime has a free() of its own";
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

/* Blocks that are full, not full, and of threads that end. */
TEST_F(Frees, EachPointerOnce)
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

TEST_F(Frees, NoneBeforeItsGracePeriod)
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

/* Small blocks again and again: one pointer a block that is lost shows whatever a block's size is. */
TEST_F(Frees, OneByOne)
{
    for (size_t i = 0; i < 300; i++) {
        for (size_t k = 0; k <= i % 7; k++)
            rcu_free(&arena[10 * i + k]);
        rcu_barrier();
        expect_each_freed(10 * i, 10 * i + i % 7 + 1, 1);
    }
}

} // namespace
