/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of the primitives over the kernel and the C library: results, errors, and errno, which stays unchanged. */
#include <limits.h>
#include <atomic>
#include <cstring>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <set>
#include <string>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "../../support/capture.h"
#include "../../support/internals.h"
#include "../../support/sync.h"
#include "../../support/threads.h"
#include "../../support/variant.h"

namespace
{

TEST(Futex, WaitDoesNotSleepOnAnotherValue)
{
    uint32_t word = 1;
    EXPECT_EQ(plat_futex_wait(&word, 0, PLAT_FOREVER), -EAGAIN);
}

TEST(Futex, WaitEndsAtItsTimeout)
{
    uint32_t word = 0;
    int64_t before = plat_clock_now();
    EXPECT_EQ(plat_futex_wait(&word, 0, 2000000), -ETIMEDOUT);
    EXPECT_GE(plat_clock_now() - before, 2000000);
    EXPECT_EQ(plat_futex_wait(&word, 0, -5), -ETIMEDOUT) << "a negative timeout has expired";
}

TEST(Futex, WakeReturnsTheNumberOfWokenSleepers)
{
    uint32_t word = 0;
    int result = -1;
    EXPECT_EQ(plat_futex_wake(&word, 1), 0);
    std::thread sleeper([&] { result = plat_futex_wait(&word, 0, PLAT_FOREVER); });
    ASSERT_TRUE(test::eventually([&] { return plat_futex_wake(&word, 1) == 1; }));
    sleeper.join();
    EXPECT_EQ(result, 0);
}

TEST(Futex, PriorityInheritingLockTimesOutAndIsHandedOver)
{
    uint32_t word = plat_thread_id().number;
    int timed_out = 0, taken = -1;
    test::Steps steps;
    std::thread other([&] {
        timed_out = plat_futex_lock_pi(&word, 1000000);
        steps.reach(1);
        taken = plat_futex_lock_pi(&word, PLAT_FOREVER);
        if (taken == 0)
            plat_futex_unlock_pi(&word);
    });
    steps.wait(1);
    EXPECT_EQ(timed_out, -ETIMEDOUT);
    ASSERT_TRUE(test::eventually([&] { return rtrcu_load_acquire(&word) & FUTEX_WAITERS; }));
    EXPECT_EQ(plat_futex_unlock_pi(&word), 0);
    other.join();
    EXPECT_EQ(taken, 0);
    EXPECT_EQ(rtrcu_load_acquire(&word) & FUTEX_TID_MASK, 0u);
}

/* Makes the futex operation @operation with a timeout fail with @error in the calling thread from now on. */
bool refuse_timed_futex(unsigned operation, unsigned error)
{
    constexpr auto lower_half = [](size_t argument) {
        return static_cast<unsigned>(offsetof(struct seccomp_data, args) + 8 * argument);
    };
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex, 0, 5),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, lower_half(1)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, operation | FUTEX_PRIVATE_FLAG, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, lower_half(3)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}

constexpr unsigned lock_pi2 = 13; /* FUTEX_LOCK_PI2 */

bool lock_pi2_is_refused()
{
    uint32_t word = 0;
    return syscall(SYS_futex, &word, lock_pi2 | FUTEX_PRIVATE_FLAG, 0, nullptr) != 0;
}

/* The timeout uses the settable clock only on kernels that lack FUTEX_LOCK_PI2. */
TEST(Futex, PriorityInheritingTimeoutRunsOnTheMonotonicClock)
{
    if (lock_pi2_is_refused())
        GTEST_SKIP() << "FUTEX_LOCK_PI2 is refused here";
    for (auto [operation, error] : {std::pair<unsigned, unsigned>{FUTEX_LOCK_PI, EPERM}, {lock_pi2, ENOSYS}}) {
        unsigned refused = operation, with = error; /* not every compiler lets a lambda capture a structured binding */
        uint32_t word = plat_thread_id().number;
        int result = 0;
        bool filtered = false;
        std::thread([&] {
            filtered = refuse_timed_futex(refused, with);
            result = plat_futex_lock_pi(&word, 1000000);
        }).join();
        if (!filtered)
            GTEST_SKIP() << "system calls cannot be filtered here";
        EXPECT_EQ(result, -ETIMEDOUT) << "without operation " << refused;
    }
}

