// SPDX-License-Identifier: MIT OR Apache-2.0
// Tests of [saferecl.rcu.domain] of the C++ standard: the members of the domain, and the functions.
#include <atomic>
#include <memory>
#include <mutex>
#include <rcu>
#include <thread>
#include <vector>

#include "region.h"

namespace
{

using test::Counted;
using test::Region;

// ---- [saferecl.rcu.domain] ----

// Synopsis: no copies, and no domain besides the default one.
static_assert(!std::is_copy_constructible_v<std::rcu_domain> && !std::is_copy_assignable_v<std::rcu_domain>);
static_assert(!std::is_move_constructible_v<std::rcu_domain> && !std::is_default_constructible_v<std::rcu_domain>);
static_assert(noexcept(std::declval<std::rcu_domain &>().lock()) &&noexcept(
    std::declval<std::rcu_domain &>().try_lock()) &&noexcept(std::declval<std::rcu_domain &>().unlock()));
static_assert(std::is_same_v<decltype(std::declval<std::rcu_domain &>().try_lock()), bool>);

// general/1: Cpp17Lockable; the example.  general/2: lock and unlock establish possibly nested regions.
TEST(Domain, General1And2IsLockableAndRegionsNest)
{
    EXPECT_FALSE(rcu_read_lock_held());
    {
        std::scoped_lock<std::rcu_domain> rlock(std::rcu_default_domain());
        EXPECT_TRUE(rcu_read_lock_held());
        std::unique_lock<std::rcu_domain> other(std::rcu_default_domain(), std::try_to_lock);
        EXPECT_TRUE(other.owns_lock());
        std::lock_guard<std::rcu_domain> third(std::rcu_default_domain());
        std::mutex mutex;
        std::scoped_lock both(mutex, std::rcu_default_domain()); // locked by std::lock()
    }
    EXPECT_FALSE(rcu_read_lock_held());
}

// members/1, /3, /4, /6: their effects.  /2 and /8: no data race involving *this, which the race detector checks.
TEST(Domain, LockAndUnlockOpenAndCloseARegion)
{
    auto work = [] {
        std::rcu_domain &domain = std::rcu_default_domain();
        for (int i = 0; i < 1000; i++) {
            domain.lock();
            EXPECT_TRUE(rcu_read_lock_held());
            EXPECT_TRUE(domain.try_lock());
            domain.unlock();
            EXPECT_TRUE(rcu_read_lock_held());
            domain.unlock();
            EXPECT_FALSE(rcu_read_lock_held());
        }
    };
    std::thread other(work);
    work();
    other.join();
}

// members/6 and /7: unlock() may invoke evaluations.  Here it does not, so evaluations may take locks of its caller.
TEST(Domain, UnlockInvokesNoEvaluation)
{
    std::atomic<bool> here{false};
    const std::thread::id self = std::this_thread::get_id();
    static int object;
    {
        std::scoped_lock region(std::rcu_default_domain());
        std::rcu_retire(&object, [&](int *) { here = self == std::this_thread::get_id(); });
    }
    std::rcu_synchronize();
    { // the end of another region, when the evaluation may be due
        std::scoped_lock region(std::rcu_default_domain());
    }
    EXPECT_FALSE(here);
    std::rcu_barrier();
}

// ---- [saferecl.rcu.domain.func] ----

// 1: rcu_default_domain() returns the same object at each call, which has static storage duration: also before main().
std::rcu_domain *const before_main = &std::rcu_default_domain();
TEST(Functions, Paragraph1ReturnsOneDomain)
{
    EXPECT_EQ(before_main, &std::rcu_default_domain());
    std::rcu_domain *others = nullptr;
    std::thread([&] { others = &std::rcu_default_domain(); }).join();
    EXPECT_EQ(others, before_main);
}

// 2 and 3: rcu_synchronize() blocks until regions that were open have closed; its caller then sees their writes.
TEST(Functions, Paragraph2And3SynchronizeWaitsForRegions)
{
    int written = 0;
    test::Steps steps;
    Region region([&] { written = 42; });
    std::atomic<bool> returned{false};
    std::thread waiter([&] {
        steps.reach(1);
        std::rcu_synchronize();
        returned = true;
        EXPECT_EQ(written, 42);
    });
    steps.wait(1);
    unsigned long cookie = start_poll_synchronize_rcu();
    EXPECT_FALSE(poll_state_synchronize_rcu(cookie));
    EXPECT_FALSE(returned);
    region.leave();
    waiter.join();
    std::rcu_synchronize(std::rcu_default_domain());
}

// 4 and 5: rcu_barrier() blocks until everything scheduled before has been evaluated, by any thread; its caller then
// sees the writes of the evaluations.
TEST(Functions, Paragraph4And5BarrierWaitsForEvaluations)
{
    constexpr int count = 500;
    std::vector<int> values(count); // not atomic
    std::thread([&] {
        for (int &value : values)
            std::rcu_retire(&value, [](int *place) { *place = 42; });
    }).join();
    int from_others = 0;
    std::thread([&] {
        std::rcu_barrier();
        for (int value : values)
            from_others += value == 42;
    }).join();
    EXPECT_EQ(from_others, count);
    std::rcu_barrier(std::rcu_default_domain());
}

// 4: rcu_barrier() waits for an evaluation that has begun, although every grace period is over.
TEST(Functions, Paragraph4BarrierWaitsForARunningEvaluation)
{
    test::Steps steps;
    std::atomic<bool> finished{false};
    static int object;
    std::rcu_retire(&object, [&](int *) {
        steps.reach(1);
        steps.wait(2);
        finished = true;
    });
    steps.wait(1);
    auto wait = [&](bool named) {
        named ? std::rcu_barrier(std::rcu_default_domain()) : std::rcu_barrier();
        EXPECT_TRUE(finished);
    };
    std::thread first(wait, false), second(wait, true);
    for (int i = 0; i < 3; i++)
        std::rcu_synchronize(); // so that an evaluation had time to begin
    steps.reach(2);
    first.join();
    second.join();
}

// 5, Note 1: with nothing scheduled, rcu_barrier() does not wait for regions.
TEST(Functions, Paragraph5BarrierDoesNotWaitForRegions)
{
    std::rcu_barrier();
    Region region;
    std::rcu_barrier();
    region.leave();
}

// 6: D is move constructible and d(p) well-formed; d1 need not be default constructible, nor copyable or assignable.
TEST(Functions, Paragraph6AcceptsAnyMoveConstructibleDeleter)
{
    struct Owning {
        std::unique_ptr<int> token;
        std::atomic<int> &seen;
        void operator()(int *p)
        {
            seen = *p + *token;
            delete p;
        }
    };
    static_assert(!std::is_default_constructible_v<Owning> && !std::is_copy_constructible_v<Owning> &&
                  !std::is_move_assignable_v<Owning>);
    std::atomic<int> seen{0};
    std::rcu_retire(new int(40), Owning{std::make_unique<int>(2), seen});
    std::rcu_barrier();
    EXPECT_EQ(seen, 42);
}

// 8: the default deleter deletes; so does one for an incomplete type, void, or const.
struct Opaque;
Opaque *make_opaque();
void drop_opaque(Opaque *);
std::atomic<int> opaque_dropped;
TEST(Functions, Paragraph8RetireSchedulesTheDeleter)
{
    opaque_dropped = 0;
    std::rcu_retire(new int(1));
    std::rcu_retire(static_cast<const int *>(new int(1)));
    std::rcu_retire(make_opaque(), drop_opaque);
    std::rcu_retire(static_cast<void *>(make_opaque()), [](void *p) { drop_opaque(static_cast<Opaque *>(p)); });
    std::rcu_retire(new int(1), std::default_delete<int>(), std::rcu_default_domain());
    std::rcu_barrier();
    EXPECT_EQ(opaque_dropped, 2);
}
struct Opaque {
    int value;
};
Opaque *make_opaque()
{
    return new Opaque{1};
}
void drop_opaque(Opaque *object)
{
    opaque_dropped++;
    delete object;
}

// 8, Note 2, and 9: an exception of d1's initialization is passed on, and nothing is scheduled.
TEST(Functions, Paragraph9ThrowingDeleterSchedulesNothing)
{
    struct Thrower {
        bool throws;
        std::atomic<int> *called;
        Thrower(bool on, std::atomic<int> *count) : throws(on), called(count)
        {
        }
        Thrower(Thrower &&other) : throws(other.throws), called(other.called)
        {
            if (throws)
                throw 42;
        }
        void operator()(int *) const
        {
            ++*called;
        }
    };
    std::atomic<int> called{0};
    int object = 0;
    EXPECT_THROW(std::rcu_retire(&object, Thrower(true, &called)), int);
    std::rcu_barrier();
    EXPECT_EQ(called, 0);
    std::rcu_retire(&object, Thrower(false, &called));
    std::rcu_barrier();
    EXPECT_EQ(called, 1);
}

// The C interface uses the same domain, and its names can be used beside the namespace's.
TEST(Functions, CInterfaceUsesTheSameDomain)
{
    using namespace rtrcu;
    std::atomic<int> deleted{0};
    Region region;
    (new Counted(deleted))->retire();
    region.leave();
    rcu_barrier(); // the C and the C++ function each wait for objects retired by either interface
    EXPECT_EQ(deleted, 1);
    rcu_barrier(rcu_default_domain());
    rcu_synchronize();
    synchronize_rcu();
}

} // namespace
