/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of the library's threads: refusals, ends in callbacks, CPUs, scheduling and stacks. */
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <functional>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <set>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

#include "../support/sandbox.h"
#include "../support/sync.h"
#include "child.h"
#include "no_threads.h"
#include "owned.h"

namespace
{

using owned::queue, owned::runs;

using test::NoThreads;

/* Call @look for every thread of the library. */
void each_own_thread(const std::function<void(int, const std::string &)> &look)
{
    DIR *tasks = opendir("/proc/self/task");
    REQUIRE(tasks);
    while (struct dirent *entry = readdir(tasks)) {
        char path[300], name[32] = "";
        snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
        FILE *file = entry->d_name[0] == '.' ? nullptr : fopen(path, "re");
        if (!file)
            continue;
        if (fscanf(file, "%31s", name) == 1 &&
            (std::string(name).rfind("krcud/", 0) == 0 || std::string(name).rfind("rtrcu-", 0) == 0))
            look(atoi(entry->d_name), name);
        fclose(file);
    }
    closedir(tasks);
}

bool runs_a(const std::string &prefix)
{
    bool found = false;
    each_own_thread([&](int, const std::string &name) { found |= name.rfind(prefix, 0) == 0; });
    return found;
}

/* Wait for a tick: the library retries a refused creation once per tick, when it is called. */
void pass_a_tick()
{
    auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(5);
    REQUIRE(test::eventually([&] { return std::chrono::steady_clock::now() > until; }));
}

CHILD(driver_refused)
{
    {
        NoThreads none;
        queue(3);
        REQUIRE(!runs_a("rtrcu-"));
    }
    pass_a_tick();
    queue(1);
    REQUIRE(test::eventually([] { return runs == 4; }));
}

CHILD(registration_refused)
{
    {
        NoThreads none;
        REQUIRE(rtrcu_register_thread(RTRCU_DEADLINE) == -EAGAIN);
        REQUIRE(rtrcu_register_thread(0) == -EAGAIN);
        REQUIRE(test::stats().threads_deadline == 0);
    }
    REQUIRE(rtrcu_register_thread(RTRCU_DEADLINE) == 0);
    queue(3);
    REQUIRE(test::eventually([] { return runs == 3; }));
}

/* If the kernel refuses the driver and the worker, each poll takes a step of the grace period itself. */
CHILD(cookie_refused)
{
    test::Worker reader;
    reader.run([] { rcu_read_lock(); });
    NoThreads none;
    unsigned long normal = start_poll_synchronize_rcu(), expedited = start_poll_synchronize_rcu_expedited();
    for (int i = 0; i < 3; i++) {
        REQUIRE(!poll_state_synchronize_rcu(normal));
        REQUIRE(!poll_state_synchronize_rcu_expedited(expedited));
    }
    reader.run([] { rcu_read_unlock(); });
    REQUIRE(test::eventually([&] { return poll_state_synchronize_rcu(normal); }));
    REQUIRE(test::eventually([&] { return poll_state_synchronize_rcu_expedited(expedited); }));
    REQUIRE(!runs_a("rtrcu-"));
}

/* A poll that finds the thread missing creates it as soon as the kernel allows that. */
CHILD(cookie_refused_for_a_while)
{
    unsigned long cookie = 0;
    rcu_read_lock();
    {
        NoThreads none;
        cookie = start_poll_synchronize_rcu();
        REQUIRE(!poll_state_synchronize_rcu(cookie));
        REQUIRE(!runs_a("rtrcu-"));
    }
    pass_a_tick();
    REQUIRE(!poll_state_synchronize_rcu(cookie));
    REQUIRE(test::eventually([] { return runs_a("rtrcu-gp"); }));
    rcu_read_unlock();
    REQUIRE(test::eventually([&] { return poll_state_synchronize_rcu(cookie); }));
}

std::atomic<bool> waited{false};

void wait_in_callback(rcu_head *)
{
    synchronize_rcu();
    waited = true;
}

/* The driver has its creator's nice value.  It runs a callback for a daemon that cannot be created; the callback waits
 * for a grace period, which the driver must then advance itself. */
CHILD(nice_driver_waits)
{
    static rcu_head head;
    REQUIRE(setpriority(PRIO_PROCESS, 0, std::min(getpriority(PRIO_PROCESS, 0) + 5, 19)) == 0);
    REQUIRE(rcu_register_thread() == 0);
    NoThreads none;
    call_rcu(&head, wait_in_callback);
    REQUIRE(test::eventually([] { return waited.load(); }));
}

CHILD(nice_driver_without_real_time)
{
    test::become_child_without_real_time("nice_driver_waits");
}

CHILD(barrier_without_threads)
{
    NoThreads none;
    queue(3);
    rcu_barrier();
    REQUIRE(runs == 3);
    REQUIRE(!runs_a("rtrcu-") && !runs_a("krcud/"));
}

/* The driver stands in for a daemon that cannot be created; later the daemon exists. */
CHILD(daemon_refused)
{
    REQUIRE(rcu_register_thread() == 0);
    {
        NoThreads none;
        queue(3);
        REQUIRE(test::eventually([] { return runs == 3; }));
        REQUIRE(!runs_a("krcud/"));
    }
    REQUIRE(test::eventually([] {
        queue(1);
        return runs_a("krcud/");
    }));
    rcu_barrier();
}

/* rcu_process_callbacks() takes a step that no other thread takes, and does not wait for a reader. */
CHILD(expedited_refused)
{
    test::Worker reader;
    reader.run([] { rcu_read_lock(); });
    NoThreads none;
    unsigned long cookie = start_poll_synchronize_rcu_expedited();
    rcu_process_callbacks(0);
    REQUIRE(!poll_state_synchronize_rcu_expedited(cookie));
    reader.run([] { rcu_read_unlock(); });
    REQUIRE(test::eventually([&] {
        rcu_process_callbacks(0);
        return poll_state_synchronize_rcu_expedited(cookie);
    }));
    REQUIRE(!runs_a("rtrcu-"));
}

/* ---- a callback ends the thread that runs it ---- */

void end_the_thread(rcu_head *)
{
    pthread_exit(nullptr);
}

/* A callback ends the daemon that runs it.  Daemons are created again, and run later callbacks of this thread and of
 * other threads. */
CHILD(callback_ends_its_daemon)
{
    static rcu_head heads[20];
    std::atomic<bool> stop{false};
    std::thread other([&] {
        while (!stop) {
            queue(1);
            std::this_thread::yield();
        }
    });
    for (rcu_head &head : heads) {
        queue(5);
        call_rcu(&head, end_the_thread);
        queue(5);
    }
    rcu_barrier();
    stop = true;
    other.join();
    rcu_barrier();
    REQUIRE(test::stats().callbacks_backlog == 0);
    static rcu_head last_words[100];
    for (rcu_head &head : last_words)
        std::thread([&] { call_rcu(&head, end_the_thread); }).join();
    rcu_barrier();
    queue(1);
    rcu_barrier();
    REQUIRE(test::stats().callbacks_backlog == 0);
}

/* The driver stands in for a daemon, and a callback ends it. */
CHILD(callback_ends_the_driver)
{
    static rcu_head head;
    std::thread([] { pthread_exit(nullptr); }).join(); /* loads the library that pthread_exit() needs */
    REQUIRE(rcu_register_thread() == 0);
    {
        NoThreads none;
        queue(1);
        call_rcu(&head, end_the_thread);
        queue(1);
        REQUIRE(test::eventually([] { return !runs_a("rtrcu-gp"); }));
        REQUIRE(!runs_a("krcud/"));
    }
    pass_a_tick();
    queue(1);
    REQUIRE(test::eventually([] { return runs == 3; }));
    rcu_barrier();
}

std::atomic<int> callbacks_thread{0};

/* If no daemon can be created, the policy and the priority of a program's thread stay unchanged. */
CHILD(owner_keeps_its_policy)
{
    struct rtrcu_config config;
    rtrcu_config_get(&config);
    NoThreads none;
    REQUIRE(config.policy == RTRCU_POLICY_KRCUD); /* from the environment; its daemons are refused from here on */
    struct sched_param parameter = {};
    REQUIRE(sched_setscheduler(0, SCHED_BATCH, &parameter) == 0);
    static rcu_head head;
    queue(10);
    callbacks_thread = 0;
    call_rcu(&head, [](rcu_head *) { callbacks_thread = gettid(); });
    synchronize_rcu();
    for (int i = 0; i < 100; i++)
        rcu_process_callbacks(0);
    rcu_barrier();
    REQUIRE(callbacks_thread != 0);
    REQUIRE(sched_getscheduler(0) == SCHED_BATCH);
}

void expect_at_home(const cpu_set_t &process)
{
    int seen = 0;
    each_own_thread([&](int id, const std::string &) {
        cpu_set_t cpus;
        CPU_ZERO(&cpus);
        REQUIRE(sched_getaffinity(id, sizeof(cpus), &cpus) == 0);
        REQUIRE(CPU_EQUAL(&cpus, &process));
        seen++;
    });
    REQUIRE(seen >= 2);
}

/* A loop restricted to one CPU creates the library's threads, and never leaves that CPU. */
CHILD(pinned_loop_registers_first)
{
    cpu_set_t process, one;
    REQUIRE(sched_getaffinity(0, sizeof(process), &process) == 0);
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    bool alone = CPU_COUNT(&process) == 1;
    std::atomic<bool> refused{false};
    std::thread([&] {
        struct sched_param parameter = {.sched_priority = 5};
        REQUIRE(sched_setaffinity(0, sizeof(one), &one) == 0);
        refused = sched_setscheduler(0, SCHED_FIFO, &parameter) != 0;
        REQUIRE(rtrcu_register_thread(RTRCU_QSBR | RTRCU_DEADLINE) == 0);
        time_t until = time(nullptr) + 20;
        long last = 100;
        queue(100);
        while (runs < last && time(nullptr) < until && !alone)
            rcu_quiescent_state();
        REQUIRE(alone || runs >= last);
        rcu_thread_offline();
    }).join();
    rcu_barrier();
    each_own_thread([&](int id, const std::string &name) {
        struct sched_param parameter = {};
        bool is_below = name == "rtrcu-gp" || name.rfind("krcud/", 0) == 0;
        REQUIRE(sched_getparam(id, &parameter) == 0);
        REQUIRE(!is_below || parameter.sched_priority <= 1);
    });
    expect_at_home(process);
    if (refused)
        printf("no real-time priority is to be had here\n");
}

CHILD(bound_process)
{
    cpu_set_t process;
    REQUIRE(sched_getaffinity(0, sizeof(process), &process) == 0);
    REQUIRE(CPU_COUNT(&process) == 1);
    for (int i = 0; i < 40; i++) /* makes each thread take a record, so that many slots have been used */
        std::thread([] { queue(1); }).join();
    std::thread threads[8];
    for (auto &thread : threads)
        thread = std::thread([] { queue(1); });
    for (auto &thread : threads)
        thread.join();
    rcu_barrier();
    expect_at_home(process);
    int daemons = 0;
    each_own_thread([&](int, const std::string &name) { daemons += name.rfind("krcud/", 0) == 0; });
    REQUIRE(daemons == 1);
}

CHILD(process_bound_to_one_cpu)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    REQUIRE(sched_setaffinity(0, sizeof(one), &one) == 0);
    test::become_child("bound_process");
}

