// SPDX-License-Identifier: MIT OR Apache-2.0
// Tests of rtrcu::cell: snapshots, updates, exchanges, deleters and memory.  refused/cases.cc has code that must not
// compile.
#include <atomic>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <rtrcu/cell.hpp>
#include <rtrcu/coroutine.hpp>
#include <rtrcu/guard.hpp>
#include <rtrcu/loop.hpp>
#include <rtrcu/rcu.hpp>

#include "../api/child.h"
#include "../support/seed.h"
#include "../support/sync.h"

namespace
{

// Counts its objects, and detects a read after its destruction.
struct Value {
    static inline std::atomic<int> alive{0}, made{0};
    int number;
    bool copy_throws = false;
    std::atomic<unsigned> mark{0x600d};

    explicit Value(int n = 0) : number(n)
    {
        alive++;
        made++;
    }
    Value(const Value &other) : number(other.number), copy_throws(other.copy_throws)
    {
        if (copy_throws)
            throw std::runtime_error("copy");
        alive++;
        made++;
    }
    Value &operator=(const Value &) = delete;
    ~Value()
    {
        mark = 0xdead;
        alive--;
    }
    bool whole() const
    {
        return mark == 0x600d;
    }
};

class Cell : public testing::Test
{
  protected:
    void SetUp() override
    {
        rcu_barrier();
        ASSERT_EQ(Value::alive, 0);
    }
    void TearDown() override
    {
        rcu_barrier();
        EXPECT_EQ(Value::alive, 0);
        EXPECT_FALSE(rcu_read_lock_held());
    }
    static int number(const rtrcu::cell<Value> &cell)
    {
        return cell.with([](const Value *value) { return value ? value->number : -1; });
    }
};

// A class may have a cell of an incomplete type.
struct Unknown;
struct Holder {
    rtrcu::cell<Unknown> cell;
};
static_assert(std::is_nothrow_default_constructible_v<Holder>);
struct Unknown {
};

constinit rtrcu::cell<Value> at_namespace_scope; // constant-initialized, so that it exists before any constructor runs
static_assert(!std::is_copy_constructible_v<rtrcu::cell<Value>> && !std::is_move_constructible_v<rtrcu::cell<Value>>);
static_assert(sizeof(rtrcu::cell<Value>) == sizeof(void *));
static_assert(!std::is_move_constructible_v<rtrcu::snapshot<Value>> &&
              !std::is_copy_assignable_v<rtrcu::snapshot<Value>>);
static_assert(std::is_same_v<decltype(*std::declval<const rtrcu::snapshot<Value> &>()), const Value &>);
static_assert(noexcept(at_namespace_scope.read()) &&noexcept(at_namespace_scope.reset()));
static_assert(std::is_nothrow_move_constructible_v<rtrcu::retired<Value>> &&
              !std::is_copy_constructible_v<rtrcu::retired<Value>>);

TEST_F(Cell, IsEmptyUntilAValueIsStored)
{
    rtrcu::cell<Value> cell;
    {
        auto now = cell.read();
        EXPECT_FALSE(now);
        EXPECT_TRUE(now == nullptr);
        EXPECT_EQ(now.get(), nullptr);
    }
    EXPECT_FALSE(cell.update([](Value &) {}));
    cell.store(std::make_unique<Value>(1));
    EXPECT_EQ(number(cell), 1);
    cell.store(nullptr);
    EXPECT_EQ(number(cell), -1);
    EXPECT_FALSE(at_namespace_scope.read());
}

TEST_F(Cell, SnapshotIsASectionAndKeepsItsValue)
{
    rtrcu::cell<Value> cell(std::in_place, 1);
    {
        auto now = cell.read();
        EXPECT_TRUE(rcu_read_lock_held());
        cell.emplace(2);
        unsigned long cookie = start_poll_synchronize_rcu();
        EXPECT_FALSE(poll_state_synchronize_rcu(cookie));
        EXPECT_TRUE(now->whole());
        EXPECT_EQ((*now).number, 1);
    }
    EXPECT_FALSE(rcu_read_lock_held());
    EXPECT_EQ(number(cell), 2);
    auto kept = [&cell](auto &&change) {
        rcu_barrier(); // so that values replaced by earlier changes do not count as alive
        const int alive = Value::alive;
        auto now = cell.read();
        change();
        EXPECT_TRUE(Value::alive > alive && now->whole());
    };
    kept([&] { cell.update([](Value &copy) { copy.number++; }); });
    kept([&] { (void)cell.exchange(std::make_unique<Value>(3)); });
    kept([&] { cell.store(std::make_unique<Value>(4)); });
}

TEST_F(Cell, ReadAcceptsEveryKindOfSection)
{
    rtrcu::cell<Value> cell(std::make_unique<Value>(7));
    rtrcu::guard guard;
    EXPECT_EQ(cell.read(guard)->number, 7);
    std::scoped_lock lock(rtrcu::rcu_default_domain());
    EXPECT_EQ(cell.read(lock)->number, 7);
    std::unique_lock other(rtrcu::rcu_default_domain());
    EXPECT_EQ(cell.read(other)->number, 7);
    rtrcu::section section;
    EXPECT_EQ(cell.read(section)->number, 7);
}

TEST_F(Cell, AllFormsOfUpdateChangeACopy)
{
    rtrcu::cell<Value> cell(std::in_place, 1);
    EXPECT_TRUE(cell.update([](Value &copy) { copy.number++; }));
    EXPECT_EQ(number(cell), 2);
    EXPECT_TRUE(cell.update([](auto &copy) { copy.number++; }));
    EXPECT_EQ(number(cell), 3);
    EXPECT_TRUE(cell.update([](const Value &old) { return Value(old.number + 1); }));
    EXPECT_EQ(number(cell), 4);
    EXPECT_TRUE(cell.update([](const Value &old) { return std::make_unique<Value>(old.number + 1); }));
    EXPECT_EQ(number(cell), 5);
    EXPECT_FALSE(cell.update([](const Value &) { return std::unique_ptr<Value>(); }));
    EXPECT_EQ(number(cell), 5);
    rtrcu::cell<const Value> constant(std::make_unique<const Value>(1));
    EXPECT_TRUE(constant.update([](const Value &old) { return Value(old.number + 1); }));
    EXPECT_EQ(constant.with([](const Value *value) { return value->number; }), 2);
}

// Inside a section of the caller, update() needs none of its own, and the old value stays valid for the caller.
TEST_F(Cell, UpdateAcceptsEveryKindOfSection)
{
    rtrcu::cell<Value> cell(std::in_place, 1);
    const unsigned open = rtrcu_word_read() & RTRCU_NESTING_MASK;
    auto change = [&](Value &copy) {
        EXPECT_EQ((rtrcu_word_read() & RTRCU_NESTING_MASK) - open, 1u) << "update() uses the caller's section";
        copy.number++;
    };
    {
        rtrcu::guard guard;
        const Value *before = cell.read(guard);
        EXPECT_TRUE(cell.update(guard, change));
        EXPECT_TRUE(before->whole());
        EXPECT_EQ(before->number, 1);
    }
    {
        std::scoped_lock lock(rtrcu::rcu_default_domain());
        EXPECT_TRUE(cell.update(lock, change));
        EXPECT_FALSE(cell.update(lock, [](const Value &) { return std::unique_ptr<Value>(); }));
    }
    std::thread([&] {
        rtrcu::quiescent_thread thread;
        rtrcu::quiescent_guard section(thread);
        EXPECT_TRUE(cell.update(section, [](const Value &old) { return Value(old.number + 1); }));
    }).join();
    EXPECT_EQ(number(cell), 4);
}

// A value that another updater replaces during the change must not be freed, nor its address be reused.
TEST_F(Cell, UpdateFunctionRunsInASection)
{
    rtrcu::cell<Value> cell(std::in_place, 1);
    int inside = 0;
    cell.update([&](Value &) { inside += rcu_read_lock_held(); });
    cell.update([&](const Value &old) {
        inside += rcu_read_lock_held();
        return Value(old.number);
    });
    cell.update([&](const Value &) {
        inside += rcu_read_lock_held();
        return std::unique_ptr<Value>();
    });
    EXPECT_EQ(inside, 3);
}

TEST_F(Cell, ConcurrentUpdatersLoseNoChange)
{
    constexpr int threads = 4, each = 500;
    rtrcu::cell<Value> cell(std::in_place, 0);
    std::vector<std::thread> all;
    for (int t = 0; t < threads; t++) {
        all.emplace_back([&] {
            for (int i = 0; i < each; i++)
                EXPECT_TRUE(cell.update([](Value &copy) { copy.number++; }));
        });
    }
    for (auto &thread : all)
        thread.join();
    EXPECT_EQ(number(cell), threads * each);
}

// The change function itself stores a value in the cell, like another updater that is faster.  update() then calls the
// change function again, with the stored value.
TEST_F(Cell, UpdateRestartsIfTheValueWasReplaced)
{
    rtrcu::cell<Value> cell(std::in_place, 1);
    int calls = 0;
    EXPECT_TRUE(cell.update([&](Value &copy) {
        if (calls++ == 0)
            cell.emplace(10);
        copy.number++;
    }));
    EXPECT_EQ(calls, 2);
    EXPECT_EQ(number(cell), 11);
}

TEST_F(Cell, ExceptionLeavesTheCellUnchanged)
{
    rtrcu::cell<Value> cell(std::in_place, 1);
    EXPECT_THROW(cell.update([](Value &) { throw 42; }), int);
    EXPECT_THROW(cell.update([](const Value &) -> Value { throw 42; }), int);
    EXPECT_THROW(cell.update([](const Value &) -> std::unique_ptr<Value> { throw 42; }), int);
    EXPECT_FALSE(rcu_read_lock_held());
    EXPECT_EQ(number(cell), 1);
    EXPECT_EQ(Value::alive, 1);
    EXPECT_THROW((void)cell.with([](const Value *) -> int { throw 42; }), int);
    EXPECT_FALSE(rcu_read_lock_held());
    cell.update([](Value &copy) { copy.copy_throws = true; });
    EXPECT_THROW(cell.update([](Value &) {}), std::runtime_error);
    EXPECT_FALSE(rcu_read_lock_held());
    EXPECT_EQ(number(cell), 1);
}

TEST_F(Cell, ExchangeReturnsTheOldValueAfterItsReaders)
{
    rtrcu::cell<Value> cell(std::make_unique<Value>(1));
    test::Steps steps;
    std::thread reader([&] {
        auto now = cell.read();
        steps.reach(1);
        steps.wait(2);
        EXPECT_EQ(now->number, 1);
        EXPECT_TRUE(now->whole());
    });
    steps.wait(1);
    rtrcu::retired<Value> old = cell.exchange(std::make_unique<Value>(2));
    EXPECT_TRUE(old);
    EXPECT_FALSE(old.ready());
    EXPECT_EQ(number(cell), 2);
    steps.reach(2);
    std::unique_ptr<Value> own = old.release();
    EXPECT_EQ(own->number, 1);
    EXPECT_FALSE(old);
    EXPECT_TRUE(old.ready());
    EXPECT_EQ(old.wait(), nullptr);
    EXPECT_EQ(old.release(), nullptr);
    reader.join();
}

TEST_F(Cell, ExchangedValueMovesAndIsDestroyedOnce)
{
    rtrcu::cell<Value> cell(std::in_place, 1);
    auto first = cell.exchange(std::make_unique<Value>(2));
    auto second = cell.exchange(nullptr);
    EXPECT_FALSE(cell.exchange(nullptr));
    first.wait()->number = 5; // now owned by the caller
    auto &self = first;
    first = std::move(self);
    EXPECT_EQ(first.wait()->number, 5);
    second = std::move(first); // destroys the second value
    EXPECT_FALSE(first);
    rcu_barrier();
    EXPECT_EQ(Value::alive, 1);
    EXPECT_EQ(second.release()->number, 5) << "release() moves out a value that the cell has made";
}

// The value that exchange() returns can be moved, and wait() of its new owner waits for the value's readers.
TEST_F(Cell, ExchangedValueProtectsItsReaders)
{
    rtrcu::cell<Value> cell(std::in_place, 1);
    rtrcu::retired<Value> old = cell.exchange(std::make_unique<Value>(2));
    (void)old.wait();
    test::Steps steps;
    std::atomic<bool> left{false};
    std::thread reader([&] {
        auto now = cell.read();
        steps.reach(1);
        steps.wait(2);
        for (int i = 0; i < 100; i++)
            std::this_thread::yield();
        left = true;
    });
    steps.wait(1);
    old = cell.exchange(nullptr);
    EXPECT_FALSE(old.ready());
    steps.reach(2);
    EXPECT_EQ(old.wait()->number, 2);
    EXPECT_TRUE(left);
    reader.join();
}

// ---- deleters ----

struct Pool {
    std::atomic<int> returned{0};
};
struct ToPool {
    Pool *pool;
    void operator()(Value *value) const
    {
        delete value;
        pool->returned++;
    }
};
using Pooled = rtrcu::cell<Value, ToPool>;

TEST_F(Cell, StatefulDeleterMovesWithItsValue)
{
    Pool first, second;
    {
        Pooled cell(Pooled::owner_type(new Value(1), ToPool{&first}));
        cell.store(Pooled::owner_type(new Value(2), ToPool{&second}));
        rcu_barrier();
        EXPECT_EQ(first.returned, 1);
        EXPECT_TRUE(cell.update(
            [&](const Value &old) { return Pooled::owner_type(new Value(old.number + 1), ToPool{&first}); }));
        auto old = cell.exchange(Pooled::owner_type(nullptr, ToPool{&first}));
        EXPECT_EQ(old.release()->number, 3);
        EXPECT_EQ(first.returned, 2);
    }
    rcu_barrier();
    EXPECT_EQ(first.returned, 2);
    EXPECT_EQ(second.returned, 1);
}

struct Shape {
    virtual ~Shape() = default;
    virtual int corners() const = 0;
};
struct Square : Shape {
    int corners() const override
    {
        return 4;
    }
};
TEST_F(Cell, HoldsAnAbstractBase)
{
    rtrcu::cell<Shape> cell(std::make_unique<Square>());
    auto now = cell.read();
    EXPECT_EQ(now->corners(), 4);
    EXPECT_TRUE(cell.update([](const Shape &) { return std::unique_ptr<Shape>(new Square); }));
}

struct alignas(128) Aligned {
    int number = 1;
};
TEST_F(Cell, KeepsAlignment)
{
    rtrcu::cell<Aligned> cell(std::in_place);
    cell.update([](Aligned &copy) { copy.number++; });
    auto now = cell.read();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(now.get()) % 128, 0u);
}

