// SPDX-License-Identifier: MIT OR Apache-2.0
// Passes unlinked objects of a workload to the back-end, counts them, and applies the back-end's limit.
#pragma once

#include <atomic>
#include <cstdint>

#include "peer/peer.h"

namespace lab
{

class Reclaimer
{
  public:
    // `push_back`: respect the back-end's limit, if there is one.
    explicit Reclaimer(const Peer &peer, bool push_back = false)
        : peer_(&peer), push_back_(push_back && peer.try_retire != nullptr)
    {
    }
    void retire(RetiredHead *head, ReclaimFunction reclaim)
    {
        if (push_back_ && !peer_->try_retire(head, reclaim)) {
            refused_ = head;
            refused_reclaim_ = reclaim;
            return;
        }
        if (!push_back_)
            peer_->retire(head, reclaim);
        // Only the updater writes the count; other threads may read an old value.
        queued_.store(queued_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
    // Retires the object that the back-end refused last, if any.  Returns true if the caller may unlink another object.
    bool accepts()
    {
        if (refused_ == nullptr)
            return true;
        RetiredHead *head = refused_;
        refused_ = nullptr;
        retire(head, refused_reclaim_);
        return refused_ == nullptr;
    }
    uint64_t queued() const
    {
        return queued_.load(std::memory_order_relaxed);
    }

  private:
    const Peer *peer_;
    bool push_back_;
    RetiredHead *refused_ = nullptr;
    ReclaimFunction refused_reclaim_ = nullptr;
    std::atomic<uint64_t> queued_{0};
};

} // namespace lab
