// SPDX-License-Identifier: MIT OR Apache-2.0
// The operations of liburcu-bp that domain.c measures.
#ifndef BENCH_DOMAIN_PEER_H
#define BENCH_DOMAIN_PEER_H

#ifdef __cplusplus
extern "C" {
#endif

void bp_pairs(unsigned int count);
void bp_synchronize(unsigned int count);
void bp_updates(unsigned int count);

/* An atomic std::shared_ptr. */
void counted_pairs(unsigned int count);
void counted_pairs_shared(unsigned int count);
void counted_updates(unsigned int count);
void counted_updates_shared(unsigned int count);

#ifdef __cplusplus
}
#endif

#endif