TEST_F(Cell, DestructorDoesNotWaitForReaders)
{
    rtrcu::guard section;
    {
        rtrcu::cell<Value> cell(std::in_place, 1);
        cell.emplace(2);
    }
    EXPECT_EQ(Value::alive, 2);
}

TEST_F(Cell, NestedCellIsDestroyedWithItsValue)
{
    struct Outer {
        rtrcu::cell<Value> inner{std::in_place, 1};
    };
    {
        rtrcu::cell<Outer> cell(std::in_place);
        auto now = cell.read();
        cell.reset();
        auto inner = now->inner.read();
        EXPECT_TRUE(inner->whole());
    }
    rcu_barrier(); // destroys the outer value, which retires the inner one
    rcu_barrier();
    EXPECT_EQ(Value::alive, 0);
}

// Operator new of this program, which can refuse memory.
bool memory_is_gone;
std::atomic<long> blocks; // blocks that are allocated and not freed

} // namespace

// Not inlined: otherwise the compiler would see free() called with memory from an operator new that it knows.
#if !TEST_ASAN && !TEST_TSAN
[[gnu::noinline]] void *operator new(std::size_t bytes)
{
    if (void *memory = memory_is_gone ? nullptr : malloc(bytes)) {
        blocks++;
        return memory;
    }
    throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void *memory) noexcept
{
    blocks -= memory != nullptr;
    free(memory);
}
[[gnu::noinline]] void operator delete(void *memory, std::size_t) noexcept
{
    blocks -= memory != nullptr;
    free(memory);
}
#endif

