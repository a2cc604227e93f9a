/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of bulk frees and retired objects, which are gathered in blocks and freed within budgets.  The test defines
 * malloc() and free(), to count calls and refuse memory, except with a sanitizer, which defines them itself. */
#include <cerrno>
#include <cstdlib>

#include <sys/mman.h>

#include "world.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TEST_COUNTS_FREES 0
#else
#define TEST_COUNTS_FREES 1
#endif

namespace
{

constexpr uint64_t marked = 0x5ca1ab1e0ddba11;
uint64_t marked_freed, others_freed;
bool counting, memory_is_gone;
void (*on_free)();

} // namespace

#if TEST_COUNTS_FREES
extern "C" {

void *__libc_malloc(size_t bytes);
void __libc_free(void *memory);

void *malloc(size_t bytes) noexcept
{
    if (!memory_is_gone)
        return __libc_malloc(bytes);
    errno = ENOMEM;
    return nullptr;
}

void free(void *memory) noexcept
{
    auto *word = static_cast<uint64_t *>(memory);
    if (counting && word && *word == marked) {
        *word = 0;
        if (on_free)
            on_free();
        marked_freed++;
    } else if (counting && word) {
        others_freed++;
    }
    __libc_free(memory);
}
}
#endif

namespace
{

class Free : public CallbackWorld
{
  protected:
    reader_record *record_ = nullptr;

