/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Functions that the explored source calls for every shared access, fence and pause of the library.
 * The headers of test/sim/rtrcu/detail are found before those of include/, and map the accesses to these functions.
 * Each call is a scheduling point: other threads, store buffers and signal handlers may go first.  @text is the access
 * as the source spells it, @where the function around it; both are for the trace. */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Numbered like the compiler's, which treats consume as an acquire. */
enum sim_order { SIM_RELAXED, SIM_CONSUME, SIM_ACQUIRE, SIM_RELEASE, SIM_ACQ_REL, SIM_SEQ_CST };
enum sim_rmw { SIM_EXCHANGE, SIM_ADD, SIM_OR, SIM_AND };

uint64_t sim_load(const volatile void *address, size_t size, int order, const char *text, const char *where);
void sim_store(volatile void *address, uint64_t value, size_t size, int order, const char *text, const char *where);

/* A read-modify-write: one event.  On x86 it is a full fence.  Otherwise, by @order, it orders nothing, or is an
 * acquire and a release whose store later relaxed loads may overtake.  Returns the previous value. */
uint64_t sim_update(volatile void *address, uint64_t value, size_t size, enum sim_rmw operation, int order,
                    const char *text, const char *where);
bool sim_compare_exchange(volatile void *address, void *expected, uint64_t desired, size_t size, int order,
                          const char *text, const char *where);

/* An unlocked read-modify-write by the owner.  For its own signal handlers it is one event.  For other threads it is a
 * load and a later store, so bytes that they store into it in between are lost.  Returns the stored value. */
uint64_t sim_owner_add(volatile void *address, uint64_t amount, size_t size, int order, const char *text,
                       const char *where);

/* A statistic: counted, without a scheduling point. */
void sim_count(volatile void *address, uint64_t amount, size_t size, const char *text);

void sim_fence_full(const char *where);
void sim_relax(const char *where);

/* Whether the reader word has the two-word layout of aarch64, or that of x86-64.  It is a constant of the machine, so
 * that the explored source is compiled once for both. */
extern const bool sim_two_words;

/* The calling thread's struct rtrcu_thread. */
struct rtrcu_thread;
struct rtrcu_thread *sim_self(void);

#ifdef __cplusplus
}
#endif

#endif
