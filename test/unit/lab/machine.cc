// SPDX-License-Identifier: MIT OR Apache-2.0
// Parsers of texts in which the system describes the machine.
#include "machine/machine.h"

#include <gtest/gtest.h>

TEST(Machine, PreemptRtKernelIsRecognised)
{
    EXPECT_TRUE(lab::is_preempt_rt("1", "#1 SMP PREEMPT_DYNAMIC"));
    EXPECT_TRUE(lab::is_preempt_rt("", "#1 SMP PREEMPT_RT Debian 6.12.9-1"));
    EXPECT_FALSE(lab::is_preempt_rt("0", "#1 SMP PREEMPT_DYNAMIC"));
    EXPECT_FALSE(lab::is_preempt_rt("", "#1 SMP PREEMPT_DYNAMIC @0"));
}