    void SetUp() override
    {
        CallbackWorld::SetUp();
        record_ = world_.craft(0);
        marked_freed = others_freed = 0;
        counting = true;
    }
    void TearDown() override
    {
        counting = memory_is_gone = false;
        on_free = nullptr;
    }
    static void *object()
    {
        auto *word = static_cast<uint64_t *>(malloc(32));
        *word = marked;
        return word;
    }
    void give(int count)
    {
        for (int i = 0; i < count; i++)
            ASSERT_FALSE(callback_free(cb_, record_, {object(), free}) & CALLBACK_NO_MEMORY);
    }
    void give_ready(int count)
    {
        give(count);
        make_ready(record_);
    }
    static void expect_freed(uint64_t count)
    {
        if (TEST_COUNTS_FREES) {
            EXPECT_EQ(marked_freed, count);
        }
    }
};

TEST_F(Free, FirstPointerOfABlockNotifiesTheDriver)
{
    EXPECT_TRUE(callback_free(cb_, record_, {object(), free}) & CALLBACK_FIRST);
    for (int i = 1; i < 100; i++)
        EXPECT_FALSE(callback_free(cb_, record_, {object(), free}) & CALLBACK_FIRST);
    EXPECT_EQ(callback_pending(record_), 100u);
    make_ready(record_);
    EXPECT_EQ(invoke(record_, everything()), 100u);
    EXPECT_EQ(callback_slot(record_)->free_done, 100u);
    EXPECT_EQ(callback_pending(record_), 0u);
    EXPECT_TRUE(callback_free(cb_, record_, {object(), free}) & CALLBACK_FIRST);
    make_ready(record_);
    invoke(record_, everything());
}

TEST_F(Free, PointerCountsAgainstTheLimits)
{
    config_.qhimark = 20;
    config_.qmax = 40;
    std::vector<uint64_t> pushed, full;
    bool heads = false;
    while (callback_pending(record_) < 50) {
        heads = !heads;
        callback_enqueued seen = heads ? enqueue(record_) : callback_free(cb_, record_, {object(), free});
        callback_pressure pressure = seen & CALLBACK_CHECK_LIMITS ? callback_check_limits(cb_, record_) : CALLBACK_CALM;
        if (pressure == CALLBACK_PUSH)
            pushed.push_back(callback_pending(record_));
        if (pressure >= CALLBACK_FULL)
            full.push_back(callback_pending(record_));
    }
    ASSERT_FALSE(pushed.empty());
    EXPECT_LE(pushed.front(), 21u);
    ASSERT_GE(full.size(), 10u) << "at and above qmax every call checks the limits";
    EXPECT_LE(full.front(), 41u);
    make_ready(record_);
    invoke(record_, everything());
}

/* Far below the limits, a check postpones the next one, also for a thread that only frees. */
TEST_F(Free, CheckOfTheLimitsPostponesTheNextCheck)
{
    ASSERT_TRUE(callback_free(cb_, record_, {object(), free}) & CALLBACK_CHECK_LIMITS) << "the first call checks";
    ASSERT_EQ(callback_check_limits(cb_, record_), CALLBACK_CALM);
    EXPECT_FALSE(callback_free(cb_, record_, {object(), free}) & CALLBACK_CHECK_LIMITS);
    EXPECT_FALSE(enqueue(record_) & CALLBACK_CHECK_LIMITS);
    make_ready(record_);
    invoke(record_, everything());
}

TEST_F(Free, EachPointerAndEachBlockIsFreed)
{
    constexpr uint64_t count = 3 * CALLBACK_FREE_POINTERS + 2;
    give_ready(count);
    others_freed = 0;
    EXPECT_EQ(invoke(record_, everything()), count);
    expect_freed(count);
    if (TEST_COUNTS_FREES) {
        EXPECT_EQ(others_freed, 4u) << "each block is freed";
    }
    EXPECT_FALSE(callback_has_ready(record_));
}

TEST_F(Free, PointersWaitForTheirGracePeriod)
{
    give(1);
    callback_collect(cb_);
    give(1); /* in a new block, since the first block was collected */
    grace_period();
    advance(record_);
    EXPECT_EQ(invoke(record_, everything()), 1u);
    expect_freed(1);
    make_ready(record_);
    EXPECT_EQ(invoke(record_, everything()), 1u);
    expect_freed(2);
}

TEST_F(Free, PointersFollowCallbacksCollectedWithThem)
{
    enqueue(record_);
    give(2);
    enqueue(record_);
    make_ready(record_);
    invoke(record_, at_most(2));
    EXPECT_EQ(order_, numbers(0, 2));
    expect_freed(0);
    EXPECT_EQ(invoke(record_, everything()), 2u);
    expect_freed(2);
}

/* ---- budgets ---- */

TEST_F(Free, CountLimitEndsABatchInsideABlock)
{
    constexpr uint64_t count = 2 * CALLBACK_FREE_POINTERS + 2;
    give_ready(count);
    enqueue(record_);
    for (uint64_t done = 1; done <= count; done++) {
        EXPECT_EQ(invoke(record_, at_most(1)), 1u);
        expect_freed(done);
        EXPECT_EQ(callback_slot(record_)->free_done, done);
        EXPECT_EQ(callback_pending(record_), count - done + 1);
        EXPECT_EQ(callback_has_ready(record_), done < count);
    }
    make_ready(record_);
    EXPECT_EQ(invoke(record_, everything()), 1u);
    EXPECT_EQ(order_, numbers(0, 1));
}

TEST_F(Free, ReadyCallbacksRunAfterTheRestOfAnInterruptedBlock)
{
    give_ready(CALLBACK_FREE_POINTERS);
    invoke(record_, at_most(1));
    queue_ready(record_, 2);
    EXPECT_EQ(invoke(record_, at_most(CALLBACK_FREE_POINTERS)), static_cast<uint64_t>(CALLBACK_FREE_POINTERS));
    expect_freed(CALLBACK_FREE_POINTERS);
    EXPECT_EQ(order_, numbers(0, 1));
    invoke(record_, everything());
    EXPECT_EQ(order_, numbers(0, 2));
}

TEST_F(Free, NoPointerIsFreedAfterTheTimeLimitOrTheDeadline)
{
    give_ready(5);
    callback_budget budget = everything();
    budget.end_ns = plat_clock_now() - 1;
    EXPECT_EQ(invoke(record_, budget), 0u);
    EXPECT_EQ(cb_->budget_stops.count, 1u);
    budget.end_ns = 0;
    budget.deadline_ns = plat_clock_now() - 1;
    EXPECT_EQ(invoke(record_, budget), 0u);
    EXPECT_EQ(cb_->deadline_stops.count, 1u);
    expect_freed(0);
    EXPECT_EQ(invoke(record_, everything()), 5u);
}

int64_t free_until_ns;

void spin()
{
    while (plat_clock_now() < free_until_ns)
        ;
}

/* The first free uses up the time: a batch that checks the time only between blocks would free all pointers. */
TEST_F(Free, TimeLimitAndDeadlineEndABatchInsideABlock)
{
    if (!TEST_COUNTS_FREES)
        GTEST_SKIP() << "the sanitizer defines free()";
    constexpr uint64_t count = 40;
    give_ready(count);
    on_free = spin;
    callback_budget budget = everything();
    budget.end_ns = free_until_ns = plat_clock_now() + 2000000;
    uint64_t done = invoke(record_, budget);
    EXPECT_GE(done, 1u);
    EXPECT_LE(done, 2u);
    callback_slot(record_)->queue.cost_ns = 0;
    budget.end_ns = 0;
    budget.deadline_ns = free_until_ns = plat_clock_now() + 2000000;
    uint64_t more = invoke(record_, budget);
    EXPECT_LE(more, 2u);
    EXPECT_EQ(invoke(record_, everything()), count - done - more);
}

/* ---- barrier ---- */

TEST_F(Free, BarrierWaitsForEachPointer)
{
    give(2);
    callback_barrier_set(cb_);
    give(1);
    make_ready(record_);
    EXPECT_EQ(invoke(record_, at_most(1)), 1u);
    EXPECT_FALSE(callback_barrier_reached(cb_));
    EXPECT_EQ(invoke(record_, at_most(1)), 1u);
    EXPECT_TRUE(callback_barrier_reached(cb_)) << "the third pointer was queued after the barrier began";
    invoke(record_, everything());
}

callback *freed_barrier;
bool barrier_was_reached;

void look_at_the_barrier()
{
    barrier_was_reached |= callback_barrier_reached(freed_barrier);
}

TEST_F(Free, BarrierWaitsUntilFreeHasReturned)
{
    give(1);
    callback_barrier_set(cb_);
    make_ready(record_);
    freed_barrier = cb_;
    barrier_was_reached = false;
    on_free = look_at_the_barrier;
    invoke(record_, everything());
    EXPECT_FALSE(barrier_was_reached);
    EXPECT_TRUE(callback_barrier_reached(cb_));
}

/* ---- no record, no memory ---- */

TEST_F(Free, PointersWithoutARecordGoToTheSharedQueue)
{
    reader_record *orphan = reader_shared_record(world_.registry());
    for (int i = 0; i < 3; i++)
        EXPECT_FALSE(callback_free(cb_, nullptr, {object(), free}) & CALLBACK_NO_MEMORY);
    EXPECT_EQ(callback_pending(orphan), 3u);
    callback_barrier_set(cb_);
    make_ready(orphan);
    EXPECT_FALSE(callback_barrier_reached(cb_));
    EXPECT_EQ(invoke(orphan, everything()), 3u);
    EXPECT_TRUE(callback_barrier_reached(cb_));
    expect_freed(3);
    if (TEST_COUNTS_FREES) {
        EXPECT_EQ(others_freed, 3u) << "the block that held them";
    }
}

/* Returns whether memory is mapped at @page, the beginning of a page. */
bool is_mapped(void *page)
{
    unsigned char resident;
    return mincore(page, 1, &resident) == 0;
}

TEST_F(Free, PointersAreStoredInPagesWithoutMalloc)
{
    reader_record *orphan = reader_shared_record(world_.registry());
    constexpr uint64_t count = CALLBACK_FREE_POINTERS + 1;
    void *objects[count + 1];
    for (void *&each : objects)
        each = object();
    memory_is_gone = true;
    bool noted = true;
    errno = EDOM;
    for (uint64_t i = 0; i < count; i++)
        noted &= callback_free(cb_, record_, {objects[i], free}) < CALLBACK_NO_MEMORY;
    noted &= callback_free(cb_, nullptr, {objects[count], free}) < CALLBACK_NO_MEMORY;
    int number = errno;
    memory_is_gone = false;
    EXPECT_TRUE(noted);
    EXPECT_EQ(number, EDOM) << "errno is preserved";
    auto *newest = static_cast<rcu_head *>(callback_slot(record_)->free_block);
    void *pages[] = {newest, newest->next, callback_slot(orphan)->queue.tail};
    if (TEST_COUNTS_FREES) {
        for (void *page : pages)
            EXPECT_TRUE(is_mapped(page));
    }
    others_freed = 0;
    make_ready(record_);
    advance(orphan);
    invoke(record_, everything());
    invoke(orphan, everything());
    expect_freed(count + 1);
    if (TEST_COUNTS_FREES) {
        EXPECT_EQ(others_freed, 0u);
        for (void *page : pages)
            EXPECT_FALSE(is_mapped(page)) << "pages are unmapped";
    }
}

/* A handler's call must not change the ring that the interrupted call has detached. */
TEST_F(Free, CheckedLibraryAbortsIfTheBlockRingIsDetachedTwice)
{
    if (!CHECK_DEBUG)
        GTEST_SKIP() << "only checked builds detect it";
    give(1);
    void *&word = callback_slot(record_)->free_block;
    word = static_cast<char *>(word) + CALLBACK_FREE_OUT;
    EXPECT_DEATH(callback_free(cb_, record_, {nullptr, free}), "!is_out\\(newest\\)");
    word = static_cast<char *>(word) - CALLBACK_FREE_OUT;
    make_ready(record_);
    EXPECT_EQ(invoke(record_, everything()), 1u);
}

/* ---- rcu_retire() ---- */

std::vector<std::pair<char, uint64_t>> retired;

template <char Name> void note_retired(void *object)
{
    retired.emplace_back(Name, reinterpret_cast<uintptr_t>(object));
}

class Retired : public Free
{
  protected:
    void SetUp() override
    {
        Free::SetUp();
        retired.clear();
        retired.reserve(10 * CALLBACK_FREE_RETIRED);
    }
    template <char Name> void retire(uint64_t number, callback_retire_t function = note_retired<Name>)
    {
        ASSERT_LT(callback_free(cb_, record_, {reinterpret_cast<void *>(number), function}), CALLBACK_NO_MEMORY);
    }
};

TEST_F(Retired, EachObjectIsPassedToItsFunctionInOrder)
{
    std::vector<std::pair<char, uint64_t>> expected;
    constexpr uint64_t count = 3 * CALLBACK_FREE_RETIRED + 1;
    for (uint64_t i = 0; i < count; i++) {
        if (i % 3 == 1)
            retire<'b'>(i);
        else
            retire<'a'>(i);
        expected.emplace_back(i % 3 == 1 ? 'b' : 'a', i);
    }
    make_ready(record_);
    EXPECT_TRUE(retired.empty());
    EXPECT_EQ(callback_pending(record_), count);
    others_freed = 0;
    EXPECT_EQ(invoke(record_, everything()), count);
    EXPECT_EQ(retired, expected);
    if (TEST_COUNTS_FREES) {
        EXPECT_EQ(others_freed, 4u) << "the blocks";
    }
}

/* Frees among retired objects are stored in the same blocks. */
TEST_F(Retired, FreesAndRetiredObjectsKeepTheirOrder)
{
    constexpr uint64_t turns = 4 * CALLBACK_FREE_RETIRED;
    give(1);
    for (uint64_t i = 0; i < turns; i++) {
        retire<'a'>(i);
        give(1);
    }
    make_ready(record_);
    others_freed = 0;
    EXPECT_EQ(invoke(record_, everything()), 2 * turns + 1);
    EXPECT_EQ(retired.size(), turns);
    expect_freed(turns + 1);
    if (TEST_COUNTS_FREES) {
        EXPECT_LE(others_freed, 9u);
    }
}

TEST_F(Retired, CountLimitEndsABatchInsideABlock)
{
    constexpr uint64_t count = 2 * CALLBACK_FREE_RETIRED + 1;
    for (uint64_t i = 0; i < count; i++)
        retire<'a'>(i);
    make_ready(record_);
    for (uint64_t done = 1; done <= count; done++) {
        EXPECT_EQ(invoke(record_, at_most(1)), 1u);
        EXPECT_EQ(retired.size(), done);
        EXPECT_EQ(callback_pending(record_), count - done);
    }
}

int64_t last_ns;

void run_out(void *)
{
    while (plat_clock_now() < last_ns)
        ;
}

/* The learned cost belongs to the previous function, so the clock is read before a different function is called. */
TEST_F(Retired, TimeLimitEndsABatchBeforeTheNextFunction)
{
    for (uint64_t i = 0; i < 3; i++)
        retire<'a'>(i);
    retire<'a'>(3, run_out);
    retire<'b'>(4);
    make_ready(record_);
    callback_budget budget = everything();
    budget.end_ns = last_ns = plat_clock_now() + 2000000;
    EXPECT_EQ(invoke(record_, budget), 4u);
    EXPECT_EQ(invoke(record_, everything()), 1u);
    EXPECT_EQ(retired.back(), (std::pair<char, uint64_t>('b', 4)));
}

const reader_record *watched;
uintptr_t function_seen;

void look_at_the_function(void *)
{
    callback_barrier_view view;
    callback_barrier_read(watched, &view);
    function_seen = view.running;
}

TEST_F(Retired, ReportsNameTheRunningFunction)
{
    watched = record_;
    retire<'a'>(1);
    retire<'a'>(2, look_at_the_function);
    make_ready(record_);
    invoke(record_, everything());
    EXPECT_EQ(function_seen, reinterpret_cast<uintptr_t>(look_at_the_function));
    give_ready(1);
    invoke(record_, everything());
    EXPECT_EQ(callback_slot(record_)->queue.function, reinterpret_cast<rcu_callback_t>(free));
}

void throw_it(void *)
{
    throw 42;
}

/* A function that throws counts as returned, and the objects after it stay queued. */
TEST_F(Retired, FunctionThatThrowsCountsAsReturned)
{
    constexpr uint64_t count = CALLBACK_FREE_RETIRED + 1;
    for (uint64_t thrower = 0; thrower < count; thrower += CALLBACK_FREE_RETIRED - 1) {
        retired.clear();
        for (uint64_t i = 0; i < count; i++)
            retire<'a'>(i, i == thrower ? throw_it : note_retired<'a'>);
        make_ready(record_);
        EXPECT_THROW(invoke(record_, everything()), int);
        EXPECT_EQ(retired.size(), thrower);
        EXPECT_EQ(callback_pending(record_), count - thrower - 1);
        EXPECT_EQ(invoke(record_, everything()), count - thrower - 1);
        EXPECT_EQ(retired.size(), count - 1);
    }
}

TEST_F(Retired, FunctionThatThrowsWithoutARecordLeaksNothing)
{
    reader_record *orphan = reader_shared_record(world_.registry());
    ASSERT_LT(callback_free(cb_, nullptr, {nullptr, throw_it}), CALLBACK_NO_MEMORY);
    ASSERT_LT(callback_free(cb_, nullptr, {reinterpret_cast<void *>(uintptr_t{7}), note_retired<'a'>}),
              CALLBACK_NO_MEMORY);
    make_ready(orphan);
    others_freed = 0;
    EXPECT_THROW(invoke(orphan, everything()), int);
    EXPECT_EQ(invoke(orphan, everything()), 1u);
    if (TEST_COUNTS_FREES) {
        EXPECT_EQ(others_freed, 3u) << "the block that held them, and the exception";
    }
    EXPECT_EQ(retired, (std::vector<std::pair<char, uint64_t>>{{'a', 7}}));
    EXPECT_EQ(callback_pending(orphan), 0u);
}

/* ---- rcu_free_head() ---- */

struct Embedded {
    uint64_t mark;
    char front[100];
    rcu_head head;
};

TEST_F(Free, EmbeddedHeadsAreFreedByTheirOffset)
{
    constexpr uint64_t count = 5000;
    for (uint64_t i = 0; i < count; i++) {
        auto *embedded = static_cast<Embedded *>(malloc(sizeof(Embedded)));
        embedded->mark = marked;
        callback_enqueue(cb_, record_, &embedded->head, reinterpret_cast<rcu_callback_t>(offsetof(Embedded, head) + 1));
    }
    auto *front = static_cast<rcu_head *>(malloc(sizeof(rcu_head)));
    callback_enqueue(cb_, record_, front, reinterpret_cast<rcu_callback_t>(1));
    make_ready(record_);
    others_freed = 0;
    EXPECT_EQ(invoke(record_, everything()), count + 1);
    expect_freed(count);
    if (TEST_COUNTS_FREES) {
        EXPECT_EQ(others_freed, 1u);
    }
}

} // namespace
