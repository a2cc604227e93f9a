/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of sandboxes that refuse membarrier(), from the start or while the program runs, alone or with other calls. */
#include <atomic>
#include <chrono>
#include <cstddef>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "../support/replaced.h"
#include "../support/sandbox.h"
#include "../support/sync.h"
#include "child.h"

namespace
{

enum Refused { MEMBARRIER, MEMBARRIER_AND_AFFINITY };

/* From now on membarrier() and, depending on @what, sched_setaffinity() fail with EPERM, in all threads of the process
 * or in the calling one. */
void refuse(Refused what, unsigned whom = SECCOMP_FILTER_FLAG_TSYNC)
{
    unsigned second = what == MEMBARRIER ? SYS_membarrier : SYS_sched_setaffinity;
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, second, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};
    REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    REQUIRE(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, whom, &program) == 0);
    REQUIRE(syscall(SYS_membarrier, 0, 0, 0) == -1 && errno == EPERM);
}

/* Readers in short sections, which check the objects that they read until they are stopped. */
class Readers
{
    test::Replaced shared_;
    std::atomic<bool> stop_{false};
    std::vector<std::thread> threads_;

  public:
    Readers()
    {
        threads_.emplace_back([this] {
            while (!stop_) {
                rcu_read_lock();
                shared_.look();
                rcu_read_unlock();
            }
        });
        threads_.emplace_back([this] {
            REQUIRE(rcu_register_thread_qsbr() == 0);
            while (!stop_) {
                shared_.look();
                rcu_quiescent_state();
            }
            rcu_thread_offline();
        });
        REQUIRE(test::eventually([this] { return shared_.looks() >= 100; }));
    }
    ~Readers()
    {
        stop_ = true;
        for (auto &thread : threads_)
            thread.join();
        expect_good();
    }
    /* Checks the objects that the readers saw.  A process that exits without running the destructor calls this. */
    void expect_good() const
    {
        REQUIRE(shared_.bad() == 0);
    }
    void replace(int times)
    {
        REQUIRE(shared_.replace_until_spanned(times, times));
    }
};

std::atomic<long> runs{0};

void run(rcu_head *)
{
    runs++;
}

void work(Readers *readers)
{
    static rcu_head heads[20];
    long before = runs;
    readers->replace(20);
    for (rcu_head &head : heads)
        call_rcu(&head, run);
    rcu_barrier();
    REQUIRE(runs == before + 20);
    synchronize_rcu_expedited();
    std::thread([] {
        rcu_read_lock();
        rcu_read_unlock();
    }).join();
    readers->replace(5);
}

CHILD(membarrier_refused_from_the_start)
{
    REQUIRE(test::stats().full_fences == 1);
    Readers readers;
    work(&readers);
    REQUIRE(test::stats().fence_refused == 0);
    struct rtrcu_config config;
    rtrcu_config_get(&config);
    config.membarrier = RTRCU_MEMBARRIER_ON;
    REQUIRE(rtrcu_configure(&config) == -EINVAL);
    work(&readers);
}

void work_in_a_forks_child()
{
    pid_t child = fork();
    if (child == 0) {
        rcu_free(malloc(8));
        rcu_barrier();
        _exit(0);
    }
    int status;
    REQUIRE(waitpid(child, &status, 0) == child && status == 0);
}

/* Spin for 100 ms.  Between such times the caller sleeps, so that threads of the library can run. */
void spin_for_a_while(const std::atomic<bool> &stop)
{
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
    while (!stop && std::chrono::steady_clock::now() < end)
        ;
}

