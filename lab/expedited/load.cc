// SPDX-License-Identifier: MIT OR Apache-2.0
// Threads that keep the machine busy.
#include "expedited/load.h"

#include "machine/realtime.h"

namespace lab::expedited
{

Load::Load(const Peer &peer, const std::vector<int> &cpus, unsigned hogs_a_cpu, unsigned readers, ReaderShape shape)
    : current_(new Settings(0)), counts_(readers)
{
    for (unsigned i = 0; i < readers; i++)
        threads_.emplace_back([this, &peer, shape, i] { read(peer, shape, counts_[i]); });
    for (int cpu : cpus)
        for (unsigned i = 0; i < hogs_a_cpu; i++)
            threads_.emplace_back([this, cpu] {
                pin_to_cpus({cpu});
                begin();
                while (!stop_.load(std::memory_order_relaxed))
                    for (int spin = 0; spin < 1000; spin++)
                        asm volatile("" ::: "memory");
            });
    const auto all = static_cast<unsigned>(threads_.size());
    for (unsigned ready = 0; ready < all; ready = ready_.load())
        ready_.wait(ready);
    go_ = true;
    go_.notify_all();
}

Load::~Load()
{
    stop_ = true;
    for (std::thread &thread : threads_)
        thread.join();
    delete current_.load();
}

// Lets all threads begin their work; called once all exist, because creating threads beside busy threads takes seconds.
void Load::begin()
{
    ready_.fetch_add(1);
    ready_.notify_one();
    go_.wait(false);
}

uint64_t Load::sections() const
{
    uint64_t sum = 0;
    for (const Count &count : counts_)
        sum += count.sections.load(std::memory_order_relaxed);
    return sum;
}

void Load::read(const Peer &peer, ReaderShape shape, Count &count)
{
    const Section section = peer.section(ThreadRole::reader);
    const Settings own(1);
    uint64_t sections = 0;
    peer.thread_begin(ThreadRole::reader);
    begin();
    while (!stop_.load(std::memory_order_relaxed)) {
        section.lock();
        const bool whole = current_.load(std::memory_order_acquire)->is_whole(shape.passes_inside);
        section.unlock();
        if (!whole || !own.is_whole(shape.passes_outside))
            errors_.fetch_add(1);
        count.sections.store(++sections, std::memory_order_relaxed);
    }
    peer.thread_end();
}

} // namespace lab::expedited
