/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of a node's word: every transition from every state, compared with the table of gp/node.h. */
#include <gtest/gtest.h>

#include "../../support/internals.h"
#include "../../support/transitions.h"

namespace
{

constexpr uint32_t bits[] = {UINT32_C(1) << 0, UINT32_C(1) << 31};
const gp_stamp now = gp_stamp_of(SEQ_STEP * 7 + 1), old = gp_stamp_of(SEQ_STEP * 6 + 1);

class Node : public testing::TestWithParam<gp_kind>
{
  protected:
    struct gp_node node_ = {};

    std::string state() const
    {
        gp_word word = gp_node_word(&node_, GetParam());
        bool children = gp_word_children(word), parked = word.bits & GP_NODE_PARKED;
        EXPECT_EQ(gp_word_is_pending(word), children || parked);
        return children ? parked ? "BOTH" : "HOLDOUTS" : parked ? "PARKED" : "CLEAR";
    }
    void become(uint32_t children, bool parked, gp_stamp stamp = now)
    {
        gp_node_forget(&node_, GetParam(), stamp);
        gp_node_begin(&node_, GetParam(), stamp, children, parked);
    }
};

TEST_P(Node, FirstSequenceNumberIsSeqFirst)
{
    test::World world;
    EXPECT_EQ(gp_seq(world.gp(), GetParam()), SEQ_FIRST);
    EXPECT_EQ(gp_needed(world.gp(), GetParam()), SEQ_FIRST);
}

TEST_P(Node, TransitionsFollowTheTable)
{
    test::Transitions table("src/gp/node.h", "before");
    for (uint32_t children : {UINT32_C(0), bits[0], bits[0] | bits[1]}) {
        for (bool parked : {false, true}) {
            gp_node_forget(&node_, GetParam(), old);
            std::string before = state();
            gp_node_begin(&node_, GetParam(), now, children, parked);
            table.saw(before, "gp_node_begin()", state());
            EXPECT_EQ(gp_word_stamp(gp_node_word(&node_, GetParam())).bits, now.bits);

            before = state();
            if (children) { // INV-GP5
                gp_node_park(&node_, GetParam());
                table.saw(before, "gp_node_park()", state());
            }
            become(children, parked);
            if (children) {
                bool empty = gp_node_report(&node_, GetParam(), now, bits[0]);
                table.saw(before, "gp_node_report()", state());
                EXPECT_EQ(empty, state() == "CLEAR");
            }
            become(children, parked);
            if (parked) {
                bool empty = gp_node_unpark(&node_, GetParam(), now);
                table.saw(before, "gp_node_unpark()", state());
                EXPECT_EQ(empty, state() == "CLEAR");
            }
            become(children, parked);
            gp_node_forget(&node_, GetParam(), now);
            table.saw(before, "gp_node_forget()", state());
        }
    }
    table.all_seen();
}

TEST_P(Node, LateReportChangesNothing)
{
    become(bits[0], true);
    uint64_t word = node_.word[GetParam()];
    EXPECT_FALSE(gp_node_report(&node_, GetParam(), old, bits[0]));
    EXPECT_FALSE(gp_node_unpark(&node_, GetParam(), old));
    EXPECT_EQ(node_.word[GetParam()], word);
}

TEST_P(Node, RepeatedReportReturnsTheSameResult)
{
    become(bits[0] | bits[1], false);
    EXPECT_FALSE(gp_node_report(&node_, GetParam(), now, bits[0]));
    EXPECT_FALSE(gp_node_report(&node_, GetParam(), now, bits[0]));
    EXPECT_TRUE(gp_node_report(&node_, GetParam(), now, bits[1]));
    EXPECT_TRUE(gp_node_report(&node_, GetParam(), now, bits[0])) << "any report returns true once the node is clear";
    EXPECT_TRUE(gp_node_unpark(&node_, GetParam(), now));
}

TEST_P(Node, WordOfTheOtherKindIsUnchanged)
{
    gp_kind other = GetParam() == GP_NORMAL ? GP_EXPEDITED : GP_NORMAL;
    become(bits[1], true);
    EXPECT_EQ(node_.word[other], 0u);
}

TEST_P(Node, MisuseEndsDebugBuildsWithTheInvariantsId)
{
    if (!CHECK_DEBUG)
        GTEST_SKIP() << "only debug builds check";
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    become(bits[0], false);
    EXPECT_DEATH(gp_node_begin(&node_, GetParam(), now, 0, false), "INV-GP4");
    gp_node_forget(&node_, GetParam(), now);
    EXPECT_DEATH(gp_node_park(&node_, GetParam()), "INV-GP5");
}

INSTANTIATE_TEST_SUITE_P(Kinds, Node, testing::Values(GP_NORMAL, GP_EXPEDITED));

} // namespace
