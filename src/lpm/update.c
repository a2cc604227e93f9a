/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Updates: insert, replace and remove a prefix.
 *
 * An update that needs memory releases the lock, allocates, and begins again; so no thread allocates under the lock.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lpm/lpm.h"

enum lpm_operation {
    LPM_INSERT,
    LPM_REPLACE,
    LPM_REMOVE,
};

/* State of one update.  @room lpm */
struct lpm_update {
    struct lpm *lpm;
    enum lpm_operation operation;
    uint8_t key[RTRCU_LPM_BITS_MAX / 8];
    unsigned int length;
    uintptr_t value, old;
    /* The nodes on the way to the prefix, and the words that lead to them. */
    struct rtrcu_lpm_node *path[LPM_DEPTH_MAX];
    uintptr_t *links[LPM_DEPTH_MAX];
    /* Memory allocated beforehand: for the copy of a node, and for nodes that are new. */
    struct rtrcu_lpm_node *copy;
    size_t copy_bytes;
    struct rtrcu_lpm_node *fresh[LPM_DEPTH_MAX];
    unsigned int fresh_count;
    size_t needs_copy;
    unsigned int needs_fresh;
    /* Nodes that left the table, for call_rcu() outside the lock. */
    struct rtrcu_lpm_node *retired[LPM_DEPTH_MAX];
    unsigned int retired_count;
    struct lpm_draft draft;
};

/* A new node has one prefix or one child: at most three runs, and the prefix. */
#define FRESH_BYTES (sizeof(struct rtrcu_lpm_node) + 3 * sizeof(uintptr_t) + sizeof(struct lpm_prefix))
/* The result of an update that needs memory, and has changed nothing. */
#define NEEDS_MEMORY 1

static void free_node(struct rcu_head *head)
{
    free(container_of(head, struct rtrcu_lpm_node, head));
}

static size_t bytes_of(const struct rtrcu_lpm_node *node)
{
    return sizeof(*node) + node->words_count * sizeof(uintptr_t) + node->prefixes * sizeof(struct lpm_prefix);
}

static unsigned int slot_of(const struct lpm_update *update)
{
    return (unsigned int)update->key[0] << 8 | update->key[1];
}
/* The byte of the key that selects the child of the node at @level. */
static unsigned int byte_at(const struct lpm_update *update, unsigned int level)
{
    return update->key[RTRCU_LPM_FRONT_BITS / 8 + level];
}

/* ---- the front table ---- */

/* The value, and the length, of the longest prefix of at most 16 bits that contains the addresses of front word
 * @slot. */
static uintptr_t front_value(const struct lpm *lpm, uint32_t slot, unsigned int *length)
{
    for (*length = RTRCU_LPM_FRONT_BITS;; --*length) { /* bounded: the length falls to 0 */
        uintptr_t value = rtrcu_load_relaxed(&lpm->values[lpm_code(slot, RTRCU_LPM_FRONT_BITS, *length)]);
        if (value || *length == 0)
            return value;
    }
}

static int update_front(struct lpm_update *update)
{
    struct lpm *lpm = update->lpm;
    uintptr_t *place = &lpm->values[lpm_code(slot_of(update), RTRCU_LPM_FRONT_BITS, update->length)];
    update->old = rtrcu_load_relaxed(place);
    if ((update->old != 0) != (update->operation != LPM_INSERT))
        return update->old ? -EEXIST : -ENOENT;

    rtrcu_store_release(place, update->value);
    lpm->prefixes += (uint64_t)(update->operation == LPM_INSERT) - (update->operation == LPM_REMOVE);
    uint32_t end = slot_of(update) + (UINT32_C(1) << (RTRCU_LPM_FRONT_BITS - update->length));
    for (uint32_t slot = slot_of(update); slot < end; slot++) {
        unsigned int length;
        uintptr_t value = front_value(lpm, slot, &length);
        struct rtrcu_lpm_node *node = lpm_node_of(rtrcu_load_relaxed(&lpm->shown.front[slot]));
        if (length > update->length)
            continue;
        if (node)
            lpm_inherit(node, value);
        else
            lpm_publish(&lpm->shown.front[slot], value);
    }
    return 0;
}

/* ---- nodes ---- */

/* Fill @path down to the node at @level, where the prefix ends.  Returns the number of nodes found; @inherited is the
 * value for the addresses of the first missing node. */
static unsigned int descend(struct lpm_update *update, unsigned int level, uintptr_t *inherited)
{
    uintptr_t *link = &update->lpm->shown.front[slot_of(update)];
    *inherited = 0;
    for (unsigned int i = 0;; i++) { /* ends at @level */
        uintptr_t word = rtrcu_load_relaxed(link);
        struct rtrcu_lpm_node *node = lpm_node_of(word);
        if (!node) {
            *inherited = word ? word : *inherited;
            return i;
        }
        update->path[i] = node;
        update->links[i] = link;
        if (i == level)
            return i + 1;
        *inherited = rtrcu_load_relaxed(&node->inherited);
        link = lpm_node_word(node, byte_at(update, i));
    }
}

