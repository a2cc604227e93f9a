/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests that the inline code of readers uses the word of the current thread, also after a park that changed threads.
 * A fiber and a coroutine lock on one thread and unlock on another.  Both threads are inside sections of their own, and
 * their words show which of them the unlock changed. */
#include <cstdlib>
#include <ucontext.h>

#include "../support/sync.h"
#include "child.h"
#include "park/coroutine.h"

namespace
{

constexpr uint32_t own = 10; /* nesting of each thread's own sections */

uint32_t nesting(uint32_t word)
{
    return word & RTRCU_NESTING_MASK;
}

uint32_t nesting_of(test::Worker *worker)
{
    uint32_t word = 0;
    worker->run([&] { word = rtrcu_word_read(); });
    return nesting(word);
}

/* A fiber that any thread may run until it parks. */
class Fiber
{
    static inline Fiber *entering;
    ucontext_t fiber_, thread_;
    std::unique_ptr<char[]> stack_{new char[1 << 18]};
    std::function<void()> body_;

    static void enter()
    {
        Fiber *self = entering;
        self->body_();
        for (;;)
            self->park();
    }

  public:
    explicit Fiber(std::function<void()> body) : body_(std::move(body))
    {
        getcontext(&fiber_);
        fiber_.uc_stack.ss_sp = stack_.get();
        fiber_.uc_stack.ss_size = 1 << 18;
        fiber_.uc_link = nullptr;
        makecontext(&fiber_, enter, 0);
    }
    void resume()
    {
        entering = this;
        swapcontext(&thread_, &fiber_);
    }
    void park()
    {
        swapcontext(&fiber_, &thread_);
    }
};

Fiber *current;

void park_current()
{
    current->park();
}

class Park : public testing::Test
{
  protected:
    test::Worker a_, b_;
    park_seen seen_[PARK_ROUNDS] = {};

    void SetUp() override
    {
        if (TEST_TSAN)
            GTEST_SKIP() << "the race detector does not know about changes of stacks";
        for (auto *worker : {&a_, &b_}) {
            worker->run([] {
                for (uint32_t i = 0; i < own; i++)
                    rcu_read_lock();
            });
        }
    }
    void leave(test::Worker *worker)
    {
        worker->run([] {
            while (rcu_read_lock_held())
                rcu_read_unlock();
        });
    }
    /* In each round, lock on one thread and unlock on the other; then swap the threads. */
    void expect_each_unlocks_where_it_runs(const std::function<void()> &resume)
    {
        uint32_t on_a = own, on_b = own;
        for (int round = 0; round < PARK_ROUNDS; round++) {
            bool forth = round % 2 == 0;
            test::Worker *from = forth ? &a_ : &b_, *to = forth ? &b_ : &a_;
            uint32_t *on_from = forth ? &on_a : &on_b, *on_to = forth ? &on_b : &on_a;
            from->run(resume);
            EXPECT_EQ(nesting(seen_[round].locked), ++*on_from);
            EXPECT_EQ(nesting_of(from), *on_from);
            EXPECT_EQ(nesting_of(to), *on_to);
            to->run(resume);
            EXPECT_EQ(nesting(seen_[round].resumed), *on_to) << "the word was read from the wrong thread";
            EXPECT_EQ(nesting(seen_[round].unlocked), --*on_to);
            EXPECT_TRUE(seen_[round].held);
            EXPECT_EQ(nesting_of(to), *on_to);
            EXPECT_EQ(nesting_of(from), *on_from) << "the previous thread was changed";
        }
        leave(&a_);
        leave(&b_);
    }
};

TEST_F(Park, FiberUnlocksOnItsCurrentThread)
{
    Fiber fiber([this] { park_body(park_current, seen_); });
    current = &fiber;
    expect_each_unlocks_where_it_runs([&] { fiber.resume(); });
}

TEST_F(Park, CoroutineUnlocksOnItsCurrentThread)
{
    test::Coroutine coroutine = test::park_coroutine(seen_);
    expect_each_unlocks_where_it_runs([&] { coroutine.handle.resume(); });
    coroutine.handle.destroy();
}

TEST_F(Park, CachedThreadAddressUnlocksTheWrongThread)
{
    Fiber fiber([] { park_body_broken(park_current); });
    current = &fiber;
    a_.run([&] { fiber.resume(); });
    b_.run([&] { fiber.resume(); });
    EXPECT_EQ(nesting_of(&a_), own) << "the broken fiber unlocks its previous thread";
    EXPECT_EQ(nesting_of(&b_), own);
    leave(&a_);
    leave(&b_);
}

} // namespace
