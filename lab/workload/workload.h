// SPDX-License-Identifier: MIT OR Apache-2.0
// What an event loop serves: a stream of operations on an RCU structure, the same for every back-end.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "peer/peer.h"
#include "workload/loadfile.h"
#include "workload/prefixes.h"
#include "workload/reclaimer.h"
#include "workload/tree.h"

namespace lab
{

class Workload
{
  public:
    virtual ~Workload() = default;
    // Serve this many operations.  Loop thread only; enters its own sections.
    virtual void serve(unsigned operations) = 0;
    // Read the whole structure; the caller is inside a section.  The long reader of the experiment.
    virtual uint64_t dump(const std::atomic<bool> &stop) = 0;
    // Flood: this many names may go before serve() turns to lookups; none to begin with.  From the reader that holds
    // the burst together, where there is one.
    virtual void allow_removals(uint64_t)
    {
    }
    // Objects retired so far.  Any thread may read it; it may be a little old.
    virtual uint64_t queued() const
    {
        return reclaimer_.queued();
    }

    // Operations that were dropped, since the back-end pushed back or the backlog is beyond all bounds.
    virtual uint64_t dropped() const
    {
        return 0;
    }

  protected:
    explicit Workload(const Peer &peer, bool push_back = false)
        : peer_(peer), reclaimer_(peer, push_back), section_(peer.section(ThreadRole::deadline_loop))
    {
    }
    const Peer &peer_;
    Reclaimer reclaimer_;
    Section section_;
};

// What was read from the machine, once, by the parent of all variants.
struct Inputs {
    Tree tree;
    Loadfile loadfile;
    PrefixTable prefixes;
    std::string loadfile_label;
    std::string prefixes_label;
    bool loadfile_synthetic = false;
    bool prefixes_synthetic = false;
};

struct RouteParameters {
    std::size_t buckets = 4096;
    std::size_t gc_threshold = 4096;  // entries above which the cache collects
    std::size_t destinations = 65536; // how many addresses the packets go to
};
RouteParameters route_parameters(bool raised_threshold);

// 32 clients replay the recorded stream; after every three operations a path of the machine's own tree is looked up.
std::unique_ptr<Workload> make_dcache_workload(const Peer &peer, const Inputs &inputs, uint64_t seed);
// Packets to random destinations, a new one after every 5, through a route cache.
std::unique_ptr<Workload> make_route_workload(const Peer &peer, const Inputs &inputs, const RouteParameters &parameters,
                                              uint64_t seed);
// The two together, in each event.
std::unique_ptr<Workload> make_both_workload(const Peer &peer, const Inputs &inputs, const RouteParameters &parameters,
                                             uint64_t seed);
// Denial of service: names made and removed in the dentry cache as fast as the loop's share of the CPU allows.
// `push_back`: while the back-end is at its limit, operations are dropped.
std::unique_ptr<Workload> make_flood_workload(const Peer &peer, const Inputs &inputs, bool push_back);

} // namespace lab
