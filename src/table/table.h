/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Hash tables: buckets, updates under stripes, walks, and the resizer that moves buckets to another generation.
 *
 * Knows: the public interface, threads of the library, gp cookies.  Must not know: the objects around the nodes, and
 * the work of readers.
 *
 * A bucket is a line of six slots, and a link to nodes of its chain and to overflow lines.  A resize makes a generation
 * of a different size and moves bucket after bucket; the entries of a bucket that is MOVED are in the next generation.
 *
 *  before    transition          after
 *  STILL     table_step()        TOUCHING  @to is allocated, and not reachable for look-ups
 *  TOUCHING  table_step()        MOVING    all pages are in memory, and @to is published as the next generation
 *  MOVING    table_step()        STILL     every bucket is MOVED: @to is current, and the old generation is retired
 *
 * Locks: resizer.lock guards the list of tables, resizes and retired generations.  A stripe guards the buckets of all
 * generations whose index ends in its number, and its counts: an old bucket and those it moves to have one stripe.
 *
 * INV-TB1: an entry that is present is in exactly one place of the bucket that a look-up by its hash reaches.
 * INV-TB2: a bucket is MOVED only once all of its entries are in the next generation, and never changes again.
 * INV-TB3: a node's link is written only in the generation in which an update pushed the node on a chain.
 * INV-TB4: a generation is freed only after a gp that began when no look-up could begin in it any more.
 */
#ifndef RTRCU_TABLE_TABLE_H
#define RTRCU_TABLE_TABLE_H

#include <rtrcu/table.h>

#include "api/api.h"

#define TABLE_STRIPES_MAX 1024
#define TABLE_BUCKETS_DEFAULT 64
#define TABLE_BUCKETS_MAX (UINT64_C(1) << 32)

/* Number of buckets that one step of a resize moves. */
#define TABLE_STEP_BUCKETS (CHECK_DEBUG ? 2 : 64)
/* Maximum number of bytes that one step touches, and that one step unmaps. */
#define TABLE_STEP_TOUCH ((uint64_t)256 * 1024)
#define TABLE_STEP_UNMAP ((uint64_t)2 * 1024 * 1024)
/* Intervals in nanoseconds: TABLE_COUNT_NS times the number of stripes between two counts of a table's entries, so that
 * a small table is counted often; TABLE_RETRY_NS between attempts after a lack of memory; TABLE_POLL_NS between polls
 * for a gp. */
#define TABLE_COUNT_NS 1000
#define TABLE_RETRY_NS 50000000
#define TABLE_POLL_NS 1000000

/* The number of entries above which a table with @buckets grows: 4.5 for each bucket. */
static inline int64_t table_bound(uint64_t buckets)
{
    return (int64_t)(buckets * 9 / 2);
}

struct table;

/* Values of table.asked.  TABLE_ASKED: a deadline thread has requested a count, which the resizer finds when it polls.
 * TABLE_ASKED_AND_WOKEN: a count is requested, and the resizer was woken or knows when the count is due. */
#define TABLE_ASKED 1
#define TABLE_ASKED_AND_WOKEN 2

/* A piece of memory for overflow lines; its first line is this header. */
struct table_block {
    struct table_block *older;
    uint64_t bytes;
};

/* The buckets of one size.  Constant except the fields that the resizer writes under its lock. */
struct generation {
    struct rtrcu_hash_generation shown;
    int64_t ask_above, ask_below; /* constant: counts of one stripe above and below which an update requests a resize */
    uint64_t bytes;               /* size of @shown.lines; falls while the lines are unmapped */
    uint64_t done;                /* progress: number of bytes touched; later number of buckets moved away */
    struct table_block *blocks;
    struct rtrcu_hash_line *spare; /* the next unused overflow line; @spares is the number of these lines */
    uint64_t spares;
    struct generation *younger; /* the generation that was retired after this one */
    uint64_t cookie;            /* cookie of the gp after which the generation may be freed */
    struct table *table;        /* the table that is freed with this generation; NULL: none */
};

struct table_stripe {
    struct lock lock;
    int64_t entries;  /* atomic for others: number of entries; written under the lock */
    uint64_t longest; /* atomic for others: most entries found in one bucket; written under the lock */
    int64_t ask_at;   /* the count at which the next request to grow is due */
    int64_t ask_low;  /* the count at which the next request to shrink is due */
} __attribute__((aligned(BASE_CACHE_LINE)));

struct table {
    struct rtrcu_hash shown;
    struct table_stripe *stripes;    /* constant */
    uint64_t stripe_mask;            /* constant */
    struct rtrcu_hash_config config; /* constant */
    uint64_t seed[2];                /* constant */
    uint64_t total;                  /* atomic: number of entries, counted only in a table with a limit */
    uint32_t asked;                  /* atomic: a request since the resizer counted last: 0, TABLE_ASKED or
                                        TABLE_ASKED_AND_WOKEN */
    /* Under resizer.lock. */
    struct table *next;
    bool torn; /* in a fork's child: a thread of the parent was updating the table; it is no longer resized */
    struct generation *to;    /* the generation that is being filled; NULL = STILL */
    int64_t due_ns;           /* the entries are not counted before this time */
    uint64_t shrink_cookie;   /* the cookie of the last shrink; 0 = none */
    uint64_t resizes;         /* atomic for others: completed resizes; written by the resizer */
    uint64_t longest_move_ns; /* atomic for others: longest hold of a stripe; written by the resizer */
    uint64_t no_memory;       /* atomic for others: resizes tried without memory; written by the resizer */
    uint64_t no_resizer;      /* atomic */
};