TEST(Clock, ClockAdvancesAtLeastByTheTimeSlept)
{
    int64_t before = plat_clock_now(), cpu = plat_clock_of_thread(plat_thread_id());
    plat_clock_sleep(1000000);
    EXPECT_GE(plat_clock_now() - before, 1000000);
    EXPECT_GE(plat_clock_of_thread(plat_thread_id()), cpu);
    EXPECT_GT(cpu, 0);
}

TEST(Clock, CpuTimeOfAnotherThreadIsRead)
{
    test::Steps steps;
    plat_tid id = PLAT_NOBODY;
    std::thread other([&] {
        id = plat_thread_id();
        steps.reach(1);
        while (plat_clock_of_thread(plat_thread_id()) < 20000000)
            ;
        steps.reach(2);
        steps.wait(3);
    });
    steps.wait(1);
    int64_t before = plat_clock_of_thread(id);
    steps.wait(2);
    if (!TEST_EMULATED) {
        EXPECT_GE(before, 0);
        EXPECT_GE(plat_clock_of_thread(id), 20000000);
    }
    steps.reach(3);
    other.join();
    EXPECT_EQ(plat_clock_of_thread({0x7ffffff}), -1);
}

TEST(Cpu, NumbersOfCpusAreConsistent)
{
    EXPECT_GE(plat_cpu_current(), 0);
    EXPECT_LT(plat_cpu_current(), sysconf(_SC_NPROCESSORS_CONF));
}

TEST(Cpu, BindMovesTheCallingThreadOnly)
{
    auto cpus = [] {
        cpu_set_t set;
        CPU_ZERO(&set);
        EXPECT_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
        return CPU_COUNT(&set);
    };
    int before = cpus();
    std::thread([&] {
        int cpu = plat_cpu_current();
        ASSERT_EQ(plat_cpu_bind(cpu), 0);
        EXPECT_EQ(plat_cpu_current(), cpu);
        EXPECT_EQ(cpus(), 1);
        const uint32_t *address = plat_cpu_address();
        if (address) {
            EXPECT_EQ(rtrcu_load_relaxed(address), static_cast<uint32_t>(cpu));
        }
        EXPECT_EQ(plat_cpu_bind(PLAT_CPU_MAX - 1), -EINVAL);
    }).join();
    EXPECT_EQ(cpus(), before);
}

TEST(Cpu, CpuListsOfTasksetAreParsedAndBadOnesRefused)
{
    plat_cpus cpus = {};
    ASSERT_EQ(plat_cpus_parse("0-3,7,1023", &cpus), 0);
    EXPECT_EQ(cpus.bits[0], 0x8fu);
    EXPECT_EQ(cpus.bits[15], UINT64_C(1) << 63);
    for (const char *bad : {"", "a", "1,", ",1", "1-", "3-1", "1024", "0-1024", "1 ", " 1", "-1", "1--2", "1-2-3",
                            "99999999999999999999"})
        EXPECT_EQ(plat_cpus_parse(bad, &cpus), -EINVAL) << bad;
    EXPECT_EQ(cpus.bits[0], 0x8fu) << "a refused list leaves the set unchanged";
}

TEST(Cpu, PickedCpuIsInTheSet)
{
    plat_cpus cpus = {};
    ASSERT_EQ(plat_cpus_parse("2,5-6,900", &cpus), 0);
    std::set<uint32_t> picked;
    for (uint32_t cpu = 0; cpu < PLAT_CPU_MAX + 8; cpu++) {
        uint32_t pick = plat_cpus_pick(&cpus, cpu);
        ASSERT_TRUE(plat_cpus_has(&cpus, pick)) << cpu << " gave " << pick;
        EXPECT_TRUE(pick == cpu || !plat_cpus_has(&cpus, cpu)) << cpu << " gave " << pick;
        picked.insert(pick);
    }
    EXPECT_EQ(picked.size(), 4u) << "CPUs outside the set are spread over the whole set";
}

