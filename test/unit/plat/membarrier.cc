/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of heavy fences: by membarrier, or the reason for its refusal, and by a visit to every CPU instead. */
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <sched.h>
#include <sys/resource.h>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "../../support/internals.h"
#include "../../support/sync.h"
#include "../../support/trapped.h"
#include "../../support/variant.h"

namespace
{

TEST(Fence, MembarrierWorksOrItsErrorIsReturned)
{
    int error = plat_fence_prepare();
    if (error) {
        EXPECT_LT(error, 0);
        GTEST_SKIP() << "the kernel refuses membarrier here: " << error;
    }
    EXPECT_EQ(plat_fence_heavy(), 0);
}

TEST(Fence, VisitRestoresItsCpus)
{
    cpu_set_t before, after;
    CPU_ZERO(&before);
    CPU_ZERO(&after);
    ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
    int error = plat_fence_by_visit(nullptr);
    EXPECT_TRUE(error == 0 || error == -EXDEV || error == -EPERM) << error;
    ASSERT_EQ(sched_getaffinity(0, sizeof(after), &after), 0);
    EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

std::vector<int> own_cpus()
{
    cpu_set_t set;
    std::vector<int> cpus;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set) != 0)
        return cpus;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &set))
            cpus.push_back(cpu);
    }
    return cpus;
}

/* A thread that runs on one CPU. */
class Bound
{
    std::atomic<bool> bound_{false}, stop_{false};
    std::atomic<uint64_t> rounds_{0};
    std::atomic<long> switched_out_{0};
    std::thread thread_;

    void run(int cpu)
    {
        EXPECT_EQ(plat_cpu_bind(cpu), 0);
        bound_ = true;
        while (!stop_) {
            struct rusage usage = {};
            getrusage(RUSAGE_THREAD, &usage);
            switched_out_ = usage.ru_nivcsw; /* involuntary context switches */
            rounds_++;
        }
    }

  public:
    explicit Bound(int cpu) : thread_([=, this] { run(cpu); })
    {
        EXPECT_TRUE(test::eventually([&] { return bound_.load(); }));
    }
    ~Bound()
    {
        stop_ = true;
        thread_.join();
    }
    /* Returns how often the thread has been switched out involuntarily, as read by the thread after this call began. */
    long switched_out()
    {
        uint64_t now = rounds_;
        EXPECT_TRUE(test::eventually([&] { return rounds_ >= now + 2; }));
        return switched_out_;
    }
};

/* Restricts the calling thread to one CPU while this object lives. */
class BoundHere
{
    cpu_set_t saved_;

  public:
    explicit BoundHere(int cpu)
    {
        EXPECT_EQ(sched_getaffinity(0, sizeof(saved_), &saved_), 0);
        EXPECT_EQ(plat_cpu_bind(cpu), 0);
    }
    ~BoundHere()
    {
        EXPECT_EQ(sched_setaffinity(0, sizeof(saved_), &saved_), 0);
    }
    BoundHere(const BoundHere &) = delete;
    BoundHere &operator=(const BoundHere &) = delete;
};

/* Returns how often a thread that runs on CPU @of is switched out while a thread restricted to CPU @from makes @visits
 * visits.  The main thread is restricted to @from too, so that it does not switch the runner out. */
long switches(int of, int from, int visits)
{
    BoundHere main(from);
    Bound runner(of);
    long seen = 0;
    std::thread visitor([&] {
        EXPECT_EQ(plat_cpu_bind(from), 0);
        long begun = runner.switched_out();
        for (int i = 0; i < visits; i++) {
            EXPECT_EQ(plat_fence_by_visit(nullptr), 0);
            seen = runner.switched_out() - begun; /* read after the runner has run again */
        }
    });
    visitor.join();
    return seen;
}

/* A context switch is a full fence for the thread that is switched out.  Other causes of switches are rarer. */
TEST(Fence, VisitSwitchesOutThreadsOnOtherCpus)
{
    constexpr int visits = 20;
    std::vector<int> cpus = own_cpus();
    if (cpus.size() < 2 || TEST_EMULATED)
        GTEST_SKIP() << "there is one CPU, or an emulator, which has threads of its own";
    EXPECT_GE(switches(cpus.front(), cpus.back(), visits), visits);
    EXPECT_GE(switches(cpus.back(), cpus.front(), visits), visits);
}

TEST(Fence, VisitReportsTheCpuThatItMovesTo)
{
    uint32_t next = UINT32_MAX;
    int error = plat_fence_by_visit(&next);
    std::vector<int> cpus = own_cpus();
    EXPECT_TRUE(error == 0 || error == -EXDEV) << error;
    EXPECT_NE(std::find(cpus.begin(), cpus.end(), static_cast<int>(next)), cpus.end()) << next;
}

/* ---- a visit that the kernel refuses halfway ---- */

pid_t visitor_id;
test::Worker *kernel; /* performs the visitor's system calls */
int allowed, last_error;

/* Handler of trapped calls: performs `allowed` of the visitor's calls, then refuses one with `last_error`. */
long refuse_later()
{
    if (allowed-- == 0)
        return last_error;
    long result = -1;
    kernel->run([&result] {
        auto *set = reinterpret_cast<const cpu_set_t *>(test::third_argument.load());
        result = sched_setaffinity(visitor_id, sizeof(*set), set) == 0 ? 0 : -errno;
    });
    return result;
}

TEST(Fence, RefusedVisitRestoresItsCpus)
{
    const int as_the_kernel[] = {-EPERM, -EINVAL}, as_said[] = {-EPERM, -EXDEV};
    std::vector<int> before = own_cpus();
    if (before.size() < 2 || TEST_EMULATED)
        GTEST_SKIP() << "there is one CPU, or an emulator, which makes other system calls";
    test::Worker worker;
    kernel = &worker;
    for (int i = 0; i < 2; i++) {
        bool trapped = false;
        std::thread([&, i] {
            visitor_id = gettid();
            allowed = static_cast<int>(before.size()) - 1;
            last_error = as_the_kernel[i];
            trapped = test::trap(SYS_sched_setaffinity, nullptr, refuse_later);
            EXPECT_TRUE(!trapped || plat_fence_by_visit(nullptr) == as_said[i]) << i;
            EXPECT_EQ(own_cpus(), before) << i;
        }).join();
        if (!trapped)
            GTEST_SKIP() << "system calls cannot be trapped here";
        EXPECT_LT(allowed, -1) << "after the refusal, further calls restored the CPUs";
    }
}

TEST(Fence, RefusedRestorationIsReported)
{
    const size_t cpus = own_cpus().size();
    if (TEST_EMULATED)
        GTEST_SKIP() << "the emulator makes other system calls";
    test::Worker worker;
    kernel = &worker;
    bool trapped = false;
    std::thread([&] {
        visitor_id = gettid();
        allowed = static_cast<int>(cpus);
        last_error = -EACCES;
        trapped = test::trap(SYS_sched_setaffinity, nullptr, refuse_later);
        EXPECT_TRUE(!trapped || plat_fence_by_visit(nullptr) == -EACCES);
    }).join();
    if (!trapped)
        GTEST_SKIP() << "system calls cannot be trapped here";
    EXPECT_EQ(allowed, -1);
}

} // namespace
