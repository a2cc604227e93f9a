// SPDX-License-Identifier: MIT OR Apache-2.0
// The route cache as a workload of the event loop: one updater, readers under RCU.
#include "measure/callback_meter.h"
#include "workload/packets.h"
#include "workload/route_cache.h"
#include "workload/workload.h"

namespace lab
{
namespace
{

void route_entry_reclaim(RetiredHead *head)
{
    callback_meter.callback_begins();
    std::free(reinterpret_cast<RouteEntry *>(head));
}

// The Sync of the thread that reads the whole cache: it has already begun a section, so lookups begin none.
struct InsideSection {
    void read_lock(std::size_t)
    {
    }
    void read_unlock(std::size_t)
    {
    }
};

// The sections of the loop, which is the only updater.
class LoopSync
{
  public:
    LoopSync(Section section, Reclaimer &reclaimer) : section_(section), reclaimer_(reclaimer)
    {
    }
    void read_lock(std::size_t)
    {
        section_.lock();
    }
    void read_unlock(std::size_t)
    {
        section_.unlock();
    }
    void update_lock(std::size_t)
    {
    }
    void update_unlock(std::size_t)
    {
    }
    void retire(RouteEntry *entry)
    {
        reclaimer_.retire(&entry->head, route_entry_reclaim);
    }

  private:
    Section section_;
    Reclaimer &reclaimer_;
};

class RouteWorkload : public Workload
{
  public:
    RouteWorkload(const Peer &peer, const Inputs &inputs, const RouteParameters &parameters, uint64_t seed)
        : Workload(peer), sync_(section_, reclaimer_),
          cache_(inputs.prefixes, parameters.buckets, parameters.gc_threshold, sync_),
          packets_(inputs.prefixes, parameters.destinations, seed)
    {
    }
    void serve(unsigned operations) override
    {
        for (unsigned i = 0; i < operations; i++)
            routed_ += cache_.route(packets_.next(), static_cast<uint32_t>(packets_.count()), statistics_) >= 0;
    }
    uint64_t dump(const std::atomic<bool> &stop) override
    {
        InsideSection inside;
        return cache_.dump(stop, inside);
    }

  private:
    LoopSync sync_;
    RouteCache<LoopSync> cache_;
    PacketSource packets_;
    RouteStatistics statistics_;
    uint64_t routed_ = 0;
};

} // namespace

RouteParameters route_parameters(bool raised_threshold)
{
    RouteParameters parameters;
    // With a raised threshold the cache can hold every destination, so that it hardly changes.
    if (raised_threshold) {
        parameters.gc_threshold = parameters.destinations * 2;
        parameters.buckets = parameters.destinations;
    }
    return parameters;
}

std::unique_ptr<Workload> make_route_workload(const Peer &peer, const Inputs &inputs, const RouteParameters &parameters,
                                              uint64_t seed)
{
    return std::make_unique<RouteWorkload>(peer, inputs, parameters, seed);
}

} // namespace lab
