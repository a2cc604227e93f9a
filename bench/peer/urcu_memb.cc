// SPDX-License-Identifier: MIT OR Apache-2.0
// liburcu's membarrier flavour, inlined: with its default call_rcu() worker, and with a worker only for the updater.
//
// Its struct rcu_head differs from ours: it is renamed here, so that each name means one type.
#define rcu_head urcu_rcu_head
#include <urcu/urcu-memb.h>
#undef rcu_head

#include "work/works.h"

namespace bench
{
namespace
{

struct UrcuMemb {
    using Head = urcu_rcu_head;
    static const char *version()
    {
        return BENCH_URCU_VERSION;
    }
    static constexpr auto configure = no_settings;
    static void begin()
    {
        urcu_memb_register_thread();
    }
    static void end()
    {
        urcu_memb_unregister_thread();
    }
    static void lock()
    {
        urcu_memb_read_lock();
    }
    static void unlock()
    {
        urcu_memb_read_unlock();
    }
    static void synchronize()
    {
        urcu_memb_synchronize_rcu();
    }
    static void call(Head *head, void (*function)(Head *))
    {
        urcu_memb_call_rcu(head, function);
    }
    static void barrier()
    {
        urcu_memb_barrier();
    }
    static void turn()
    {
    }
};

struct UrcuMembOwnWorker : UrcuMemb {
    static void begin()
    {
        static call_rcu_data *worker = urcu_memb_create_call_rcu_data(0, -1);
        urcu_memb_register_thread();
        urcu_memb_set_thread_call_rcu_data(worker);
    }
    static void end()
    {
        urcu_memb_set_thread_call_rcu_data(nullptr);
        urcu_memb_unregister_thread();
    }
};

BENCH_SECTION_CODE(urcu_memb, UrcuMemb)

std::unique_ptr<Work> code(const Parameters &)
{
    return std::make_unique<SectionCode>(urcu_memb_code[0], urcu_memb_code[1]);
}

} // namespace

const Peer urcu_memb_peer = with_code(
    peer_row<UrcuMemb>("urcu-memb", "liburcu-memb with an inlined read side and its default call_rcu worker"), code);
const Peer urcu_memb_own_worker_peer =
    peer_row<UrcuMembOwnWorker>("urcu-memb-own", "liburcu-memb with a call_rcu worker for the updater alone");

} // namespace bench
