/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Walks through a table in the order of its prefixes: by address, then by length.
 *
 * The cursor is a prefix, so its place does not depend on the nodes that exist.
 */
#include <string.h>

#include "lpm/lpm.h"

/* State of one call of rtrcu_lpm_walk().  @room lpm */
struct lpm_walk {
    const struct lpm *lpm;
    struct rtrcu_lpm_cursor *cursor;
    unsigned int steps; /* number of steps that are left */
    rtrcu_lpm_visit_t function;
    void *argument;
    uint8_t key[RTRCU_LPM_BITS_MAX / 8]; /* address of the current place; the bits after it are 0 */
};

static bool is_before_cursor(const struct lpm_walk *walk, unsigned int length)
{
    int order = memcmp(walk->key, walk->cursor->key, sizeof(walk->key));
    return order < 0 || (order == 0 && length < walk->cursor->length);
}

static bool stop_at(struct lpm_walk *walk, unsigned int length)
{
    memcpy(walk->cursor->key, walk->key, sizeof(walk->key));
    walk->cursor->length = length;
    return false;
}

/* Visit a prefix.  False: no step is left, and the next call of the walk begins at this prefix. */
static bool visit(struct lpm_walk *walk, unsigned int length, uintptr_t value)
{
    if (is_before_cursor(walk, length))
        return true;
    if (walk->steps == 0)
        return stop_at(walk, length);
    walk->steps--;
    CALL_PROGRAM();
    walk->function(walk->key, length, (void *)value, walk->argument);
    return true;
}

/* The first byte to visit in a node or the front table: that of the cursor if the bytes before are the cursor's, else
 * 0. */
static unsigned int first_byte(const struct lpm_walk *walk, unsigned int index)
{
    return memcmp(walk->key, walk->cursor->key, index) == 0 ? walk->cursor->key[index] : 0;
}

/* Visit the prefixes in @node and below.  Recursive, by one level of the address each time.  @index: the place of the
 * node's byte in the key. */
static bool walk_node(struct lpm_walk *walk, struct rtrcu_lpm_node *node, unsigned int index)
{
    uint16_t words[512]; /* by code: 1 + index of the value's word */
    const struct lpm_prefix *prefixes = lpm_node_prefixes(node);
    memset(words, 0, sizeof(words));
    for (unsigned int i = 0; i < node->prefixes; i++)
        words[prefixes[i].code] = (uint16_t)(prefixes[i].word + 1);

    bool goes_on = true;
    for (unsigned int byte = first_byte(walk, index); goes_on && byte < 256; byte++) {
        walk->key[index] = (uint8_t)byte;
        for (unsigned int length = 1; goes_on && length <= 8; length++) {
            unsigned int word = byte & (255U >> length) ? 0 : words[lpm_code(byte, 8, length)];
            if (word)
                goes_on = visit(walk, 8 * index + length, rtrcu_load_acquire(&node->words[word - 1]));
        }
        struct rtrcu_lpm_node *child = lpm_node_of(rtrcu_load_acquire(lpm_node_word(node, byte)));
        if (goes_on && child)
            goes_on = walk_node(walk, child, index + 1);
    }
    walk->key[index] = 0;
    return goes_on;
}

/* Visit the prefixes that begin at one word of the front table. */
static bool walk_slot(struct lpm_walk *walk, uint32_t slot)
{
    walk->key[0] = (uint8_t)(slot >> 8);
    walk->key[1] = (uint8_t)slot;
    for (unsigned int length = 0; length <= RTRCU_LPM_FRONT_BITS; length++) {
        if (slot & (LPM_FRONT_WORDS - 1) >> length)
            continue;
        uintptr_t value = rtrcu_load_acquire(&walk->lpm->values[lpm_code(slot, RTRCU_LPM_FRONT_BITS, length)]);
        if (value && !visit(walk, length, value))
            return false;
    }
    struct rtrcu_lpm_node *node = lpm_node_of(rtrcu_load_acquire(&walk->lpm->shown.front[slot]));
    return !node || walk_node(walk, node, RTRCU_LPM_FRONT_BITS / 8);
}

bool rtrcu_lpm_walk(const struct rtrcu_lpm *shown, struct rtrcu_lpm_cursor *cursor, unsigned int steps,
                    rtrcu_lpm_visit_t function, void *argument)
{
    CALL_SCOPE();
    struct lpm_walk walk = {lpm_of_const(shown), cursor, steps ? steps : 1, function, argument, {0}};
    uint32_t slot = (uint32_t)cursor->key[0] << 8 | cursor->key[1];
    bool goes_on = true;

    rcu_read_lock();
    while (goes_on && slot < LPM_FRONT_WORDS) { /* bounded: each iteration visits one word */
        goes_on = walk_slot(&walk, slot++);
        walk.steps -= goes_on && walk.steps > 0;
        if (goes_on && walk.steps == 0 && slot < LPM_FRONT_WORDS) {
            walk.key[0] = (uint8_t)(slot >> 8);
            walk.key[1] = (uint8_t)slot;
            goes_on = stop_at(&walk, 0);
        }
    }
    rcu_read_unlock();
    return !goes_on;
}
