/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Fixture of tests of reader records: a separate registry, the flags of records, and threads that are its readers. */
#ifndef RTRCU_TEST_SUPPORT_RECORDS_H
#define RTRCU_TEST_SUPPORT_RECORDS_H

#include <thread>

#include <gtest/gtest.h>

#include "internals.h"

namespace test
{

class Records : public testing::Test
{
  protected:
    World world_;
    reader_registry *registry_ = world_.registry();

    static uint32_t flag(const reader_record *record)
    {
        return rtrcu_word_of(record->self) >> 24;
    }
    bool arm(reader_record *record)
    {
        reader_lock(record->leaf);
        bool armed = reader_arm(record);
        reader_unlock(record->leaf);
        return armed;
    }
    /* Run @body while the calling thread is a reader of this registry. */
    template <typename Body> void as_thread(Body body)
    {
        std::thread([&] {
            reader_record *record = reader_slot_take(registry_);
            publish(registry_, record, &rtrcu_self);
            body(record);
            world_.withdraw(record);
        }).join();
    }
};

} // namespace test

#endif
