// SPDX-License-Identifier: MIT OR Apache-2.0
// Tests of rtrcu::domain: sections that move between scopes and threads, and retired objects.
#include <atomic>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include <rtrcu/domain.hpp>

namespace
{

static_assert(std::is_nothrow_move_constructible_v<rtrcu::domain::guard>);
static_assert(std::is_nothrow_move_assignable_v<rtrcu::domain::guard>);
static_assert(!std::is_copy_constructible_v<rtrcu::domain::guard> && !std::is_move_constructible_v<rtrcu::domain>);

struct Counted {
    std::atomic<int> &alive;
    explicit Counted(std::atomic<int> &count) : alive(count)
    {
        alive++;
    }
    ~Counted()
    {
        alive--;
    }
};

TEST(SleepableDomain, RetiredObjectIsKeptForAMovedSection)
{
    std::atomic<int> alive{0};
    rtrcu::domain own("own");
    std::atomic<Counted *> pointer{new Counted(alive)};

    rtrcu::domain::guard section = own.read();
    EXPECT_EQ(section.get(pointer), pointer.load());
    own.retire(std::unique_ptr<Counted>(pointer.exchange(nullptr)));
    EXPECT_EQ(alive, 1);
    std::thread([&alive, moved = std::move(section)]() mutable {
        EXPECT_TRUE(moved);
        EXPECT_EQ(alive, 1);
        moved.end();
        EXPECT_FALSE(moved);
    }).join();
    EXPECT_FALSE(section);
    own.barrier();
    EXPECT_EQ(alive, 0);
}

TEST(SleepableDomain, AssignmentEndsThePreviousSection)
{
    rtrcu::domain one, other;
    rtrcu::domain::guard section = one.read();
    section = other.read();
    one.synchronize();
    section.end();
    other.synchronize();
}

TEST(SleepableDomain, DestructorWaitsForRetiredObjects)
{
    std::atomic<int> alive{0};
    {
        rtrcu::domain own;
        own.retire(std::make_unique<Counted>(alive));
        own.retire(std::unique_ptr<Counted>());
    }
    EXPECT_EQ(alive, 0);
}

// An object whose destructor retires the next one of its list.
struct Linked {
    rtrcu::domain &own;
    std::atomic<int> &left;
    ~Linked()
    {
        if (--left > 0)
            own.retire(std::unique_ptr<Linked>(new Linked{own, left}));
    }
};

TEST(SleepableDomain, DestructorWaitsForObjectsThatDestructorsRetire)
{
    for (int i = 0; i < 200; i++) {
        std::atomic<int> left{4};
        {
            rtrcu::domain own;
            own.retire(std::unique_ptr<Linked>(new Linked{own, left}));
        }
        ASSERT_EQ(left, 0);
    }
}

} // namespace