struct Seen {
    test::Steps steps;
    sigset_t mask = {};
    plat_tid thread = PLAT_NOBODY;
    int policy = -1, nice = 0;
    cpu_set_t cpus = {};
};

void *thread_body(void *argument)
{
    Seen *seen = static_cast<Seen *>(argument);
    pthread_sigmask(SIG_SETMASK, nullptr, &seen->mask);
    seen->thread = plat_thread_id();
    seen->policy = sched_getscheduler(0);
    seen->nice = getpriority(PRIO_PROCESS, 0);
    (void)sched_getaffinity(0, sizeof(seen->cpus), &seen->cpus);
    seen->steps.reach(1);
    seen->steps.wait(2);
    seen->steps.reach(3);
    return nullptr;
}

/* Creates a thread of the library, and returns its observations.  Neither is freed, since the thread is detached. */
Seen *made_by_us(const plat_thread_attr &attr, const char *name)
{
    static std::deque<Seen> all_seen;
    static std::deque<plat_thread> all;
    Seen *seen = &all_seen.emplace_back();
    plat_thread *thread = &all.emplace_back();
    snprintf(thread->name, sizeof(thread->name), "%s", name);
    thread->body = thread_body;
    thread->argument = seen;
    EXPECT_EQ(plat_thread_create(thread, &attr), 0);
    seen->steps.wait(1);
    EXPECT_EQ(thread->thread_id, seen->thread.number);
    return seen;
}

TEST(Thread, LibraryThreadHasItsNameAndOnlyFaultSignalsUnblocked)
{
    plat_thread_attr attr;
    plat_thread_attr_init(&attr);
    Seen *seen = made_by_us(attr, "some-name");
    char name[32];
    plat_thread_name(seen->thread, name, sizeof(name));
    EXPECT_STREQ(name, "some-name");
    for (int blocked : {SIGUSR1, SIGALRM, SIGTERM, SIGPROF, SIGCHLD})
        EXPECT_EQ(sigismember(&seen->mask, blocked), 1) << blocked;
    for (int open : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT})
        EXPECT_EQ(sigismember(&seen->mask, open), 0) << open;
    sigset_t own;
    pthread_sigmask(SIG_SETMASK, nullptr, &own);
    EXPECT_EQ(sigismember(&own, SIGUSR1), 0) << "the creator keeps its own mask";
    seen->steps.reach(2);
    seen->steps.wait(3);
}

TEST(Signals, FaultSignalsStayUnblocked)
{
    sigset_t mine, before, during, after;
    sigemptyset(&mine);
    sigaddset(&mine, SIGFPE);
    pthread_sigmask(SIG_BLOCK, &mine, nullptr);
    plat_signals_block(&before);
    pthread_sigmask(SIG_BLOCK, nullptr, &during);
    plat_signals_restore(&before);
    pthread_sigmask(SIG_BLOCK, nullptr, &after);
    pthread_sigmask(SIG_UNBLOCK, &mine, nullptr);
    for (int blocked : {SIGUSR1, SIGALRM, SIGTERM, SIGPROF, SIGCHLD, SIGABRT, SIGFPE})
        EXPECT_EQ(sigismember(&during, blocked), 1) << blocked;
    for (int open : {SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGSYS})
        EXPECT_EQ(sigismember(&during, open), 0) << open;
    for (int signal = 1; signal < NSIG; signal++)
        EXPECT_EQ(sigismember(&after, signal), sigismember(&before, signal)) << signal;
}

