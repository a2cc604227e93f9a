/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of the stall report: its time, the readers that it names, its repetitions, and handlers. */
#include <atomic>
#include <chrono>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <fstream>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "../support/sandbox.h"
#include "../support/sync.h"
#include "child.h"

namespace
{

void name_self(const char *name)
{
    pthread_setname_np(pthread_self(), name);
}

void nothing(rcu_head *)
{
}

/* A reader does not leave, and an updater waits.  The parent ends this process after it has read the report. */
void stall_with(void (*reader)())
{
    test::Steps inside;
    static rcu_head heads[7];
    std::thread culprit([&] {
        name_self("the-culprit");
        reader();
        inside.reach(1);
        inside.wait(2);
    });
    std::thread innocent([&] {
        name_self("the-innocent");
        rcu_read_lock();
        rcu_read_unlock();
        inside.wait(2);
    });
    inside.wait(1);
    for (rcu_head &head : heads)
        call_rcu(&head, nothing);
    synchronize_rcu();
}

CHILD(preemptible_reader)
{
    stall_with([] {
        rcu_read_lock();
        rcu_read_lock();
    });
}

CHILD(quiescent_state_thread)
{
    stall_with([] { REQUIRE(rcu_register_thread_qsbr() == 0); });
}

TEST(Stall, ReportNamesAPreemptibleReader)
{
    auto begin = std::chrono::steady_clock::now();
    test::ChildResult result =
        test::run_child_until("preemptible_reader", "callbacks that wait for it: 7", {"RTRCU_STALL_TIMEOUT_MS=30"});
    auto took = std::chrono::steady_clock::now() - begin;
    EXPECT_FALSE(result.timed_out);
    EXPECT_LT(took, std::chrono::seconds(20)) << "within the time that was set, however slow the machine";
    EXPECT_TRUE(result.contains("\"the-culprit\"")) << result.output;
    EXPECT_TRUE(result.contains("preemptible")) << result.output;
    EXPECT_TRUE(result.contains("nesting 2")) << result.output;
    EXPECT_FALSE(result.contains("the-innocent")) << result.output;
}

TEST(Stall, ReportNamesAQuiescentStateThread)
{
    test::ChildResult result =
        test::run_child_until("quiescent_state_thread", "callbacks that wait for it", {"RTRCU_STALL_TIMEOUT_MS=30"});
    EXPECT_FALSE(result.timed_out);
    EXPECT_TRUE(result.contains("\"the-culprit\"")) << result.output;
    EXPECT_TRUE(result.contains("quiescent-state discipline")) << result.output;
    EXPECT_FALSE(result.contains("the-innocent")) << result.output;
}

CHILD(three_reports)
{
    static std::atomic<int> written{0};
    test::Worker reader;
    rtrcu_set_stall_handler([](const char *line) {
        fputs(line, stderr);
        written += strstr(line, "has not ended for") != nullptr;
    });
    reader.run([] { rcu_read_lock(); });
    std::thread updater([] { synchronize_rcu(); });
    REQUIRE(test::eventually([] { return written >= 3; }));
    REQUIRE(test::stats().stall_reports >= 3);
    reader.run([] { rcu_read_unlock(); });
    updater.join();
}

TEST(Stall, StallIsReportedAgainAtGrowingAges)
{
    test::ChildResult result = test::run_child("three_reports", {"RTRCU_STALL_TIMEOUT_MS=10"});
    EXPECT_TRUE(exited_well(result));
    std::vector<int> ages;
    const std::string before = "has not ended for ";
    for (size_t at = 0; (at = result.output.find(before, at)) != std::string::npos;)
        ages.push_back(atoi(result.output.c_str() + (at += before.size())));
    ASSERT_GE(ages.size(), 3u) << result.output;
    EXPECT_GE(ages[0], 10);
    EXPECT_GE(ages[1], 2 * 10);
    EXPECT_GE(ages[2], 4 * 10);
}

CHILD(no_stall)
{
    test::Worker reader;
    std::atomic<bool> done{false};
    reader.run([] { rcu_read_lock(); });
    std::thread updater([&] {
        synchronize_rcu();
        done = true;
    });
    REQUIRE(test::eventually([] { return test::stats().gp_slept > 0; }));
    auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
    while (std::chrono::steady_clock::now() < until)
        std::this_thread::yield();
    REQUIRE(!done);
    reader.run([] { rcu_read_unlock(); });
    updater.join();
    REQUIRE(test::stats().stall_reports == 0);
}

TEST(Stall, ZeroTimeoutPrintsNoReport)
{
    test::ChildResult result = test::run_child("no_stall", {"RTRCU_STALL_TIMEOUT_MS=0"});
    EXPECT_TRUE(exited_well(result));
    EXPECT_EQ(result.output, "");
}

/* After a report, the grace period ends when the reader leaves. */
CHILD(grace_period_ends_after_a_stall)
{
    test::Worker reader;
    reader.run([] { rcu_read_lock(); });
    std::thread updater([] { synchronize_rcu(); });
    REQUIRE(test::eventually([] { return test::stats().stall_reports > 0; }));
    reader.run([] { rcu_read_unlock(); });
    updater.join();
    synchronize_rcu();
    REQUIRE(test::stats().stall_reports >= 1);
}

TEST(Stall, GracePeriodEndsAfterAReport)
{
    EXPECT_TRUE(exited_well(test::run_child("grace_period_ends_after_a_stall", {"RTRCU_STALL_TIMEOUT_MS=10"})));
}

/* ---- a report that waits for a lock does not delay grace periods ---- */

test::Steps steps;

/* A section that is held until step 2.  Its holder sleeps in the kernel, so the report looks up a symbol. */
class HeldSection
{
    int ends_[2];
    std::thread thread_;

