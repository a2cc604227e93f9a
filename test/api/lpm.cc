/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of longest prefix match through the public interface: readers beside updates, and forks. */
#include <atomic>
#include <random>
#include <thread>

#include "child.h"
#include "forked.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#include <rtrcu/lpm.h>
#pragma GCC diagnostic pop

namespace
{

/* A value contains its prefix, and is overwritten before it is freed. */
struct Route {
    rcu_head head;
    uint32_t address;
    unsigned int length;
};

void free_route(rcu_head *head)
{
    auto *route = reinterpret_cast<Route *>(head);
    route->length = 99;
    delete route;
}

uint32_t mask_of(unsigned int length)
{
    return length ? ~UINT32_C(0) << (32 - length) : 0;
}

bool contains(const Route *route, uint32_t address)
{
    return route->length <= 32 && ((address ^ route->address) & mask_of(route->length)) == 0;
}

class Lpm : public ForkedTest
{
  protected:
    void SetUp() override
    {
        ForkedTest::SetUp();
        if (IsSkipped())
            return;
        ASSERT_EQ(rtrcu_lpm_create(&lpm, 32), 0);
    }
    void TearDown() override
    {
        rtrcu_lpm_destroy(lpm);
        rcu_barrier();
    }
    int insert(uint32_t address, unsigned int length)
    {
        auto *route = new Route{{}, address, length};
        uint32_t key = __builtin_bswap32(address);
        int error = rtrcu_lpm_insert(lpm, &key, length, route);
        if (error)
            delete route;
        return error;
    }
    void remove(uint32_t address, unsigned int length)
    {
        uint32_t key = __builtin_bswap32(address);
        void *old;
        if (rtrcu_lpm_remove(lpm, &key, length, &old) == 0)
            call_rcu(&static_cast<Route *>(old)->head, free_route);
    }
    /* Returns the length of the prefix that is found for @address; -1: no prefix contains it; -2: the value found is
     * wrong. */
    int length_of(uint32_t address)
    {
        rcu_read_lock();
        auto *route = static_cast<const Route *>(rtrcu_lpm_lookup_ipv4(lpm, address));
        int length = !route ? -1 : contains(route, address) ? static_cast<int>(route->length) : -2;
        rcu_read_unlock();
        return length;
    }
    /* Remove and insert prefixes of 10.0.0.0/8, beside another thread that does the same. */
    void churn(unsigned int seed)
    {
        std::mt19937 random(seed);
        for (int i = 0; i < 4000; i++) {
            unsigned int length = 12 + random() % 21;
            uint32_t address = (UINT32_C(10) << 24 | (random() & 0x30303)) & mask_of(length);
            if (random() % 2)
                (void)insert(address, length);
            else
                remove(address, length);
        }
    }
    void remove_all()
    {
        rtrcu_lpm_cursor cursor = {};
        auto visit = [](const uint8_t *key, unsigned int length, void *value, void *argument) {
            EXPECT_EQ(rtrcu_lpm_remove(static_cast<rtrcu_lpm *>(argument), key, length, nullptr), 0);
            call_rcu(&static_cast<Route *>(value)->head, free_route);
        };
        while (rtrcu_lpm_walk(lpm, &cursor, 1000, visit, lpm))
            ;
    }

    rtrcu_lpm *lpm = nullptr;
};

TEST_F(Lpm, ReadersFindRightValuesDuringUpdates)
{
    const unsigned int seed = std::random_device()();
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    ASSERT_EQ(insert(UINT32_C(10) << 24, 8), 0);
    ASSERT_EQ(insert(UINT32_C(0x0a030303), 32), 0);
    std::atomic<bool> done{false};
    std::atomic<int> wrong{0};
    auto read = [&](unsigned int own_seed) {
        std::mt19937 random(own_seed);
        while (!done) {
            uint32_t address = UINT32_C(10) << 24 | (random() & 0x30303);
            wrong += length_of(address) < 8; /* the prefix 10.0.0.0/8 contains all of these addresses */
        }
    };

    std::thread readers[] = {std::thread(read, seed), std::thread(read, seed + 1)};
    std::thread writer([&] { churn(seed + 2); });
    churn(seed + 3);
    writer.join();
    done = true;
    for (std::thread &reader : readers)
        reader.join();

    EXPECT_EQ(wrong, 0);
    remove_all();
    EXPECT_EQ(length_of(UINT32_C(0x0a010101)), -1);
}

TEST_F(Lpm, ForksChildReadsAndUpdates)
{
    ASSERT_EQ(insert(UINT32_C(10) << 24, 8), 0);
    in_forked_child([this] {
        EXPECT_EQ(length_of(UINT32_C(0x0a010101)), 8);
        EXPECT_EQ(insert(UINT32_C(0x0a010100), 24), 0);
        EXPECT_EQ(length_of(UINT32_C(0x0a010101)), 24);
    });
    EXPECT_EQ(length_of(UINT32_C(0x0a010101)), 8);
    remove_all();
}

} // namespace