TEST(Thread, LibraryThreadUsesItsAttributesAndNotItsCreators)
{
    plat_thread_attr attr;
    plat_thread_attr_init(&attr);
    cpu_set_t process;
    ASSERT_EQ(sched_getaffinity(getpid(), sizeof(process), &process), 0);
    std::thread([&] {
        ASSERT_EQ(plat_cpu_bind(plat_cpu_current()), 0);
        EXPECT_TRUE(plat_sched_set(1, 0) == 0 || plat_sched_set(0, 5) == 0)
            << "neither a real-time priority nor a nice value can be set";
        Seen *seen = made_by_us(attr, "at-home");
        EXPECT_EQ(seen->policy, SCHED_OTHER);
        EXPECT_EQ(seen->nice, attr.nice);
        EXPECT_TRUE(CPU_EQUAL(&seen->cpus, &process));
        seen->steps.reach(2);
        seen->steps.wait(3);
    }).join();
}

TEST(Thread, EmptyCpuSetStillCreatesAnOrdinaryThread)
{
    plat_thread_attr attr;
    plat_thread_attr_init(&attr);
    memset(&attr.cpus, 0, sizeof(attr.cpus));
    std::thread([&] {
        (void)plat_sched_set(1, 0); /* if that is permitted */
        Seen *seen = made_by_us(attr, "elsewhere");
        EXPECT_EQ(seen->policy, SCHED_OTHER);
        seen->steps.reach(2);
        seen->steps.wait(3);
    }).join();
}

TEST(Thread, NameOfAMissingThreadIsEmpty)
{
    char name[8] = "before";
    plat_thread_name({0x7fffffff}, name, sizeof(name));
    EXPECT_STREQ(name, "");
    char small[4];
    plat_thread_name(plat_thread_id(), small, sizeof(small));
    EXPECT_LT(strlen(small), sizeof(small));
}

TEST(Thread, ProcessAndThreadIdsAreTheKernelsIds)
{
    EXPECT_EQ(plat_main_thread().number, static_cast<uint32_t>(getpid()));
    EXPECT_EQ(plat_thread_id().number, static_cast<uint32_t>(gettid()));
}

TEST(Signals, SignalsAreBlockedAndRestored)
{
    sigset_t saved, now;
    plat_signals_block(&saved);
    pthread_sigmask(SIG_SETMASK, nullptr, &now);
    EXPECT_EQ(sigismember(&now, SIGUSR2), 1);
    plat_signals_restore(&saved);
    pthread_sigmask(SIG_SETMASK, nullptr, &now);
    EXPECT_EQ(sigismember(&now, SIGUSR2), 0);
}

/* An exit hook, which arms itself again until it has run `wanted` times. */
struct Hook {
    unsigned int key = 0;
    std::atomic<int> runs{0}; /* atomic, since the race detector does not know that a join follows the destructors */
    std::atomic<int> wanted{0};
};
Hook hook;

void on_exit_hook(void *value)
{
    if (++hook.runs < hook.wanted)
        plat_thread_exit_arm(hook.key, value);
}

/* Takes @count keys, or all that are left, until its end. */
struct Keys {
    std::vector<pthread_key_t> taken;
    explicit Keys(size_t count = PTHREAD_KEYS_MAX)
    {
        pthread_key_t key;
        while (taken.size() < count && pthread_key_create(&key, nullptr) == 0)
            taken.push_back(key);
    }
    ~Keys()
    {
        for (pthread_key_t key : taken)
            pthread_key_delete(key);
    }
};

TEST(Thread, ExitHookThatFoundNoKeyDoesNotOverwriteOtherKeys)
{
    Keys all;
    std::vector<void *> before;
    for (pthread_key_t key = 0; key < PTHREAD_KEYS_MAX; key++)
        before.push_back(pthread_getspecific(key));
    unsigned int key = 0;
    EXPECT_EQ(plat_thread_exit_prepare(&key, on_exit_hook), -EAGAIN);
    EXPECT_NE(plat_thread_exit_arm(key, &hook), 0);
    EXPECT_NE(plat_thread_exit_reserve(key, &hook), 0);
    for (pthread_key_t other = 0; other < PTHREAD_KEYS_MAX; other++)
        EXPECT_EQ(pthread_getspecific(other), before[other]) << other;
}

