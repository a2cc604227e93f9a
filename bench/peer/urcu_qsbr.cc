// SPDX-License-Identifier: MIT OR Apache-2.0
// liburcu's quiescent-state flavour, inlined.
#define rcu_head urcu_rcu_head
#include <urcu/urcu-qsbr.h>
#undef rcu_head

#include "work/works.h"

namespace bench
{
namespace
{

struct UrcuQsbr {
    using Head = urcu_rcu_head;
    static const char *version()
    {
        return BENCH_URCU_VERSION;
    }
    static constexpr auto configure = no_settings;
    static void begin()
    {
        urcu_qsbr_register_thread();
    }
    static void end()
    {
        urcu_qsbr_unregister_thread();
    }
    static void lock()
    {
        urcu_qsbr_read_lock();
    }
    static void unlock()
    {
        urcu_qsbr_read_unlock();
    }
    static void synchronize()
    {
        urcu_qsbr_synchronize_rcu();
    }
    static void call(Head *head, void (*function)(Head *))
    {
        urcu_qsbr_call_rcu(head, function);
    }
    static void barrier()
    {
        urcu_qsbr_barrier();
    }
    static void turn()
    {
        urcu_qsbr_quiescent_state();
    }
};

BENCH_SECTION_CODE(urcu_qsbr, UrcuQsbr)

std::unique_ptr<Work> code(const Parameters &)
{
    return std::make_unique<SectionCode>(urcu_qsbr_code[0], urcu_qsbr_code[1]);
}

} // namespace

const Peer urcu_qsbr_peer = with_code(peer_row<UrcuQsbr>("urcu-qsbr", "liburcu-qsbr, inlined"), code);

} // namespace bench
