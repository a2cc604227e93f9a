/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of boosting readers that hold up a grace period, and of boosting switched off or refused.
 * The reader shares its only CPU with a real-time hog, so its section can end only if it is boosted above the hog. */
#include <atomic>
#include <cstring>
#include <pthread.h>
#include <sched.h>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "../support/sync.h"
#include "../support/threads.h"
#include "child.h"

namespace
{

bool set_priority(int priority)
{
    struct sched_param parameter = {};
    parameter.sched_priority = priority;
    return sched_setscheduler(0, priority ? SCHED_FIFO : SCHED_OTHER, &parameter) == 0;
}

void bind_to(int cpu)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    REQUIRE(sched_setaffinity(0, sizeof(one), &one) == 0);
}

/* The priority that the scheduler uses, boosts included: negative for real-time threads, otherwise 0 or more. */
int priority_in_force()
{
    char text[512] = "";
    FILE *file = fopen("/proc/thread-self/stat", "r");
    size_t length = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
    if (file)
        fclose(file);
    text[length] = 0;
    const char *at = strrchr(text, ')'); /* the end of field 2, the name; the priority is field 18 */
    for (int field = 2; at && field < 18; field++)
        at = strchr(at + 1, ' ');
    REQUIRE(at != nullptr);
    return atoi(at);
}

bool real_time_allowed()
{
    bool allowed = false;
    std::thread([&] { allowed = set_priority(1); }).join();
    return allowed;
}

cpu_set_t where_it_may_run()
{
    cpu_set_t all;
    REQUIRE(sched_getaffinity(0, sizeof(all), &all) == 0);
    return all;
}

/* Keep the calling thread off the last CPU, and the library's threads, which inherit its affinity. Returns that CPU. */
int leave_the_last_cpu()
{
    /* the CPUs that the thread may use at the first call */
    static const cpu_set_t all = where_it_may_run();
    int cpu = CPU_SETSIZE - 1;
    while (!CPU_ISSET(cpu, &all))
        cpu--;
    int other = 0;
    while (!CPU_ISSET(other, &all))
        other++;
    bind_to(other);
    return cpu;
}

/* A SCHED_FIFO 1 thread that keeps ordinary threads off @cpu, from the return of start() until stop(). */
class Hog
{
    std::atomic<bool> running_{false}, stop_{false};
    std::thread thread_;

    void run(int cpu)
    {
        bind_to(cpu);
        REQUIRE(set_priority(1));
        running_ = true;
        while (!stop_)
            ;
    }

  public:
    Hog() = default;
    ~Hog()
    {
        stop();
    }
    void start(int cpu)
    {
        thread_ = std::thread([this, cpu] { run(cpu); });
        while (!running_)
            std::this_thread::yield();
    }
    bool is_running() const
    {
        return running_;
    }
    void stop()
    {
        stop_ = true;
        if (thread_.joinable())
            thread_.join();
    }
};

