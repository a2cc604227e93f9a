/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Linked lists that readers walk while an updater changes them: list (circular, doubly linked) and hlist (one-word
 * head).
 *
 * Names and meanings are the Linux kernel's.  Three rules hold throughout:
 *  - functions without _rcu are for lists that no reader can reach, and for updaters that only read;
 *  - updaters exclude each other, by a lock or by being one thread; readers only need a section;
 *  - a node removed by an _rcu function keeps its forward link for readers that have reached it, so it may be freed or
 *    inserted again only after a gp.
 * Works in C11 and in C++17.  sys/queue.h defines a different LIST_HEAD: see LIST_HEAD() below.
 */
#include <rtrcu/rcu.h> /* first, since it may define this header's guard */

#ifndef RTRCU_LIST_H
#define RTRCU_LIST_H

#ifdef __cplusplus
extern "C" {
#endif

struct list_head {
    struct list_head *next, *prev;
};
struct hlist_node {
    struct hlist_node *next, **pprev; /* pprev: address of the pointer to this node; NULL while on no list */
};
struct hlist_head {
    struct hlist_node *first;
};

/* Links of a removed node: no program maps these addresses, so a second removal faults immediately. */
#define RTRCU_LIST_GONE_NEXT ((struct list_head *)0x110)
#define RTRCU_LIST_GONE_PREV ((struct list_head *)0x120)
#define RTRCU_HLIST_GONE_NEXT ((struct hlist_node *)0x130)
#define RTRCU_HLIST_GONE_PPREV ((struct hlist_node **)0x140)

/* The object of a node, and the node of an object; the second function maps NULL to NULL.  By address arithmetic, since
 * a head belongs to no object and the computed address may not even be aligned. */
static inline void *rtrcu_list_object(const void *node, size_t offset)
{
    return (void *)((uintptr_t)node - offset);
}
static inline void *rtrcu_list_object_or_null(const void *node, size_t offset)
{
    return node ? rtrcu_list_object(node, offset) : NULL;
}
static inline void *rtrcu_list_node(const void *object, size_t offset)
{
    return (void *)((uintptr_t)object + offset);
}
/* A cast that causes no warning about C casts in a C++ program's own lines. */
#ifdef __cplusplus
#define RTRCU_LIST_AS(type, pointer) static_cast<type>(pointer)
#else
#define RTRCU_LIST_AS(type, pointer) ((type)(pointer))
#endif
#define RTRCU_LIST_NODE(pos, member)                                                                                   \
    RTRCU_LIST_AS(__typeof__(&(pos)->member), rtrcu_list_node((pos), offsetof(__typeof__(*(pos)), member)))

/* The arguments of a traversal after its head: the member's name, and perhaps a condition under which no section is
 * needed. */
#define RTRCU_LIST_MEMBER(member, ...) member
#define RTRCU_LIST_CONDITION(member, condition, ...) (condition)
#ifdef RTRCU_DEBUG
#define RTRCU_LIST_CHECK(call, ...)                                                                                    \
    ((RTRCU_LIST_CONDITION(__VA_ARGS__, 0, 0) || rcu_read_lock_held())                                                 \
         ? (void)0                                                                                                     \
         : rtrcu_check_held(call, #__VA_ARGS__, __FILE__, __LINE__))
#else
#define RTRCU_LIST_CHECK(call, ...) ((void)0)
#endif

/* ---- list: heads and objects ------------------------------------------------------------------------------------- */

/* LIST_HEAD(name) defines an empty list, as in the kernel; LIST_HEAD(name, type) is that of sys/queue.h.  If
 * sys/queue.h is included after this header, its LIST_HEAD replaces this one; RTRCU_LIST_HEAD(name) always works. */
#undef LIST_HEAD
#define LIST_HEAD_INIT(name)                                                                                           \
    {                                                                                                                  \
        &(name), &(name)                                                                                               \
    }
#define RTRCU_LIST_HEAD(name) struct list_head name = LIST_HEAD_INIT(name)
#define RTRCU_LIST_HEAD_TYPED(name, type)                                                                              \
    struct name {                                                                                                      \
        struct type *lh_first;                                                                                         \
    }
#define RTRCU_LIST_PICK(first, second, picked, ...) picked
#define LIST_HEAD(...) RTRCU_LIST_PICK(__VA_ARGS__, RTRCU_LIST_HEAD_TYPED, RTRCU_LIST_HEAD, 0)(__VA_ARGS__)

/* Make @list an empty list; list_del_init() leaves a node in the same state.  No reader may reach it. */
static inline void INIT_LIST_HEAD(struct list_head *list)
{
    rtrcu_store_relaxed(&list->next, list);
    list->prev = list;
}

/* The object around node @ptr, which is not a head; hlist_entry_safe() maps NULL to NULL. */
#define list_entry(ptr, type, member) RTRCU_LIST_AS(type *, rtrcu_list_object((ptr), offsetof(type, member)))
#define hlist_entry(ptr, type, member) list_entry(ptr, type, member)
#define hlist_entry_safe(ptr, type, member)                                                                            \
    RTRCU_LIST_AS(type *, rtrcu_list_object_or_null((ptr), offsetof(type, member)))
#define list_first_entry(head, type, member) list_entry((head)->next, type, member)
#define list_last_entry(head, type, member) list_entry((head)->prev, type, member)
#define list_next_entry(pos, member) list_entry((pos)->member.next, __typeof__(*(pos)), member)
#define list_prev_entry(pos, member) list_entry((pos)->member.prev, __typeof__(*(pos)), member)

/* Queries.  Readers too may call list_empty(), whose result may be stale immediately.  The other queries are for the
 * updater. */
static inline bool list_empty(const struct list_head *head)
{
    return rtrcu_load_relaxed(&head->next) == head;
}
static inline bool list_is_first(const struct list_head *node, const struct list_head *head)
{
    return node->prev == head;
}
static inline bool list_is_last(const struct list_head *node, const struct list_head *head)
{
    return node->next == head;
}
static inline bool list_is_singular(const struct list_head *head)
{
    return !list_empty(head) && head->next == head->prev;
}
static inline struct list_head *rtrcu_list_first_or_null(const struct list_head *head)
{
    return head->next != head ? head->next : NULL;
}
#define list_first_entry_or_null(head, type, member) hlist_entry_safe(rtrcu_list_first_or_null(head), type, member)

/* ---- list: changes that no reader sees --------------------------------------------------------------------------- */

static inline void rtrcu_list_link(struct list_head *before, struct list_head *node, struct list_head *after)
{
    node->next = after;
    node->prev = before;
    after->prev = node;
    rtrcu_store_relaxed(&before->next, node);
}
/* Link @before and @after, which removes the nodes between them.  A release: this may be the first link by which a
 * reader reaches @after, which may have been published a moment ago through the removed node. */
static inline void rtrcu_list_unlink(struct list_head *before, struct list_head *after)
{
    after->prev = before;
    rtrcu_store_release(&before->next, after);
}

/*
 * list_add - insert @node after @head, which is the head of a list or a node on it.  list_add_tail() inserts before
 * @head, list_del() removes, list_del_init() also makes the node an empty list, list_move() and list_move_tail() remove
 * and insert, list_replace() puts @fresh in @old's place, list_splice() and list_splice_init() move a whole list after
 * @head.
 * Context:  the updater of a list that no reader can reach.
 * Blocks:   never.
 * Ordering: none.
 * Returns:  nothing.  list_del() leaves links that fault when they are followed.
 */
static inline void list_add(struct list_head *node, struct list_head *head)
{
    rtrcu_list_link(head, node, head->next);
}
static inline void list_add_tail(struct list_head *node, struct list_head *head)
{
    rtrcu_list_link(head->prev, node, head);
}
static inline void list_del(struct list_head *node)
{
    rtrcu_list_unlink(node->prev, node->next);
    node->next = RTRCU_LIST_GONE_NEXT;
    node->prev = RTRCU_LIST_GONE_PREV;
}
static inline void list_del_init(struct list_head *node)
{
    rtrcu_list_unlink(node->prev, node->next);
    INIT_LIST_HEAD(node);
}
static inline void list_move(struct list_head *node, struct list_head *head)
{
    rtrcu_list_unlink(node->prev, node->next);
    list_add(node, head);
}
static inline void list_move_tail(struct list_head *node, struct list_head *head)
{
    rtrcu_list_unlink(node->prev, node->next);
    list_add_tail(node, head);
}
static inline void list_replace(struct list_head *old, struct list_head *fresh)
{
    rtrcu_list_link(old->prev, fresh, old->next);
}
static inline void list_splice(struct list_head *list, struct list_head *head)
{
    if (list_empty(list))
        return;
    rtrcu_list_unlink(list->prev, head->next);
    rtrcu_list_unlink(head, list->next);
}
static inline void list_splice_init(struct list_head *list, struct list_head *head)
{
    list_splice(list, head);
    INIT_LIST_HEAD(list);
}

/* Walks by the updater; @pos is a pointer to the objects.  The _safe walk may remove @pos; @n has the type of @pos. */
#define list_for_each(node, head) for (node = (head)->next; node != (head); node = node->next)
#define list_for_each_entry(pos, head, member)                                                                         \
    for (pos = list_first_entry(head, __typeof__(*(pos)), member); RTRCU_LIST_NODE(pos, member) != (head);             \
         pos = list_next_entry(pos, member))
#define list_for_each_entry_reverse(pos, head, member)                                                                 \
    for (pos = list_last_entry(head, __typeof__(*(pos)), member); RTRCU_LIST_NODE(pos, member) != (head);              \
         pos = list_prev_entry(pos, member))
#define list_for_each_entry_safe(pos, n, head, member)                                                                 \
    for (pos = list_first_entry(head, __typeof__(*(pos)), member);                                                     \
         RTRCU_LIST_NODE(pos, member) != (head) && (n = list_next_entry(pos, member), true); pos = n)

/* ---- list: changes under readers --------------------------------------------------------------------------------- */

/*
 * list_add_rcu - publish @node after @head, list_add_tail_rcu() before it.
 * Context:  the one updater of the list; readers may walk it meanwhile.
 * Blocks:   never.
 * Ordering: release: a reader that reaches @node sees everything stored to its object before the call.
 * Returns:  nothing.
 * See:      list_for_each_entry_rcu()
 */
static inline void rtrcu_list_publish(struct list_head *before, struct list_head *node, struct list_head *after)
{
    node->next = after;
    node->prev = before;
    rtrcu_store_release(&before->next, node);
    after->prev = node;
}
static inline void list_add_rcu(struct list_head *node, struct list_head *head)
{
    rtrcu_list_publish(head, node, head->next);
}
static inline void list_add_tail_rcu(struct list_head *node, struct list_head *head)
{
    rtrcu_list_publish(head->prev, node, head);
}

/*
 * list_del_rcu - remove @node; readers that have reached it continue to the rest of the list.
 * Context:  the one updater of the list; readers may walk it meanwhile.
 * Blocks:   never.
 * Ordering: release, for the nodes after @node.  The object may be freed or inserted again after a gp.
 * Returns:  nothing.  The result of list_empty(@node) is meaningless afterwards; a second removal faults.
 * See:      synchronize_rcu(), call_rcu(), rcu_free()
 */
static inline void list_del_rcu(struct list_head *node)
{
    rtrcu_list_unlink(node->prev, node->next);
    node->prev = RTRCU_LIST_GONE_PREV;
}

/*
 * list_replace_rcu - put @fresh in @old's place, in one step for readers: each walk sees exactly one of the two.
 * Context:  the one updater of the list; @fresh is on no list.
 * Blocks:   never.
 * Ordering: release, as list_add_rcu(); @old may be freed after a gp, as after list_del_rcu().
 * Returns:  nothing.
 */
static inline void list_replace_rcu(struct list_head *old, struct list_head *fresh)
{
    rtrcu_list_publish(old->prev, fresh, old->next);
    old->prev = RTRCU_LIST_GONE_PREV;
}

/*
 * list_splice_init_rcu - move all of @list after @head and leave @list empty; list_splice_tail_init_rcu() moves it
 * before @head.
 * Context:  the one updater of both lists, where it may wait; readers may walk both.
 * Blocks:   as @sync does, which waits for a gp: synchronize_rcu or synchronize_rcu_expedited.  Not if @list is empty.
 * Ordering: readers of @list have left it before its nodes are published after @head; release.
 * Returns:  nothing.
 */
static inline void rtrcu_list_splice_rcu(struct list_head *list, struct list_head *before, struct list_head *after,
                                         void (*sync)(void))
{
    struct list_head *first = list->next, *last = list->prev;
    if (list_empty(list))
        return;

    INIT_LIST_HEAD(list);
    sync(); /* a walk in progress ends at the old head, so the last link must not change before the walk is over */

    rtrcu_store_release(&last->next, after);
    first->prev = before;
    rtrcu_store_release(&before->next, first);
    after->prev = last;
}
static inline void list_splice_init_rcu(struct list_head *list, struct list_head *head, void (*sync)(void))
{
    rtrcu_list_splice_rcu(list, head, head->next, sync);
}
static inline void list_splice_tail_init_rcu(struct list_head *list, struct list_head *head, void (*sync)(void))
{
    rtrcu_list_splice_rcu(list, head->prev, head, sync);
}

/* ---- list: readers ----------------------------------------------------------------------------------------------- */

/* The forward link of a node or head, as an argument of rcu_dereference(). */
#define list_next_rcu(list) ((list)->next)
/* The object that link @ptr leads to, which is not a head. */
#define list_entry_rcu(ptr, type, member) list_entry(rcu_dereference(ptr), type, member)

/* The node after @node, or NULL at the end of the list, by one load.  A reader must not call list_empty() and then load
 * the link, since the list can become empty in between. */
static inline struct list_head *rtrcu_list_follow(struct list_head *node, const struct list_head *head)
{
    struct list_head *next = rcu_dereference(node->next);
    return next != head ? next : NULL;
}
#define list_first_or_null_rcu(head, type, member) hlist_entry_safe(rtrcu_list_follow((head), (head)), type, member)
#define list_next_or_null_rcu(head, ptr, type, member) hlist_entry_safe(rtrcu_list_follow((ptr), (head)), type, member)

/* list_for_each_entry_rcu(pos, head, member[, condition]): walk in a section, or while @condition holds, such as "this
 * thread is the updater"; programs built with RTRCU_DEBUG check that.  The walk may miss nodes added meanwhile.  One
 * section must span the whole walk. */
#define list_for_each_entry_rcu(pos, head, ...)                                                                        \
    for (RTRCU_LIST_CHECK("list_for_each_entry_rcu", __VA_ARGS__),                                                     \
         pos = list_entry_rcu((head)->next, __typeof__(*(pos)), RTRCU_LIST_MEMBER(__VA_ARGS__, 0));                    \
         RTRCU_LIST_NODE(pos, RTRCU_LIST_MEMBER(__VA_ARGS__, 0)) != (head);                                            \
         pos = list_entry_rcu((pos)->RTRCU_LIST_MEMBER(__VA_ARGS__, 0).next, __typeof__(*(pos)),                       \
                              RTRCU_LIST_MEMBER(__VA_ARGS__, 0)))
/* Walk from the node after @pos, or from @pos itself; the same section must have been open since @pos was found. */
#define list_for_each_entry_continue_rcu(pos, head, member)                                                            \
    for (pos = list_entry_rcu((pos)->member.next, __typeof__(*(pos)), member); RTRCU_LIST_NODE(pos, member) != (head); \
         pos = list_entry_rcu((pos)->member.next, __typeof__(*(pos)), member))
#define list_for_each_entry_from_rcu(pos, head, member)                                                                \
    for (; RTRCU_LIST_NODE(pos, member) != (head); pos = list_entry_rcu((pos)->member.next, __typeof__(*(pos)), member))

/* ---- hlist: heads, objects, changes that no reader sees ---------------------------------------------------------- */

#define HLIST_HEAD_INIT                                                                                                \
    {                                                                                                                  \
        NULL                                                                                                           \
    }
#define HLIST_HEAD(name) struct hlist_head name = HLIST_HEAD_INIT
#define INIT_HLIST_HEAD(head) ((void)((head)->first = NULL))

/* Make @node a node that is on no list. */
static inline void INIT_HLIST_NODE(struct hlist_node *node)
{
    node->next = NULL;
    rtrcu_store_relaxed(&node->pprev, (struct hlist_node **)NULL);
}

/* Readers too may call hlist_empty() and hlist_unhashed(), whose results may be stale immediately.  hlist_unhashed() is
 * true after INIT_HLIST_NODE(), hlist_del_init() and hlist_del_init_rcu(), not after the other removals. */
static inline bool hlist_empty(const struct hlist_head *head)
{
    return rtrcu_load_relaxed(&head->first) == NULL;
}
static inline bool hlist_unhashed(const struct hlist_node *node)
{
    return rtrcu_load_relaxed(&node->pprev) == NULL;
}

/* Put @node, fully initialised, into the chain at @place; from then on readers see it. */
static inline void rtrcu_hlist_publish(struct hlist_node *node, struct hlist_node **place)
{
    struct hlist_node *next = *place;
    node->next = next;
    rtrcu_store_relaxed(&node->pprev, place);
    rtrcu_store_release(place, node);
    if (next)
        rtrcu_store_relaxed(&next->pprev, &node->next);
}
static inline void rtrcu_hlist_unlink(struct hlist_node *node)
{
    struct hlist_node *next = node->next, **place = node->pprev;
    rtrcu_store_release(place, next); /* as rtrcu_list_unlink() */
    if (next)
        rtrcu_store_relaxed(&next->pprev, place);
}

/*
 * hlist_add_head - insert @node at the front; hlist_add_before() and hlist_add_behind() insert it before or after a
 * node of the list, hlist_del() removes it, hlist_del_init() leaves it as INIT_HLIST_NODE() does and also accepts a
 * node on no list.
 * Context:  the updater of a list that no reader can reach.
 * Blocks:   never.
 * Ordering: none that may be relied on.
 * Returns:  nothing.  hlist_del() leaves links that fault when they are followed.
 */
static inline void hlist_add_head(struct hlist_node *node, struct hlist_head *head)
{
    rtrcu_hlist_publish(node, &head->first);
}
static inline void hlist_add_before(struct hlist_node *node, struct hlist_node *next)
{
    rtrcu_hlist_publish(node, next->pprev);
}
static inline void hlist_add_behind(struct hlist_node *node, struct hlist_node *prev)
{
    rtrcu_hlist_publish(node, &prev->next);
}
static inline void hlist_del(struct hlist_node *node)
{
    rtrcu_hlist_unlink(node);
    node->next = RTRCU_HLIST_GONE_NEXT;
    rtrcu_store_relaxed(&node->pprev, RTRCU_HLIST_GONE_PPREV);
}
static inline void hlist_del_init(struct hlist_node *node)
{
    if (hlist_unhashed(node))
        return;
    rtrcu_hlist_unlink(node);
    INIT_HLIST_NODE(node);
}

/* Walks by the updater.  The _safe walk may remove @pos; @n is a struct hlist_node pointer, as in the kernel. */
#define hlist_for_each_entry(pos, head, member)                                                                        \
    for (pos = hlist_entry_safe((head)->first, __typeof__(*(pos)), member); pos;                                       \
         pos = hlist_entry_safe((pos)->member.next, __typeof__(*(pos)), member))
#define hlist_for_each_entry_safe(pos, n, head, member)                                                                \
    for (pos = hlist_entry_safe((head)->first, __typeof__(*(pos)), member); pos && (n = (pos)->member.next, true);     \
         pos = hlist_entry_safe(n, __typeof__(*(pos)), member))

/* ---- hlist: changes under readers -------------------------------------------------------------------------------- */

/*
 * hlist_add_head_rcu - publish @node at the front; hlist_add_tail_rcu() at the end, to which it walks;
 * hlist_add_before_rcu() and hlist_add_behind_rcu() before or after a node of the list.
 * Context:  the one updater of the list; readers may walk it meanwhile.
 * Blocks:   never.
 * Ordering: release: a reader that reaches @node sees everything stored to its object before the call.
 * Returns:  nothing.
 * See:      hlist_for_each_entry_rcu()
 */
static inline void hlist_add_head_rcu(struct hlist_node *node, struct hlist_head *head)
{
    rtrcu_hlist_publish(node, &head->first);
}
static inline void hlist_add_tail_rcu(struct hlist_node *node, struct hlist_head *head)
{
    struct hlist_node **place = &head->first;
    while (*place)
        place = &(*place)->next;
    rtrcu_hlist_publish(node, place);
}
static inline void hlist_add_before_rcu(struct hlist_node *node, struct hlist_node *next)
{
    rtrcu_hlist_publish(node, next->pprev);
}
static inline void hlist_add_behind_rcu(struct hlist_node *node, struct hlist_node *prev)
{
    rtrcu_hlist_publish(node, &prev->next);
}

/*
 * hlist_del_rcu - remove @node; readers that have reached it continue to the rest of the list.  hlist_del_init_rcu()
 * also makes hlist_unhashed(@node) true, and accepts a node that is on no list.
 * Context:  the one updater of the list; readers may walk it meanwhile.
 * Blocks:   never.
 * Ordering: release, for the nodes after @node.  The object may be freed or inserted again after a gp.
 * Returns:  nothing.
 * See:      synchronize_rcu(), call_rcu(), rcu_free()
 */
static inline void hlist_del_rcu(struct hlist_node *node)
{
    rtrcu_hlist_unlink(node);
    rtrcu_store_relaxed(&node->pprev, RTRCU_HLIST_GONE_PPREV);
}
static inline void hlist_del_init_rcu(struct hlist_node *node)
{
    if (hlist_unhashed(node))
        return;
    rtrcu_hlist_unlink(node);
    rtrcu_store_relaxed(&node->pprev, (struct hlist_node **)NULL);
}

/*
 * hlist_replace_rcu - put @fresh in @old's place, in one step for readers: each walk sees exactly one of the two.
 * Context:  the one updater of the list; @fresh is on no list.
 * Blocks:   never.
 * Ordering: release, as hlist_add_head_rcu(); @old may be freed after a gp, as after hlist_del_rcu().
 * Returns:  nothing.
 */
static inline void hlist_replace_rcu(struct hlist_node *old, struct hlist_node *fresh)
{
    struct hlist_node *next = old->next, **place = old->pprev;
    fresh->next = next;
    rtrcu_store_relaxed(&fresh->pprev, place);
    rtrcu_store_release(place, fresh);
    if (next)
        rtrcu_store_relaxed(&next->pprev, &fresh->next);
    rtrcu_store_relaxed(&old->pprev, RTRCU_HLIST_GONE_PPREV);
}

/* ---- hlist: readers ---------------------------------------------------------------------------------------------- */

/* The link of a head, and that of a node, as arguments of rcu_dereference(). */
#define hlist_first_rcu(head) ((head)->first)
#define hlist_next_rcu(node) ((node)->next)
#define rtrcu_hlist_entry_rcu(ptr, type, member) hlist_entry_safe(rcu_dereference(ptr), type, member)

/* hlist_for_each_entry_rcu(pos, head, member[, condition]): as list_for_each_entry_rcu(); @pos is NULL at the end. */
#define hlist_for_each_entry_rcu(pos, head, ...)                                                                       \
    for (RTRCU_LIST_CHECK("hlist_for_each_entry_rcu", __VA_ARGS__),                                                    \
         pos = rtrcu_hlist_entry_rcu((head)->first, __typeof__(*(pos)), RTRCU_LIST_MEMBER(__VA_ARGS__, 0));            \
         pos; pos = rtrcu_hlist_entry_rcu((pos)->RTRCU_LIST_MEMBER(__VA_ARGS__, 0).next, __typeof__(*(pos)),           \
                                          RTRCU_LIST_MEMBER(__VA_ARGS__, 0)))
#define hlist_for_each_entry_continue_rcu(pos, member)                                                                 \
    for (pos = rtrcu_hlist_entry_rcu((pos)->member.next, __typeof__(*(pos)), member); pos;                             \
         pos = rtrcu_hlist_entry_rcu((pos)->member.next, __typeof__(*(pos)), member))
#define hlist_for_each_entry_from_rcu(pos, member)                                                                     \
    for (; pos; pos = rtrcu_hlist_entry_rcu((pos)->member.next, __typeof__(*(pos)), member))

#ifdef __cplusplus
}
#endif

#endif
