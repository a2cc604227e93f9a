// SPDX-License-Identifier: MIT OR Apache-2.0
// The floor: no grace periods, and no reclamation while times are measured.
//
// Retired objects are kept on a list. The experiment calls free_kept() between rounds, when no reader runs and nothing
// is
// measured; it frees them.
#include "peer/peer.h"

namespace lab
{
namespace
{

struct KeptHead {
    RetiredHead *next;
    ReclaimFunction reclaim;
};
static_assert(sizeof(KeptHead) <= sizeof(RetiredHead));

RetiredHead *kept = nullptr; // written only by the loop

void retire(RetiredHead *head, ReclaimFunction reclaim)
{
    auto *entry = reinterpret_cast<KeptHead *>(head);
    entry->next = kept;
    entry->reclaim = reclaim;
    kept = head;
}

void free_kept()
{
    while (kept != nullptr) {
        RetiredHead *head = kept;
        KeptHead entry = *reinterpret_cast<KeptHead *>(head);
        kept = entry.next;
        entry.reclaim(head);
    }
}

} // namespace

const Peer none_peer = {
    .name = "none",
    .what = "no reclamation while the clock runs; freed between rounds",
    .retire = retire,
    .between_rounds = free_kept,
};

} // namespace lab