/* CPU time of the calling thread. */
std::chrono::nanoseconds cpu_time()
{
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

/* Call @wait_for_it, on another CPU, while a SCHED_FIFO 1 hog preempts an ordinary reader inside its section. The
 * reader computes for @work before it leaves. */
void with_a_preempted_reader(void (*wait_for_it)(), std::chrono::milliseconds work = {})
{
    int cpu = leave_the_last_cpu();
    std::atomic<bool> left{false};
    Hog hog;
    test::Steps steps;
    std::thread reader([&] {
        bind_to(cpu);
        rcu_read_lock();
        steps.reach(1);
        while (!hog.is_running())
            ;
        /* From here on the reader runs only if it is boosted above the hog. */
        for (int i = 0; i < 1000; i++)
            rtrcu_cpu_relax();
        for (auto begun = cpu_time(); cpu_time() - begun < work;)
            ;
        left = true;
        rcu_read_unlock();
        steps.wait(2);
    });
    steps.wait(1);
    hog.start(cpu);
    wait_for_it();
    REQUIRE(left);
    hog.stop();
    steps.reach(2);
    reader.join();
}

/* Beside a real-time hog the kernel still gives ordinary threads 50 ms of each second. A section that computes for
 * longer cannot end in that time. A reader that runs in that time is not boosted, so the test tries several readers. */
constexpr std::chrono::milliseconds LONGER_THAN_THE_KERNEL_GRANTS{100};

void until_a_reader_is_boosted(void (*wait_for_it)())
{
    for (int i = 0; i < 10 && test::stats().boosts == 0; i++)
        with_a_preempted_reader(wait_for_it, LONGER_THAN_THE_KERNEL_GRANTS);
    REQUIRE(test::stats().boosts > 0);
}

CHILD(expedited_grace_period_boosts_immediately)
{
    if (!real_time_allowed())
        _exit(3);
    until_a_reader_is_boosted(synchronize_rcu_expedited);
}

/* Exit code of a child whose longest boost took longer than a slice.  The cause may also be a preempted booster, or a
 * preempted CPU of a virtual machine, so expect_works() runs such a child again. */
constexpr int TOO_LONG = 4;

/* While the reader runs, on another CPU than the booster, the booster spins in the kernel; the nudger must end its
 * slice. */
CHILD(boost_ends_after_one_slice)
{
    if (!real_time_allowed())
        _exit(3);
    with_a_preempted_reader(synchronize_rcu_expedited, std::chrono::milliseconds(80));
    struct rtrcu_stats all = test::stats();
    if (all.boost_ns_max >= 40000000) /* many slices of 1 ms */
        _exit(TOO_LONG);
}

bool caller_has_boosted;

void call_in_real_time()
{
    uint64_t boosts = test::stats().boosts;
    pid_t booster = test::thread_called("rtrcu-boost");
    long slept = test::sleeps_of(booster);
    REQUIRE(set_priority(20));
    synchronize_rcu_expedited();
    REQUIRE(set_priority(0));
    caller_has_boosted |= test::stats().boosts > boosts && slept > 0 && test::sleeps_of(booster) == slept;
}

/* A real-time caller boosts the reader itself, for one slice, in which the section ends.  A longer boost would be made
 * by the worker.  The test tries several readers, since a reader may end its section in the time that the kernel
 * leaves to ordinary threads. */
CHILD(a_real_time_caller_boosts)
{
    if (!real_time_allowed())
        _exit(3);
    synchronize_rcu_expedited();
    REQUIRE(test::eventually([] {
        return test::sleeps_of(test::thread_called("rtrcu-boost")) > 0 &&
               test::sleeps_of(test::thread_called("rtrcu-nudge")) > 0;
    }));
    for (int i = 0; i < 20 && !caller_has_boosted; i++)
        with_a_preempted_reader(call_in_real_time);
    REQUIRE(caller_has_boosted);
}

CHILD(boost_of_a_caller_ends_after_one_slice)
{
    if (!real_time_allowed())
        _exit(3);
    synchronize_rcu_expedited();
    /* the work takes less time than the boost limit */
    with_a_preempted_reader(call_in_real_time, std::chrono::milliseconds(180));
    if (test::stats().boost_ns_max >= 150000000) /* the kernel may give ordinary threads 50 ms meanwhile */
        _exit(TOO_LONG);
}

CHILD(normal_boosts_after_its_delay)
{
    if (!real_time_allowed())
        _exit(3);
    until_a_reader_is_boosted(synchronize_rcu);
}

class Boost : public testing::Test
{
    static bool exits_with(const test::ChildResult &result, int status)
    {
        return WIFEXITED(result.status) && WEXITSTATUS(result.status) == status;
    }

  protected:
    void expect_works(const char *child, const std::vector<std::string> &environment)
    {
        said_.clear();
        if (TEST_EMULATED || std::thread::hardware_concurrency() < 2)
            GTEST_SKIP() << "the test needs two CPUs, and no emulator";
        test::ChildResult result = test::run_child(child, environment);
        for (int i = 1; i < 20 && exits_with(result, TOO_LONG); i++)
            result = test::run_child(child, environment);
        if (exits_with(result, 3))
            GTEST_SKIP() << "real-time scheduling is not allowed here";
        EXPECT_TRUE(exited_well(result));
        said_ = result.output;
    }
    std::string said_;
};

TEST_F(Boost, ExpeditedGracePeriodBoostsImmediately)
{
    expect_works("expedited_grace_period_boosts_immediately", {"RTRCU_KTHREAD_PRIO=10"});
}

TEST_F(Boost, RealTimeCallerBoostsReaders)
{
    expect_works("a_real_time_caller_boosts", {"RTRCU_KTHREAD_PRIO=10"});
    expect_works("boost_of_a_caller_ends_after_one_slice", {"RTRCU_KTHREAD_PRIO=10"});
}

TEST_F(Boost, NormalGracePeriodBoostsAfterItsDelay)
{
    expect_works("normal_boosts_after_its_delay", {"RTRCU_KTHREAD_PRIO=10", "RTRCU_BOOST_DELAY_US=1000"});
}

TEST_F(Boost, BoostEndsAfterOneSlice)
{
    expect_works("boost_ends_after_one_slice", {"RTRCU_KTHREAD_PRIO=10"});
}

/* ---- a reader that waits for a lock whose holder the hog preempts ---- */

struct Waiting {
    pthread_mutex_t mutex;
    Hog hog;
    test::Steps steps;
    int hogged_cpu;
    std::atomic<pid_t> reader{0};
    std::atomic<bool> left{false};
    bool left_before_the_hog = false;
};

void hold_the_lock(Waiting &waiting)
{
    bind_to(waiting.hogged_cpu);
    pthread_mutex_lock(&waiting.mutex);
    waiting.steps.reach(1);
    while (!waiting.hog.is_running())
        ;
    pthread_mutex_unlock(&waiting.mutex); /* returns only if the holder is boosted or the hog stops */
}

void read_and_wait_for_the_lock(Waiting &waiting)
{
    pthread_setname_np(pthread_self(), "the-reader");
    rcu_read_lock();
    waiting.steps.wait(1);
    waiting.reader = gettid();
    waiting.steps.reach(2);
    pthread_mutex_lock(&waiting.mutex);
    pthread_mutex_unlock(&waiting.mutex);
    waiting.left = true;
    rcu_read_unlock();
}

/* Returns whether the reader left before the hog stopped. */
bool with_a_reader_that_waits(int protocol, void (*wait_for_it)())
{
    if (!real_time_allowed())
        _exit(3);
    static Waiting waiting; /* static, since the child's threads may outlive this function */
    waiting.hogged_cpu = leave_the_last_cpu();
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setprotocol(&attributes, protocol);
    pthread_mutex_init(&waiting.mutex, &attributes);
    std::thread holder(hold_the_lock, std::ref(waiting));
    waiting.steps.wait(1);
    std::thread reader(read_and_wait_for_the_lock, std::ref(waiting));
    waiting.steps.wait(2);
    REQUIRE(test::eventually([] { return test::is_asleep(waiting.reader); })); /* the reader may wait for a CPU first */
    waiting.hog.start(waiting.hogged_cpu);
    wait_for_it();
    waiting.left_before_the_hog = waiting.left;
    waiting.hog.stop();
    holder.join();
    reader.join();
    return waiting.left_before_the_hog;
}

CHILD(boosts_through_a_pi_lock)
{
    REQUIRE(with_a_reader_that_waits(PTHREAD_PRIO_INHERIT, synchronize_rcu_expedited));
}

CHILD(waits_for_another_lock)
{
    with_a_reader_that_waits(PTHREAD_PRIO_NONE, [] {
        unsigned long cookie = start_poll_synchronize_rcu_expedited();
        REQUIRE(test::eventually([] { return test::stats().stall_reports > 0; }));
        REQUIRE(!poll_state_synchronize_rcu_expedited(cookie));
    });
}

TEST_F(Boost, BoostPropagatesThroughPriorityInheritingLock)
{
    expect_works("boosts_through_a_pi_lock", {"RTRCU_KTHREAD_PRIO=10"});
}

TEST_F(Boost, StallReportNamesLockWithoutInheritance)
{
    expect_works("waits_for_another_lock", {"RTRCU_KTHREAD_PRIO=10", "RTRCU_STALL_TIMEOUT_MS=20"});
    if (!IsSkipped()) {
        EXPECT_NE(said_.find("\"the-reader\""), std::string::npos) << said_;
        EXPECT_NE(said_.find("in system call"), std::string::npos) << said_;
    }
}

/* ---- the end of a boost ---- */

CHILD(boost_ends_with_the_section)
{
    if (!real_time_allowed())
        _exit(3);
    std::atomic<bool> stop{false};
    std::atomic<long> lifted{0}, lifted_outside{0};
    std::vector<std::thread> readers;
    for (int i = 0; i < 4; i++) {
        readers.emplace_back([&] {
            while (!stop) {
                rcu_read_lock();
                for (int j = 0; j < 1000; j++)
                    rtrcu_cpu_relax();
                lifted += priority_in_force() < 0;
                rcu_read_unlock();
                lifted_outside += priority_in_force() < 0;
            }
        });
    }
    int turns = 0;
    REQUIRE(test::eventually([&] {
        synchronize_rcu_expedited();
        return ++turns >= 300 && lifted >= 5;
    }));
    stop = true;
    for (auto &reader : readers)
        reader.join();
    REQUIRE(lifted_outside == 0);
    struct rtrcu_stats all = test::stats();
    REQUIRE(all.boosts > 0);
    REQUIRE(all.boost_ns_max <= all.boost_ns);
}

TEST_F(Boost, BoostEndsWithTheSection)
{
    expect_works("boost_ends_with_the_section", {"RTRCU_KTHREAD_PRIO=10"});
}

constexpr uint64_t boost_limit_ns = 200000000; /* longest time for which a grace period boosts one reader */

/* A sleeping reader is boosted until the limit; then the grace period waits for it without boosting it. */
CHILD(a_sleeping_reader)
{
    if (!real_time_allowed())
        _exit(3);
    test::Worker sleeper;
    sleeper.run([] { rcu_read_lock(); });
    std::atomic<bool> done{false};
    std::thread updater([&] {
        synchronize_rcu_expedited();
        done = true;
    });
    REQUIRE(test::eventually([] { return test::stats().boosts >= 5; }));
    uint64_t given_up = test::stats().boost_given_up;
    /* boost_ns, which only grows, is read after boost_given_up */
    REQUIRE(given_up == 0 || test::stats().boost_ns >= boost_limit_ns);
    REQUIRE(test::eventually([] { return test::stats().boost_given_up >= 1; }));
    REQUIRE(test::stats().boost_ns >= boost_limit_ns);
    REQUIRE(!done); /* the reader is no longer boosted, but the grace period still waits for it */
    sleeper.run([] { rcu_read_unlock(); });
    updater.join();
}

TEST_F(Boost, SleepingReaderIsBoostedUpToItsLimit)
{
    expect_works("a_sleeping_reader", {"RTRCU_KTHREAD_PRIO=10"});
}

/* ---- boosting switched off or refused ---- */

CHILD(no_boosting)
{
    test::Worker reader;
    reader.run([] { rcu_read_lock(); });
    std::thread updater([] { synchronize_rcu_expedited(); });
    REQUIRE(test::eventually([] { return test::stats().stall_reports > 0; }));
    REQUIRE(test::stats().boosts == 0);
    reader.run([] { rcu_read_unlock(); });
    updater.join();
}

TEST_F(Boost, NoReaderIsBoostedWithBoostOff)
{
    expect_works("no_boosting", {"RTRCU_BOOST=0", "RTRCU_STALL_TIMEOUT_MS=30"});
    expect_works("no_boosting", {"RTRCU_KTHREAD_PRIO=0", "RTRCU_STALL_TIMEOUT_MS=30"});
}

CHILD(boost_refused)
{
    test::Worker reader;
    reader.run([] { rcu_read_lock(); });
    std::thread updater([] { synchronize_rcu_expedited(); });
    REQUIRE(test::eventually([] { return test::stats().boost_refused > 0; }));
    reader.run([] { rcu_read_unlock(); });
    updater.join();
    REQUIRE(test::stats().boosts == 0);
}

CHILD(drop_permission)
{
    test::become_child_without_real_time("boost_refused");
}

TEST_F(Boost, RefusedBoostIsCounted)
{
    expect_works("drop_permission", {});
}

} // namespace