namespace
{

TEST_F(Cell, FailedAllocationChangesNothing)
{
    if (TEST_ASAN || TEST_TSAN)
        GTEST_SKIP() << "the sanitizer defines operator new";
    rtrcu::cell<Value> cell(std::in_place, 1);
    auto next = std::make_unique<Value>(2);
    int refused = 0;
    auto refuse = [&refused](auto &&call) {
        memory_is_gone = true;
        try {
            call();
        } catch (const std::bad_alloc &) {
            refused++;
        }
        memory_is_gone = false;
    };
    refuse([&] { cell.store(std::move(next)); });
    refuse([&] { cell.emplace(3); });
    refuse([&] { cell.update([](Value &copy) { copy.number = 4; }); });
    static int plain, state;
    state = 0;
    refuse([&] { rtrcu::rcu_retire(&plain, [&](int *) { state++; }); });
    refuse([&] { rtrcu::rcu_retire(&plain, [](int *) { state++; }); });
    refuse([&] { cell.reset(); });
    EXPECT_EQ(refused, 4) << "the last two calls need no memory";
    rcu_barrier();
    EXPECT_EQ(state, 1);
    EXPECT_EQ(number(cell), -1);
}

// rcu_retire() allocates a record for the pointer and the deleter's state, and frees it after the deleter has run.
TEST_F(Cell, RcuRetireFreesItsRecordAfterTheDeleterHasRun)
{
    if (TEST_ASAN || TEST_TSAN)
        GTEST_SKIP() << "the sanitizer's runtime has an operator new of its own";
    static int plain, deleted;
    deleted = 0;
    const long before = blocks;
    for (int i = 0; i < 100; i++)
        rtrcu::rcu_retire(&plain, [i](int *) { deleted += i; });
    rcu_barrier();
    EXPECT_LT(blocks - before, 100);
    EXPECT_EQ(deleted, 4950);
}

// An empty deleter may be constructed at its call.  This does not hold for a deleter whose construction a program can
// observe.
struct Counting {
    static inline int made, called;
    Counting()
    {
        made++;
    }
    void operator()(int *) const
    {
        called++;
    }
};

TEST_F(Cell, DeleterIsReconstructedOnlyWithoutReaders)
{
    static int plain;
    Counting::made = Counting::called = 0;
    rtrcu::rcu_retire(&plain, Counting());
    rcu_barrier();
    EXPECT_EQ(Counting::made, 1);
    EXPECT_EQ(Counting::called, 1);
}

// ---- many threads ----

TEST_F(Cell, ReadersSeeConsistentValuesOfAllUpdaters)
{
    std::mt19937_64 seeds = test::seeded_random("cell");
    const std::minstd_rand randoms[] = {std::minstd_rand(static_cast<unsigned>(seeds())),
                                        std::minstd_rand(static_cast<unsigned>(seeds()))};
    rtrcu::cell<Value> cell(std::in_place, 0);
    std::atomic<bool> stop{false};
    std::atomic<long> reads{0}, torn{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; t++) {
        threads.emplace_back([&] {
            while (!stop) {
                auto now = cell.read();
                torn += now && !now->whole();
                reads++;
            }
        });
    }
    for (unsigned t = 0; t < 2; t++) {
        threads.emplace_back([&, t] {
            std::minstd_rand random = randoms[t];
            for (int i = 0; i < 3000; i++) {
                switch (random() % 5) {
                case 0:
                    cell.store(std::make_unique<Value>(i));
                    break;
                case 1:
                    cell.emplace(i);
                    break;
                case 2:
                    (void)cell.exchange(std::make_unique<Value>(i));
                    break;
                case 3:
                    cell.reset();
                    break;
                default:
                    cell.update([](Value &copy) { copy.number++; });
                }
            }
        });
    }
    threads[2].join();
    threads[3].join();
    EXPECT_TRUE(test::eventually([&] { return reads > 1000; }));
    stop = true;
    threads[0].join();
    threads[1].join();
    EXPECT_EQ(torn, 0);
}

// ---- debug builds ----

CHILD(snapshot_ends_elsewhere)
{
    static rtrcu::cell<int> cell(std::in_place, 1);
    static std::optional<test::Worker> other(std::in_place);
    struct Wrapped {
        rtrcu::snapshot<int> now = cell.read();
    };
    static auto *kept = static_cast<Wrapped *>(malloc(sizeof(Wrapped)));
    other->run([] { ::new (static_cast<void *>(kept)) Wrapped; });
    kept->~Wrapped();
}

TEST_F(Cell, DebugBuildReportsSnapshotThatEndsOnAnotherThread)
{
    if (!TEST_DEBUG)
        GTEST_SKIP() << "only debug builds check";
    EXPECT_TRUE(test::aborted(test::run_child("snapshot_ends_elsewhere"), "a snapshot ends on a thread other than"));
}

} // namespace
