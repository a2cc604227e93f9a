// SPDX-License-Identifier: MIT OR Apache-2.0
// Load from outside: CPU hogs and a writer of files. They are processes in sessions of their own, so that a scheduler
// that shares CPUs among groups gives them a share beside the experiment.
#pragma once

#include <sys/types.h>

#include <vector>

namespace lab::expedited
{

class OutsideLoad
{
  public:
    // Starts two hogs for each CPU and one writer.  The caller must have no other threads.
    explicit OutsideLoad(unsigned cpus);
    ~OutsideLoad(); // ends these processes
    OutsideLoad(const OutsideLoad &) = delete;
    OutsideLoad &operator=(const OutsideLoad &) = delete;

    const std::vector<pid_t> &processes() const
    {
        return processes_;
    }

  private:
    void start(void (*work)());
    std::vector<pid_t> processes_;
};

} // namespace lab::expedited
