/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The stall report comes in time, names who is in the way, and comes again at growing ages.
 */
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

/* A reader that does not leave, and an updater that waits: the parent ends us when it has read enough. */
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

TEST(Stall, NamesAPreemptibleReader)
{
    auto begin = std::chrono::steady_clock::now();
    test::ChildResult result =
        test::run_child_until("preemptible_reader", "callbacks queued behind it: 7", {"RTRCU_STALL_TIMEOUT_MS=30"});
    auto took = std::chrono::steady_clock::now() - begin;
    EXPECT_FALSE(result.timed_out);
    EXPECT_LT(took, std::chrono::seconds(20)) << "within the time that was set, however slow the machine";
    EXPECT_TRUE(result.contains("\"the-culprit\"")) << result.output;
    EXPECT_TRUE(result.contains("preemptible")) << result.output;
    EXPECT_TRUE(result.contains("nesting 2")) << result.output;
    EXPECT_FALSE(result.contains("the-innocent")) << result.output;
}

TEST(Stall, NamesAQuiescentStateThread)
{
    test::ChildResult result =
        test::run_child_until("quiescent_state_thread", "callbacks queued behind it", {"RTRCU_STALL_TIMEOUT_MS=30"});
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

TEST(Stall, ComesAgainAtGrowingAges)
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

TEST(Stall, TimeoutZeroMeansNoReport)
{
    test::ChildResult result = test::run_child("no_stall", {"RTRCU_STALL_TIMEOUT_MS=0"});
    EXPECT_TRUE(exited_well(result));
    EXPECT_EQ(result.output, "");
}

/* A report is no end: when the reader leaves, all goes on. */
CHILD(stall_and_go_on)
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

TEST(Stall, AndThenItGoesOn)
{
    EXPECT_TRUE(exited_well(test::run_child("stall_and_go_on", {"RTRCU_STALL_TIMEOUT_MS=10"})));
}

/* ---- whatever a report needs, the grace period does not ---- */

test::Steps steps;

/* A section that is held until step 2, and whose holder sleeps in the kernel, so that the report looks for a symbol. */
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

/* The grace period that stalls: when its advancer has been seen asleep it is the one that reports. */
std::thread begin_to_wait()
{
    uint64_t slept = test::stats().gp_slept;
    std::thread updater([] { synchronize_rcu(); });
    REQUIRE(test::eventually([&] { return test::stats().gp_slept > slept; }));
    return updater;
}

/* Some thread of this process is in that system call, with that first argument. */
bool somebody_calls(long number, long first)
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
    REQUIRE(test::eventually([] { return somebody_calls(SYS_write, 2); }));
    section.end();
    updater.join();
    static rcu_head head;
    call_rcu(&head, nothing);
    rcu_barrier();
    synchronize_rcu_expedited();
    dup2(good, 2);
    REQUIRE(test::stats().stall_reports > 0);
}

TEST(Stall, AFullPipeHoldsUpNothingAndTheReportIsCounted)
{
    if (TEST_EMULATED)
        GTEST_SKIP() << "the emulator does not tell which system call a thread is in";
    EXPECT_TRUE(exited_well(test::run_child("full_pipe", {"RTRCU_STALL_TIMEOUT_MS=10"})));
}

CHILD(nobody_reads)
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
    rcu_read_unlock(); /* a message of another kind */
}

TEST(Stall, APipeThatNobodyReadsEndsNoProgram)
{
    EXPECT_TRUE(exited_well(test::run_child("nobody_reads", {"RTRCU_STALL_TIMEOUT_MS=10"})));
}

/* The handler waits until the plugin's constructor has the loader's lock: then the report looks for symbols. */
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

TEST(Stall, ThePluginThatWaitsWhileItIsLoadedGoesOn)
{
    EXPECT_TRUE(exited_well(test::run_child("loader_lock", {"RTRCU_STALL_TIMEOUT_MS=10"})));
}

CHILD(handler_waits)
{
    HeldSection section;
    rtrcu_set_stall_handler([](const char *) {
        steps.reach(1);
        steps.wait(2);
        synchronize_rcu(); /* a handler may even do this: it holds up nobody but itself */
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

TEST(Stall, AHandlerMayWait)
{
    EXPECT_TRUE(exited_well(test::run_child("handler_waits", {"RTRCU_STALL_TIMEOUT_MS=10"})));
}

std::atomic<int> calls{0};

/* A handler that ends its thread: the next report has another. */
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

TEST(Stall, AHandlerMayEndItsThread)
{
    EXPECT_TRUE(exited_well(test::run_child("handler_ends_its_thread", {"RTRCU_STALL_TIMEOUT_MS=10"})));
}

/* In a fork's child the report is said again, whatever the parent's was at. */
CHILD(forked_while_it_is_said)
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

TEST(Stall, AForksChildReportsOfItsOwn)
{
    if (TEST_TSAN)
        GTEST_SKIP() << "the race detector does not allow threads in the child of a process with threads";
    EXPECT_TRUE(exited_well(test::run_child("forked_while_it_is_said", {"RTRCU_STALL_TIMEOUT_MS=10"})));
}

/* No thread can be made any more: whoever turns the crank says it, without a symbol. */
CHILD(no_thread_to_be_had)
{
    HeldSection section;
    std::thread ends([&] {
        REQUIRE(test::eventually([] { return test::stats().stall_reports > 0; }));
        section.end();
    });
    REQUIRE(test::refuse({{SYS_clone, EAGAIN}, {SYS_clone3, EAGAIN}}));
    synchronize_rcu();
    ends.join();
    _exit(0); /* a sanitizer looks for leaks in a thread of its own */
}

TEST(Stall, IsSaidWithoutAThread)
{
    if (TEST_EMULATED)
        GTEST_SKIP() << "the emulator has no seccomp()";
    test::ChildResult result = test::run_child("no_thread_to_be_had", {"RTRCU_STALL_TIMEOUT_MS=10"});
    EXPECT_TRUE(exited_well(result));
    EXPECT_TRUE(result.contains("has not ended for")) << result.output;
    EXPECT_TRUE(result.contains("preemptible, inside")) << result.output;
}

} // namespace

/* The plugin's constructor calls it with the loader's lock held. */
extern "C" void stall_in_constructor()
{
    steps.reach(1);
}
