// SPDX-License-Identifier: MIT OR Apache-2.0
// How a workload hands over the objects that it unlinked, how it counts them, and how it is pushed back.
#pragma once

#include <atomic>
#include <cstdint>

#include "peer/peer.h"

namespace lab
{

class Reclaimer
{
  public:
    // `push_back`: honour the back-end's limit, where it has one.
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
        // One writer, the thread that updates; companions read it late, which harms nothing.
        queued_.store(queued_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
    // May the caller unlink one object more?  An object that was refused is kept, and offered again first.
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