/* The visit to every CPU, in place of membarrier(), cannot run on a CPU where a real-time reader spins. */
CHILD(visit_blocked_by_a_real_time_reader)
{
    cpu_set_t allowed, one;
    REQUIRE(sched_getaffinity(0, sizeof(allowed), &allowed) == 0);
    struct sched_param priority = {.sched_priority = 10};
    if (CPU_COUNT(&allowed) < 2 || sched_setscheduler(0, SCHED_FIFO, &priority) != 0)
        _exit(3);
    priority.sched_priority = 0;
    REQUIRE(sched_setscheduler(0, SCHED_OTHER, &priority) == 0);
    int cpu = sched_getcpu();
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    CPU_CLR(cpu, &allowed);
    REQUIRE(sched_setaffinity(0, sizeof(allowed), &allowed) == 0);
    refuse(MEMBARRIER);
    std::atomic<bool> inside{false}, stop{false};
    std::thread reader([&] {
        struct sched_param real_time = {.sched_priority = 10};
        REQUIRE(sched_setaffinity(0, sizeof(one), &one) == 0);
        REQUIRE(sched_setscheduler(0, SCHED_FIFO, &real_time) == 0);
        rcu_read_lock();
        inside = true;
        while (!stop) {
            spin_for_a_while(stop);
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        rcu_read_unlock();
    });
    REQUIRE(test::eventually([&] { return inside.load(); }));
    std::thread updater([] { synchronize_rcu(); });
    REQUIRE(test::eventually([] { return test::stats().stall_reports > 0; }));
    stop = true;
    updater.join();
    reader.join();
}

CHILD(membarrier_off_by_setting)
{
    REQUIRE(test::stats().full_fences == 1);
    Readers readers;
    work(&readers);
    REQUIRE(test::stats().fence_refused == 0);
}

CHILD(refuse_before_start)
{
    refuse(MEMBARRIER_AND_AFFINITY);
    test::become_child("membarrier_refused_from_the_start");
}

std::atomic<long> answered{0};

/* Answers a trapped call as a sandbox's broker does: the call fails. */
void answer_trapped_call(int, siginfo_t *, void *context)
{
    auto &machine = static_cast<ucontext_t *>(context)->uc_mcontext;
#ifdef __x86_64__
    machine.gregs[REG_RAX] = -EPERM;
#elif defined(__aarch64__)
    machine.regs[0] = static_cast<unsigned long>(-EPERM);
#else
    (void)machine; /* on other processors these tests run under qemu, which traps nothing */
#endif
    answered++;
}

/* The kernel ends a process that blocks SIGSYS when one of its calls is trapped. */
CHILD(trapped_calls)
{
    struct sigaction action = {};
    action.sa_sigaction = answer_trapped_call;
    action.sa_flags = SA_SIGINFO;
    REQUIRE(sigaction(SIGSYS, &action, nullptr) == 0);
    REQUIRE(test::refuse({{SYS_membarrier, test::TRAPPED},
                          {SYS_getpriority, test::TRAPPED},
                          {SYS_setpriority, test::TRAPPED},
                          {SYS_sched_getscheduler, test::TRAPPED},
                          {SYS_sched_get_priority_min, test::TRAPPED},
                          {SYS_sched_get_priority_max, test::TRAPPED},
                          {SYS_getcpu, test::TRAPPED},
                          {SYS_openat, test::TRAPPED}}));
    rcu_set_deadline(1);
    rcu_set_deadline(0);
    Readers readers;
    work(&readers);
    REQUIRE(test::stats().full_fences == 1);
    REQUIRE(answered > 0);
    work_in_a_forks_child();
    readers.expect_good();
    fflush(nullptr);
    _exit(0); /* avoids the leak check of a sanitizer, which the sandbox would stop */
}

CHILD(membarrier_refused_while_running)
{
    Readers readers;
    work(&readers);
    REQUIRE(test::stats().full_fences == 0);
    refuse(MEMBARRIER);
    work(&readers);
    REQUIRE(test::stats().full_fences == 1);
    REQUIRE(test::stats().fence_refused >= 1);
    work(&readers);
}

/* membarrier() and the visit are refused while readers run, so only the readers' acknowledgments can confirm full
 * fences. */
CHILD(all_fences_refused_while_running)
{
    Readers readers;
    readers.replace(3);
    REQUIRE(test::stats().full_fences == 0);
    refuse(MEMBARRIER_AND_AFFINITY);
    readers.replace(20);
    REQUIRE(test::stats().full_fences == 1);
    readers.replace(20);
}

/* The caller is a registered reader, and its wait in the library counts as an acknowledgment. */
CHILD(caller_is_a_reader)
{
    rcu_read_lock();
    rcu_read_unlock();
    Readers readers;
    readers.replace(3);
    refuse(MEMBARRIER_AND_AFFINITY);
    readers.replace(20);
    REQUIRE(test::stats().full_fences == 1);
}

/* Threads that wait for another thread's barrier or change of configuration cannot acknowledge meanwhile. */
CHILD(callers_wait_for_each_other)
{
    static rcu_head heads[2];
    test::Worker callers[4];
    for (auto &caller : callers) {
        caller.run([] {
            rcu_read_lock();
            rcu_read_unlock();
        });
    }
    refuse(MEMBARRIER_AND_AFFINITY);
    for (int i = 0; i < 2; i++) {
        callers[i].start([i] {
            call_rcu(&heads[i], run);
            rcu_barrier();
        });
        callers[2 + i].start([] {
            struct rtrcu_config config;
            rtrcu_config_get(&config);
            REQUIRE(rtrcu_configure(&config) == 0);
        });
    }
    bool done[4] = {};
    REQUIRE(test::eventually([&] { /* callers that have finished keep reading, so that they acknowledge requests */
                                   bool all = true;
                                   for (int i = 0; i < 4; i++) {
                                       done[i] = callers[i].is_done();
                                       all &= done[i];
                                       if (done[i]) {
                                           callers[i].run([] {
                                               rcu_read_lock();
                                               rcu_read_unlock();
                                           });
                                       }
                                   }
                                   return all;
    }));
    REQUIRE(runs == 2);
}

/* A thread that never reads again cannot acknowledge.  Grace periods stop, report it, and continue when the thread
 * reads again. */
CHILD(a_silent_reader)
{
    test::Worker silent;
    silent.run([] {
        rcu_read_lock();
        rcu_read_unlock();
    });
    static std::atomic<bool> reported{false};
    rtrcu_set_stall_handler([](const char *line) {
        fputs(line, stderr);
        reported = true;
    });
    refuse(MEMBARRIER_AND_AFFINITY);
    std::atomic<bool> done{false};
    std::thread updater([&] {
        synchronize_rcu();
        done = true;
    });
    REQUIRE(test::eventually([] { return reported.load(); }));
    REQUIRE(!done);
    silent.run([] {
        rcu_read_lock();
        rcu_read_unlock();
        rcu_read_lock();
        rcu_read_unlock();
    });
    updater.join();
    REQUIRE(test::stats().full_fences == 1);
    synchronize_rcu();
}

/* One thread is in a sandbox, and another reader sleeps for ever; a thread of the library can still fence. */
CHILD(one_thread_in_a_sandbox)
{
    test::Worker silent, boxed;
    REQUIRE(rcu_register_thread() == 0); /* creates the driver */
    silent.run([] {
        rcu_read_lock();
        rcu_read_unlock();
    });
    boxed.run([] {
        rcu_read_lock();
        rcu_read_unlock();
        refuse(MEMBARRIER_AND_AFFINITY, 0);
        synchronize_rcu();
        static rcu_head head;
        call_rcu(&head, run);
        rcu_barrier();
        synchronize_rcu();
    });
    REQUIRE(runs == 1);
    synchronize_rcu_expedited();
}

/* The futexes of locks are refused while readers run, so no thread can sleep for a lock of the library. */
CHILD(futexes_refused_while_running)
{
    Readers readers;
    work(&readers);
    REQUIRE(test::refuse({{SYS_futex, EPERM, {FUTEX_LOCK_PI, 13, FUTEX_UNLOCK_PI, FUTEX_TRYLOCK_PI}}}));
    work(&readers);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++) {
        threads.emplace_back([] {
            for (int i = 0; i < 50; i++) {
                rcu_free(malloc(8));
                synchronize_rcu();
                rcu_barrier();
            }
        });
    }
    for (auto &thread : threads)
        thread.join();
    work(&readers);
}

