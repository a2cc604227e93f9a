/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of the ready descriptor: event loops, closed and reused numbers, forks, refusals, and owners that never
 * call. */
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>

#include "../support/sync.h"
#include "child.h"
#include "configured.h"

namespace
{

class Ready : public test::Configured
{
  protected:
    void inline_policy()
    {
        configure([](struct rtrcu_config *config) { config->policy = RTRCU_POLICY_INLINE; });
    }
};

std::atomic<int> runs;

void count(rcu_head *head)
{
    runs++;
    delete head;
}

void queue(int times)
{
    runs = 0;
    for (int i = 0; i < times; i++)
        call_rcu(new rcu_head{}, count);
}

constexpr int patience_ms = 60000;

bool becomes_readable(int number)
{
    pollfd wanted = {number, POLLIN, 0};
    return poll(&wanted, 1, patience_ms) == 1;
}

bool is_readable(int number)
{
    pollfd wanted = {number, POLLIN, 0};
    return poll(&wanted, 1, 0) == 1;
}

/* Run callbacks each time the descriptor is readable, until @times have run.  A daemon may run some of them. */
bool loop_until(int number, int times)
{
    while (runs < times) {
        if (!becomes_readable(number))
            return runs == times;
        rcu_process_callbacks(0);
    }
    return true;
}

int open_events()
{
    int events = 0;
    for (const auto &file : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code gone;
        events += std::filesystem::read_symlink(file, gone).string().find("eventfd") != std::string::npos;
    }
    return events;
}

/* ---- loops ---- */

TEST_F(Ready, LoopThatSleepsOfflineIsWokenForItsCallbacks)
{
    inline_policy();
    test::Worker loop;
    loop.run([] {
        ASSERT_EQ(rtrcu_register_thread(RTRCU_QSBR | RTRCU_DEADLINE), 0);
        int number = rtrcu_ready_fd();
        ASSERT_GE(number, 0);
        for (int round = 0; round < 20; round++) {
            queue(1);
            rcu_thread_offline();
            EXPECT_TRUE(becomes_readable(number));
            rcu_thread_online();
            EXPECT_TRUE(loop_until(number, 1));
        }
        close(number);
        rtrcu_unregister_thread();
    });
}

TEST_F(Ready, DescriptorIsNotReadableAfterAllCallbacksHaveRun)
{
    inline_policy();
    test::Worker loop;
    loop.run([] {
        int number = rtrcu_ready_fd();
        ASSERT_GE(number, 0);
        EXPECT_FALSE(is_readable(number));
        queue(5);
        EXPECT_TRUE(loop_until(number, 5));
        EXPECT_TRUE(test::eventually([&] {
            rcu_process_callbacks(0);
            return !is_readable(number);
        }));
        close(number);
    });
}

TEST_F(Ready, EdgeTriggeredLoopIsWokenForCallbacksBeyondTheBudget)
{
    configure([](struct rtrcu_config *config) {
        config->policy = RTRCU_POLICY_INLINE;
        config->blimit = 1;
    });
    test::Worker loop;
    loop.run([] {
        int number = rtrcu_ready_fd(), epoll = epoll_create1(EPOLL_CLOEXEC);
        epoll_event interest = {.events = EPOLLIN | EPOLLET, .data = {.fd = number}};
        ASSERT_EQ(epoll_ctl(epoll, EPOLL_CTL_ADD, number, &interest), 0);
        queue(50);
        for (epoll_event event; runs < 50;) {
            ASSERT_EQ(epoll_wait(epoll, &event, 1, patience_ms), 1);
            rcu_process_callbacks(0);
        }
        close(epoll);
        close(number);
    });
}

TEST_F(Ready, DescriptorIsReadableForCallbacksReadyBeforeItsCreation)
{
    configure([](struct rtrcu_config *config) {
        config->policy = RTRCU_POLICY_INLINE;
        config->blimit = 1;
    });
    test::Worker loop;
    loop.run([] {
        queue(100);
        ASSERT_TRUE(test::eventually([] { return rcu_process_callbacks(0) == 1 || runs == 100; }));
        int number = rtrcu_ready_fd();
        EXPECT_TRUE(runs == 100 || becomes_readable(number));
        EXPECT_TRUE(loop_until(number, 100));
        close(number);
    });
}

TEST_F(Ready, RcuFreeMakesTheDescriptorReadable)
{
    inline_policy();
    test::Worker loop;
    loop.run([] {
        int number = rtrcu_ready_fd();
        rcu_free(malloc(16));
        EXPECT_TRUE(becomes_readable(number));
        close(number);
    });
}

/* ---- numbers ---- */

TEST_F(Ready, DescriptorIsNonblockingAndClosedOnExec)
{
    inline_policy();
    test::Worker loop;
    loop.run([] {
        int first = rtrcu_ready_fd(), second = rtrcu_ready_fd();
        ASSERT_GE(first, 0);
        ASSERT_GE(second, 0);
        EXPECT_NE(first, second);
        for (int number : {first, second}) {
            EXPECT_TRUE(fcntl(number, F_GETFD) & FD_CLOEXEC);
            EXPECT_TRUE(fcntl(number, F_GETFL) & O_NONBLOCK);
            close(number);
        }
    });
}

/* The program closes its number, and the next file that it opens gets it. */
TEST_F(Ready, FileWithAClosedDescriptorsNumberIsNeverWritten)
{
    inline_policy();
    test::Worker loop;
    loop.run([] {
        int closed = rtrcu_ready_fd();
        ASSERT_GE(closed, 0);
        close(closed);
        int reused = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        ASSERT_EQ(reused, closed);
        queue(3);
        EXPECT_TRUE(test::eventually([] {
            rcu_process_callbacks(0);
            return runs == 3;
        }));
        EXPECT_EQ(lseek(reused, 0, SEEK_END), 0);
        close(reused);

        int another = rtrcu_ready_fd();
        queue(1);
        EXPECT_TRUE(becomes_readable(another)) << "the thread can still get a descriptor";
        EXPECT_TRUE(loop_until(another, 1));
        close(another);
    });
}

TEST_F(Ready, ThreadExitClosesTheLibrarysDuplicateDescriptor)
{
    inline_policy();
    int before = open_events();
    for (int round = 0; round < 50; round++) {
        test::Worker loop;
        loop.run([] {
            int number = rtrcu_ready_fd();
            EXPECT_GE(number, 0);
            queue(1);
            close(number);
        });
        loop.finish();
    }
    EXPECT_EQ(open_events(), before);
}

TEST_F(Ready, UnregisteringClosesTheLibrarysDuplicateDescriptor)
{
    inline_policy();
    test::Worker loop;
    loop.run([] {
        int number = rtrcu_ready_fd(), events = open_events();
        EXPECT_EQ(rtrcu_unregister_thread(), 0);
        EXPECT_EQ(open_events(), events - 1);
        close(number);
    });
}

/* ---- owners that never call rcu_process_callbacks() ---- */

CHILD(owner_that_never_calls_in)
{
    test::Worker owner;
    owner.run([] { queue(3); });
    REQUIRE(test::eventually([] { return runs == 3; }));
    owner.run([] { queue(3); });
    REQUIRE(test::eventually([] { return runs == 3; }));
}

TEST_F(Ready, OwnerThatNeverProcessesCallbacksIsReportedOnce)
{
    test::ChildResult result = test::run_child("owner_that_never_calls_in", {"RTRCU_POLICY=inline"});
    EXPECT_TRUE(exited_well(result));
    size_t first = result.output.find("it has never called rcu_process_callbacks()");
    EXPECT_NE(first, std::string::npos) << result.output;
    EXPECT_EQ(result.output.find("it has never called", first + 1), std::string::npos) << result.output;
}

CHILD(owner_that_calls_in_once)
{
    test::Worker owner;
    owner.run([] {
        REQUIRE(rtrcu_register_thread(0) == 0);
        rcu_process_callbacks(0);
        queue(3);
    });
    REQUIRE(test::eventually([] { return runs == 3; }));
}

TEST_F(Ready, OwnerThatProcessesItsCallbacksLateIsNotReported)
{
    test::ChildResult result = test::run_child("owner_that_calls_in_once", {"RTRCU_POLICY=inline"});
    EXPECT_TRUE(exited_well(result));
    EXPECT_FALSE(result.contains("never called")) << result.output;
}

/* ---- refusals ---- */

TEST_F(Ready, DescriptorIsRefusedIfThePolicyLetsOwnersRunNoCallback)
{
    configure([](struct rtrcu_config *config) { config->policy = RTRCU_POLICY_DAEMON; });
    EXPECT_EQ(rtrcu_ready_fd(), -ENOTSUP);
}

CHILD(ready_with_a_driver_without_a_thread)
{
    REQUIRE(rtrcu_ready_fd() == -ENOTSUP);
}

TEST_F(Ready, DescriptorIsRefusedIfTheDriverHasNoThread)
{
    EXPECT_TRUE(exited_well(
        test::run_child("ready_with_a_driver_without_a_thread", {"RTRCU_DRIVER=sched", "RTRCU_POLICY=inline"})));
}

CHILD(ready_at_the_limit_of_descriptors)
{
    REQUIRE(rtrcu_register_thread(0) == 0);
    rlimit before = {}, none = {};
    getrlimit(RLIMIT_NOFILE, &before);
    none.rlim_max = before.rlim_max;

    setrlimit(RLIMIT_NOFILE, &none);
    REQUIRE(rtrcu_ready_fd() == -EMFILE);
    int first_free = dup(0);
    REQUIRE(first_free == -1);

    none.rlim_cur = 64;
    setrlimit(RLIMIT_NOFILE, &none);
    int number = rtrcu_ready_fd();
    REQUIRE(number >= 0 && number < 64);

    queue(1);
    REQUIRE(becomes_readable(number));
    REQUIRE(loop_until(number, 1));
}

TEST_F(Ready, RefusedDescriptorIsReportedAndRetried)
{
    EXPECT_TRUE(exited_well(test::run_child("ready_at_the_limit_of_descriptors", {"RTRCU_POLICY=inline"})));
}

/* ---- fork ---- */

/* Use the inherited descriptor and a new one in the child.  Returns 0, or the number of the failed step. */
int use_in_child(int inherited)
{
    if (fcntl(inherited, F_GETFD) < 0)
        return 1;
    int own = rtrcu_ready_fd();
    if (own < 0)
        return 2;
    queue(2);
    if (!becomes_readable(own) || !loop_until(own, 2))
        return 3;
    return is_readable(inherited) ? 4 : 0;
}

CHILD(ready_beside_a_fork)
{
    int number = rtrcu_ready_fd(), events = open_events();
    REQUIRE(number >= 0);

    pid_t child = fork();
    if (child == 0)
        _exit(open_events() == events - 1 ? use_in_child(number) : 5);

    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0);

    queue(1);
    REQUIRE(becomes_readable(number));
    REQUIRE(loop_until(number, 1));
}

TEST_F(Ready, ForksChildGetsItsOwnDescriptor)
{
    EXPECT_TRUE(exited_well(test::run_child("ready_beside_a_fork", {"RTRCU_POLICY=inline"})));
}

} // namespace