  public:
    HeldSection()
    {
        REQUIRE(pipe(ends_) == 0);
        test::Steps inside;
        thread_ = std::thread([this, &inside] {
            char byte;
            rcu_read_lock();
            inside.reach(1);
            REQUIRE(read(ends_[0], &byte, 1) == 1);
            rcu_read_unlock();
        });
        inside.wait(1);
    }
    void end()
    {
        REQUIRE(write(ends_[1], "", 1) == 1);
        thread_.join();
    }
};

/* Start the stalled grace period, whose advancing thread reports the stall.  Returns once that thread has slept. */
std::thread begin_to_wait()
{
    uint64_t slept = test::stats().gp_slept;
    std::thread updater([] { synchronize_rcu(); });
    REQUIRE(test::eventually([&] { return test::stats().gp_slept > slept; }));
    return updater;
}

/* Returns whether a thread of this process is in system call @number with first argument @first. */
bool any_thread_calls(long number, long first)
{
    DIR *tasks = opendir("/proc/self/task");
    bool found = false;
    while (struct dirent *entry = readdir(tasks)) {
        std::ifstream file(std::string("/proc/self/task/") + entry->d_name + "/syscall");
        long call = -1, argument = -1;
        found |= file >> call >> std::hex >> argument && call == number && argument == first;
    }
    closedir(tasks);
    return found;
}

CHILD(full_pipe)
{
    int ends[2], good = dup(2);
    HeldSection section;
    REQUIRE(pipe(ends) == 0);
    REQUIRE(fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0);
    while (write(ends[1], "x", 1) == 1)
        ;
    REQUIRE(fcntl(ends[1], F_SETFL, 0) == 0);
    dup2(ends[1], 2);
    std::thread updater = begin_to_wait();
    REQUIRE(test::eventually([] { return any_thread_calls(SYS_write, 2); }));
    section.end();
    updater.join();
    static rcu_head head;
    call_rcu(&head, nothing);
    rcu_barrier();
    synchronize_rcu_expedited();
    dup2(good, 2);
    REQUIRE(test::stats().stall_reports > 0);
}

TEST(Stall, FullPipeDoesNotHoldUpTheGracePeriodAndTheLostReportIsCounted)
{
    if (TEST_EMULATED)
        GTEST_SKIP() << "the emulator does not show the system calls of threads";
    EXPECT_TRUE(exited_well(test::run_child("full_pipe", {"RTRCU_STALL_TIMEOUT_MS=10"})));
}

CHILD(pipe_without_reader)
{
    int ends[2];
    HeldSection section;
    REQUIRE(pipe(ends) == 0);
    close(ends[0]);
    dup2(ends[1], 2);
    std::thread updater = begin_to_wait();
    REQUIRE(test::eventually([] { return test::a_thread_sleeps("rtrcu-report"); }));
    REQUIRE(test::stats().stall_reports > 0);
    section.end();
    updater.join();
    rcu_read_unlock(); /* prints the message about an unlock without a lock */
}

TEST(Stall, ProgramContinuesIfThePipeHasNoReader)
{
    EXPECT_TRUE(exited_well(test::run_child("pipe_without_reader", {"RTRCU_STALL_TIMEOUT_MS=10"})));
}

/* The handler waits until the plugin's constructor holds the loader's lock; then the report looks up symbols. */
CHILD(loader_lock)
{
    HeldSection section;
    static test::Steps reported;
    rtrcu_set_stall_handler([](const char *) {
        reported.reach(1);
        steps.wait(1);
    });
    std::thread updater = begin_to_wait();
    std::thread loads([] { REQUIRE(dlopen(STALL_PLUGIN, RTLD_NOW) != nullptr); });
    reported.wait(1);
    steps.wait(1);
    section.end();
    loads.join();
    updater.join();
}

TEST(Stall, PluginMayWaitForAGracePeriodWhileItIsLoaded)
{
    EXPECT_TRUE(exited_well(test::run_child("loader_lock", {"RTRCU_STALL_TIMEOUT_MS=10"})));
}

CHILD(handler_waits)
{
    HeldSection section;
    rtrcu_set_stall_handler([](const char *) {
        steps.reach(1);
        steps.wait(2);
        synchronize_rcu(); /* permitted in a stall handler: the wait delays only the handler */
        steps.reach(3);
    });
    std::thread updater = begin_to_wait();
    steps.wait(1);
    section.end();
    updater.join();
    synchronize_rcu();
    steps.reach(2);
    steps.wait(3);
}

TEST(Stall, StallHandlerMayWait)
{
    EXPECT_TRUE(exited_well(test::run_child("handler_waits", {"RTRCU_STALL_TIMEOUT_MS=10"})));
}

std::atomic<int> calls{0};

/* A handler ends its thread; the next report is printed by another thread. */
CHILD(handler_ends_its_thread)
{
    rtrcu_set_stall_handler([](const char *) {
        calls++;
        pthread_exit(nullptr);
    });
    for (int i = 1; i <= 3; i++) {
        HeldSection section;
        std::thread updater = begin_to_wait();
        REQUIRE(test::eventually([&] { return calls >= i; }));
        section.end();
        updater.join();
    }
}

TEST(Stall, StallHandlerMayEndItsThread)
{
    EXPECT_TRUE(exited_well(test::run_child("handler_ends_its_thread", {"RTRCU_STALL_TIMEOUT_MS=10"})));
}

/* The child prints its own report, whatever the state of the parent's. */
CHILD(forks_during_a_report)
{
    HeldSection section;
    rtrcu_set_stall_handler([](const char *) {
        calls++;
        steps.reach(1);
        steps.wait(2);
    });
    std::thread updater = begin_to_wait();
    steps.wait(1);
    pid_t pid = fork();
    REQUIRE(pid >= 0);
    if (pid == 0) {
        calls = 0;
        rtrcu_set_stall_handler([](const char *) { calls++; });
        HeldSection again;
        std::thread other = begin_to_wait();
        REQUIRE(test::eventually([] { return calls > 0; }));
        again.end();
        other.join();
        _exit(0);
    }
    int status = -1;
    REQUIRE(waitpid(pid, &status, 0) == pid && status == 0);
    steps.reach(2);
    section.end();
    updater.join();
}

TEST(Stall, ForksChildReportsItsOwnStalls)
{
    if (TEST_TSAN)
        GTEST_SKIP() << "the race detector does not allow threads in the child of a process with threads";
    EXPECT_TRUE(exited_well(test::run_child("forks_during_a_report", {"RTRCU_STALL_TIMEOUT_MS=10"})));
}

/* If no thread can be created, the holder of the gp lock prints the report, without a symbol. */
CHILD(report_without_a_thread)
{
    HeldSection section;
    std::thread ends([&] {
        REQUIRE(test::eventually([] { return test::stats().stall_reports > 0; }));
        section.end();
    });
    REQUIRE(test::refuse({{SYS_clone, EAGAIN}, {SYS_clone3, EAGAIN}}));
    synchronize_rcu();
    ends.join();
    _exit(0); /* avoids the leak check of a sanitizer, which needs a thread */
}

TEST(Stall, StallIsReportedWithoutLibraryThreads)
{
    if (TEST_EMULATED)
        GTEST_SKIP() << "the emulator has no seccomp()";
    test::ChildResult result = test::run_child("report_without_a_thread", {"RTRCU_STALL_TIMEOUT_MS=10"});
    EXPECT_TRUE(exited_well(result));
    EXPECT_TRUE(result.contains("has not ended for")) << result.output;
    EXPECT_TRUE(result.contains("preemptible, inside")) << result.output;
}

} // namespace

/* The plugin's constructor calls this with the loader's lock held. */
extern "C" void stall_in_constructor()
{
    steps.reach(1);
}
