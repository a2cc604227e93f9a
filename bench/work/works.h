// SPDX-License-Identifier: MIT OR Apache-2.0
// The works of a peer's class: each work is offered if the class has the operations that it needs.
#pragma once

#include "harness/peer.h"
#include "work/callbacks.h"
#include "work/cells.h"
#include "work/crowd.h"
#include "work/flood.h"
#include "work/sections.h"
#include "work/synchronize.h"

namespace bench
{

template <class P>
concept HasSections = requires
{
    P::lock();
    P::unlock();
};
template <class P>
concept HasSynchronize = HasSections<P> && requires
{
    P::synchronize();
};
template <class P>
concept HasTurns = requires
{
    P::turn();
};
template <class P>
concept HasCallbacks = requires(typename P::Head *head)
{
    P::call(head, [](typename P::Head *) {});
    P::barrier();
    P::turn();
};

template <class P>
concept HasCell = requires
{
    P::read();
    P::update();
    P::settle();
};

template <class W> std::unique_ptr<Work> make(const Parameters &parameters)
{
    return std::make_unique<W>(parameters);
}

// Makes a peer's row, except for the members that the class cannot provide.
template <class P> constexpr Peer peer_row(const char *name, const char *what)
{
    Peer peer{name, what, P::version, P::configure, {}};
    auto offer = [&](Kind kind, MakeWork work) { peer.work[static_cast<int>(kind)] = work; };
    offer(Kind::loop, make<SectionWork<P, false>>);
    if constexpr (HasSections<P>) {
        offer(Kind::pair, make<SectionWork<P, true>>);
        offer(Kind::lookup, make<LookupWork<P, Lookups::chained>>);
        offer(Kind::lookup_overlapped, make<LookupWork<P, Lookups::overlapped>>);
    }
    if constexpr (HasSynchronize<P>) {
        offer(Kind::synchronize, make<SynchronizeWork<P, Reader::none>>);
        offer(Kind::synchronize_no_reader, make<SynchronizeWork<P, Reader::no_reader>>);
        offer(Kind::synchronize_busy, make<SynchronizeWork<P, Reader::tight>>);
        offer(Kind::synchronize_hold, make<SynchronizeWork<P, Reader::hold>>);
        offer(Kind::thread_memory, make<ManyThreadsWork<P, true>>);
        offer(Kind::thread_scan, make<ManyThreadsWork<P, false>>);
        offer(Kind::crowd_idle, make<CrowdWork<P, Crowd::idle>>);
        offer(Kind::crowd_now_and_then, make<CrowdWork<P, Crowd::now_and_then>>);
    }
    if constexpr (HasSynchronize<P> && HasTurns<P>)
        offer(Kind::synchronize_quiescent, make<SynchronizeWork<P, Reader::quiescent>>);
    if constexpr (HasCallbacks<P>) {
        offer(Kind::enqueue, make<EnqueueWork<P>>);
        offer(Kind::update, make<UpdateWork<P, false>>);
        offer(Kind::update_cpu, make<UpdateWork<P, true>>);
        offer(Kind::backlog, make<BacklogWork<P>>);
        offer(Kind::flood_backlog, make<FloodWork<P, Flood::backlog>>);
        offer(Kind::flood_whole, make<FloodWork<P, Flood::whole>>);
        offer(Kind::flood_others, make<FloodWork<P, Flood::others>>);
        offer(Kind::neighbour, make<NeighbourWork<P>>);
        if constexpr (HasSections<P>)
            offer(Kind::crowd_queueing, make<CrowdWork<P, Crowd::queueing>>);
    }
    if constexpr (HasCell<P>) {
        offer(Kind::cell_read, make<CellReadWork<P>>);
        offer(Kind::cell_update, make<CellUpdateWork<P, false>>);
        offer(Kind::cell_update_busy, make<CellUpdateWork<P, true>>);
    }
    return peer;
}

// Makes a peer's row as above, with the loops that BENCH_SECTION_CODE() defines.
constexpr Peer with_code(Peer peer, MakeWork code)
{
    peer.work[static_cast<int>(Kind::pair_code)] = code;
    return peer;
}

} // namespace bench