/* RTRCU_CPUS names the last CPU of the process, on which the program itself need not run. */
CHILD(threads_on_a_list)
{
    cpu_set_t wanted;
    CPU_ZERO(&wanted);
    CPU_SET(atoi(getenv("RTRCU_CPUS")), &wanted);
    for (int i = 0; i < 40; i++)
        std::thread([] { queue(1); }).join();
    rcu_barrier();
    expect_at_home(wanted);
}

/* A changed list applies to threads that are created afterwards. */
CHILD(threads_on_another_list)
{
    struct rtrcu_config config;
    rtrcu_config_get(&config);
    cpu_set_t wanted;
    CPU_ZERO(&wanted);
    CPU_SET(0, &wanted);
    REQUIRE(rtrcu_config_set(&config, "cpus", "0") == 0);
    REQUIRE(rtrcu_configure(&config) == 0);
    queue(1);
    rcu_barrier();
    expect_at_home(wanted);
    memset(config.cpus, 'x', sizeof(config.cpus));
    REQUIRE(rtrcu_configure(&config) == -EINVAL);
}

/* A daemon that an administrator moves to another CPU stays there. */
CHILD(daemons_moved_to_another_cpu)
{
    queue(1);
    rcu_barrier();
    cpu_set_t one;
    CPU_ZERO(&one);
    cpu_set_t process;
    REQUIRE(sched_getaffinity(0, sizeof(process), &process) == 0);
    for (int cpu = CPU_SETSIZE - 1; CPU_COUNT(&one) == 0; cpu--) {
        if (CPU_ISSET(cpu, &process))
            CPU_SET(cpu, &one);
    }
    std::set<int> moved;
    each_own_thread([&](int id, const std::string &) {
        REQUIRE(sched_setaffinity(id, sizeof(one), &one) == 0);
        moved.insert(id);
    });
    REQUIRE(moved.size() >= 2);
    for (int i = 0; i < 20; i++) {
        queue(10);
        rcu_barrier();
    }
    for (int id : moved) {
        cpu_set_t now;
        REQUIRE(sched_getaffinity(id, sizeof(now), &now) == 0 && CPU_EQUAL(&now, &one));
    }
}

