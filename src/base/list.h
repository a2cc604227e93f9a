/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Circular doubly linked list of links embedded in other structs; the head is a link of its own.
 *
 * At any moment the forward links from the head are complete: one store inserts a link, or removes it.  A fork's child
 * may find the backward links incomplete.
 */
#ifndef RTRCU_BASE_LIST_H
#define RTRCU_BASE_LIST_H

#include <rtrcu/task.h>

#include "base/check.h"

static inline void list_head_init(struct rtrcu_link *head)
{
    head->next = head->prev = head;
}

/* A head that was never initialised (zeroed memory) is empty too. */
static inline bool list_is_empty(const struct rtrcu_link *head)
{
    return head->next == head || !head->next;
}

static inline void list_insert_after(struct rtrcu_link *at, struct rtrcu_link *link)
{
    struct rtrcu_link *next = at->next;
    link->next = next;
    link->prev = at;
    rtrcu_fence_light();
    at->next = link;
    next->prev = link;
}

static inline void list_insert_first(struct rtrcu_link *head, struct rtrcu_link *link)
{
    list_insert_after(head, link);
}

static inline void list_insert_last(struct rtrcu_link *head, struct rtrcu_link *link)
{
    list_insert_after(head->prev, link);
}

static inline void list_remove(struct rtrcu_link *link)
{
    link->prev->next = link->next;
    link->next->prev = link->prev;
    rtrcu_fence_light();
    link->next = link->prev = NULL;
}

#endif