/* Threads work, although the system call that returns their number is refused. */
CHILD(work_without_gettid)
{
    Readers readers;
    for (int round = 0; round < 3; round++)
        work(&readers);
    std::thread([] { rcu_free(malloc(8)); }).join();
    rcu_barrier();
    work_in_a_forks_child();
}

CHILD(gettid_refused_before_start)
{
    REQUIRE(test::refuse({{SYS_gettid, EPERM}}));
    test::become_child("work_without_gettid");
}

/* With the driver sched and no fence available, a quiescent state does not advance the grace period. */
CHILD(quiescent_states_without_a_fence)
{
    test::Worker silent;
    silent.run([] {
        rcu_read_lock();
        rcu_read_unlock();
    });
    refuse(MEMBARRIER_AND_AFFINITY);
    REQUIRE(rcu_register_thread_qsbr() == 0);
    unsigned long cookie = start_poll_synchronize_rcu();
    REQUIRE(test::eventually([] {
        rcu_quiescent_state();
        return test::stats().stall_reports > 0;
    }));
    REQUIRE(!poll_state_synchronize_rcu(cookie));
    for (int i = 0; i < 3; i++) {
        silent.run([] {
            rcu_read_lock();
            rcu_read_unlock();
        });
    }
    REQUIRE(test::eventually([&] {
        rcu_quiescent_state();
        return poll_state_synchronize_rcu(cookie);
    }));
    rcu_thread_offline();
}

TEST(SandboxSched, QuiescentStateDoesNotWaitForAFence)
{
    if (TEST_EMULATED)
        GTEST_SKIP() << "the emulator has no seccomp()";
    EXPECT_TRUE(
        exited_well(test::run_child("quiescent_states_without_a_fence",
                                    {"RTRCU_DRIVER=sched", "RTRCU_POLICY=inline", "RTRCU_STALL_TIMEOUT_MS=20"})));
}