/* Has the update memory for a copy of @copy_bytes, and for @fresh new nodes?  Records what it needs. */
static bool is_supplied(struct lpm_update *update, size_t copy_bytes, unsigned int fresh)
{
    update->needs_copy = copy_bytes;
    update->needs_fresh = fresh;
    return update->copy_bytes >= copy_bytes && update->fresh_count >= fresh;
}

static void retire(struct lpm_update *update, struct rtrcu_lpm_node *node)
{
    update->lpm->nodes--;
    update->lpm->node_bytes -= bytes_of(node);
    update->retired[update->retired_count++] = node;
}

static void count_new(struct lpm_update *update, const struct rtrcu_lpm_node *node)
{
    update->lpm->nodes++;
    update->lpm->node_bytes += bytes_of(node);
}

/* Replace the node at @level by the draft, which was laid out. */
static struct rtrcu_lpm_node *exchange(struct lpm_update *update, unsigned int level)
{
    struct rtrcu_lpm_node *copy = update->copy, *old = update->path[level];
    lpm_draft_init_node(&update->draft, copy, rtrcu_load_relaxed(&old->inherited));
    update->copy = NULL;
    update->copy_bytes = 0;
    lpm_publish(update->links[level], (uintptr_t)copy + RTRCU_LPM_NODE);
    count_new(update, copy);
    retire(update, old);
    return copy;
}

/* Make nodes for the levels from @first to @last, the last with the prefix alone.  Returns the word that leads to the
 * first node. */
static uintptr_t make_chain(struct lpm_update *update, unsigned int first, unsigned int last, uintptr_t inherited,
                            uint32_t code)
{
    uintptr_t word = 0;
    for (unsigned int level = last + 1; level-- > first;) {
        lpm_draft_read(&update->draft, NULL);
        if (word)
            lpm_draft_set_child(&update->draft, byte_at(update, level), word);
        else
            lpm_draft_add(&update->draft, code, update->value);
        size_t bytes = lpm_draft_lay_out(&update->draft);
        check(bytes <= FRESH_BYTES);
        (void)bytes;
        struct rtrcu_lpm_node *node = update->fresh[--update->fresh_count];
        lpm_draft_init_node(&update->draft, node, inherited);
        count_new(update, node);
        word = (uintptr_t)node + RTRCU_LPM_NODE;
    }
    return word;
}

/* Insert a prefix whose node does not exist; @found nodes above that node exist. */
static int insert_chain(struct lpm_update *update, unsigned int found, unsigned int level, uintptr_t inherited,
                        uint32_t code)
{
    unsigned int fresh = level + 1 - found;
    size_t copy_bytes = 0;
    if (found) { /* one byte of the last node gets a word of its own: at most two runs more */
        lpm_draft_read(&update->draft, update->path[found - 1]);
        lpm_draft_set_child(&update->draft, byte_at(update, found - 1), UINTPTR_MAX);
        copy_bytes = lpm_draft_lay_out(&update->draft);
    }
    if (!is_supplied(update, copy_bytes, fresh))
        return NEEDS_MEMORY;

    update->lpm->prefixes++;
    uintptr_t word = make_chain(update, found, level, inherited, code);
    if (!found) {
        lpm_publish(&update->lpm->shown.front[slot_of(update)], word);
        return 0;
    }
    lpm_draft_read(&update->draft, update->path[found - 1]);
    lpm_draft_set_child(&update->draft, byte_at(update, found - 1), word);
    (void)lpm_draft_lay_out(&update->draft);
    (void)exchange(update, found - 1);
    return 0;
}

/* Remove the node at @level, whose draft is empty, and each node above that has no prefix and leads to no other
 * node. */
static int remove_nodes(struct lpm_update *update, unsigned int level)
{
    unsigned int top = level;
    size_t copy_bytes = 0;
    while (top > 0 && !copy_bytes) { /* bounded: each iteration goes one level up */
        lpm_draft_read(&update->draft, update->path[top - 1]);
        lpm_draft_set_child(&update->draft, byte_at(update, top - 1), 0);
        if (update->draft.prefixes || update->draft.children)
            copy_bytes = lpm_draft_lay_out(&update->draft);
        else
            top--;
    }
    if (!is_supplied(update, copy_bytes, 0))
        return NEEDS_MEMORY;

    update->lpm->prefixes--;
    unsigned int length;
    if (top > 0)
        (void)exchange(update, top - 1);
    else
        lpm_publish(update->links[0], front_value(update->lpm, slot_of(update), &length));
    for (unsigned int i = top; i <= level; i++)
        retire(update, update->path[i]);
    return 0;
}