/* ---- a thread that reads for the first time in its last destructors ---- */

pthread_key_t last_words;
int rounds;

void read_in_the_last_round(void *value)
{
    if (++rounds < PTHREAD_DESTRUCTOR_ITERATIONS) {
        pthread_setspecific(last_words, value);
        return;
    }
    rcu_read_lock();
    rcu_read_unlock();
}

CHILD(first_section_in_the_last_round)
{
    REQUIRE(pthread_key_create(&last_words, read_in_the_last_round) == 0);
    REQUIRE(rcu_register_thread() == 0);
    uint64_t before = test::stats().threads_registered;
    for (int i = 0; i < 3; i++) {
        rounds = 0;
        std::thread([] { pthread_setspecific(last_words, &rounds); }).join();
        REQUIRE(rounds == PTHREAD_DESTRUCTOR_ITERATIONS);
        REQUIRE(test::stats().threads_registered == before);
        synchronize_rcu();
    }
}

TEST(Threads, ThreadThatFirstReadsInItsLastDestructorIsUnregistered)
{
    if (TEST_TSAN)
        GTEST_SKIP() << "the race detector forgets a thread before its last destructors";
    EXPECT_TRUE(exited_well(test::run_child("first_section_in_the_last_round")));
}

/* A sandbox that kills the process for opening a file. */
CHILD(sandbox_without_open)
{
    REQUIRE(rcu_register_thread() == 0);
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};
    REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    REQUIRE(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0);
    queue(10);
    rcu_barrier();
    synchronize_rcu();
    REQUIRE(runs == 10);
}

