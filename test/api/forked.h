/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A body that a fork's child runs, and where one can.
 */
#ifndef RTRCU_TEST_API_FORKED_H
#define RTRCU_TEST_API_FORKED_H

#include <csignal>
#include <cstdio>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"

/* Of tests that fork. */
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

/* Fork, run @body in the child, and expect that it ends well, its own children too; a child that hangs ends by its
 * alarm. */
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
    REQUIRE(well || testing::UnitTest::GetInstance()->current_test_info()); /* a child's body has no test to fail */
}

#endif
