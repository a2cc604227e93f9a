/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Misuses that a compiler must refuse, one per case.  Without a case the file must compile, as C and as C++. */
#include <rtrcu/list.h>
#include <rtrcu/rcu.h>

struct incomplete;

struct object {
    long value;
    struct rcu_head head;
};
struct other {
    long value;
};
struct large {
    char before[4096];
    struct rcu_head head;
};
struct fits {
    char before[4096 - sizeof(long)];
    struct rcu_head head;
};

static struct object *current;
static const struct object *constant;
static struct incomplete *hidden;
static void *anything;
static void (*function)(int);
static int number;
static int evaluated;

static inline struct object *evaluate(struct object *object)
{
    evaluated++;
    return object;
}

static inline void taken(struct object *object, struct fits *fits, struct incomplete *incomplete)
{
    rcu_assign_pointer(current, object);
    rcu_assign_pointer(current, NULL);
    rcu_assign_pointer(constant, object);
    rcu_assign_pointer(hidden, incomplete);
    rcu_assign_pointer(anything, object);
    rcu_assign_pointer(function, NULL);
    RCU_INIT_POINTER(current, NULL);
    (void)rcu_xchg_pointer(&current, object);
    (void)rcu_xchg_pointer(&hidden, (struct incomplete *)NULL);
    struct object *old = rcu_dereference(current);
    struct incomplete *opaque = rcu_dereference(hidden);
    const struct object *seen = rcu_dereference_check(constant, 1);
    void *plain = rcu_dereference_protected(anything, 1);
    if (rcu_access_pointer(function) && opaque && seen && plain)
        rcu_free_head(evaluate(old), head);
    rcu_free_head(fits, head);
}

static inline void refused(struct object *object, struct other *other, struct large *large)
{
    taken(object, NULL, NULL);
    (void)other;
    (void)large;
    (void)number;
#if defined(CASE_ASSIGN_NUMBER)
    rcu_assign_pointer(current, number);
#elif defined(CASE_ASSIGN_OTHER)
    rcu_assign_pointer(current, other);
#elif defined(CASE_ASSIGN_CONSTANT)
    rcu_assign_pointer(current, constant);
#elif defined(CASE_ASSIGN_TO_NUMBER)
    rcu_assign_pointer(number, 1);
#elif defined(CASE_INIT_NUMBER)
    RCU_INIT_POINTER(current, number);
#elif defined(CASE_INIT_OTHER)
    RCU_INIT_POINTER(current, other);
#elif defined(CASE_XCHG_NUMBER)
    (void)rcu_xchg_pointer(&current, number);
#elif defined(CASE_XCHG_OTHER)
    (void)rcu_xchg_pointer(&current, other);
#elif defined(CASE_DEREFERENCE_NUMBER)
    (void)rcu_dereference(number);
#elif defined(CASE_ACCESS_NUMBER)
    (void)rcu_access_pointer(number);
#elif defined(CASE_PROTECTED_NUMBER)
    (void)rcu_dereference_protected(number, 1);
#elif defined(CASE_FREE_HEAD_TOO_FAR)
    rcu_free_head(large, head);
#elif defined(CASE_FREE_HEAD_OF_NO_HEAD)
    rcu_free_head(object, value);
#endif
}

int used(struct object *object);
int used(struct object *object)
{
    refused(object, NULL, NULL);
    return evaluated;
}
