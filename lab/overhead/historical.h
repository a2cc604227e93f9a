// SPDX-License-Identifier: MIT OR Apache-2.0
// The two features of 2002 that this library does not have, as thin layers over call_rcu(). They are part of the lab,
// so
// that the library does not need them.
//
// GlobalQueue, as in rcu_poll: one queue for all threads under one spinning lock, and one server at a time.  The first
// callback queued to an idle queue makes the queue the batch, and sends a carrier callback through call_rcu(). When the
// carrier's grace period has ended, the thread that runs the carrier runs the whole batch, then sends the next carrier.
// The engine still detects the grace periods.
//
// GlobalCounter, as in rcu_sched: one atomic count of the waiting callbacks of all threads.
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
    // Returns the number of callbacks queued and not yet run; the value may be slightly old.
    uint64_t backlog() const
    {
        return backlog_.load(std::memory_order_relaxed);
    }
    // Returns the number of callbacks that have run; the library counts only the carriers.
    uint64_t invoked() const
    {
        return invoked_.load(std::memory_order_relaxed);
    }

  private:
    // The layout of a queued head: next and function, as in struct rcu_head.
    struct Link {
        Link *next;
        ReclaimFunction reclaim;
    };
    struct Carrier {
        rcu_head head; // must be first: its address is passed to the callback
        GlobalQueue *queue;
    };
    static void carrier_arrives(rcu_head *head);
    uint64_t run(Link *batch);
    bool cut_batch();
    void send();
    void lock();

    SpinLock lock_;
    Link *next_first_ = nullptr; // guarded by the lock: callbacks that wait for the next batch
    Link *next_last_ = nullptr;
    Link *batch_ = nullptr; // owned by the carrier while the carrier is queued, otherwise guarded by the lock
    bool under_way_ = false;
    std::atomic<uint64_t> backlog_{0}; // written under the lock
    std::atomic<uint64_t> invoked_{0}; // written by the thread that runs the batch; there is only one at a time
    Carrier carrier_{{}, this};
};

// The queue of the process.  It is global, because a callback receives only its head.
extern GlobalQueue global_queue;
extern std::atomic<uint64_t> global_counter;

template <ReclaimFunction reclaim> void counted_reclaim(RetiredHead *head)
{
    global_counter.fetch_sub(1, std::memory_order_seq_cst);
    reclaim(head);
}

// Passes a retired object to call_rcu().  Each engine has one pair of these functions.
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
