// SPDX-License-Identifier: MIT OR Apache-2.0
// liburcu's membarrier flavour with its default call_rcu() thread.
//
// Its struct rcu_head differs from ours, so it is renamed here: the program must have one type of each name.
#define rcu_head urcu_rcu_head
#include <urcu/urcu-memb.h>
#undef rcu_head

#include "peer/peer.h"

namespace lab
{
namespace
{

static_assert(sizeof(urcu_rcu_head) <= sizeof(RetiredHead));

// Creates the call_rcu thread from an ordinary thread, so that it inherits neither the loop's priority nor its CPU.
bool start(const PeerSettings &, std::string &error)
{
    urcu_memb_register_thread();
    if (urcu_memb_get_default_call_rcu_data() == nullptr) {
        error = "liburcu could not create its call_rcu thread";
        return false;
    }
    urcu_memb_unregister_thread();
    return true;
}

void retire(RetiredHead *head, ReclaimFunction reclaim)
{
    urcu_memb_call_rcu(reinterpret_cast<urcu_rcu_head *>(head), reinterpret_cast<void (*)(urcu_rcu_head *)>(reclaim));
}

} // namespace

const Peer urcu_memb_peer = {
    .name = "liburcu",
    .what = "liburcu-memb with its default call_rcu thread",
    .start = start,
    .thread_begin = [](ThreadRole) { urcu_memb_register_thread(); },
    .thread_end = [] { urcu_memb_unregister_thread(); },
    .section = [](ThreadRole) -> Section {
        return {[] { urcu_memb_read_lock(); }, [] { urcu_memb_read_unlock(); }};
    },
    .retire = retire,
};

} // namespace lab
