/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of the callback queue: order, unfinished links, segments and cookies, repair after a fork. */
#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "../../support/internals.h"
#include "../../support/seed.h"

namespace
{

class Cbqueue : public testing::Test
{
  protected:
    cb_queue queue_;
    std::vector<rcu_head> heads_ = std::vector<rcu_head>(64);

    void SetUp() override
    {
        cbqueue_init(&queue_);
    }
    bool push(size_t i)
    {
        return cbqueue_push(&queue_, &heads_[i], CB_OWNER);
    }
    /* Do the first half of a push, which exchanges the tail; returns the head whose link is missing. */
    rcu_head *push_unfinished(size_t i)
    {
        heads_[i].next = nullptr;
        queue_.enqueued++;
        queue_.enqueuing = &heads_[i];
        rcu_head *before = queue_.tail;
        queue_.tail = &heads_[i];
        return before;
    }
    size_t number(const rcu_head *head) const
    {
        return static_cast<size_t>(head - heads_.data());
    }
    std::vector<size_t> drain(cb_chain chain) const
    {
        std::vector<size_t> order;
        while (rcu_head *head = cbqueue_pop(&chain))
            order.push_back(number(head));
        return order;
    }
    cb_chain chain_of(std::vector<size_t> indexes)
    {
        cb_chain chain = {nullptr, nullptr};
        for (size_t i : indexes) {
            heads_[i].next = nullptr;
            cbqueue_join(&chain, {&heads_[i], &heads_[i]});
        }
        return chain;
    }
};

using Order = std::vector<size_t>;

/* The old value of a head's link is ignored: the head may have been in a queue, or be uninitialised. */
TEST_F(Cbqueue, PushIgnoresTheOldLinkOfAHead)
{
    heads_[0].next = heads_[1].next = &heads_[2];
    push(0);
    EXPECT_EQ(heads_[0].next, nullptr);
    push(1);
    EXPECT_EQ(drain(cbqueue_take_inbox(&queue_)), (std::vector<size_t>{0, 1}));
    EXPECT_EQ(heads_[1].next, nullptr);
}

TEST_F(Cbqueue, PushKeepsTheOrderAndReportsAnEmptyQueue)
{
    EXPECT_TRUE(push(0));
    EXPECT_FALSE(push(1));
    EXPECT_FALSE(push(2));
    EXPECT_EQ(queue_.enqueued, 3u);
    EXPECT_EQ(drain(cbqueue_take_inbox(&queue_)), (Order{0, 1, 2}));
    EXPECT_EQ(cbqueue_take_inbox(&queue_).first, nullptr);
    EXPECT_TRUE(push(3)) << "a taken inbox is empty";
    EXPECT_EQ(drain(cbqueue_take_inbox(&queue_)), Order{3});
}

TEST_F(Cbqueue, PushNumbersTheHeadsOfAllProducers)
{
    cbqueue_push(&queue_, &heads_[1], CB_ANYBODY);
    cbqueue_push(&queue_, &heads_[2], CB_OWNER);
    EXPECT_EQ(queue_.enqueued, 2u);
    queue_.invoked = 1;
    EXPECT_EQ(cbqueue_pending(&queue_), 1u);
}

TEST_F(Cbqueue, TakeBeforeTheFirstLinkReturnsNothingAndKeepsTheHead)
{
    rcu_head *before = push_unfinished(0);
    EXPECT_EQ(before, &queue_.stub);
    EXPECT_EQ(cbqueue_take_inbox(&queue_).first, nullptr);
    before->next = &heads_[0];
    EXPECT_FALSE(push(1));
    EXPECT_EQ(drain(cbqueue_take_inbox(&queue_)), (Order{0, 1}));
}

TEST_F(Cbqueue, PopStopsAtAnUnfinishedLinkAndResumes)
{
    push(0);
    push(1);
    rcu_head *before = push_unfinished(2);
    push(3);
    cb_chain chain = cbqueue_take_inbox(&queue_);
    EXPECT_EQ(cbqueue_pop(&chain), &heads_[0]);
    EXPECT_EQ(cbqueue_pop(&chain), nullptr) << "head 1 stays: only its link will lead to head 2";
    EXPECT_EQ(cbqueue_pop(&chain), nullptr);
    EXPECT_EQ(chain.first, &heads_[1]);
    before->next = &heads_[2];
    EXPECT_EQ(drain(chain), (Order{1, 2, 3}));
}

TEST_F(Cbqueue, JoinAppendsAndAcceptsEmptyChains)
{
    cb_chain chain = {nullptr, nullptr};
    cbqueue_join(&chain, {nullptr, nullptr});
    EXPECT_EQ(chain.first, nullptr);
    cbqueue_join(&chain, chain_of({4, 5}));
    cbqueue_join(&chain, {nullptr, nullptr});
    cbqueue_join(&chain, chain_of({6}));
    EXPECT_EQ(drain(chain), (Order{4, 5, 6}));
}

TEST_F(Cbqueue, JoinDoesNotFinishAnUnfinishedLink)
{
    cb_chain open = {&heads_[0], &heads_[1]}; /* the link from 0 to 1 is missing */
    heads_[0].next = heads_[1].next = nullptr;
    cbqueue_join(&open, chain_of({2}));
    EXPECT_EQ(cbqueue_pop(&open), nullptr);
    heads_[0].next = &heads_[1];
    EXPECT_EQ(drain(open), (Order{0, 1, 2}));
}

TEST_F(Cbqueue, SegmentsWaitForTheirOwnCookies)
{
    uint64_t seq = 0 - 2 * SEQ_STEP; /* so that the number wraps during the test */
    cbqueue_wait(&queue_, chain_of({0, 1}), seq + SEQ_STEP);
    cbqueue_wait(&queue_, chain_of({2}), seq + SEQ_STEP);
    cbqueue_wait(&queue_, chain_of({3}), seq + 2 * SEQ_STEP);
    EXPECT_TRUE(cbqueue_is_waiting(&queue_));
    EXPECT_FALSE(cbqueue_advance(&queue_, seq));
    EXPECT_FALSE(cbqueue_advance(&queue_, seq_started(seq)));
    EXPECT_TRUE(cbqueue_advance(&queue_, seq + SEQ_STEP));
    EXPECT_EQ(queue_.ready.last, &heads_[2]);
    EXPECT_TRUE(cbqueue_is_waiting(&queue_));
    EXPECT_FALSE(cbqueue_advance(&queue_, seq + SEQ_STEP)) << "the cookie of the second segment is not reached";
    /* The second segment has become the first, so there is room for a new cookie. */
    cbqueue_wait(&queue_, chain_of({4}), seq + 3 * SEQ_STEP);
    EXPECT_TRUE(cbqueue_advance(&queue_, seq + 2 * SEQ_STEP));
    EXPECT_EQ(queue_.ready.last, &heads_[3]);
    EXPECT_TRUE(cbqueue_advance(&queue_, seq + 3 * SEQ_STEP));
    EXPECT_FALSE(cbqueue_is_waiting(&queue_));
    EXPECT_EQ(drain(queue_.ready), (Order{0, 1, 2, 3, 4}));
}

/* A cookie taken during gp_try_immediate() is later than a cookie taken after that call has failed. */
TEST_F(Cbqueue, EarlierCookieDoesNotOvertakeTheLastSegment)
{
    cbqueue_wait(&queue_, chain_of({0}), 2 * SEQ_STEP);
    cbqueue_wait(&queue_, chain_of({1}), SEQ_STEP);
    EXPECT_FALSE(cbqueue_advance(&queue_, SEQ_STEP));
    cbqueue_wait(&queue_, chain_of({2}), 3 * SEQ_STEP);
    cbqueue_wait(&queue_, chain_of({3}), 2 * SEQ_STEP);
    EXPECT_TRUE(cbqueue_advance(&queue_, 2 * SEQ_STEP));
    EXPECT_EQ(queue_.ready.last, &heads_[1]);
    EXPECT_TRUE(cbqueue_advance(&queue_, 3 * SEQ_STEP));
    EXPECT_EQ(drain(queue_.ready), (Order{0, 1, 2, 3}));
}

TEST_F(Cbqueue, BothSegmentsBecomeReadyTogetherInOrder)
{
    cbqueue_wait(&queue_, chain_of({0}), SEQ_STEP);
    cbqueue_wait(&queue_, chain_of({1}), 2 * SEQ_STEP);
    EXPECT_TRUE(cbqueue_advance(&queue_, 9 * SEQ_STEP));
    EXPECT_FALSE(cbqueue_is_waiting(&queue_));
    EXPECT_EQ(drain(queue_.ready), (Order{0, 1}));
    EXPECT_FALSE(cbqueue_advance(&queue_, 10 * SEQ_STEP)) << "no segment is waiting";
}

TEST_F(Cbqueue, EmptyChainNeedsNoGracePeriod)
{
    cbqueue_wait(&queue_, {nullptr, nullptr}, SEQ_STEP);
    EXPECT_FALSE(cbqueue_is_waiting(&queue_));
    cbqueue_wait(&queue_, chain_of({0}), SEQ_STEP);
    cbqueue_wait(&queue_, chain_of({1}), 2 * SEQ_STEP);
    cbqueue_wait(&queue_, {nullptr, nullptr}, 9 * SEQ_STEP);
    EXPECT_TRUE(cbqueue_advance(&queue_, 2 * SEQ_STEP));
    EXPECT_EQ(drain(queue_.ready), (Order{0, 1})) << "an empty chain does not postpone the last segment";
}

/* Three producers push while a consumer takes: no head is lost, and the heads of each producer are in order. */
TEST_F(Cbqueue, ProducersAndConsumerRunConcurrently)
{
    constexpr size_t per_producer = 20000, producers = 3;
    std::vector<rcu_head> heads(per_producer * producers);
    std::atomic<size_t> done{0};
    std::vector<std::thread> threads;
    for (size_t p = 0; p < producers; p++) {
        threads.emplace_back([&, p] {
            for (size_t i = 0; i < per_producer; i++)
                cbqueue_push(&queue_, &heads[p * per_producer + i], CB_ANYBODY);
            done++;
        });
    }
    std::vector<size_t> next(producers, 0);
    cb_chain chain = {nullptr, nullptr};
    size_t seen = 0;
    while (seen < heads.size()) {
        cbqueue_join(&chain, cbqueue_take_inbox(&queue_));
        while (rcu_head *head = cbqueue_pop(&chain)) {
            size_t at = static_cast<size_t>(head - heads.data());
            ASSERT_EQ(at % per_producer, next[at / per_producer]++);
            seen++;
        }
        ASSERT_TRUE(seen == heads.size() || done < producers || chain.first || queue_.stub.next);
    }
    for (auto &thread : threads)
        thread.join();
    EXPECT_EQ(queue_.enqueued, heads.size());
}

/* ---- repair: queues of threads that a fork's child does not have ---- */

TEST_F(Cbqueue, RepairOfAnIntactQueueChangesNothing)
{
    push(0);
    push(1);
    EXPECT_TRUE(cbqueue_repair(&queue_));
    EXPECT_EQ(drain(cbqueue_take_inbox(&queue_)), (Order{0, 1}));
}

TEST_F(Cbqueue, RepairFinishesALinkFromTheStub)
{
    push_unfinished(0);
    EXPECT_TRUE(cbqueue_repair(&queue_));
    EXPECT_EQ(drain(cbqueue_take_inbox(&queue_)), Order{0});
}

TEST_F(Cbqueue, RepairFinishesALinkInsideTheInbox)
{
    push(0);
    push_unfinished(1);
    push(2); /* a push by a handler that interrupts the push of head 1 */
    queue_.enqueuing = &heads_[1];
    EXPECT_TRUE(cbqueue_repair(&queue_));
    EXPECT_EQ(drain(cbqueue_take_inbox(&queue_)), (Order{0, 1, 2}));
}

TEST_F(Cbqueue, RepairFinishesALinkInAnotherSegment)
{
    for (cb_chain *where : {&queue_.waiting[0], &queue_.waiting[1], &queue_.ready, &queue_.batch}) {
        cbqueue_init(&queue_);
        heads_[0].next = nullptr;
        heads_[1].next = &heads_[2];
        heads_[2].next = nullptr;
        *where = {&heads_[0], &heads_[2]};
        queue_.enqueuing = &heads_[1];
        EXPECT_TRUE(cbqueue_repair(&queue_));
        EXPECT_EQ(drain(*where), (Order{0, 1, 2}));
    }
}

TEST_F(Cbqueue, FinishedPushNeedsNoRepair)
{
    push(0);
    EXPECT_EQ(queue_.enqueuing, nullptr);
}

/* The missing link belongs to a push by another thread.  Only pushes by the owner can be repaired. */
TEST_F(Cbqueue, RepairReportsAnUnfinishedLinkOfAnotherThread)
{
    heads_[0].next = nullptr;
    heads_[1].next = nullptr;
    queue_.ready = {&heads_[0], &heads_[1]};
    queue_.enqueuing = nullptr;
    EXPECT_FALSE(cbqueue_repair(&queue_));
}

/* A handler that interrupted the push of head 0 has pushed head 1: the link of head 0 is the missing one. */
TEST_F(Cbqueue, RepairKeepsAHeadThatAHandlerPushedAfterAnUnfinishedLink)
{
    push_unfinished(0);
    push(1);
    EXPECT_TRUE(cbqueue_repair(&queue_));
    EXPECT_EQ(drain(cbqueue_take_inbox(&queue_)), (Order{0, 1})) << "head 0 is not lost";
}

/* Only a push by the owner stores its head in `enqueuing`.  A handler's push keeps the head of the push that it
 * interrupts. */
TEST_F(Cbqueue, OnlyTheOwnerPublishesItsUnfinishedHead)
{
    cbqueue_push(&queue_, &heads_[0], CB_ANYBODY);
    EXPECT_EQ(queue_.enqueuing, nullptr);
    EXPECT_EQ(queue_.enqueued, 1u);
    cbqueue_push(&queue_, &heads_[1], CB_OWNER);
    EXPECT_EQ(queue_.enqueuing, nullptr);
    queue_.enqueuing = &heads_[3]; /* a handler interrupts this call */
    cbqueue_push(&queue_, &heads_[2], CB_OWNER);
    EXPECT_EQ(queue_.enqueuing, &heads_[3]);
    queue_.enqueuing = nullptr;
}

} // namespace
