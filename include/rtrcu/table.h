/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A hash table that grows and shrinks under its readers, in bounded steps.
 *
 * Look-ups are wait-free and inline.  Updates exclude each other by priority-inheriting locks (stripes), allocate
 * nothing, and never wait for a resize or a gp; a thread of the library, the resizer, moves entries.  Look-ups and
 * updates belong inside a section; a signal handler must not update a table.  The functions that the program passes run
 * in sections.  If an update calls them, they run under a stripe's lock, and must not call a function of any table.
 */
#include <rtrcu/rcu.h> /* first, since it may define this header's guard */

#ifndef RTRCU_TABLE_H
#define RTRCU_TABLE_H

#ifdef __cplusplus
extern "C" {
#endif

/* A table's part of the program's object.  The program allocates the object, and may free it a gp after its removal.
 * @room table */
struct rtrcu_hash_node {
    uint64_t hash;  /* the mixed hash; written before the node is published */
    uintptr_t link; /* atomic: the next entry of a chain; written under the stripe's lock */
};

#define RTRCU_HASH_SLOTS 6
#define RTRCU_HASH_LINK_NODE ((uintptr_t)1)
#define RTRCU_HASH_MOVED (UINT64_C(1) << 63)

/* One cache line of a bucket: six entries, a tag for each, and a link to entries that have no slot.  A link is 0, the
 * address of a further line, or the address of a node plus RTRCU_HASH_LINK_NODE.  Written under the stripe's lock.
 * @room table */
struct rtrcu_hash_line {
    uint64_t head;                                   /* atomic: a one-byte tag for each slot, and RTRCU_HASH_MOVED */
    struct rtrcu_hash_node *slots[RTRCU_HASH_SLOTS]; /* atomic: the entries; NULL = the slot is free */
    uintptr_t link;                                  /* atomic: leads to the rest of the bucket */
};

/* The buckets of one size of the table.  @room table */
struct rtrcu_hash_generation {
    struct rtrcu_hash_line *lines; /* constant */
    uint64_t mask;                 /* constant: number of buckets - 1 */
    struct rtrcu_hash_generation
        *next; /* atomic: the generation with the entries of buckets marked RTRCU_HASH_MOVED; written
                                           by the resizer */
};

/* The part of a table that look-ups read.  @room table */
struct rtrcu_hash {
    struct rtrcu_hash_generation *current; /* atomic: the newest complete generation; written by the resizer */
};

/* Value: settings of a new table; zeroed = all defaults. */
struct rtrcu_hash_config {
    uint64_t buckets; /* minimum number of buckets, rounded up to a power of 2; at most 2^32; 0 = 64 */
    uint64_t limit;   /* maximum number of entries; 0 = no limit */
    uint64_t longest; /* maximum number of entries in one bucket; 0 = no limit */
    uint64_t seed;    /* seed of rtrcu_hash_bytes(); 0 = random */
    uint64_t reserved[4];
};

/* Value: counters of a table. */
struct rtrcu_hash_counters {
    uint64_t entries;
    uint64_t buckets;         /* number of buckets of the current generation */
    uint64_t longest_chain;   /* largest number of entries that an insert has found in one bucket */
    uint64_t resizes;         /* completed */
    uint64_t longest_move_ns; /* longest time for which the resizer held a stripe, nanoseconds */
    uint64_t no_memory;       /* attempts to resize that failed for lack of memory */
    uint64_t no_resizer;      /* resizes requested while no resizer could be started */
    uint64_t reserved[4];
};

/* Returns whether @node has the key @key.  Called only for nodes whose hash equals that of @key. */
typedef bool (*rtrcu_hash_match_t)(const struct rtrcu_hash_node *node, const void *key);
typedef void (*rtrcu_hash_visit_t)(struct rtrcu_hash_node *node, void *argument);

/* Mix a hash, so that tags and buckets depend on each of its bits, even if the program's hash is the key itself.  A
 * bijection: different hashes stay different. */
static inline uint64_t rtrcu_hash_mix(uint64_t hash)
{
    hash ^= hash >> 32;
    hash *= UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

#define RTRCU_HASH_BYTES UINT64_C(0x0000010101010101)

/* Bit 7 of each byte whose slot may hold the mixed hash @mixed.  A byte above a match may be set in error, so the
 * caller also compares the hash of the node. */
static inline uint64_t rtrcu_hash_fits(uint64_t head, uint64_t mixed)
{
    uint64_t differs = head ^ (mixed >> 56) * RTRCU_HASH_BYTES;
    return (differs - RTRCU_HASH_BYTES) & ~differs & RTRCU_HASH_BYTES << 7;
}

/* The bucket of @mixed, and the content of its head.
 * [O30] Look-up's half; the mover's half is table_bucket_move().  Acquires: the next generation's bucket is
 * complete. */
static inline const struct rtrcu_hash_line *rtrcu_hash_bucket(const struct rtrcu_hash *table, uint64_t mixed,
                                                              uint64_t *head)
{
    const struct rtrcu_hash_generation *generation = rtrcu_load_acquire(&table->current);
    const struct rtrcu_hash_line *line = &generation->lines[mixed & generation->mask];
    while ((*head = rtrcu_load_acquire(&line->head)) & RTRCU_HASH_MOVED) { /* bounded by the number of generations */
        generation = rtrcu_load_acquire(&generation->next);
        line = &generation->lines[mixed & generation->mask];
    }
    return line;
}

/* The first entry of equal hash among the slots of @line that @match accepts, or NULL.
 * [O29] Look-up's half; the updater's half is table_line_put(). */
static inline __attribute__((always_inline)) struct rtrcu_hash_node *
rtrcu_hash_in_line(const struct rtrcu_hash_line *line, uint64_t head, uint64_t mixed, rtrcu_hash_match_t match,
                   const void *key)
{
    uint64_t fits = rtrcu_hash_fits(head, mixed); /* declared outside the loop, for programs compiled as gnu89 */
    for (; fits; fits &= fits - 1) {
        struct rtrcu_hash_node *node = rtrcu_load_acquire(&line->slots[(unsigned)__builtin_ctzll(fits) / 8]);
        if (node && node->hash == mixed && match(node, key))
            return node;
    }
    return NULL;
}

#ifdef RTRCU_DEBUG
#define RTRCU_HASH_CHECK(call)                                                                                         \
    (rcu_read_lock_held() ? (void)0 : rtrcu_check_held(call, "inside a section", __FILE__, __LINE__))
#else
#define RTRCU_HASH_CHECK(call) ((void)0)
#endif

/*
 * rtrcu_hash_lookup - find an entry whose hash is @hash and which @match accepts for @key.
 * Context:  inside a section, signal handlers included; the compiler specialises it for a constant @match.
 * Blocks:   never.  Wait-free, without an atomic instruction or a store.
 * Ordering: an acquire of the entry, with everything stored before it was inserted. [O29][O30]
 * Returns:  the entry, valid until the section ends; NULL: there is none.  Of several duplicates, any may be returned.
 * See:      rtrcu_hash_lookup_each()
 */
static inline __attribute__((always_inline)) struct rtrcu_hash_node *
rtrcu_hash_lookup(const struct rtrcu_hash *table, uint64_t hash, rtrcu_hash_match_t match, const void *key)
{
    RTRCU_HASH_CHECK("rtrcu_hash_lookup");
    uint64_t head, mixed = rtrcu_hash_mix(hash);
    const struct rtrcu_hash_line *line = rtrcu_hash_bucket(table, mixed, &head);

    for (;;) { /* bounded by the bucket's length, since updates lengthen a chain only at its front */
        struct rtrcu_hash_node *node = rtrcu_hash_in_line(line, head, mixed, match, key);
        if (node)
            return node;

        uintptr_t link = rtrcu_load_acquire(&line->link);
        while (link & RTRCU_HASH_LINK_NODE) {
            node = (struct rtrcu_hash_node *)(link - RTRCU_HASH_LINK_NODE);
            if (node->hash == mixed && match(node, key))
                return node;
            link = rtrcu_load_acquire(&node->link);
        }
        if (!link)
            return NULL;
        line = (const struct rtrcu_hash_line *)link;
        head = rtrcu_load_acquire(&line->head);
    }
}

/* Like rtrcu_hash_lookup(), for all duplicates: calls @function for each, in no order. */
static inline __attribute__((always_inline)) void rtrcu_hash_lookup_each(const struct rtrcu_hash *table, uint64_t hash,
                                                                         rtrcu_hash_match_t match, const void *key,
                                                                         rtrcu_hash_visit_t function, void *argument)
{
    RTRCU_HASH_CHECK("rtrcu_hash_lookup_each");
    uint64_t head, mixed = rtrcu_hash_mix(hash);
    const struct rtrcu_hash_line *line = rtrcu_hash_bucket(table, mixed, &head);

    while (line) { /* bounded by the length of the bucket */
        uint64_t fits = rtrcu_hash_fits(head, mixed);
        for (; fits; fits &= fits - 1) {
            struct rtrcu_hash_node *node = rtrcu_load_acquire(&line->slots[(unsigned)__builtin_ctzll(fits) / 8]);
            if (node && node->hash == mixed && match(node, key))
                function(node, argument);
        }

        uintptr_t link = rtrcu_load_acquire(&line->link);
        while (link & RTRCU_HASH_LINK_NODE) {
            struct rtrcu_hash_node *node = (struct rtrcu_hash_node *)(link - RTRCU_HASH_LINK_NODE);
            if (node->hash == mixed && match(node, key))
                function(node, argument);
            link = rtrcu_load_acquire(&node->link);
        }
        line = (const struct rtrcu_hash_line *)link;
        head = line ? rtrcu_load_acquire(&line->head) : 0;
    }
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

/*
 * rtrcu_hash_create - create a table, and with the first one the resizer, an ordinary thread that serves all tables.
 * Context:  any thread, not in signal handlers.  @config may be NULL: all defaults.
 * Blocks:   as long as the resizer moves one batch of entries.  Allocates.
 * Ordering: none; the program publishes the table.
 * Returns:  0; -EINVAL: too many buckets; -ENOMEM; or the error with which the kernel refused the thread.  On failure
 *           *table is unchanged.
 */
int rtrcu_hash_create(struct rtrcu_hash **table, const struct rtrcu_hash_config *config);
/*
 * rtrcu_hash_destroy - destroy a table, also during a resize.
 * Context:  any thread, not in signal handlers, once no thread begins to use the table.  NULL is ignored.
 * Blocks:   as rtrcu_hash_create().
 * Ordering: a gp: sections that began before may still look up.
 * Returns:  nothing.  The entries stay the caller's; the resizer frees the table's memory after a gp.
 */
void rtrcu_hash_destroy(struct rtrcu_hash *table);

/* ---- updates ----------------------------------------------------------------------------------------------------- */

/*
 * rtrcu_hash_insert - insert @node unless an entry of its hash exists that @match accepts for @key.
 * Context:  inside a section; not in a signal handler, nor in a function called by a table.
 * Blocks:   only while another thread updates the same stripe, or the resizer moves a bucket of that stripe; boosts
 *           that thread.  Makes no other system call on a deadline thread; on others it may wake the resizer.
 * Ordering: a release: a look-up that finds @node sees everything stored before. [O29]
 * Returns:  0; -EEXIST: @existing, unless NULL, receives the entry, valid until the section ends; -ENOSPC: the table is
 *           at its limit; -E2BIG: the bucket is as long as permitted.  On failure @node stays the caller's.
 */
int rtrcu_hash_insert(struct rtrcu_hash *table, uint64_t hash, struct rtrcu_hash_node *node, rtrcu_hash_match_t match,
                      const void *key, struct rtrcu_hash_node **existing);
/* Like rtrcu_hash_insert(), but entries with the same key may exist.  -EEXIST: @node is in the table already. */
int rtrcu_hash_add(struct rtrcu_hash *table, uint64_t hash, struct rtrcu_hash_node *node);
/* Put @fresh in @old's place; each look-up finds one of the two.  Context and ordering as for rtrcu_hash_insert().  0;
 * -ENOENT: @old is not in the table.  After a gp @old may be freed. */
int rtrcu_hash_replace(struct rtrcu_hash *table, struct rtrcu_hash_node *old, struct rtrcu_hash_node *fresh);
/* Remove @node, which may be freed after a gp.  Context and ordering as for rtrcu_hash_insert().  0 for exactly one of
 * several callers; -ENOENT: it is not in the table. */
int rtrcu_hash_remove(struct rtrcu_hash *table, struct rtrcu_hash_node *node);

/* ---- the whole table --------------------------------------------------------------------------------------------- */

/*
 * rtrcu_hash_walk - call @function for the entries of the next @buckets buckets, at least one, in one section.
 * Context:  any thread.  *cursor is 0 for the first call.  @function may update the table, and may begin sections.
 * Blocks:   never.
 * Ordering: that of a look-up.
 * Returns:  true: entries may be left.  In calls up to the first false, entries present throughout are visited exactly
 *           once, even if the table is resized meanwhile.  Entries inserted or removed meanwhile are visited at most
 *           once for each time that they are inserted.
 */
bool rtrcu_hash_walk(struct rtrcu_hash *table, uint64_t *cursor, unsigned int buckets, rtrcu_hash_visit_t function,
                     void *argument);

/* A hash of @data that depends on the table's seed (SipHash-1-3): keys that collide cannot be chosen from outside. */
uint64_t rtrcu_hash_bytes(const struct rtrcu_hash *table, const void *data, size_t length);

/* Copy the counters.  Reads every stripe, takes no lock; the sum is exact while no thread updates. */
void rtrcu_hash_stats(const struct rtrcu_hash *table, struct rtrcu_hash_counters *stats);

#ifdef __cplusplus
}
#endif

#endif
