/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Longest prefix match: the value of the longest prefix of an address, for IPv4, IPv6 and bit strings up to 128 bits.
 *
 * Look-ups are wait-free and inline, and belong inside a section.  Updates exclude each other by a priority-inheriting
 * lock per table; they allocate memory before they take the lock.  Addresses and prefixes are bytes in network order:
 * the first bit is the highest of the first byte.
 */
#include <rtrcu/rcu.h> /* first, since it may define this header's guard */

#ifndef RTRCU_LPM_H
#define RTRCU_LPM_H

#include <rtrcu/detail/bits.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RTRCU_LPM_BITS_MAX 128
#define RTRCU_LPM_FRONT_BITS 16

/* A word stands for a range of addresses.  It is 0 for the inherited value, else a value, or the address of a node plus
 * RTRCU_LPM_NODE. */
#define RTRCU_LPM_NODE ((uintptr_t)1)

/* The words for the next eight address bits after a common prefix.  Equal neighbours among the 256 words form a run,
 * which is stored once; a set bit in @starts begins a run.  Constant once published, except the atomic fields.
 * @room lpm */
struct rtrcu_lpm_node {
    uint64_t starts[4];
    uint8_t ranks[4]; /* for each word of @starts: number of runs that begin in the words before it */
    uint16_t words_count;
    uint16_t prefixes;   /* number of prefixes that end in this node; their list follows @words */
    uintptr_t inherited; /* atomic: the value of the longest prefix that ends above the node; written under the lock */
    struct rcu_head head;
    /* Each word is atomic: one word for each run, then the values of prefixes that longer prefixes hide. */
    __extension__ uintptr_t words[];
};

/* The part of a table that look-ups read.  @room lpm */
struct rtrcu_lpm {
    uintptr_t *front; /* constant pointer; a word for each value of an address's first 16 bits, each atomic */
};

/* Value: counters of a table. */
struct rtrcu_lpm_counters {
    uint64_t prefixes;
    uint64_t nodes;
    uint64_t bytes; /* bytes of the nodes and of the table, without the allocator's overhead */
    uint64_t reserved[5];
};

/* Called by a walk for each prefix.  @key has as many bytes as the table's addresses, but at least two. */
typedef void (*rtrcu_lpm_visit_t)(const uint8_t *key, unsigned int length, void *value, void *argument);

/* Value: the place of a walk; zeroed = the beginning. */
struct rtrcu_lpm_cursor {
    uint8_t key[RTRCU_LPM_BITS_MAX / 8];
    unsigned int length; /* the walk continues with the prefix of @key that has this length, or with the next prefix */
};

/* The word of @byte in @node.
 * [O36] Look-up's half; the update's halves are lpm_publish() and lpm_inherit().  Acquire: the node or value is
 * complete. */
static inline uintptr_t rtrcu_lpm_step(const struct rtrcu_lpm_node *node, unsigned int byte)
{
    uint64_t up_to = node->starts[byte / 64] & ~UINT64_C(0) >> (63 - byte % 64);
    uintptr_t word = rtrcu_load_acquire(&node->words[node->ranks[byte / 64] + rtrcu_popcount(up_to) - 1]);
    return word ? word : rtrcu_load_acquire(&node->inherited);
}

#ifdef RTRCU_DEBUG
#define RTRCU_LPM_CHECK(call)                                                                                          \
    (rcu_read_lock_held() ? (void)0 : rtrcu_check_held(call, "inside a section", __FILE__, __LINE__))
#else
#define RTRCU_LPM_CHECK(call) ((void)0)
#endif

/*
 * rtrcu_lpm_lookup - the value of the longest prefix of @key.
 * Context:  inside a section, signal handlers included.  @key has as many bytes as the table's addresses, but at least
 *           two; bits after the table's are 0.
 * Blocks:   never.  Wait-free, without an atomic instruction or a store.
 * Ordering: an acquire of the value, with everything stored before it was inserted. [O36]
 * Returns:  the value, valid until the section ends; NULL: no prefix contains @key.  The result was right at one moment
 *           of the call.
 */