static int update_nodes(struct lpm_update *update)
{
    unsigned int level = (update->length - 1 - RTRCU_LPM_FRONT_BITS) / 8;
    uint32_t code = lpm_code(byte_at(update, level), 8, update->length - RTRCU_LPM_FRONT_BITS - 8 * level);
    uintptr_t inherited;
    unsigned int found = descend(update, level, &inherited);
    if (found <= level)
        return update->operation == LPM_INSERT ? insert_chain(update, found, level, inherited, code) : -ENOENT;

    struct lpm_draft *draft = &update->draft;
    lpm_draft_read(draft, update->path[level]);
    unsigned int place = lpm_draft_find(draft, code);
    if ((place != 0) != (update->operation != LPM_INSERT))
        return place ? -EEXIST : -ENOENT;

    update->old = place ? draft->values[place - 1] : 0;
    if (place)
        lpm_draft_remove(draft, place - 1);
    if (update->operation != LPM_REMOVE)
        lpm_draft_add(draft, code, update->value);
    if (!draft->prefixes && !draft->children)
        return remove_nodes(update, level);
    if (!is_supplied(update, lpm_draft_lay_out(draft), 0))
        return NEEDS_MEMORY;

    update->lpm->prefixes += (uint64_t)(update->operation == LPM_INSERT) - (update->operation == LPM_REMOVE);
    struct rtrcu_lpm_node *copy = exchange(update, level);
    if (draft->children)
        lpm_inherit_children(copy);
    return 0;
}

/* ---- memory, and the calls ---- */

/* Allocate the memory that the update needs.  False: not all could be allocated. */
static bool supply(struct lpm_update *update)
{
    if (update->copy_bytes < update->needs_copy) {
        free(update->copy);
        update->copy = malloc(update->needs_copy);
        update->copy_bytes = update->copy ? update->needs_copy : 0;
    }
    while (update->fresh_count < update->needs_fresh) { /* bounded: each iteration allocates one node */
        struct rtrcu_lpm_node *node = malloc(FRESH_BYTES);
        if (!node)
            return false;
        update->fresh[update->fresh_count++] = node;
    }
    return update->copy_bytes >= update->needs_copy;
}

static int perform(struct lpm_update *update)
{
    int result;
    do { /* repeats only if a successful update of another thread changed the needs */
        if (!supply(update))
            return -ENOMEM;
        lock_acquire(&update->lpm->lock);
        result = update->length <= RTRCU_LPM_FRONT_BITS ? update_front(update) : update_nodes(update);
        lock_release(&update->lpm->lock);
    } while (result == NEEDS_MEMORY);
    return result;
}

/* Copy the first update->length bits of @key; the bits after them are 0. */
static void copy_key(struct lpm_update *update, const uint8_t *key)
{
    memcpy(update->key, key, (update->length + 7) / 8);
    if (update->length % 8)
        update->key[update->length / 8] &= (uint8_t)(0xff00 >> update->length % 8);
}

static int do_update(struct rtrcu_lpm *shown, enum lpm_operation operation, const void *key, unsigned int length,
                     void *value, void **old)
{
    struct lpm *lpm = lpm_of(shown);
    if (length > lpm->bits || (operation != LPM_REMOVE && (!value || (uintptr_t)value & RTRCU_LPM_NODE)))
        return -EINVAL;

    CALL_SCOPE();
    struct lpm_update *update = malloc(sizeof(*update));
    if (!update)
        return -ENOMEM;
    memset(update, 0, offsetof(struct lpm_update, draft));
    update->lpm = lpm;
    update->operation = operation;
    update->length = length;
    update->value = (uintptr_t)value;
    copy_key(update, key);

    int result = perform(update);
    if (result == 0 && old)
        *old = (void *)update->old;
    for (unsigned int i = 0; i < update->retired_count; i++)
        call_rcu(&update->retired[i]->head, free_node);
    for (unsigned int i = 0; i < update->fresh_count; i++)
        free(update->fresh[i]);
    free(update->copy);
    free(update);
    return result;
}

int rtrcu_lpm_insert(struct rtrcu_lpm *lpm, const void *key, unsigned int length, void *value)
{
    return do_update(lpm, LPM_INSERT, key, length, value, NULL);
}

int rtrcu_lpm_replace(struct rtrcu_lpm *lpm, const void *key, unsigned int length, void *value, void **old)
{
    return do_update(lpm, LPM_REPLACE, key, length, value, old);
}

int rtrcu_lpm_remove(struct rtrcu_lpm *lpm, const void *key, unsigned int length, void **old)
{
    return do_update(lpm, LPM_REMOVE, key, length, NULL, old);
}
