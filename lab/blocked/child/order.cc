// SPDX-License-Identifier: MIT OR Apache-2.0
// Checks that a grace period ends with the last task whose section began before it, and waits for no other task.
//
// It judges counts and order, not times.  Every second round uses an expedited grace period.
#include <rtrcu/rcu.h>

#include <algorithm>
#include <functional>
#include <random>

#include "blocked/child/library.h"
#include "blocked/child/parts.h"
#include "measure/clock.h"

namespace lab::blocked
{
namespace
{

constexpr int64_t patience_ns = 5'000'000'000;

// Polls until the condition holds.  Returns false if the time ran out first.
bool wait_until(const std::function<bool()> &holds)
{
    const int64_t end = now_ns() + patience_ns;
    while (!holds()) {
        if (now_ns() > end)
            return false;
        pause_ns(2'000);
    }
    return true;
}

void enter_and_park(std::vector<rcu_task> &tasks)
{
    for (rcu_task &task : tasks) {
        rcu_task_init(&task, "order");
        rcu_read_lock();
        rcu_task_park(&task);
    }
}

void resume_and_leave(rcu_task &task)
{
    rcu_task_resume(&task);
    rcu_read_unlock();
    rcu_task_exit(&task);
}

class Round
{
  public:
    Round(const OrderRequest &request, bool expedited, OrderResult &result)
        : older_(request.older), later_(request.later), expedited_(expedited), result_(result)
    {
    }
    void play(std::mt19937_64 &random)
    {
        enter_and_park(older_);
        cookie_ = expedited_ ? start_poll_synchronize_rcu_expedited() : start_poll_synchronize_rcu();
        const auto waited_for = [](const rcu_task &task) { return rcu_task_blocking(&task); };
        (void)wait_until([&] { return std::all_of(older_.begin(), older_.end(), waited_for); });
        result_.older_not_waited += static_cast<uint64_t>(
            std::count_if(older_.begin(), older_.end(), [&](const rcu_task &task) { return !waited_for(task); }));
        enter_and_park(later_);
        result_.later_waited_for += static_cast<uint64_t>(std::count_if(later_.begin(), later_.end(), waited_for));
        leave_in_random_order(random);
        for (rcu_task &task : later_)
            resume_and_leave(task);
        result_.rounds++;
    }

  private:
    bool is_over() const
    {
        return expedited_ ? poll_state_synchronize_rcu_expedited(cookie_) : poll_state_synchronize_rcu(cookie_);
    }
    // Ends the sections of the older tasks in random order; the later tasks stay parked until the grace period has
    // ended.
    void leave_in_random_order(std::mt19937_64 &random)
    {
        std::vector<rcu_task *> order;
        for (rcu_task &task : older_)
            order.push_back(&task);
        std::shuffle(order.begin(), order.end(), random);
        for (rcu_task *task : order) {
            result_.ended_early += is_over();
            left_ns_ = now_ns();
            resume_and_leave(*task);
        }
        if (wait_until([&] { return is_over(); }))
            result_.found_ns.push_back(static_cast<uint64_t>(now_ns() - left_ns_));
        else
            result_.not_ended++;
    }

    std::vector<rcu_task> older_, later_;
    bool expedited_;
    OrderResult &result_;
    unsigned long cookie_ = 0;
    int64_t left_ns_ = 0;
};

} // namespace

OrderResult check_order(const OrderRequest &request)
{
    prepare_library(request.lists);
    OrderResult result;
    std::mt19937_64 random(request.seed);
    for (unsigned round = 0; round < request.rounds; round++)
        Round(request, round % 2 != 0, result).play(random);
    return result;
}

} // namespace lab::blocked
