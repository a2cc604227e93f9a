/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What is repeated for ever is said a few times, and how often.
 */
#include <string>

#include <gtest/gtest.h>

#include "../../support/capture.h"
#include "../../support/internals.h"

namespace
{

size_t lines(const std::string &text)
{
    size_t count = 0;
    for (char letter : text)
        count += letter == '\n';
    return count;
}

TEST(Complaint, TheFirstAreSaidAsTheyAre)
{
    complaint kind = {};
    test::CapturedErrors errors;
    for (int i = 1; i < COMPLAINT_FIRST; i++)
        complain(&kind, "wrong %d", i);
    EXPECT_EQ(lines(errors.text()), size_t{COMPLAINT_FIRST - 1});
    EXPECT_TRUE(errors.contains("wrong 1\nwrong 2\n")) << errors.text();
    EXPECT_FALSE(errors.contains("number")) << errors.text();
}

TEST(Complaint, TheRestIsCountedAndSaidNowAndThen)
{
    complaint kind = {};
    test::CapturedErrors errors;
    for (int i = 1; i <= 1000000; i++)
        complain(&kind, "wrong %d", i);
    EXPECT_EQ(kind.count, 1000000u);
    EXPECT_EQ(lines(errors.text()), size_t{COMPLAINT_FIRST + 16});
    EXPECT_TRUE(errors.contains("wrong 8 (number 8 of its kind;")) << errors.text();
    EXPECT_TRUE(errors.contains("wrong 524288 (number 524288 of its kind;")) << errors.text();
    EXPECT_FALSE(errors.contains("wrong 9 ")) << errors.text();
}

TEST(Complaint, EachKindCountsForItself)
{
    complaint one = {}, other = {};
    test::CapturedErrors errors;
    for (int i = 0; i < 100; i++)
        complain(&one, "one");
    complain(&other, "other");
    EXPECT_TRUE(errors.contains("\nother\n")) << errors.text();
}

} // namespace
