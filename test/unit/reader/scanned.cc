/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Who is worth a look: a leaf's word by the table of its header, the counts above, and the way down to the leaves.
 */
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "../../support/internals.h"
#include "../../support/transitions.h"

namespace
{

constexpr uint32_t bit = UINT32_C(1) << 31, other = 1;

std::string state_of(const reader_scanned &scanned)
{
    bool is_awake = scanned.word & bit, leaving = scanned.word >> 32 & bit;
    return is_awake ? leaving ? "BOTH" : "AWAKE" : leaving ? "LEAVING" : "ASLEEP";
}

class Awake : public testing::Test
{
  protected:
    std::unique_ptr<reader_counts, test::Freer> counts_ = test::zeroed<reader_counts>();
    reader_scanned awake_ = {};

    void hang(uint32_t index)
    {
        awake_.above = reader_counts_above(counts_.get(), index);
    }
    /* From the node above the leaf to the top. */
    std::vector<uint32_t> reasons() const
    {
        std::vector<uint32_t> all;
        for (const reader_count *node = awake_.above; node; node = node->above)
            all.push_back(tally_read(&node->reasons));
        return all;
    }
};

/* The word with @bit in that state, beside another thread that is awake or not. */
void become(reader_scanned *scanned, const std::string &state, bool beside)
{
    reader_scanned_clear(scanned, bit | other);
    if (beside)
        reader_scanned_add(scanned, other);
    if (state != "ASLEEP")
        reader_scanned_add(scanned, bit);
    if (state == "LEAVING" || state == "BOTH")
        reader_scanned_propose(scanned, bit);
    if (state == "BOTH")
        reader_scanned_add(scanned, bit);
    EXPECT_EQ(state_of(*scanned), state);
}

TEST_F(Awake, TransitionsAreThoseOfTheTable)
{
    test::Transitions table("src/reader/scanned.h", "before");
    hang(0);
    for (const char *before : {"ASLEEP", "AWAKE", "LEAVING", "BOTH"}) {
        for (bool beside : {false, true}) {
            auto expect_beside = [&](const char *what) {
                EXPECT_EQ(static_cast<bool>(awake_.word & other), beside) << what << ": nobody else is touched";
                EXPECT_EQ(reasons()[0], awake_.word ? 1u : 0u)
                    << what << ": a leaf is a reason while its word is not 0";
                EXPECT_EQ(reader_scanned_any(&awake_), awake_.word != 0) << what;
            };
            become(&awake_, before, beside);
            reader_scanned_add(&awake_, bit);
            table.saw(before, "reader_scanned_add()", state_of(awake_));
            expect_beside("set");
            EXPECT_TRUE(reader_scanned_is_set(&awake_, bit));
            if (std::string(before) != "LEAVING" && std::string(before) != "BOTH") {
                become(&awake_, before, beside);
                reader_scanned_propose(&awake_, bit);
                table.saw(before, "reader_scanned_propose()", state_of(awake_));
                expect_beside("leave");
                EXPECT_FALSE(reader_scanned_is_set(&awake_, bit)) << "its owner is told to wake";
            }
            for (uint32_t asleep : {UINT32_C(0), bit}) {
                become(&awake_, before, beside);
                uint64_t slept = awake_.slept.count;
                reader_scanned_settle(&awake_, asleep);
                table.saw(before, "reader_scanned_settle()", state_of(awake_));
                expect_beside("settle");
                EXPECT_EQ(awake_.slept.count - slept, std::string(before) == "LEAVING" && asleep ? 1u : 0u);
                EXPECT_EQ(reader_scanned_candidates(&awake_), 0u);
            }
            become(&awake_, before, beside);
            reader_scanned_clear(&awake_, bit);
            table.saw(before, "reader_scanned_clear()", state_of(awake_));
            expect_beside("clear");
            for (uint32_t survivor : {UINT32_C(0), bit}) {
                become(&awake_, before, beside);
                reader_counts_forget(counts_.get(), 1);
                reader_scanned_forget(&awake_, survivor);
                table.saw(before, "reader_scanned_forget()", state_of(awake_));
                EXPECT_EQ(awake_.word, survivor);
                EXPECT_EQ(reasons(), std::vector<uint32_t>(3, survivor ? 1 : 0));
            }
        }
    }
    table.all_seen();
}

TEST_F(Awake, ReasonsAreCountedToTheTop)
{
    hang(READER_LEAVES - 1);
    EXPECT_EQ(awake_.above, &counts_->level1[READER_LEAVES / READER_FANOUT - 1]);
    EXPECT_EQ(reasons(), (std::vector<uint32_t>{0, 0, 0}));
    reader_scanned_add(&awake_, bit);
    reader_scanned_add(&awake_, bit);
    reader_scanned_add(&awake_, other);
    EXPECT_EQ(reasons(), (std::vector<uint32_t>{1, 1, 1})) << "a leaf is one reason, whoever is awake";
    reader_scanned_list(&awake_, true);
    reader_scanned_list(&awake_, true);
    EXPECT_EQ(reasons(), (std::vector<uint32_t>{2, 1, 1})) << "tasks on its list are another";
    reader_scanned_clear(&awake_, bit);
    reader_scanned_clear(&awake_, other);
    EXPECT_EQ(reasons(), (std::vector<uint32_t>{1, 1, 1}));
    EXPECT_TRUE(reader_scanned_any(&awake_)) << "its tasks";
    reader_scanned_list(&awake_, false);
    EXPECT_EQ(reasons(), (std::vector<uint32_t>{0, 0, 0}));
    EXPECT_FALSE(reader_scanned_any(&awake_));
}

/* Its tasks are no more than its threads are: what is listed there is put on the list anew. */
TEST_F(Awake, InAForksChildNothingIsListed)
{
    hang(5);
    reader_scanned_list(&awake_, true);
    EXPECT_TRUE(reader_scanned_any(&awake_));
    counts_ = test::zeroed<reader_counts>(); /* as the child begins them */
    hang(5);
    reader_scanned_forget(&awake_, 0);
    EXPECT_FALSE(reader_scanned_any(&awake_));
    reader_scanned_list(&awake_, true);
    EXPECT_EQ(reasons(), (std::vector<uint32_t>{1, 1, 1}));
}

TEST_F(Awake, AloneIsWhoHasNobodyBeside)
{
    hang(40);
    reader_scanned near = {}, far = {};
    near.above = reader_counts_above(counts_.get(), 41);
    far.above = reader_counts_above(counts_.get(), 2000);
    EXPECT_TRUE(reader_scanned_alone(counts_.get(), nullptr, 0));
    reader_scanned_add(&awake_, bit);
    EXPECT_FALSE(reader_scanned_alone(counts_.get(), nullptr, 0));
    EXPECT_TRUE(reader_scanned_alone(counts_.get(), &awake_, bit));
    for (reader_scanned *beside : {&awake_, &near, &far}) {
        reader_scanned_add(beside, other);
        EXPECT_FALSE(reader_scanned_alone(counts_.get(), &awake_, bit));
        reader_scanned_clear(beside, other);
        EXPECT_TRUE(reader_scanned_alone(counts_.get(), &awake_, bit));
        reader_scanned_list(beside, true);
        EXPECT_FALSE(reader_scanned_alone(counts_.get(), &awake_, bit)) << "tasks are readers";
        reader_scanned_list(beside, false);
    }
}

/* Leaves of a registry of which some have somebody awake, in trees of one to three levels. */
TEST(Look, TheWayDownFindsExactlyTheLeavesThatAreWorthIt)
{
    for (uint32_t leaves : {1u, 2u, 33u, 70u}) {
        test::World world;
        std::vector<reader_record *> readers = {world.craft(0)};
        while (reader_leaf_count(world.registry()) < leaves) {
            world.fill_last_leaf();
            readers.push_back(world.craft(0));
        }
        std::set<uint32_t> expected;
        for (reader_record *reader : readers) {
            if (reader->leaf->index % 3 == 1)
                world.withdraw(reader);
            else
                expected.insert(reader->leaf->index);
        }
        std::set<uint32_t> found, below;
        for (reader_leaf *leaf = nullptr; (leaf = reader_next_scanned(world.registry(), leaf));)
            EXPECT_TRUE(found.insert(leaf->index).second);
        EXPECT_EQ(found, expected) << leaves << " leaves";
        for (uint32_t node = 0; node <= leaves / READER_FANOUT; node++)
            for (uint32_t mask = reader_scan_below(world.registry(), 1, node, leaves); mask; mask &= mask - 1)
                below.insert(node * READER_FANOUT + static_cast<uint32_t>(__builtin_ctz(mask)));
        EXPECT_EQ(below, expected) << leaves << " leaves";
        EXPECT_EQ(reader_scan_below(world.registry(), 2, 0, leaves), leaves > 2 * READER_FANOUT ? 7u
                                                                     : leaves > READER_FANOUT   ? 3u
                                                                                                : 1u)
            << "the nodes with leaves below that are worth it";
        EXPECT_EQ(reader_scan_below(world.registry(), 2, 0, 1), 1u) << "no further than the leaves go";
    }
}

} // namespace
