// SPDX-License-Identifier: MIT OR Apache-2.0
// The reader fibers, run by Boost.Fiber with the library's scheduling algorithm.
#include "blocked/child/carriers.h"

#include <boost/fiber/all.hpp>
#include <rtrcu/boost_fiber.hpp>

#include "blocked/child/meter.h"
#include "machine/realtime.h"

namespace lab::blocked
{
namespace
{

using boost::fibers::algo::round_robin;

void count_one(std::atomic<uint64_t> &count)
{
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

} // namespace

Carriers::Carriers(const RunRequest &request) : current_(new Record(0)), counts_(request.carriers)
{
    for (unsigned carrier = 0; carrier < request.carriers; carrier++)
        threads_.emplace_back([this, &request, carrier] { carry(request, carrier); });
    while (ready_.load() != request.carriers)
        std::this_thread::yield();
}

Carriers::~Carriers()
{
    stop();
    delete current_.load();
}

void Carriers::stop()
{
    stop_ = true;
    for (std::thread &thread : threads_)
        thread.join();
    threads_.clear();
}

uint64_t Carriers::iterations() const
{
    uint64_t sum = 0;
    for (const Count &count : counts_)
        sum += count.iterations.load(std::memory_order_relaxed);
    return sum;
}

void Carriers::read_inside(Count &count)
{
    while (!stop_.load(std::memory_order_relaxed)) {
        rtrcu::guard section;
        const Record *record = current_.load(std::memory_order_acquire);
        const uint64_t generation = record->words[0].load(std::memory_order_relaxed);
        boost::this_fiber::yield(); // the fiber is parked inside its section
        if (!record->holds(generation))
            errors_++;
        count_one(count.iterations);
    }
}

// The baseline: the cost of fibers and their scheduler alone.
void Carriers::only_yield(Count &count)
{
    while (!stop_.load(std::memory_order_relaxed)) {
        const Record *record = current_.load(std::memory_order_acquire);
        const uint64_t generation = record->words[0].load(std::memory_order_relaxed);
        boost::this_fiber::yield();
        if (!record->holds(generation))
            errors_++;
        count_one(count.iterations);
    }
}

void Carriers::carry(const RunRequest &request, unsigned carrier)
{
    const bool sections = request.lists != Lists::none;
    if (!request.cpus.empty())
        pin_to_cpus({request.cpus[carrier % request.cpus.size()]});
    if (sections)
        boost::fibers::use_scheduling_algorithm<rtrcu::fiber_algorithm<round_robin>>();
    else
        boost::fibers::use_scheduling_algorithm<round_robin>();
    meter_this_is_a_reader();
    std::vector<boost::fibers::fiber> fibers;
    for (unsigned reader = carrier; reader < request.readers; reader += request.carriers)
        fibers.emplace_back([this, sections, &count = counts_[carrier]] {
            if (sections)
                read_inside(count);
            else
                only_yield(count);
        });
    ready_++;
    for (boost::fibers::fiber &fiber : fibers)
        fiber.join();
}

} // namespace lab::blocked