/* The highest free key of the 32 whose values need no memory; the library's own constructor has taken some. */
pthread_key_t last_free_key()
{
    Keys all;
    pthread_key_t last = 0;
    for (pthread_key_t key : all.taken)
        last = key < 32 && key > last ? key : last;
    return last;
}

TEST(Thread, ExitHookTakesTheLastKeyThatNeedsNoMemory)
{
    pthread_key_t before, after;
    ASSERT_EQ(pthread_key_create(&before, nullptr), 0);
    unsigned int key = 0, second = 0, third = 0;
    pthread_key_t expected = last_free_key();
    ASSERT_EQ(plat_thread_exit_prepare(&key, on_exit_hook), 0);
    EXPECT_EQ(key, expected);
    expected = last_free_key();
    ASSERT_EQ(plat_thread_exit_prepare(&second, on_exit_hook), 0);
    EXPECT_EQ(second, expected) << "the last key that is left and needs no memory";
    ASSERT_EQ(pthread_key_create(&after, nullptr), 0);
    EXPECT_LT(after, second) << "the keys tried meanwhile are free again";
    {
        Keys all;
        ASSERT_FALSE(all.taken.empty());
        ASSERT_EQ(pthread_key_delete(before), 0);
        ASSERT_EQ(plat_thread_exit_prepare(&third, on_exit_hook), 0);
        EXPECT_EQ(third, before) << "the only free key";
    }
    for (unsigned int made : {key, second, third, after})
        pthread_key_delete(made);
}

TEST(Thread, KeyThatNeedsMemoryMustBeReservedFirst)
{
    Keys many(64);
    ASSERT_EQ(plat_thread_exit_prepare(&hook.key, on_exit_hook), 0);
    hook.runs = 0;
    EXPECT_FALSE(plat_thread_exit_is_reserved(hook.key));
    std::thread([] {
        EXPECT_EQ(plat_thread_exit_arm(hook.key, &hook), -EAGAIN);
        EXPECT_EQ(plat_thread_exit_reserve(hook.key, &hook), 0);
        EXPECT_EQ(plat_thread_exit_arm(hook.key, &hook), 0);
    }).join();
    EXPECT_GE(hook.runs, 1);
    pthread_key_delete(hook.key);
}

TEST(Thread, ExitHookRunsEachTimeItIsArmed)
{
    ASSERT_EQ(plat_thread_exit_prepare(&hook.key, on_exit_hook), 0);
    for (int wanted : {1, 2, PTHREAD_DESTRUCTOR_ITERATIONS}) {
        hook.runs = 0;
        hook.wanted = wanted;
        std::thread([] { ASSERT_EQ(plat_thread_exit_arm(hook.key, &hook), 0); }).join();
        EXPECT_EQ(hook.runs, wanted);
    }
    hook.runs = 0;
    std::thread([] {}).join();
    EXPECT_EQ(hook.runs, 0) << "the hook was not armed";
    pthread_key_delete(hook.key);
}

TEST(Thread, SnapshotShowsAThreadsState)
{
    test::Steps steps;
    std::thread sleeper([&] {
        steps.reach(static_cast<int>(plat_thread_id().number));
        steps.wait(INT32_MAX);
    });
    while (steps.at() == 0)
        std::this_thread::yield();
    struct plat_thread_snapshot look;
    ASSERT_TRUE(test::eventually([&] {
        plat_thread_snapshot({static_cast<uint32_t>(steps.at())}, &look);
        return look.state == 'S';
    }));
    /* In an emulator the kernel shows the host's system calls, whose numbers differ. */
    EXPECT_TRUE(look.call == SYS_futex || look.call == -1 || TEST_EMULATED) << look.call;
    steps.reach(INT32_MAX);
    sleeper.join();
    plat_thread_snapshot({0x7fffffff}, &look);
    EXPECT_EQ(look.state, '?');
    EXPECT_EQ(look.call, -1);
}

