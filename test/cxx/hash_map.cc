// SPDX-License-Identifier: MIT OR Apache-2.0
// Tests of rtrcu::hash_map: look-ups, changes, keys of other types, allocators, and concurrent threads.
#include <atomic>
#include <map>
#include <memory_resource>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <rtrcu/guard.hpp>
#include <rtrcu/hash_map.hpp>

#include "../api/child.h"
#include "../support/sync.h"

namespace
{

// Counts its objects.
struct Counted {
    static inline std::atomic<int> alive{0};
    int number;

    Counted(int n) : number(n)
    {
        if (n < 0)
            throw std::runtime_error("negative");
        alive++;
    }
    Counted(const Counted &other) : number(other.number)
    {
        alive++;
    }
    Counted &operator=(const Counted &) = default;
    ~Counted()
    {
        number = -7;
        alive--;
    }
};

struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const
    {
        return std::hash<std::string_view>()(text);
    }
};
using Names = rtrcu::hash_map<std::string, Counted, TextHash, std::equal_to<>>;
using Numbers = rtrcu::hash_map<int, Counted>;
static_assert(!std::is_copy_constructible_v<Numbers> && !std::is_move_constructible_v<Numbers>);
static_assert(std::is_same_v<decltype(std::declval<const Numbers &>().find(1)), rtrcu::snapshot<Counted>>);

class HashMap : public testing::Test
{
  protected:
    void TearDown() override
    {
        rcu_barrier();
        EXPECT_EQ(Counted::alive, 0);
        EXPECT_FALSE(rcu_read_lock_held());
    }
    static int number(const Numbers &map, int key)
    {
        auto now = map.find(key);
        return now ? now->number : -1;
    }
};

TEST_F(HashMap, InsertedAndAssignedValuesAreFound)
{
    Numbers map;
    EXPECT_FALSE(map.find(1));
    EXPECT_TRUE(map.insert_or_assign(1, 10));
    EXPECT_FALSE(map.insert_or_assign(1, 11));
    EXPECT_EQ(number(map, 1), 11);
    EXPECT_TRUE(map.contains(1));
    EXPECT_EQ(map.size(), 1u);
}

TEST_F(HashMap, TryEmplaceKeepsAnExistingValue)
{
    Numbers map;
    EXPECT_TRUE(map.try_emplace(1, 10));
    EXPECT_FALSE(map.try_emplace(1, 11));
    EXPECT_EQ(number(map, 1), 10);
}

TEST_F(HashMap, EraseRemovesOnce)
{
    Numbers map;
    map.try_emplace(1, 10);
    EXPECT_TRUE(map.erase(1));
    EXPECT_FALSE(map.erase(1));
    EXPECT_FALSE(map.contains(1));
}

TEST_F(HashMap, UpdateFunctionMayChangeACopyOrReturnANewValue)
{
    Numbers map;
    EXPECT_FALSE(map.update(1, [](Counted &copy) { copy.number++; }));
    map.try_emplace(1, 10);
    EXPECT_TRUE(map.update(1, [](Counted &copy) { copy.number++; }));
    EXPECT_EQ(number(map, 1), 11);
    EXPECT_TRUE(map.update(1, [](const Counted &old) { return Counted(old.number * 2); }));
    EXPECT_EQ(number(map, 1), 22);
}

TEST_F(HashMap, ExceptionLeavesTheMapUnchanged)
{
    Numbers map;
    EXPECT_THROW(map.try_emplace(1, -1), std::runtime_error);
    EXPECT_FALSE(map.contains(1));
    map.try_emplace(1, 10);
    EXPECT_THROW(map.update(1, [](const Counted &) { return Counted(-1); }), std::runtime_error);
    EXPECT_FALSE(rcu_read_lock_held());
    EXPECT_EQ(number(map, 1), 10);
}

