// SPDX-License-Identifier: MIT OR Apache-2.0
// How a workload hands over what it unlinked, and how it counts it.
#pragma once

#include <atomic>
#include <cstdint>

#include "peer/peer.h"

namespace lab
{

class Reclaimer
{
  public:
    explicit Reclaimer(const Peer &peer) : peer_(&peer)
    {
    }
    void retire(RetiredHead *head, ReclaimFunction reclaim)
    {
        // One writer, the thread that updates; companions read it late, which harms nothing.
        queued_.store(queued_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        peer_->retire(head, reclaim);
    }
    uint64_t queued() const
    {
        return queued_.load(std::memory_order_relaxed);
    }

  private:
    const Peer *peer_;
    std::atomic<uint64_t> queued_{0};
};

} // namespace lab
