/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of the leaves that a scan visits: transitions of a leaf's word, the counts above it, and the descent. */
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
    return is_awake ? leaving ? "BOTH" : "SCANNED" : leaving ? "CANDIDATE" : "IDLE";
}

class ScannedWord : public testing::Test
{
  protected:
    std::unique_ptr<reader_counts, test::Freer> counts_ = test::zeroed<reader_counts>();
    reader_scanned awake_ = {};

    void hang(uint32_t index)
    {
        awake_.above = reader_counts_above(counts_.get(), index);
    }
    /* The counts from the node above the leaf to the top. */
    std::vector<uint32_t> reasons() const
    {
        std::vector<uint32_t> all;
        for (const reader_count *node = awake_.above; node; node = node->above)
            all.push_back(tally_read(&node->reasons));
        return all;
    }
};

/* Put the bit into @state.  With @beside, another thread of the leaf is scanned too. */
void become(reader_scanned *scanned, const std::string &state, bool beside)
{
    reader_scanned_clear(scanned, bit | other);
    if (beside)
        reader_scanned_add(scanned, other);
    if (state != "IDLE")
        reader_scanned_add(scanned, bit);
    if (state == "CANDIDATE" || state == "BOTH")
        reader_scanned_propose(scanned, bit);
    if (state == "BOTH")
        reader_scanned_add(scanned, bit);
    EXPECT_EQ(state_of(*scanned), state);
}

TEST_F(ScannedWord, TransitionsFollowTheTable)
{
    test::Transitions table("src/reader/scanned.h", "before");
    hang(0);
    for (const char *before : {"IDLE", "SCANNED", "CANDIDATE", "BOTH"}) {
        for (bool beside : {false, true}) {
            auto expect_beside = [&](const char *what) {
                EXPECT_EQ(static_cast<bool>(awake_.word & other), beside)
                    << what << ": the other thread's bit is unchanged";
                EXPECT_EQ(reasons()[0], awake_.word ? 1u : 0u)
                    << what << ": the leaf counts as a reason while its word is not 0";
                EXPECT_EQ(reader_scanned_any(&awake_), awake_.word != 0) << what;
            };
            become(&awake_, before, beside);
            reader_scanned_add(&awake_, bit);
            table.saw(before, "reader_scanned_add()", state_of(awake_));
            expect_beside("set");
            EXPECT_TRUE(reader_scanned_is_set(&awake_, bit));
            if (std::string(before) != "CANDIDATE" && std::string(before) != "BOTH") {
                become(&awake_, before, beside);
                reader_scanned_propose(&awake_, bit);
                table.saw(before, "reader_scanned_propose()", state_of(awake_));
                expect_beside("leave");
                EXPECT_FALSE(reader_scanned_is_set(&awake_, bit)) << "the owner must end its idleness";
            }
            for (uint32_t asleep : {UINT32_C(0), bit}) {
                become(&awake_, before, beside);
                uint64_t slept = awake_.slept.count;
                reader_scanned_settle(&awake_, asleep);
                table.saw(before, "reader_scanned_settle()", state_of(awake_));
                expect_beside("settle");
                EXPECT_EQ(awake_.slept.count - slept, std::string(before) == "CANDIDATE" && asleep ? 1u : 0u);
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

TEST_F(ScannedWord, ScannedLeavesAreCountedUpToTheRoot)
{
    hang(READER_LEAVES - 1);
    EXPECT_EQ(awake_.above, &counts_->level1[READER_LEAVES / READER_FANOUT - 1]);
    EXPECT_EQ(reasons(), (std::vector<uint32_t>{0, 0, 0}));
    reader_scanned_add(&awake_, bit);
    reader_scanned_add(&awake_, bit);
    reader_scanned_add(&awake_, other);
    EXPECT_EQ(reasons(), (std::vector<uint32_t>{1, 1, 1})) << "a leaf is one reason, for any number of threads";
    reader_scanned_list(&awake_, true);
    reader_scanned_list(&awake_, true);
    EXPECT_EQ(reasons(), (std::vector<uint32_t>{2, 1, 1})) << "tasks on the leaf's list are another reason";
    reader_scanned_clear(&awake_, bit);
    reader_scanned_clear(&awake_, other);
    EXPECT_EQ(reasons(), (std::vector<uint32_t>{1, 1, 1}));
    EXPECT_TRUE(reader_scanned_any(&awake_)) << "its tasks are listed";
    reader_scanned_list(&awake_, false);
    EXPECT_EQ(reasons(), (std::vector<uint32_t>{0, 0, 0}));
    EXPECT_FALSE(reader_scanned_any(&awake_));
}

/* reader_scanned_forget() clears the mark of listed tasks; the child then counts the tasks that it lists again. */
TEST_F(ScannedWord, ForksChildHasNoListedTasks)
{
    hang(5);
    reader_scanned_list(&awake_, true);
    EXPECT_TRUE(reader_scanned_any(&awake_));
    counts_ = test::zeroed<reader_counts>(); /* as the child initialises them */
    hang(5);
    reader_scanned_forget(&awake_, 0);
    EXPECT_FALSE(reader_scanned_any(&awake_));
    reader_scanned_list(&awake_, true);
    EXPECT_EQ(reasons(), (std::vector<uint32_t>{1, 1, 1}));
}

TEST_F(ScannedWord, AloneMeansNoOtherScannedThreadOrTask)
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

/* In registries of 1 to 70 leaves, each third leaf has no scanned thread. */
TEST(ScanDescent, DescentFindsExactlyTheLeavesToScan)
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
            << "the nodes with leaves to scan below them";
        EXPECT_EQ(reader_scan_below(world.registry(), 2, 0, 1), 1u) << "only nodes of existing leaves";
    }
}

} // namespace