TEST_F(HashMap, SnapshotIsASectionAndKeepsItsValue)
{
    Numbers map;
    map.try_emplace(1, 10);
    auto now = map.find(1);
    EXPECT_TRUE(rcu_read_lock_held());
    map.erase(1);
    EXPECT_EQ(now->number, 10);
}

TEST_F(HashMap, FindWorksInsideASectionOfTheCaller)
{
    Numbers map;
    map.try_emplace(1, 10);
    rtrcu::guard within;
    const Counted *value = map.find(1, within);
    ASSERT_NE(value, nullptr);
    EXPECT_EQ(value->number, 10);
    EXPECT_EQ(map.find(2, within), nullptr);
}

TEST_F(HashMap, TakesKeysOfOtherTypes)
{
    Names map;
    EXPECT_TRUE(map.try_emplace(std::string_view("one"), 1));
    EXPECT_TRUE(map.contains(std::string_view("one")));
    EXPECT_TRUE(map.update(std::string_view("one"), [](Counted &copy) { copy.number = 2; }));
    {
        auto now = map.find("one");
        EXPECT_EQ(now->number, 2);
    }
    EXPECT_TRUE(map.erase(std::string_view("one")));
}

TEST_F(HashMap, VisitInStepsVisitsEachValueOnce)
{
    Numbers map;
    for (int key = 0; key < 500; key++)
        map.try_emplace(key, key);
    std::map<int, int> seen;
    map.for_each([&](int key, const Counted &value) { seen[key] += value.number == key; }, 3);
    EXPECT_EQ(seen.size(), 500u);
    for (auto [key, times] : seen)
        EXPECT_EQ(times, 1) << key;
    map.clear();
    EXPECT_EQ(map.size(), 0u);
}

// A memory resource that counts its blocks.
struct Resource : std::pmr::memory_resource {
    std::atomic<int> blocks{0};

    void *do_allocate(std::size_t bytes, std::size_t alignment) override
    {
        blocks++;
        return std::pmr::new_delete_resource()->allocate(bytes, alignment);
    }
    void do_deallocate(void *place, std::size_t bytes, std::size_t alignment) override
    {
        blocks--;
        std::pmr::new_delete_resource()->deallocate(place, bytes, alignment);
    }
    bool do_is_equal(const memory_resource &other) const noexcept override
    {
        return this == &other;
    }
};

TEST_F(HashMap, EntriesMayReturnToTheirAllocatorAfterTheMapIsDestroyed)
{
    Resource resource;
    {
        using Allocator = std::pmr::polymorphic_allocator<std::pair<const int, Counted>>;
        rtrcu::hash_map<int, Counted, std::hash<int>, std::equal_to<int>, Allocator> map{Allocator(&resource)};
        for (int key = 0; key < 10; key++)
            map.try_emplace(key, key);
        EXPECT_THROW(map.try_emplace(10, -1), std::runtime_error);
        EXPECT_EQ(resource.blocks, 10);
    }
    rcu_barrier();
    EXPECT_EQ(resource.blocks, 0);
}

TEST_F(HashMap, UpdatesOfSeveralThreadsAreNotLost)
{
    constexpr int rounds = 500, keys = 4;
    Numbers map;
    for (int key = 0; key < keys; key++)
        map.try_emplace(key, 0);
    std::atomic<bool> over{false};
    std::atomic<int> mistakes{0};
    std::thread reader([&] {
        for (int last = 0; !over;) {
            int now = number(map, 0);
            mistakes += now < last;
            last = now;
        }
    });
    auto count = [&] {
        for (int i = 0; i < rounds * keys; i++)
            mistakes += !map.update(i % keys, [](Counted &copy) { copy.number++; });
    };
    std::thread other(count);
    count();
    other.join();
    over = true;
    reader.join();
    EXPECT_EQ(mistakes, 0);
    for (int key = 0; key < keys; key++)
        EXPECT_EQ(number(map, key), 2 * rounds);
}

} // namespace
