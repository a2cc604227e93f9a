/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Fixture of the tests of callback/: queues, a grace-period machine and a configuration of their own. */
#ifndef RTRCU_TEST_UNIT_CALLBACK_WORLD_H
#define RTRCU_TEST_UNIT_CALLBACK_WORLD_H

#include <cstddef>
#include <deque>
#include <vector>

#include <gtest/gtest.h>

#include "../../support/internals.h"

class CallbackWorld : public testing::Test
{
  public:
    struct Item {
        rcu_head head;
        size_t id;
        CallbackWorld *world;
    };

  protected:
    test::World world_;
    config room_ = {};
    rtrcu_config &config_ = room_.first;
    std::unique_ptr<callback, test::Freer> memory_ = test::zeroed<callback>();
    callback *cb_ = memory_.get();
    std::deque<Item> items_;
    std::vector<size_t> order_; /* ids of the callbacks, in the order in which they ran */

    void SetUp() override
    {
        rtrcu_config_init(&config_);
        config_.policy = RTRCU_POLICY_INLINE;
        config_.blimit = 10;
        room_.in_force = &config_;
        callback_init(cb_, &room_, world_.gp());
    }

    static void note(rcu_head *head)
    {
        Item *item = container_of(head, Item, head);
        item->world->order_.push_back(item->id);
    }
    Item *item()
    {
        items_.push_back(Item{{}, items_.size(), this});
        return &items_.back();
    }
    callback_enqueued enqueue(reader_record *record, rcu_callback_t func = note)
    {
        return callback_enqueue(cb_, record, &item()->head, func);
    }
    void grace_period()
    {
        test::GpStepper stepper(world_.gp());
        stepper.begin_and_scan();
        ASSERT_TRUE(stepper.is_clear());
        stepper.end();
    }
    callback_server advance(reader_record *record, int64_t now = 1000)
    {
        callback_queues_lock(record->leaf);
        reader_lock(record->leaf);
        callback_server server = callback_advance(cb_, record, now);
        reader_unlock(record->leaf);
        callback_queues_unlock(record->leaf);
        return server;
    }
    /* Make all queued callbacks ready. */
    void make_ready(reader_record *record)
    {
        callback_collect(cb_);
        grace_period();
        advance(record);
    }
    void queue_ready(reader_record *record, size_t count)
    {
        for (size_t i = 0; i < count; i++)
            enqueue(record);
        make_ready(record);
    }
    uint64_t invoke(reader_record *record, callback_budget budget)
    {
        return callback_invoke(cb_, record, &budget).done;
    }
    static callback_budget at_most(uint64_t count)
    {
        callback_budget budget = {};
        budget.count_max = count;
        budget.may_wait = true;
        return budget;
    }
    static callback_budget everything()
    {
        return at_most(UINT64_MAX);
    }
    std::vector<size_t> numbers(size_t first, size_t end) const
    {
        std::vector<size_t> all;
        for (size_t i = first; i < end; i++)
            all.push_back(i);
        return all;
    }
};

#endif
