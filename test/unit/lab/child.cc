// SPDX-License-Identifier: MIT OR Apache-2.0
// Tests of work in a child process: the parent receives its results and errors, and learns of exceeded limits.
#include <gtest/gtest.h>

#include <unistd.h>

#include <csignal>
#include <stdexcept>

#include "machine/child.h"
#include "machine/shared_value.h"
#include "measure/clock.h"

using namespace lab;

constexpr int64_t long_enough_ns = 20'000'000'000;

TEST(Child, SharedValueReturnsTheChildsResult)
{
    SharedValue<int> value;
    std::string error;
    EXPECT_TRUE(run_in_child([&] { *value = 42; }, long_enough_ns, error)) << error;
    EXPECT_EQ(*value, 42);
    EXPECT_TRUE(error.empty());
}

TEST(Child, ReturnsAnExceptionsText)
{
    std::string error;
    EXPECT_FALSE(run_in_child([] { throw std::runtime_error("what went wrong"); }, long_enough_ns, error));
    EXPECT_EQ(error, "what went wrong");
}

TEST(Child, SignalThatEndsTheChildIsNamed)
{
    std::string error;
    EXPECT_FALSE(run_in_child([] { raise(SIGKILL); }, long_enough_ns, error));
    EXPECT_NE(error.find("signal 9"), std::string::npos) << error;
}

TEST(Child, HangingChildIsKilled)
{
    std::string error;
    const int64_t begin = now_ns();
    EXPECT_FALSE(run_in_child(
        [] {
            for (;;)
                pause();
        },
        100'000'000, error));
    EXPECT_NE(error.find("killed"), std::string::npos) << error;
    EXPECT_LT(now_ns() - begin, long_enough_ns);
}

TEST(Child, ReturnsAProgramsOutput)
{
    std::string output, error;
    EXPECT_TRUE(run_program({"/bin/sh", "-c", "echo one; echo two"}, long_enough_ns, output, error)) << error;
    EXPECT_EQ(output, "one\ntwo\n");
    EXPECT_TRUE(error.empty());
}

TEST(Child, FailedProgramReturnsItsStatusAndOutput)
{
    std::string output, error;
    EXPECT_FALSE(run_program({"/bin/sh", "-c", "echo why; exit 3"}, long_enough_ns, output, error));
    EXPECT_EQ(output, "why\n");
    EXPECT_NE(error.find("status 3"), std::string::npos) << error;
    EXPECT_FALSE(run_program({"/nonexistent/program"}, long_enough_ns, output, error));
    EXPECT_NE(error.find("status 127"), std::string::npos) << error;
}

TEST(Child, HangingProgramIsKilled)
{
    std::string output, error;
    EXPECT_FALSE(run_program({"/bin/sleep", "1000"}, 100'000'000, output, error));
    EXPECT_NE(error.find("killed"), std::string::npos) << error;
}
