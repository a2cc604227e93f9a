// SPDX-License-Identifier: MIT OR Apache-2.0
// Tests of the geoip parser, of ranges as prefixes, and of the longest-prefix look-up, compared with a linear search.
#include <gtest/gtest.h>

#include <random>

#include "workload/packets.h"
#include "workload/prefixes.h"

using namespace lab;

static std::vector<Prefix> range(uint32_t first, uint32_t last)
{
    std::vector<Prefix> prefixes;
    append_range(first, last, 1, prefixes);
    return prefixes;
}

TEST(Prefixes, RangeBecomesTheFewestAlignedPrefixes)
{
    std::vector<Prefix> one = range(0x01000000, 0x010000ff);
    ASSERT_EQ(one.size(), 1u);
    EXPECT_EQ(one[0].length, 24);

    std::vector<Prefix> uneven = range(1, 6); // 1/32, 2/31, 4/31, 6/32
    ASSERT_EQ(uneven.size(), 4u);
    EXPECT_EQ(uneven[0].length, 32);
    EXPECT_EQ(uneven[1].length, 31);
    EXPECT_EQ(uneven[2].address, 4u);
    EXPECT_EQ(uneven[3].address, 6u);

    std::vector<Prefix> everything = range(0, UINT32_MAX);
    ASSERT_EQ(everything.size(), 1u);
    EXPECT_EQ(everything[0].length, 0);

    std::vector<Prefix> last = range(UINT32_MAX, UINT32_MAX);
    ASSERT_EQ(last.size(), 1u);
    EXPECT_EQ(last[0].length, 32);
}

TEST(Prefixes, GeoipFileIsParsedIntoPrefixes)
{
    std::vector<Prefix> prefixes;
    std::string error;
    ASSERT_TRUE(parse_geoip("# header\n16777216,16777471,AU\n\n16777472,16777727,CN\n", prefixes, error)) << error;
    ASSERT_EQ(prefixes.size(), 2u);
    EXPECT_EQ(prefixes[0].address, 16777216u);
    EXPECT_EQ(prefixes[0].length, 24);
    EXPECT_EQ(prefixes[1].next_hop, 'C' << 8 | 'N');
}

TEST(Prefixes, RefusalsNameTheLine)
{
    std::vector<Prefix> prefixes;
    std::string error;
    for (const char *bad : {"1,2\n", "1;2;AU\n", "x,2,AU\n", "5,4,AU\n", "1,99999999999,AU\n", "1,2,A\n"}) {
        EXPECT_FALSE(parse_geoip(std::string("#\n") + bad, prefixes, error)) << bad;
        EXPECT_EQ(error.rfind("line 2: ", 0), 0u) << error;
    }
    EXPECT_FALSE(parse_geoip("# nothing\n", prefixes, error));
    EXPECT_FALSE(read_geoip("/nonexistent/geoip", prefixes, error));
    EXPECT_NE(error.find("--geoip"), std::string::npos);
}

static const Prefix *plain_find(const std::vector<Prefix> &prefixes, uint32_t address)
{
    const Prefix *best = nullptr;
    for (const Prefix &prefix : prefixes) {
        uint64_t size = uint64_t{1} << (32 - prefix.length);
        if (address >= prefix.address && address - uint64_t{prefix.address} < size &&
            (best == nullptr || prefix.length > best->length))
            best = &prefix;
    }
    return best;
}

TEST(Prefixes, LookupAgreesWithALinearSearch)
{
    const auto seed = std::random_device{}();
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    // The address space is small, so that prefixes nest and share their first address.
    std::vector<Prefix> prefixes;
    for (int i = 0; i < 300; i++) {
        auto length = static_cast<uint8_t>(16 + random() % 17);
        prefixes.push_back({static_cast<uint32_t>(random() % 65536) & ~uint32_t{0} << (32 - length), length,
                            static_cast<uint16_t>(i)});
    }
    PrefixTable table(prefixes);
    for (int i = 0; i < 5000; i++) {
        auto address = static_cast<uint32_t>(random() % 70000);
        const Prefix *expected = plain_find(prefixes, address), *found = table.find(address);
        ASSERT_EQ(expected == nullptr, found == nullptr) << address;
        if (expected != nullptr) {
            ASSERT_EQ(expected->length, found->length) << address;
            ASSERT_EQ(expected->address, found->address) << address;
        }
    }
}

TEST(Prefixes, EmptyTableFindsNothing)
{
    EXPECT_EQ(PrefixTable().find(1), nullptr);
}

TEST(Packets, DestinationIsKeptForFivePackets)
{
    PrefixTable table(generate_prefixes(1000, 1));
    PacketSource packets(table, 5000, 42);
    unsigned changes = 0;
    uint32_t previous = packets.next();
    EXPECT_NE(table.find(previous), nullptr);
    for (int i = 1; i < 500; i++) {
        uint32_t next = packets.next();
        if (i % 5 != 0) {
            ASSERT_EQ(next, previous) << i;
        }
        changes += next != previous;
        previous = next;
    }
    EXPECT_GT(changes, 90u);
}