/* The thread that serves all tables, and the generations that wait for a gp. */
struct resizer {
    struct lock lock;
    bool hooked; /* the fork handlers are registered */
    struct table *tables;
    struct generation *retired, **retired_end; /* oldest first */
    struct work_thread thread;
};

extern struct resizer rtrcu_resizer;

static inline struct table *table_of(struct rtrcu_hash *shown)
{
    return container_of(shown, struct table, shown);
}
static inline const struct table *table_of_const(const struct rtrcu_hash *shown)
{
    return container_of_const(shown, struct table, shown);
}
static inline struct generation *table_generation(struct rtrcu_hash_generation *shown)
{
    return container_of(shown, struct generation, shown);
}
static inline struct generation *table_current(const struct table *table)
{
    return table_generation(rtrcu_load_acquire(&table->shown.current));
}
static inline struct table_stripe *table_stripe(const struct table *table, uint64_t mixed)
{
    return &table->stripes[mixed & table->stripe_mask];
}

/* ---- buckets: bucket.c ---- */

/* Value: the position of a walk through the entries of a bucket. */
struct table_place {
    struct rtrcu_hash_line *line;
    unsigned int slot;
    struct rtrcu_hash_node *node; /* a node of the chain; NULL = among the slots of @line */
};

/* The next entry of the walk at @place, which begins as {bucket, 0, NULL}.  NULL: there are no more. */
struct rtrcu_hash_node *table_next(struct table_place *place);

/* Value: a search for an entry in a bucket, for an update, and its result. */
struct table_search {
    struct rtrcu_hash_node *node; /* input: the node to find, or to insert */
    uint64_t mixed;               /* the mixed hash to search for */
    rtrcu_hash_match_t match;     /* a node with that hash is found if this accepts it; NULL: only @node is found */
    const void *key;
    struct rtrcu_hash_node *found;
    struct rtrcu_hash_node **slot; /* the slot of @found; NULL: it is in a chain */
    uintptr_t *link;               /* the link that leads to @found in a chain */
    struct rtrcu_hash_line *free;  /* the first line with a free slot, NULL = none */
    unsigned int free_slot;
    uint64_t entries; /* number of entries examined: all of the bucket's if none is found */
};

/* Search @bucket.  Under the stripe. */
void table_find(struct rtrcu_hash_line *bucket, struct table_search *search);
void table_line_put(struct rtrcu_hash_line *line, unsigned int slot, struct rtrcu_hash_node *node);
/* After a search that found no entry: put @node into the free slot, or on the chain of @bucket. */
void table_put(struct rtrcu_hash_line *bucket, const struct table_search *search, struct rtrcu_hash_node *node);
/* Replace search->found by @fresh; @fresh NULL: remove it. */
void table_exchange(const struct table_search *search, struct rtrcu_hash_node *fresh);

/* ---- generations: generation.c ---- */

/* Create a generation of @table, not yet part of it.  NULL: no memory. */
struct generation *generation_create(const struct table *table, uint64_t buckets);
/* Make the next TABLE_STEP_TOUCH bytes present in memory.  True: all bytes are present. */
bool generation_touch(struct generation *generation);
/* Ensure that at least @lines overflow lines are unused.  False: no memory. */
bool generation_supply(struct generation *generation, uint64_t lines);
/* Free the next TABLE_STEP_UNMAP bytes.  True: nothing is left; @generation itself was freed, and the table that was
 * retired with it. */
bool generation_free_piece(struct generation *generation);
/* Move @bucket of @from, under the stripe's lock.  Returns 0, or the number of overflow lines without which the bucket
 * cannot be moved.  @may_supply: the caller may use the unused overflow lines of @to. */
uint64_t table_bucket_move(struct generation *from, struct generation *to, uint64_t bucket, bool may_supply);

/* ---- retired generations: retire.c, under resizer.lock ---- */

/* Free @generation, and @table with it unless NULL, after a gp. */
void generation_retire(struct generation *generation, struct table *table);
/* Free a piece of the oldest generation if its gp has ended.  Returns nanoseconds until the next call is due: 0 =
 * now. */
int64_t generation_free_retired(struct resizer *resizer);

/* ---- resizes: resize.c, under resizer.lock ---- */

/* Make one bounded step of the count or the resize that @table needs.  Returns nanoseconds until the next step is due:
 * 0 = now. */
int64_t table_step(struct table *table);

/* ---- the resizer: resizer.c ---- */

/* Create the resizer, if it does not exist.  Returns 0, or -errno: no thread can be created. */
int resizer_start(void);
void resizer_lock(void);
void resizer_unlock(void);
/* Wake the resizer; a deadline thread does not, since the resizer polls for it.  False: no resizer runs, and none can
 * be created. */
bool resizer_notify(void);
/* Request a resize after an update.  Outside the stripe. */
void table_request(struct table *table);

#endif
