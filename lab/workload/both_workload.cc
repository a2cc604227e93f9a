// SPDX-License-Identifier: MIT OR Apache-2.0
// Filesystem and network load together: half of each event is dbench's stream and lookups, the other half packets.
#include "workload/workload.h"

namespace lab
{
namespace
{

class BothWorkload : public Workload
{
  public:
    BothWorkload(const Peer &peer, const Inputs &inputs, const RouteParameters &parameters, uint64_t seed)
        : Workload(peer), files_(make_dcache_workload(peer, inputs, seed)),
          packets_(make_route_workload(peer, inputs, parameters, seed))
    {
    }
    void serve(unsigned operations) override
    {
        files_->serve(operations - operations / 2);
        packets_->serve(operations / 2);
    }
    uint64_t dump(const std::atomic<bool> &stop) override
    {
        return files_->dump(stop) + packets_->dump(stop);
    }
    uint64_t queued() const override
    {
        return files_->queued() + packets_->queued();
    }

  private:
    const std::unique_ptr<Workload> files_, packets_;
};

} // namespace

std::unique_ptr<Workload> make_both_workload(const Peer &peer, const Inputs &inputs, const RouteParameters &parameters,
                                             uint64_t seed)
{
    return std::make_unique<BothWorkload>(peer, inputs, parameters, seed);
}

} // namespace lab
