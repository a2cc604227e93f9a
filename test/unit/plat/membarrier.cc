/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Heavy fences: the kernel's, or the reason why there is none, and the visit to every CPU that replaces it.
 */
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>
#include <sched.h>
#include <sys/resource.h>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "../../support/internals.h"
#include "../../support/sync.h"
#include "../../support/variant.h"

namespace
{

TEST(Fence, HeavyWorksOrTheReasonIsGiven)
{
    int error = plat_fence_prepare();
    if (error) {
        EXPECT_LT(error, 0);
        GTEST_SKIP() << "the kernel refuses membarrier here: " << error;
    }
    EXPECT_EQ(plat_fence_heavy(), 0);
}

TEST(Fence, VisitComesBackToItsOwnCpus)
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

/* A thread that may run on one CPU alone, and runs there or sleeps. */
class Bound
{
    std::atomic<bool> bound_{false}, stop_{false};
    std::atomic<uint64_t> rounds_{0};
    std::atomic<long> switched_out_{0};
    std::thread thread_;

    void run(int cpu, bool sleeps)
    {
        EXPECT_EQ(plat_cpu_bind(cpu), 0);
        bound_ = true;
        while (!stop_) {
            struct rusage usage = {};
            getrusage(RUSAGE_THREAD, &usage);
            switched_out_ = usage.ru_nivcsw; /* while it wanted to run */
            rounds_++;
            if (sleeps)
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }

  public:
    Bound(int cpu, bool sleeps) : thread_([=, this] { run(cpu, sleeps); })
    {
        EXPECT_TRUE(test::eventually([&] { return bound_.load(); }));
    }
    ~Bound()
    {
        stop_ = true;
        thread_.join();
    }
    /* How often by now; it has run since the call began. */
    long switched_out()
    {
        uint64_t now = rounds_;
        EXPECT_TRUE(test::eventually([&] { return rounds_ >= now + 2; }));
        return switched_out_;
    }
};

/* How often a thread that runs on @of is switched out while one that may run on @from alone makes so many visits. */
long switches(int of, int from, int visits)
{
    std::unique_ptr<Bound> runner;
    Bound before(from,
                 true); /* whichever thread the process lists first or last, it may not run where the other does */
    runner = std::make_unique<Bound>(of, false);
    Bound behind(from, true);
    long seen = 0;
    std::thread visitor([&] {
        EXPECT_EQ(plat_cpu_bind(from), 0);
        long begun = runner->switched_out();
        for (int i = 0; i < visits; i++) {
            EXPECT_EQ(plat_fence_by_visit(nullptr), 0);
            seen = runner->switched_out() - begun; /* it runs again by then */
        }
    });
    visitor.join();
    return seen;
}

/* Which is what a fence is for that thread.  Others may switch it out as well; hardly between any two visits. */
TEST(Fence, VisitSwitchesOutWhoeverRunsOnAnotherCpu)
{
    constexpr int visits = 20;
    std::vector<int> cpus = own_cpus();
    if (cpus.size() < 2 || TEST_EMULATED)
        GTEST_SKIP() << "one CPU alone, or an emulator, which has threads of its own";
    EXPECT_GE(switches(cpus.front(), cpus.back(), visits), visits);
    EXPECT_GE(switches(cpus.back(), cpus.front(), visits), visits);
}

TEST(Fence, VisitSaysWhichCpuIsNext)
{
    uint32_t next = UINT32_MAX;
    int error = plat_fence_by_visit(&next);
    std::vector<int> cpus = own_cpus();
    EXPECT_TRUE(error == 0 || error == -EXDEV) << error;
    EXPECT_NE(std::find(cpus.begin(), cpus.end(), static_cast<int>(next)), cpus.end()) << next;
}

} // namespace
