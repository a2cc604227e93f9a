// SPDX-License-Identifier: MIT OR Apache-2.0
// The rows of the table of peers, and the row that has no library.
#include "work/works.h"

namespace bench
{
namespace
{

struct None {
    static const char *version()
    {
        return "";
    }
    static constexpr auto configure = no_settings;
    static void begin()
    {
    }
    static void end()
    {
    }
};

} // namespace

const Peer none_peer = peer_row<None>("none", "no library: the empty loop");

const std::vector<const Peer *> &all_peers()
{
    static const std::vector<const Peer *> peers = {
        &rtrcu_peer,
        &rtrcu_qsbr_peer,
        &rtrcu_deadline_peer,
        &urcu_memb_peer,
        &urcu_memb_own_worker_peer,
        &urcu_qsbr_peer,
        &ck_peer,
        &none_peer,
        &cell_rtrcu_peer,
        &cell_rtrcu_loop_peer,
        &cell_atomic_shared_peer,
        &cell_shared_mutex_peer,
        &cell_cds_peer,
    };
    return peers;
}

} // namespace bench
