// SPDX-License-Identifier: MIT OR Apache-2.0
// Bursts and pauses of random length, which together use about the requested share of each CPU.
#include "blocked/child/preemptors.h"

#include <algorithm>
#include <random>
#include <stdexcept>

#include "machine/realtime.h"
#include "measure/clock.h"

namespace lab::blocked
{
namespace
{

// Returns the mean pause between bursts with which the preemptors of a CPU together use the requested share of it.  A
// pause includes the time for which the preemptor waits for other preemptors.
double mean_pause_ns(const RunRequest &request)
{
    const double cpus = static_cast<double>(std::max<std::size_t>(request.cpus.size(), 1));
    const double share = request.preempted_share, burst = static_cast<double>(request.burst_ns);
    const double queueing = burst * (1 + share / (1 - share) / 2);
    return std::max(request.preemptors / cpus * burst / share - queueing, burst);
}

} // namespace

Preemptors::Preemptors(const RunRequest &request)
{
    for (unsigned index = 0; index < request.preemptors; index++)
        threads_.emplace_back([this, &request, index] { preempt(request, index); });
    while (ready_.load() != request.preemptors)
        std::this_thread::yield();
    if (refused_)
        throw std::runtime_error(realtime_refusal());
}

Preemptors::~Preemptors()
{
    stop_ = true;
    for (std::thread &thread : threads_)
        thread.join();
}

void Preemptors::preempt(const RunRequest &request, unsigned index)
{
    if (!request.cpus.empty())
        pin_to_cpus({request.cpus[index % request.cpus.size()]});
    refused_ = refused_ || !enter_fifo(preemptor_priority);
    ready_++;
    std::mt19937_64 random(request.seed * 1'000 + index);
    std::uniform_real_distribution<double> about(0.5, 1.5);
    const double pause = mean_pause_ns(request);
    std::uniform_real_distribution<double> first(0, pause);
    pause_ns(static_cast<int64_t>(first(random)));
    while (!stop_) {
        if (on_) {
            const int64_t cpu = thread_cpu_ns();
            const int64_t end = now_ns() + static_cast<int64_t>(about(random) * static_cast<double>(request.burst_ns));
            while (now_ns() < end && !stop_) // ends after at most one and a half bursts
                ;
            busy_ns_ += thread_cpu_ns() - cpu;
        }
        pause_ns(static_cast<int64_t>(about(random) * pause));
    }
}

} // namespace lab::blocked
