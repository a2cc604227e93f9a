// SPDX-License-Identifier: MIT OR Apache-2.0
// Many parked tasks: their memory, the cost of promotion, and the time until the end of a grace period is noticed.
#include <malloc.h>
#include <rtrcu/rcu.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "blocked/child/library.h"
#include "blocked/child/parts.h"
#include "measure/clock.h"

namespace lab::blocked
{
namespace
{

constexpr int repetitions = 15, idle_grace_periods = 101;

// Returns heap in use plus address space, so that memory counts whichever way the library allocates it.
int64_t memory_bytes()
{
    int64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const struct mallinfo2 heap = mallinfo2();
    const auto used = static_cast<int64_t>(heap.uordblks + heap.hblkhd);
    return std::max(pages * sysconf(_SC_PAGESIZE), used);
}

double median(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

// Returns the shortest time: other activity of the machine can only lengthen a time.
double shortest(const std::vector<double> &values)
{
    return *std::min_element(values.begin(), values.end());
}

double idle_gp_ns()
{
    std::vector<double> took;
    for (int i = 0; i < idle_grace_periods; i++) {
        const int64_t begin = now_ns();
        synchronize_rcu();
        took.push_back(static_cast<double>(now_ns() - begin));
    }
    return median(took);
}

struct Times {
    std::vector<double> park_ns, unlock_ns, begin_ns, end_ns, promotion_ns;
};

// Measures a grace period that waits for all of the tasks.  A second thread waits for the grace period. Once the grace
// period waits for every task, the calling thread ends the tasks' sections.
void wait_for_all(std::vector<rcu_task> &tasks, Times &times)
{
    int64_t called = 0, returned = 0;
    std::thread waiter([&] {
        called = now_ns();
        synchronize_rcu();
        returned = now_ns();
    });
    while (!rcu_task_blocking(&tasks.back()) || !rcu_task_blocking(&tasks.front()))
        ; // ends when the waiter has begun its grace period
    const int64_t begun = now_ns();
    int64_t last = begun;
    for (rcu_task &task : tasks) {
        if (&task == &tasks.back())
            last = now_ns();
        rcu_task_resume(&task);
        rcu_read_unlock();
    }
    waiter.join();
    times.begin_ns.push_back(static_cast<double>(begun - called));
    times.unlock_ns.push_back(static_cast<double>(last - begun) / static_cast<double>(tasks.size()));
    times.end_ns.push_back(static_cast<double>(returned - last));
}

} // namespace

CrowdResult measure_crowd(const CrowdRequest &request)
{
    prepare_library(request.lists);
    rcu_read_lock();
    rcu_read_unlock();
    CrowdResult result;
    result.gp_without_ns = idle_gp_ns();
    std::vector<rcu_task> tasks(request.tasks);
    Times times;
    auto totals = std::make_unique<meter_totals>();
    int64_t grown = 0;
    meter_switch(totals.get());
    for (int repetition = 0; repetition < repetitions; repetition++) {
        const int64_t before = memory_bytes(), begin = now_ns();
        for (rcu_task &task : tasks) {
            rcu_task_init(&task, "crowd");
            rcu_read_lock();
            rcu_task_park(&task);
        }
        times.park_ns.push_back(static_cast<double>(now_ns() - begin) / static_cast<double>(tasks.size()));
        grown = std::max(grown, memory_bytes() - before);
        const uint64_t cycles = totals->promotion_cycles;
        wait_for_all(tasks, times);
        times.promotion_ns.push_back(cycles_to_ns(totals->promotion_cycles - cycles));
    }
    meter_switch(nullptr);
    result.bytes_each =
        static_cast<double>(sizeof(rcu_task)) + static_cast<double>(grown) / static_cast<double>(tasks.size());
    result.park_ns = shortest(times.park_ns);
    result.unlock_ns = shortest(times.unlock_ns);
    result.begin_ns = shortest(times.begin_ns);
    result.end_ns = shortest(times.end_ns);
    std::vector<double> both;
    for (std::size_t i = 0; i < times.begin_ns.size(); i++)
        both.push_back(times.begin_ns[i] + times.end_ns[i]);
    std::sort(both.begin(), both.end());
    result.spread_ns = (both[both.size() * 3 / 4] - both[both.size() / 4]) / 2;
    result.promotions = totals->promotions / repetitions;
    result.promotion_ns = shortest(times.promotion_ns);
    result.lock_hold_ns_max = cycles_to_ns(std::max(totals->readers.hold_max, totals->others.hold_max));
    return result;
}

} // namespace lab::blocked
