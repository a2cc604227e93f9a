/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Fixture and helper of tests that fork: a body that a fork's child runs. */
#ifndef RTRCU_TEST_API_FORKED_H
#define RTRCU_TEST_API_FORKED_H

#include <csignal>
#include <cstdio>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"

/* The fixture of tests that fork. */
class ForkedTest : public testing::Test
{
  protected:
    void SetUp() override
    {
        if (TEST_EMULATED)
            GTEST_SKIP() << "qemu-user aborts in children of processes with threads (cpu_exec(), version 7.2)";
        if (TEST_TSAN)
            GTEST_SKIP() << "the race detector does not allow threads in the child of a process with threads";
    }
};

/* Fork and run @body in the child.  Expect that the child and its own children exit well; an alarm ends a child that
 * hangs. */
template <typename Body> void in_forked_child(Body body)
{
    fflush(nullptr);
    pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
        alarm(30);
        body();
        _exit(testing::Test::HasFailure());
    }
    int status = -1;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    bool well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    EXPECT_TRUE(well) << (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? "the child hung" : "status ") << status;
    /* a child's body runs outside any test that could fail */
    REQUIRE(well || testing::UnitTest::GetInstance()->current_test_info());
}

#endif