static inline void *rtrcu_lpm_lookup(const struct rtrcu_lpm *lpm, const void *key)
{
    RTRCU_LPM_CHECK("rtrcu_lpm_lookup");
    const uint8_t *bytes = (const uint8_t *)key;
    uintptr_t word = rtrcu_load_acquire(&lpm->front[(unsigned int)bytes[0] << 8 | bytes[1]]);
    for (bytes += 2; word & RTRCU_LPM_NODE; bytes++) /* bounded by the bytes of the address */
        word = rtrcu_lpm_step((const struct rtrcu_lpm_node *)(word - RTRCU_LPM_NODE), *bytes);
    return (void *)word;
}

/* Like rtrcu_lpm_lookup(), for a table of 32-bit addresses and an address in the processor's byte order. */
static inline void *rtrcu_lpm_lookup_ipv4(const struct rtrcu_lpm *lpm, uint32_t address)
{
    RTRCU_LPM_CHECK("rtrcu_lpm_lookup_ipv4");
    uintptr_t word = rtrcu_load_acquire(&lpm->front[address >> 16]);
    if (!(word & RTRCU_LPM_NODE))
        return (void *)word;
    word = rtrcu_lpm_step((const struct rtrcu_lpm_node *)(word - RTRCU_LPM_NODE), address >> 8 & 255);
    if (!(word & RTRCU_LPM_NODE))
        return (void *)word;
    return (void *)rtrcu_lpm_step((const struct rtrcu_lpm_node *)(word - RTRCU_LPM_NODE), address & 255);
}

/*
 * rtrcu_lpm_create - create a table of addresses of @bits bits.
 * Context:  any thread, not in signal handlers.
 * Blocks:   only in the allocator.
 * Ordering: none; the program publishes the table.
 * Returns:  0; -EINVAL: @bits is not 1 to 128; -ENOMEM.  On failure *lpm is unchanged.
 */
int rtrcu_lpm_create(struct rtrcu_lpm **lpm, unsigned int bits);
/* Destroy a table that no thread uses any more; the program waits for a gp first.  Values stay the caller's.  NULL is
 * ignored. */
void rtrcu_lpm_destroy(struct rtrcu_lpm *lpm);

/*
 * rtrcu_lpm_insert - insert the first @length bits of @key as a prefix of @value.
 * Context:  any thread, in sections or outside; not in signal handlers, nor in a function called by a table.  Further
 *           bits of @key are ignored.
 * Blocks:   in the allocator, and while another thread updates the table; boosts that thread.  The time is proportional
 *           to the nodes and front words below the prefix: see docs/tables.md.
 * Ordering: a release: a look-up that finds @value sees everything stored before. [O36]
 * Returns:  0; -EEXIST: the prefix exists; -EINVAL: @length is above the table's, or @value is NULL or odd; -ENOMEM.
 *           On failure the table is unchanged.
 */
int rtrcu_lpm_insert(struct rtrcu_lpm *lpm, const void *key, unsigned int length, void *value);
/* Replace the value of an existing prefix; @old, unless NULL, receives the former value, which may be freed after a gp.
 * -ENOENT: the prefix does not exist.  Otherwise like rtrcu_lpm_insert(). */
int rtrcu_lpm_replace(struct rtrcu_lpm *lpm, const void *key, unsigned int length, void *value, void **old);
/* Remove a prefix.  Parameters and results as for rtrcu_lpm_replace(), including -ENOMEM: then nothing is removed. */
int rtrcu_lpm_remove(struct rtrcu_lpm *lpm, const void *key, unsigned int length, void **old);

/*
 * rtrcu_lpm_walk - call @function for the next prefixes, by address, then by length, in one section.
 * Context:  any thread, not in signal handlers.  *cursor is zeroed for the first call.  @function may update the
 *           table.
 * Blocks:   never.  A call visits at most @steps prefixes and words of the front table, which has a word for each value
 *           of an address's first 16 bits.
 * Ordering: that of a look-up.
 * Returns:  true: prefixes may be left.  In calls up to the first false, prefixes present throughout are visited
 *           exactly once, others at most once.
 */
bool rtrcu_lpm_walk(const struct rtrcu_lpm *lpm, struct rtrcu_lpm_cursor *cursor, unsigned int steps,
                    rtrcu_lpm_visit_t function, void *argument);

/* Copy the counters, under the table's lock. */
void rtrcu_lpm_stats(struct rtrcu_lpm *lpm, struct rtrcu_lpm_counters *stats);

#ifdef __cplusplus
}
#endif

#endif
