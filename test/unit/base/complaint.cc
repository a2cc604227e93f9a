/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of limited messages: a message that is repeated for ever is printed a few times, with its number. */
#include <pthread.h>

#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "../../support/capture.h"
#include "../../support/internals.h"
#include "../../support/variant.h"

namespace
{

/* Counts the lines of messages, without the stack that follows the first message of a kind. */
size_t lines(const std::string &text)
{
    size_t count = 0;
    for (size_t at = 0; (at = text.find("wrong ", at)) != std::string::npos; at++)
        count++;
    return count;
}

TEST(Complaint, FirstMessagesOfAKindAreAllPrinted)
{
    complaint kind = {};
    test::CapturedErrors errors;
    for (int i = 1; i < COMPLAINT_FIRST; i++)
        complain(&kind, "wrong %d", i);
    EXPECT_EQ(lines(errors.text()), size_t{COMPLAINT_FIRST - 1});
    EXPECT_TRUE(errors.contains("wrong 2 (printed by \"")) << errors.text();
    EXPECT_FALSE(errors.contains("number")) << errors.text();
}

TEST(Complaint, AfterTheFirstMessagesOnlyPowersOfTwoArePrinted)
{
    complaint kind = {};
    test::CapturedErrors errors;
    for (int i = 1; i <= 1000000; i++)
        complain(&kind, "wrong %d", i);
    EXPECT_EQ(kind.count, 1000000u);
    EXPECT_EQ(lines(errors.text()), size_t{COMPLAINT_FIRST + 16});
    EXPECT_TRUE(errors.contains("; number 8 of its kind;")) << errors.text();
    EXPECT_TRUE(errors.contains("; number 524288 of its kind;")) << errors.text();
    EXPECT_FALSE(errors.contains("wrong 9 ")) << errors.text();
}

TEST(Complaint, EachKindIsCountedSeparately)
{
    complaint one = {}, other = {};
    test::CapturedErrors errors;
    for (int i = 0; i < 100; i++)
        complain(&one, "one");
    complain(&other, "other");
    EXPECT_TRUE(errors.contains("\nother (printed by")) << errors.text();
}

TEST(Complaint, EachMessageNamesItsThreadAndTheFirstHasTheStack)
{
    if (!TEST_LISTS_CALLERS)
        GTEST_SKIP() << "messages have no stack on this processor";
    complaint kind = {};
    test::CapturedErrors errors;
    std::thread([&kind] {
        pthread_setname_np(pthread_self(), "misuser");
        complain(&kind, "wrong");
        complain(&kind, "wrong");
    }).join();
    const std::string text = errors.text();
    EXPECT_NE(text.find("wrong (printed by \"misuser\")\n"), std::string::npos) << text;
    const size_t first = text.find("rtrcu:   from "), second = text.rfind("wrong ");
    EXPECT_NE(first, std::string::npos) << text;
    EXPECT_LT(first, second) << "the stack follows the first message";
    EXPECT_EQ(text.find("rtrcu:   from ", second), std::string::npos) << text;
}

/* ---- messages that another thread prints ---- */

TEST(ComplaintBox, BoxHoldsAMessageUntilAnotherThreadPrintsIt)
{
    complaint kind = {};
    complaint_box box = {};
    test::CapturedErrors errors;
    EXPECT_FALSE(complaint_box_write(&box));
    complain_by(&kind, &box, "wrong %d", 7);
    EXPECT_EQ(errors.text(), "");
    EXPECT_TRUE(complaint_box_is_full(&box));
    char name[PLAT_THREAD_NAME];
    plat_own_name(name);
    std::thread([&box] {
        pthread_setname_np(pthread_self(), "writer");
        EXPECT_TRUE(complaint_box_write(&box));
    }).join();
    EXPECT_EQ(errors.text(), "wrong 7 (printed by \"" + std::string(name) + "\")\n")
        << "the message names the thread that produced it";
    EXPECT_FALSE(complaint_box_is_full(&box));
    EXPECT_FALSE(complaint_box_write(&box));
}

TEST(ComplaintBox, FullBoxCountsMessagesButKeepsOnlyTheFirst)
{
    complaint kind = {};
    complaint_box box = {};
    test::CapturedErrors errors;
    for (int i = 1; i <= 3; i++)
        complain_by(&kind, &box, "wrong %d", i);
    EXPECT_EQ(kind.count, 3u);
    EXPECT_TRUE(complaint_box_write(&box));
    EXPECT_FALSE(complaint_box_write(&box));
    EXPECT_EQ(lines(errors.text()), 1u);
    EXPECT_TRUE(errors.contains("wrong 1 ")) << errors.text();
    complain_by(&kind, &box, "wrong %d", 4);
    complaint_box_forget(&box);
    EXPECT_FALSE(complaint_box_write(&box)) << "complaint_box_forget() drops the message, as in a fork's child";
}

TEST(ComplaintBox, MessageWithoutABoxIsPrintedByItsThread)
{
    complaint kind = {};
    test::CapturedErrors errors;
    complain_by(&kind, nullptr, "wrong");
    EXPECT_TRUE(errors.contains("wrong (printed by")) << errors.text();
}

} // namespace
