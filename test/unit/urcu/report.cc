/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of the stall report of a liburcu flavour. */
#include <string>

#include "world.h"

namespace
{

class Report : public AdoptWorld
{
  protected:
    /* The report of a grace period with @readers holdouts. */
    std::string said_of(uint32_t readers)
    {
        rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_MEMB);
        for (uint32_t i = 0; i < readers; i++) {
            adopt_record &record = adopted->first.record[2 * i];
            record.thread_id = 100 + i;
            record.seen = 1;
            record.is_holdout = true;
        }
        adopted->began_ns = plat_clock_now() - INT64_C(1000000000);
        adopted->report_ns = 1;
        testing::internal::CaptureStderr();
        urcu_report_if_old(adopted, true);
        std::string said = testing::internal::GetCapturedStderr();
        EXPECT_EQ(adopted->stalls, 1u);
        return said;
    }
    static int count(const std::string &text, const std::string &part)
    {
        int found = 0;
        for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size())
            found++;
        return found;
    }
};

TEST_F(Report, ReportNamesOneReader)
{
    std::string said = said_of(1);
    EXPECT_NE(said.find(" for 1 reader\n"), std::string::npos) << said;
    EXPECT_EQ(count(said, "is inside"), 1) << said;
}

/* All holdouts are counted, and the first eight are named. */
TEST_F(Report, ReportCountsAllHoldoutsAndNamesTheFirstEight)
{
    constexpr int named = 8;
    std::string said = said_of(12);
    EXPECT_NE(said.find(" for 12 readers\n"), std::string::npos) << said;
    EXPECT_EQ(count(said, "is inside, nesting 1;"), named) << said;
    for (int i = 0; i < named; i++)
        EXPECT_EQ(count(said, "thread " + std::to_string(100 + i) + " "), 1) << said;
}

} // namespace
