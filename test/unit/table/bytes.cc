/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of the keyed hash of bytes. */
#include <cstring>

#include <gtest/gtest.h>

#include "entries.h"

namespace
{

TEST(TableBytes, HashDependsOnSeedLengthAndEveryByte)
{
    test::Table one({.seed = 1}), same({.seed = 1}), other({.seed = 2});
    unsigned char data[24] = {};
    EXPECT_EQ(rtrcu_hash_bytes(one.get(), data, 24), rtrcu_hash_bytes(same.get(), data, 24));
    EXPECT_NE(rtrcu_hash_bytes(one.get(), data, 24), rtrcu_hash_bytes(other.get(), data, 24));
    for (size_t length = 0; length < 24; length++) {
        uint64_t before = rtrcu_hash_bytes(one.get(), data, length + 1);
        EXPECT_NE(rtrcu_hash_bytes(one.get(), data, length), before);
        data[length] ^= 1;
        EXPECT_NE(rtrcu_hash_bytes(one.get(), data, length + 1), before);
        data[length] ^= 1;
    }
}

/* The known value of the empty input under the key 00..0f. */
TEST(TableBytes, HashIsSipHash13)
{
    test::Table table;
    auto *inner = table_of(table.get());
    inner->seed[0] = UINT64_C(0x0706050403020100);
    inner->seed[1] = UINT64_C(0x0f0e0d0c0b0a0908);
    EXPECT_EQ(rtrcu_hash_bytes(table.get(), "", 0), UINT64_C(0xabac0158050fc4dc));
}

} // namespace
