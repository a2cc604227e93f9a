// SPDX-License-Identifier: MIT OR Apache-2.0
// The table of back-ends.
#include "peer/peer.h"

namespace lab
{

const std::vector<const Peer *> &all_peers()
{
    static const std::vector<const Peer *> peers = {&rtrcu_peer, &rtrcu_direct_peer, &urcu_memb_peer, &none_peer};
    return peers;
}

const Peer *find_peer(const std::string &name)
{
    for (const Peer *peer : all_peers())
        if (name == peer->name)
            return peer;
    return nullptr;
}

} // namespace lab
