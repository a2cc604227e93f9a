// SPDX-License-Identifier: MIT OR Apache-2.0
// The two features of 2002 that this library does not have, as thin layers over call_rcu(): the lab carries them, so
// that the library need not.
//
// GlobalQueue, as in rcu_poll: one queue for all threads under one spinning lock, served by one server at a time.  The
// first callback of an idle queue makes a batch of what is queued and sends a carrier through call_rcu(); when the
// carrier's grace
// period is over, whoever runs it runs the whole batch, then sends the next.  Grace periods stay the engine's business.
//
// GlobalCounter, as in rcu_sched: one atomic count of the callbacks that wait, for all threads.
#pragma once

#include <rtrcu/rcu.h>

#include <atomic>
#include <cstdint>

#include "overhead/spin_lock.h"
#include "peer/peer.h"

namespace lab::overhead
{

class GlobalQueue
{
  public:
    void enqueue(RetiredHead *head, ReclaimFunction reclaim);
    // Queued and not yet run; a little old.
    uint64_t backlog() const
    {
        return backlog_.load(std::memory_order_relaxed);
    }
    // Callbacks that have run: the library sees carriers alone.
    uint64_t invoked() const
    {
        return invoked_.load(std::memory_order_relaxed);
    }

  private:
    // How a queued head is used: next and function, as in struct rcu_head.
    struct Link {
        Link *next;
        ReclaimFunction reclaim;
    };
    struct Carrier {
        rcu_head head; // first: the callback gets this address
        GlobalQueue *queue;
    };
    static void carrier_arrives(rcu_head *head);
    uint64_t run(Link *batch);
    bool cut_batch();
    void send();
    void lock();

    SpinLock lock_;
    Link *next_first_ = nullptr; // under the lock: waits for the next batch
    Link *next_last_ = nullptr;
    Link *batch_ = nullptr; // under the lock while no carrier is under way, else the carrier's
    bool under_way_ = false;
    std::atomic<uint64_t> backlog_{0}; // written under the lock
    std::atomic<uint64_t> invoked_{0}; // written by the thread that runs the batch, one at a time
    Carrier carrier_{{}, this};
};

// One a process, since callbacks get nothing but their head.
extern GlobalQueue global_queue;
extern std::atomic<uint64_t> global_counter;

template <ReclaimFunction reclaim> void counted_reclaim(RetiredHead *head)
{
    global_counter.fetch_sub(1, std::memory_order_seq_cst);
    reclaim(head);
}

// How a retired object reaches call_rcu(); one pair of functions for each of these an engine.
template <ReclaimFunction reclaim> [[gnu::noinline]] void retire_plainly(RetiredHead *head)
{
    call_rcu(reinterpret_cast<rcu_head *>(head), reinterpret_cast<rcu_callback_t>(reclaim));
}

template <ReclaimFunction reclaim> [[gnu::noinline]] void retire_counted(RetiredHead *head)
{
    global_counter.fetch_add(1, std::memory_order_seq_cst);
    call_rcu(reinterpret_cast<rcu_head *>(head), reinterpret_cast<rcu_callback_t>(counted_reclaim<reclaim>));
}

template <ReclaimFunction reclaim> [[gnu::noinline]] void retire_globally(RetiredHead *head)
{
    global_queue.enqueue(head, reclaim);
}

} // namespace lab::overhead
