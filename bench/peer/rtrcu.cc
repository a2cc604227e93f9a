// SPDX-License-Identifier: MIT OR Apache-2.0
// This library, in the three ways a thread may use it: ordinary, quiescent-state, and an event loop with deadlines.
#include <rtrcu/rcu.h>

#include "peer/first_section.h"
#include "peer/rtrcu_settings.h"
#include "work/works.h"

namespace bench
{
namespace
{

// An ordinary thread, registered by its first section.
struct Rtrcu {
    using Head = rcu_head;
    static constexpr auto version = rtrcu_version;
    static constexpr auto configure = rtrcu_set_up;
    static void begin()
    {
        rcu_read_lock();
        rcu_read_unlock();
    }
    static void end()
    {
        rcu_unregister_thread();
    }
    static void lock()
    {
        rcu_read_lock();
    }
    static void unlock()
    {
        rcu_read_unlock();
    }
    static void synchronize()
    {
        synchronize_rcu();
    }
    static void call(Head *head, void (*function)(Head *))
    {
        call_rcu(head, function);
    }
    static void barrier()
    {
        rcu_barrier();
    }
    static void turn()
    {
    }
};

// A quiescent-state thread is inside from one quiescent state to the next; its sections are empty.
struct RtrcuQsbr {
    static constexpr auto version = rtrcu_version;
    static constexpr auto configure = rtrcu_set_up;
    static void begin()
    {
        rcu_register_thread_qsbr();
    }
    static void end()
    {
        rcu_unregister_thread();
    }
    static void lock()
    {
        rcu_read_lock_qs();
    }
    static void unlock()
    {
        rcu_read_unlock_qs();
    }
    static void synchronize()
    {
        synchronize_rcu();
    }
    static void turn()
    {
        rcu_quiescent_state();
    }
};

// An event loop, which never wakes a thread, and passes a quiescent state once per turn.
struct RtrcuDeadline : Rtrcu {
    static void begin()
    {
        rtrcu_register_thread(RTRCU_QSBR | RTRCU_DEADLINE);
    }
    static void turn()
    {
        rcu_quiescent_state();
    }
};

BENCH_SECTION_CODE(rtrcu_qsbr, RtrcuQsbr)
BENCH_SECTION_CODE(rtrcu, Rtrcu)

template <const CodeRange *ranges> std::unique_ptr<Work> code(const Parameters &)
{
    return std::make_unique<SectionCode>(ranges[0], ranges[1]);
}

} // namespace

static constexpr Peer with_first_section(Peer peer)
{
    peer.work[static_cast<int>(Kind::first_section)] = make<FirstSection<50>>;
    peer.work[static_cast<int>(Kind::first_section_late)] = make<FirstSection<99>>;
    return peer;
}

const Peer rtrcu_peer =
    with_first_section(with_code(peer_row<Rtrcu>("rtrcu", "rtrcu, an ordinary thread"), code<rtrcu_code>));
const Peer rtrcu_qsbr_peer =
    with_code(peer_row<RtrcuQsbr>("rtrcu-qsbr", "rtrcu, a quiescent-state thread"), code<rtrcu_qsbr_code>);
const Peer rtrcu_deadline_peer =
    peer_row<RtrcuDeadline>("rtrcu-deadline", "rtrcu, a quiescent-state event loop with deadlines");

} // namespace bench
