/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Helpers of the tests of [saferecl.rcu]: a region of another thread, and objects that are counted. */
#ifndef RTRCU_TEST_CXX_REGION_H
#define RTRCU_TEST_CXX_REGION_H

#include <atomic>
#include <functional>
#include <mutex>
#include <rcu>
#include <thread>

#include "../api/child.h"
#include "../support/sync.h"

namespace test
{

// Another thread that stays in a region until leave().
class Region
{
    Steps steps_;
    std::thread thread_;

  public:
    explicit Region(std::function<void()> before_the_end = [] {})
        : thread_([this, before_the_end] {
              std::scoped_lock<std::rcu_domain> region(std::rcu_default_domain());
              steps_.reach(1);
              steps_.wait(2);
              before_the_end();
          })
    {
        steps_.wait(1);
    }
    void leave()
    {
        steps_.reach(2);
        thread_.join();
    }
};

struct Counted : std::rcu_obj_base<Counted> {
    explicit Counted(std::atomic<int> &count) : deleted(&count)
    {
    }
    ~Counted()
    {
        ++*deleted;
    }
    std::atomic<int> *deleted;
};

} // namespace test

#endif
