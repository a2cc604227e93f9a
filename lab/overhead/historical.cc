// SPDX-License-Identifier: MIT OR Apache-2.0
// The global queue: its batches, and the carrier callback that takes a batch through a grace period.
#include "overhead/historical.h"

namespace lab::overhead
{

GlobalQueue global_queue;
std::atomic<uint64_t> global_counter{0};

void GlobalQueue::enqueue(RetiredHead *head, ReclaimFunction reclaim)
{
    auto *link = reinterpret_cast<Link *>(head);
    *link = {nullptr, reclaim};
    if (!lock_.try_lock())
        lock();
    if (next_last_ != nullptr)
        next_last_->next = link;
    else
        next_first_ = link;
    next_last_ = link;
    backlog_.store(backlog_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    const bool must_send = !under_way_ && cut_batch();
    lock_.unlock();
    if (must_send)
        send();
}

// Takes the lock.  A separate function, so that the profile counts the wait as queueing.  The loop ends once the holder
// has unlocked.
[[gnu::noinline]] void GlobalQueue::lock()
{
    Patience patience;
    while (lock_.is_locked() || !lock_.try_lock())
        patience.turn();
}

// Makes the queue the batch; called with the lock held.  Returns true if the batch is not empty: then the caller must
// call send().
bool GlobalQueue::cut_batch()
{
    batch_ = next_first_;
    next_first_ = next_last_ = nullptr;
    under_way_ = batch_ != nullptr;
    return under_way_;
}

// Passes the carrier of the batch to call_rcu(); called without the lock.
void GlobalQueue::send()
{
    call_rcu_hurry(&carrier_.head, carrier_arrives);
}

// Runs the callbacks of a batch and returns their number.
uint64_t GlobalQueue::run(Link *batch)
{
    uint64_t count = 0;
    for (; batch != nullptr; count++) {
        Link *next = batch->next;
        batch->reclaim(reinterpret_cast<RetiredHead *>(batch));
        invoked_.store(invoked_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        batch = next;
    }
    return count;
}

void GlobalQueue::carrier_arrives(rcu_head *head)
{
    GlobalQueue &queue = *reinterpret_cast<Carrier *>(head)->queue;
    const uint64_t count = queue.run(queue.batch_);
    if (!queue.lock_.try_lock())
        queue.lock();
    queue.backlog_.store(queue.backlog_.load(std::memory_order_relaxed) - count, std::memory_order_relaxed);
    const bool must_send = queue.cut_batch();
    queue.lock_.unlock();
    if (must_send)
        queue.send();
}

} // namespace lab::overhead
