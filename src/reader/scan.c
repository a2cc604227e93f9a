/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Descent through the tree of counts to the leaves that must be scanned.
 *
 * tested by: test/unit/reader/scanned.cc
 */
#include "reader/reader.h"

/* The number of the first leaf below node @index of @level. */
static uint32_t first_below(uint32_t level, uint32_t index)
{
    for (; level > 0; level--)
        index *= READER_FANOUT;
    return index;
}

static bool is_worth_it(struct reader_registry *registry, uint32_t level, uint32_t index)
{
    return level == 0 ? reader_scanned_any(&reader_leaf_at(registry, index)->scanned)
                      : reader_count_has_reasons(&registry->counts, level, index);
}

uint32_t reader_scan_below(struct reader_registry *registry, uint32_t level, uint32_t index, uint32_t leaves)
{
    uint32_t children = 0;
    if (!reader_count_has_reasons(&registry->counts, level, index))
        return 0;

    for (uint32_t child = 0; child < READER_FANOUT; child++) {
        uint32_t at = index * READER_FANOUT + child;
        if (first_below(level - 1, at) >= leaves)
            break;
        if (is_worth_it(registry, level - 1, at))
            children |= UINT32_C(1) << child;
    }

    return children;
}

/* @index if no node above leaf @index has the count 0; else the first leaf after those below such a node. */
static uint32_t skip(const struct reader_registry *registry, uint32_t index)
{
    for (uint32_t level = READER_LEVELS; level > 0; level--) {
        uint32_t node = index / first_below(level, 1);
        if (!reader_count_has_reasons(&registry->counts, level, node))
            return first_below(level, node + 1);
    }
    return index;
}

struct reader_leaf *reader_next_scanned(struct reader_registry *registry, const struct reader_leaf *leaf)
{
    uint32_t index = leaf ? leaf->index + 1 : 0, leaves = reader_leaf_count(registry);

    while (index < leaves) {
        uint32_t next = skip(registry, index);
        if (next == index && is_worth_it(registry, 0, index))
            return reader_leaf_at(registry, index);
        index = next == index ? index + 1 : next;
    }

    return NULL;
}

/* Compares all counts with those that the calling thread alone would cause: 1, or 0 if it is idle. */
bool reader_self_is_alone(const struct reader_registry *registry)
{
    const struct reader_record *record = reader_self();
    const struct reader_scanned *scanned = record ? &record->leaf->scanned : NULL;
    return reader_scanned_alone(&registry->counts, scanned,
                                record ? reader_scanned_of(scanned) & reader_bit(record) : 0);
}