/* A change of the driver is refused if its fence is not available.  The driver can still be created afterwards. */
CHILD(driver_changes_without_a_fence)
{
    refuse(MEMBARRIER);
    struct rtrcu_config config;
    rtrcu_config_get(&config);
    config.driver = RTRCU_DRIVER_LTIMER;
    config.membarrier = RTRCU_MEMBARRIER_ON;
    REQUIRE(rtrcu_configure(&config) != 0);
    static rcu_head head;
    static bool ran;
    call_rcu(&head, [](rcu_head *) { ran = true; });
    rcu_barrier();
    REQUIRE(ran);
}

TEST(Sandbox, DriverContinuesAfterARefusedChangeOfSettings)
{
    if (TEST_EMULATED)
        GTEST_SKIP() << "the emulator has no seccomp()";
    EXPECT_TRUE(exited_well(test::run_child("driver_changes_without_a_fence", {"RTRCU_MEMBARRIER=off"})));
}

CHILD(forked_into_a_sandbox)
{
    synchronize_rcu();
    refuse(MEMBARRIER);
    fflush(nullptr);
    pid_t pid = fork();
    REQUIRE(pid >= 0);
    rcu_read_lock();
    rcu_read_unlock();
    test::Worker other; /* a second reader, since a grace period without other readers needs no fence */
    other.run([] {
        rcu_read_lock();
        rcu_read_unlock();
    });
    synchronize_rcu();
    REQUIRE(test::stats().full_fences == 1);
    if (pid == 0)
        _exit(0);
}

class Sandbox : public testing::TestWithParam<const char *>
{
};

TEST_P(Sandbox, GracePeriodsContinueAfterMembarrierIsRefused)
{
    if (TEST_EMULATED)
        GTEST_SKIP() << "the emulator has no seccomp()";
    test::ChildResult result = test::run_child(GetParam());
    EXPECT_TRUE(exited_well(result));
}

INSTANTIATE_TEST_SUITE_P(Children, Sandbox,
                         testing::Values("refuse_before_start", "membarrier_refused_while_running",
                                         "all_fences_refused_while_running", "caller_is_a_reader",
                                         "callers_wait_for_each_other", "futexes_refused_while_running",
                                         "gettid_refused_before_start", "trapped_calls", "forked_into_a_sandbox",
                                         "one_thread_in_a_sandbox"),
                         [](const auto &child) { return std::string(child.param); });

TEST(SandboxStall, ReaderWithoutAcknowledgmentIsReportedAndWaitedFor)
{
    if (TEST_EMULATED)
        GTEST_SKIP() << "the emulator has no seccomp()";
    test::ChildResult result = test::run_child("a_silent_reader", {"RTRCU_STALL_TIMEOUT_MS=20"});
    EXPECT_TRUE(exited_well(result));
    EXPECT_TRUE(result.contains("grace periods cannot end")) << result.output;
    EXPECT_TRUE(result.contains("RTRCU_MEMBARRIER=off")) << result.output;
}

TEST(SandboxStall, VisitOfACpuBlockedByARealTimeReaderIsReported)
{
    if (TEST_EMULATED)
        GTEST_SKIP() << "the emulator has no seccomp()";
    /* On a busy machine the thread that prints the report may run too late, so the test repeats. */
    test::ChildResult result;
    for (int i = 0; i < 20 && !result.contains("cannot run on CPU"); i++) {
        result = test::run_child("visit_blocked_by_a_real_time_reader", {"RTRCU_STALL_TIMEOUT_MS=20"});
        if (WIFEXITED(result.status) && WEXITSTATUS(result.status) == 3)
            GTEST_SKIP() << "the test needs two CPUs and real-time scheduling";
        ASSERT_TRUE(exited_well(result));
    }
    EXPECT_TRUE(result.contains("cannot run on CPU")) << result.output;
}

TEST(SandboxSettings, MembarrierOffIsSilentAndOnReportsARefusal)
{
    if (TEST_EMULATED)
        GTEST_SKIP() << "the emulator has no seccomp()";
    EXPECT_TRUE(exited_well(test::run_child("membarrier_off_by_setting", {"RTRCU_MEMBARRIER=off"})));
    test::ChildResult on = test::run_child("refuse_before_start", {"RTRCU_MEMBARRIER=on"});
    EXPECT_TRUE(exited_well(on));
    EXPECT_TRUE(on.contains("RTRCU_MEMBARRIER=on, but the kernel refuses membarrier()")) << on.output;
    test::ChildResult automatic = test::run_child("refuse_before_start");
    EXPECT_FALSE(automatic.contains("RTRCU_MEMBARRIER=on")) << automatic.output;
}

} // namespace