TEST(Sched, RealTimePriorityIsSetOrItsRefusalReturned)
{
    std::thread([] {
        EXPECT_EQ(plat_sched_rt_priority(), 0);
        int error = plat_sched_set(3, 0);
        if (error) {
            EXPECT_EQ(error, -EPERM);
            EXPECT_EQ(plat_sched_rt_priority(), 0);
            return;
        }
        EXPECT_EQ(plat_sched_rt_priority(), 3);
        EXPECT_EQ(plat_sched_set(0, 5), 0);
        EXPECT_EQ(plat_sched_rt_priority(), 0);
        EXPECT_EQ(getpriority(PRIO_PROCESS, static_cast<id_t>(gettid())), 5);
    }).join();
}

/* The priority is read also if SCHED_RESET_ON_FORK is set, as in threads of rtkit, PipeWire and JACK. */
TEST(Sched, PriorityIsReadWithResetOnFork)
{
    std::thread([] {
        sched_param parameter = {.sched_priority = 3};
        if (sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &parameter) != 0)
            GTEST_SKIP() << "real-time scheduling is refused";
        EXPECT_EQ(plat_sched_rt_priority(), 3);
    }).join();
}

TEST(Sched, NiceValueIsReadWithResetOnFork)
{
    std::thread([] {
        sched_param parameter = {};
        ASSERT_EQ(sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &parameter), 0);
        EXPECT_EQ(setpriority(PRIO_PROCESS, 0, 7), 0);
        EXPECT_EQ(plat_sched_nice(plat_thread_id()), 7);
    }).join();
}

TEST(Sched, SchedDeadlineCountsAsTheHighestPriority)
{
    std::thread([] {
        if (!test::become_sched_deadline(1000000))
            GTEST_SKIP() << "SCHED_DEADLINE is refused";
        EXPECT_EQ(plat_sched_rt_priority(), PLAT_RT_HIGHEST);
    }).join();
}

TEST(Sched, InvalidPriorityIsRefused)
{
    std::thread([] {
        int error = plat_sched_set(100, 0);
        EXPECT_TRUE(error == -EINVAL || error == -EPERM) << error;
    }).join();
}

TEST(Memory, PagesAreZeroAndDistinct)
{
    auto *a = static_cast<unsigned char *>(plat_mem_pages(10000));
    auto *b = static_cast<unsigned char *>(plat_mem_pages(10000));
    ASSERT_TRUE(a && b && a != b);
    for (size_t i = 0; i < 10000; i++)
        ASSERT_EQ(a[i] | b[i], 0);
    memset(a, 1, 10000);
    EXPECT_EQ(b[0], 0);
}

TEST(Memory, RefusedMemoryReturnsNull)
{
    EXPECT_EQ(plat_mem_pages(SIZE_MAX / 4), nullptr);
}

TEST(Errno, PrimitivesPreserveErrno)
{
    uint32_t word = 0;
    errno = 77;
    (void)plat_futex_wait(&word, 1, PLAT_FOREVER);
    (void)plat_futex_unlock_pi(&word);
    (void)plat_fence_heavy();
    (void)plat_sched_set(100, 0);
    (void)plat_mem_pages(SIZE_MAX / 4);
    (void)plat_cpu_current();
    char name[8];
    plat_thread_name({0x7fffffff}, name, sizeof(name));
    EXPECT_EQ(errno, 77);
}

TEST(Copies, ProgramHasOneCopyOfTheLibrary)
{
    EXPECT_EQ(plat_copies(), 1);
}

TEST(Random, SuccessiveRandomNumbersDiffer)
{
    uint64_t first = plat_random();
    EXPECT_NE(plat_random(), first);
}

} // namespace