/* Whichever error a sandbox returns for an attribute of a new thread, the thread is created without the attribute. */
CHILD(sandbox_without_scheduling)
{
    REQUIRE(test::refuse({{SYS_sched_setaffinity, ENOSYS}, {SYS_sched_setscheduler, EACCES}}));
    REQUIRE(rcu_register_thread() == 0);
    queue(3);
    REQUIRE(test::eventually([] { return runs == 3; }));
    synchronize_rcu_expedited();
}

CHILD(callbacks_run)
{
    REQUIRE(rcu_register_thread() == 0);
    queue(3);
    REQUIRE(test::eventually([] { return runs == 3; }));
}

void refusal_works(const char *name, const std::vector<std::string> &environment = {})
{
    if (TEST_ASAN || TEST_TSAN || TEST_EMULATED)
        GTEST_SKIP() << "sanitizers and emulators need address space of their own";
    EXPECT_TRUE(exited_well(test::run_child(name, environment)));
}

TEST(Threads, RefusedDriverIsCreatedLater)
{
    refusal_works("driver_refused");
}

TEST(Threads, ExplicitRegistrationIsRefusedWithoutADriver)
{
    refusal_works("registration_refused");
}

TEST(Threads, CookieIsReachedIfTheDriverCannotBeCreated)
{
    refusal_works("cookie_refused");
}

