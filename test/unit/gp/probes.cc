/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Test of the trace points of grace periods. */
#include <gtest/gtest.h>

#include "../../support/probes.h"

TEST(GpProbes, TracepointsOfGracePeriodsExist)
{
    EXPECT_EQ(test::missing_probes({"gp_begin", "gp_scan", "gp_ask", "gp_end", "gp_alone"}),
              std::vector<std::string>{});
}
