// SPDX-License-Identifier: MIT OR Apache-2.0
// The work of an event loop: a stream of operations on an RCU-protected structure, the same for every back-end.
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
    // Executes `operations` operations.  Called by the loop's thread only; it enters its own sections.
    virtual void serve(unsigned operations) = 0;
    // Reads the whole structure; called by the experiment's long reader inside a section.
    virtual uint64_t dump(const std::atomic<bool> &stop) = 0;
    // For the flood: permits serve() to remove this number of names, initially 0; then serve() only looks up names.
    // Called by the reader that holds its section until a burst is queued, if there is such a reader.
    virtual void allow_removals(uint64_t)
    {
    }
    // Returns the number of objects retired so far.  Any thread can call this function; the value may be slightly old.
    virtual uint64_t queued() const
    {
        return reclaimer_.queued();
    }

    // Operations dropped because the back-end was at its limit, or because the backlog was too large.
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

// The inputs that the parent of all variants read from the machine, once.
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
    std::size_t gc_threshold = 4096;  // number of entries above which the cache collects garbage
    std::size_t destinations = 65536; // number of different addresses to which packets go
};
RouteParameters route_parameters(bool raised_threshold);

// 32 clients replay the recorded stream; after every three operations a path of the machine's own tree is looked up.
std::unique_ptr<Workload> make_dcache_workload(const Peer &peer, const Inputs &inputs, uint64_t seed);
// Packets to random destinations through a route cache; the destination changes after every 5 packets.
std::unique_ptr<Workload> make_route_workload(const Peer &peer, const Inputs &inputs, const RouteParameters &parameters,
                                              uint64_t seed);
// The operations of the dcache and the route workload: each event is half dcache work and half route work.
std::unique_ptr<Workload> make_both_workload(const Peer &peer, const Inputs &inputs, const RouteParameters &parameters,
                                             uint64_t seed);
// Denial of service: names are created and removed in the dentry cache as fast as the loop's share of the CPU permits.
// `push_back`: while the back-end is at its limit, operations are dropped.
std::unique_ptr<Workload> make_flood_workload(const Peer &peer, const Inputs &inputs, bool push_back);

} // namespace lab