TEST(Threads, PollInsideSectionReportsThatNoThreadAdvancesItsGracePeriod)
{
    if (TEST_ASAN || TEST_TSAN || TEST_EMULATED)
        GTEST_SKIP() << "sanitizers and emulators need address space of their own";
    test::ChildResult result = test::run_child("cookie_refused_for_a_while");
    EXPECT_TRUE(exited_well(result));
    EXPECT_TRUE(result.contains("poll_state_synchronize_rcu() inside a section cannot advance its grace period"))
        << result.output;
}

TEST(Threads, ProcessingCallbacksWithoutThreadsDoesNotWaitForReaders)
{
    refusal_works("expedited_refused");
}

TEST(Threads, GracePeriodsAdvanceIfTheDriverHasANiceValue)
{
    refusal_works("nice_driver_without_real_time");
}

TEST(Threads, BarrierRunsCallbacksIfNoThreadCanBeCreated)
{
    refusal_works("barrier_without_threads");
}

TEST(Threads, DriverRunsCallbacksIfADaemonCannotBeCreated)
{
    refusal_works("daemon_refused");
}

TEST(Threads, DriverEndedByACallbackIsRecreated)
{
    refusal_works("callback_ends_the_driver");
}

TEST(Threads, DaemonEndedByACallbackIsRecreated)
{
    EXPECT_TRUE(exited_well(test::run_child("callback_ends_its_daemon")));
}

TEST(Threads, DaemonsDoNotChangeAnOwnersScheduling)
{
    refusal_works("owner_keeps_its_policy", {"RTRCU_POLICY=krcud", "RTRCU_KRCUD_WHEN=always", "RTRCU_BHLIMIT=1"});
}

TEST(Threads, LibraryThreadsHaveAttributesOfTheProcessNotOfTheirCreator)
{
    EXPECT_TRUE(exited_well(test::run_child("pinned_loop_registers_first")));
}

TEST(Threads, LibraryThreadsStayOnTheCpusOfTheProcess)
{
    if (TEST_EMULATED)
        GTEST_SKIP() << "the emulator has threads of its own";
    EXPECT_TRUE(exited_well(test::run_child("process_bound_to_one_cpu")));
    EXPECT_TRUE(exited_well(test::run_child("daemons_moved_to_another_cpu")));
}

TEST(Threads, LibraryThreadsStayOnTheConfiguredCpus)
{
    if (TEST_EMULATED)
        GTEST_SKIP() << "the emulator has threads of its own";
    cpu_set_t process;
    ASSERT_EQ(sched_getaffinity(0, sizeof(process), &process), 0);
    int last = CPU_SETSIZE - 1;
    while (!CPU_ISSET(last, &process))
        last--;
    EXPECT_TRUE(exited_well(test::run_child("threads_on_a_list", {"RTRCU_CPUS=" + std::to_string(last)})));
    if (!CPU_ISSET(0, &process))
        GTEST_SKIP() << "this process may not use CPU 0";
    EXPECT_TRUE(exited_well(test::run_child("threads_on_another_list")));
}

TEST(Threads, LibraryThreadsAreCreatedIfASandboxRefusesTheirScheduling)
{
    if (TEST_TSAN || TEST_EMULATED)
        GTEST_SKIP() << "the emulator has no seccomp(), and the race detector creates threads";
    EXPECT_TRUE(exited_well(test::run_child("sandbox_without_scheduling")));
}

/* The C library reserves room in every stack for libraries that are loaded later; the amount can be configured. */
TEST(Threads, LibraryThreadsStartIfTheCLibraryNeedsLargerStacks)
{
    if (TEST_ASAN || TEST_TSAN)
        GTEST_SKIP() << "sanitizers have stacks that are large enough";
    EXPECT_TRUE(
        exited_well(test::run_child("callbacks_run", {"GLIBC_TUNABLES=glibc.rtld.optional_static_tls=5000000"})));
}

TEST(Threads, LibraryThreadsOpenNoFiles)
{
    if (TEST_ASAN || TEST_TSAN || TEST_EMULATED)
        GTEST_SKIP() << "sanitizers and emulators open files of their own";
    EXPECT_TRUE(exited_well(test::run_child("sandbox_without_open")));
}

} // namespace
