// SPDX-License-Identifier: MIT OR Apache-2.0
// Tests of [saferecl.rcu] of the C++ standard; each test names its clause and paragraph, as numbered in N5008.
// refused/cases.cc has code that must not compile.
#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <rcu>
#include <string>
#include <thread>
#include <vector>

#include "region.h"

namespace
{

using test::Counted;
using test::Region;

// ---- [saferecl.rcu.general] ----

// 1: actions such as deletion are scheduled for later; no mutual exclusion: regions overlap.
TEST(General, Paragraph1RegionsMayOverlapAndDeletionIsDeferred)
{
    std::atomic<int> deleted{0};
    Region first, second; // both are inside at the same time
    (new Counted(deleted))->retire();
    EXPECT_EQ(deleted, 0);
    first.leave();
    EXPECT_EQ(deleted, 0);
    second.leave();
    std::rcu_barrier();
    EXPECT_EQ(deleted, 1);
}

// 2: rcu-protectable types.
struct Public : std::rcu_obj_base<Public> {
};
class Private : std::rcu_obj_base<Private>
{
    friend struct Nobody;
};
struct Virtual : virtual std::rcu_obj_base<Virtual> {
};
struct Two : std::rcu_obj_base<Two>, std::rcu_obj_base<Public> {
};
struct TwoDeleters : std::rcu_obj_base<TwoDeleters>, std::rcu_obj_base<TwoDeleters, void (*)(TwoDeleters *)> {
};
struct OfAnother : std::rcu_obj_base<Public> {
};
struct Middle;
struct Base : std::rcu_obj_base<Middle> {
};
struct Middle : Base { // public and non-virtual, but not direct
};
template <class T, class D = std::default_delete<T>>
constexpr bool protectable = rtrcu::detail::is_protectable<T, std::rcu_obj_base<T, D>>;
static_assert(protectable<Public> && protectable<Middle> && protectable<Counted>);
static_assert(!protectable<Private> && !protectable<Virtual> && !protectable<Two> && !protectable<TwoDeleters>);
static_assert(!protectable<OfAnother> && !protectable<int>);

// 3 and 4: unlocks correspond to locks as brackets do, and a region ends with the unlock of its own lock.
TEST(General, Paragraph3And4RegionsNest)
{
    std::atomic<int> deleted{0};
    test::Steps steps;
    std::thread reader([&] {
        std::rcu_domain &domain = std::rcu_default_domain();
        domain.lock();
        domain.lock();
        steps.reach(1);
        steps.wait(2);
        domain.unlock(); // ends the inner region; the outer one continues
        steps.reach(3);
        steps.wait(4);
        domain.unlock();
    });
    steps.wait(1);
    (new Counted(deleted))->retire();
    steps.reach(2);
    steps.wait(3);
    unsigned long cookie = start_poll_synchronize_rcu();
    EXPECT_FALSE(poll_state_synchronize_rcu(cookie));
    EXPECT_EQ(deleted, 0);
    steps.reach(4);
    reader.join();
    std::rcu_barrier();
    EXPECT_EQ(deleted, 1);
}

// 5: the end of a region strongly happens before evaluations scheduled since its beginning.  They see the region's
// writes without further synchronization (the race detector watches the plain variable).
TEST(General, Paragraph5EndOfARegionHappensBeforeEvaluations)
{
    int written = 0, seen = -1;
    Region region([&] { written = 42; });
    std::rcu_retire(&written, [&](int *place) { seen = *place; });
    region.leave();
    std::rcu_barrier();
    EXPECT_EQ(seen, 42);
}

// 5: a region that begins after an evaluation was scheduled does not delay the evaluation.
TEST(General, Paragraph5LaterRegionDoesNotDelayAnEvaluation)
{
    std::atomic<int> deleted{0};
    (new Counted(deleted))->retire();
    std::rcu_barrier();
    Region later;
    EXPECT_EQ(deleted, 1);
    later.leave();
}

// 6: each scheduled evaluation happens at most once, even if several threads schedule evaluations.
TEST(General, Paragraph6EachEvaluationRunsOnce)
{
    constexpr int count = 2000, threads = 3;
    std::vector<std::atomic<int>> evaluated(count * threads);
    std::vector<std::thread> all;
    for (int t = 0; t < threads; t++) {
        all.emplace_back([&evaluated, t] {
            for (int i = t * count; i < (t + 1) * count; i++)
                std::rcu_retire(&evaluated[static_cast<size_t>(i)], [](std::atomic<int> *times) { ++*times; });
        });
    }
    for (auto &thread : all)
        thread.join();
    std::rcu_barrier();
    for (auto &times : evaluated)
        EXPECT_EQ(times, 1);
}

// ---- [rcu.syn] ----

static_assert(__cpp_lib_rcu >= 202306L);
static_assert(noexcept(std::rcu_default_domain()) &&noexcept(std::rcu_synchronize()) &&noexcept(std::rcu_barrier()));
static_assert(noexcept(std::rcu_synchronize(std::rcu_default_domain())));
static_assert(noexcept(std::rcu_barrier(std::rcu_default_domain())));
static_assert(!noexcept(std::rcu_retire(static_cast<int *>(nullptr))));
static_assert(std::is_same_v<decltype(std::rcu_default_domain()), std::rcu_domain &>);
static_assert(std::is_same_v<std::rcu_obj_base<Public>, std::rcu_obj_base<Public, std::default_delete<Public>>>);

// ---- [saferecl.rcu.base] ----

struct Open : std::rcu_obj_base<Open> {
    using base = std::rcu_obj_base<Open>;
};
// Synopsis: special members are protected and defaulted, retire() is noexcept with two defaults.
static_assert(!std::is_default_constructible_v<Open::base> && !std::is_destructible_v<Open::base>);
static_assert(!std::is_copy_constructible_v<Open::base>);
static_assert(std::is_nothrow_default_constructible_v<Open> && std::is_nothrow_copy_constructible_v<Open> &&
              std::is_nothrow_move_assignable_v<Open> && std::is_trivially_destructible_v<Open>);
static_assert(noexcept(std::declval<Open &>().retire()));
static_assert(noexcept(std::declval<Open &>().retire({})));
static_assert(noexcept(std::declval<Open &>().retire({}, std::rcu_default_domain())));
static_assert(std::is_same_v<decltype(std::declval<Open &>().retire()), void>);

// 1: objects inherit from a specialization; an empty deleter costs nothing.
static_assert(sizeof(std::rcu_obj_base<Open>) == sizeof(rcu_head));

// 3: T may be incomplete until a member is referenced.
struct Later;
using LaterBase = std::rcu_obj_base<Later>;
static_assert(sizeof(LaterBase) > 0 && std::is_trivially_copyable_v<LaterBase>);
struct HasLaterBase : LaterBase {
};
struct Later : LaterBase {
    int value = 7;
};
TEST(Base, Paragraph3TypeMayBeIncompleteUntilRetired)
{
    (new Later)->retire();
    std::rcu_barrier();
}

// 4 and 5: D is any function object type: here a final class, a pointer to a function, and one whose state is moved in
// by assignment.
std::atomic<int> deleted_by;
struct Final;
struct FinalDeleter final {
    void operator()(Final *object) const;
};
struct Final : std::rcu_obj_base<Final, FinalDeleter> {
};
void FinalDeleter::operator()(Final *object) const
{
    deleted_by = 1;
    delete object;
}
struct ByPointer : std::rcu_obj_base<ByPointer, void (*)(ByPointer *)> {
};
struct WithState;
struct StateDeleter {
    std::unique_ptr<int> state; // only movable
    void operator()(WithState *object) const;
};
struct WithState : std::rcu_obj_base<WithState, StateDeleter> {
};
void StateDeleter::operator()(WithState *object) const
{
    deleted_by = *state;
    delete object;
}
TEST(Base, Paragraph4And5DeleterMayBeAnyFunctionObject)
{
    (new Final)->retire();
    std::rcu_barrier();
    EXPECT_EQ(deleted_by, 1);
    (new ByPointer)->retire([](ByPointer *object) {
        deleted_by = 2;
        delete object;
    });
    std::rcu_barrier();
    EXPECT_EQ(deleted_by, 2);
    (new WithState)->retire(StateDeleter{std::make_unique<int>(3)});
    std::rcu_barrier();
    EXPECT_EQ(deleted_by, 3);
}

// 6: trivially copyable if D is.
static_assert(std::is_trivially_copyable_v<std::rcu_obj_base<Open>>);
static_assert(std::is_trivially_copyable_v<std::rcu_obj_base<ByPointer, void (*)(ByPointer *)>>);
static_assert(std::is_trivially_copyable_v<Open>);
static_assert(!std::is_trivially_copyable_v<std::rcu_obj_base<WithState, StateDeleter>>);

// 9: evaluates deleter = std::move(d), then schedules deleter(addressof(x)): addressof, not operator &; the assignment,
// not another one; and x, not its base.
struct Tricky;
struct TrickyDeleter {
    static inline int assigned = 0, copied = 0;
    static inline const void *given = nullptr;
    TrickyDeleter() = default;
    TrickyDeleter(const TrickyDeleter &)
    {
        copied++;
    }
    TrickyDeleter(TrickyDeleter &&) = default;
    TrickyDeleter &operator=(TrickyDeleter &&)
    {
        assigned++;
        return *this;
    }
    TrickyDeleter &operator=(const TrickyDeleter &)
    {
        copied++;
        return *this;
    }
    void operator()(Tricky *object) const;
};
struct Padding {
    virtual ~Padding() = default;
    long words[3];
};
struct Tricky : Padding, std::rcu_obj_base<Tricky, TrickyDeleter> {
    Tricky *operator&() = delete;
};
void TrickyDeleter::operator()(Tricky *object) const
{
    given = object;
    delete object;
}
TEST(Base, Paragraph9DeleterIsMovedAndGetsTheObject)
{
    TrickyDeleter::assigned = TrickyDeleter::copied = 0;
    auto *object = new Tricky;
    const void *address = object;
    object->retire();
    std::rcu_barrier();
    EXPECT_EQ(TrickyDeleter::given, address);
    EXPECT_EQ(TrickyDeleter::assigned, 1);
    EXPECT_EQ(TrickyDeleter::copied, 0);
}

// 9: the deleter is stored in the object, but may use its state after it has deleted the object.
struct Pooled;
struct PoolDeleter {
    std::atomic<int> *returned;
    void operator()(Pooled *object) const;
};
struct Pooled : std::rcu_obj_base<Pooled, PoolDeleter> {
    static void operator delete(void *memory)
    {
        memset(memory, 0xee, sizeof(Pooled)); // its contents are destroyed
        ::operator delete(memory);
    }
};
void PoolDeleter::operator()(Pooled *object) const
{
    delete object;
    ++*returned;
}
TEST(Base, Paragraph9DeleterMayOutliveItsObject)
{
    std::atomic<int> returned{0};
    (new Pooled)->retire(PoolDeleter{&returned});
    std::rcu_barrier();
    EXPECT_EQ(returned, 1);
}

// 9: a deleter may own the pool of its object; the last deleter ends the pool.
struct Pool {
    std::vector<std::string> events;
};
struct OfAPool;
struct PoolOwner {
    std::shared_ptr<Pool> pool;
    void operator()(OfAPool *object) const;
};
struct OfAPool : std::rcu_obj_base<OfAPool, PoolOwner> {
    long words[4];
};
void PoolOwner::operator()(OfAPool *object) const
{
    object->~OfAPool();
    memset(static_cast<void *>(object), 0xee, sizeof(OfAPool)); // a pool may overwrite memory that is returned to it
    pool->events.push_back("memory returned");
    ::operator delete(object);
}
TEST(Base, Paragraph9DeleterMayOwnItsPool)
{
    Pool pool;
    auto end = [](Pool *ending) { ending->events.push_back("pool ends"); };
    (new (::operator new(sizeof(OfAPool))) OfAPool)->retire(PoolOwner{std::shared_ptr<Pool>(&pool, end)});
    std::rcu_barrier();
    EXPECT_EQ(pool.events, (std::vector<std::string>{"memory returned", "pool ends"}));
}

// 9: retire() may be called in a region and with an explicit domain; in this library it invokes no evaluation.
TEST(Base, Paragraph9RetireInsideARegionIsDeferred)
{
    std::atomic<int> deleted{0};
    std::mutex held; // held by the caller and taken by the evaluation, which therefore must not run here
    struct Locking : std::rcu_obj_base<Locking, std::function<void(Locking *)>> {
    };
    {
        std::scoped_lock region(std::rcu_default_domain());
        std::scoped_lock hold(held);
        (new Locking)
            ->retire(
                [&](Locking *object) {
                    std::scoped_lock taken(held);
                    ++deleted;
                    delete object; // also destroys this function's captures
                },
                std::rcu_default_domain());
        EXPECT_EQ(deleted, 0);
    }
    std::rcu_barrier();
    EXPECT_EQ(deleted, 1);
}

// 9: an evaluation that throws is undefined behaviour; in this library it ends the program.
CHILD(throwing_evaluation)
{
    std::set_terminate([] {
        fputs("terminated\n", stderr);
        abort();
    });
    static int object;
    std::rcu_retire(&object, [](int *) { throw 42; });
    std::rcu_barrier();
}
CHILD(throwing_object)
{
    struct Throws : std::rcu_obj_base<Throws, std::function<void(Throws *)>> {
    };
    (new Throws)->retire([](Throws *) { throw 42; });
    std::rcu_barrier();
}
TEST(Base, Paragraph9ThrowingEvaluationEndsTheProgram)
{
    EXPECT_TRUE(test::aborted(test::run_child("throwing_evaluation"), "terminated"));
    EXPECT_TRUE(test::aborted(test::run_child("throwing_object"), "terminate called"));
}

static_assert(noexcept(rtrcu::detail::retired_object<int, void (*)(int *)>::reclaim(nullptr)));
static_assert(noexcept(rtrcu::detail::retired_pointer<int, std::default_delete<int>>::reclaim(nullptr)));

// An evaluation that schedules the next one of a chain, in each of three ways.
struct Chain : std::rcu_obj_base<Chain> {
    std::atomic<int> *left;
    explicit Chain(std::atomic<int> &count) : left(&count)
    {
    }
    ~Chain()
    {
        if (--*left > 0)
            (new Chain(*left))->retire();
    }
};
TEST(Base, EvaluationMayScheduleAnotherEvaluation)
{
    std::atomic<int> left{20};
    (new Chain(left))->retire();
    while (left > 0)
        std::rcu_barrier(); // waits for evaluations scheduled before it
    EXPECT_EQ(left, 0);
    std::rcu_barrier();
}

// In a class that derives from the base, name look-up finds the program's names, and not the base's.
int link()
{
    return 1;
}
int deleter()
{
    return 2;
}
int call()
{
    return 3;
}
struct Names : std::rcu_obj_base<Names> {
    static int sum()
    {
        return link() + deleter() + call();
    }
};
TEST(Base, BaseClassHidesNoNamesOfDerivedClasses)
{
    EXPECT_EQ(Names::sum(), 6);
}

} // namespace
