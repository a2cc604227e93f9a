/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Initialisation of the room, and of its part of a leaf.
 *
 * tested by: test/unit/callback/callback.cc
 */
#include "callback/callback.h"

void callback_init(struct callback *cb, const struct config *config, struct gp *gp)
{
    cb->registry = gp_registry(gp);
    cb->gp = gp;
    cb->config = config;
    cb->tracks_heads = CHECK_DEBUG;
}

void callback_leaf_init(struct callback_leaf *part, struct reader_leaf *leaf)
{
    lock_init(&part->lock, LOCK_RANK_QUEUES);
    for (uint32_t slot = 0; slot < READER_FANOUT; slot++)
        cbqueue_init(&part->slot[slot].queue);
    reader_leaf_join(leaf, READER_CALLBACK, part);
}
