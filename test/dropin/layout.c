/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The offsets of liburcu's data that one set of headers gives programs; printed, so that two sets can be compared. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define _LGPL_SOURCE
#include <urcu/urcu-memb.h>
#include <urcu/urcu-mb.h>
#include <urcu/urcu-qsbr.h>
#include <urcu/urcu-bp.h>

#define SIZE(type) printf("size of " #type ": %zu\n", sizeof(type))
#define PLACE(type, field) printf(#type "." #field ": %zu\n", offsetof(type, field))

/* Print the position of the only bit that is set. */
#define BIT(type, field)                                                                                               \
    do {                                                                                                               \
        union {                                                                                                        \
            type whole;                                                                                                \
            unsigned char bytes[sizeof(type)];                                                                         \
        } block;                                                                                                       \
        memset(&block, 0, sizeof(block));                                                                              \
        block.whole.field = 1;                                                                                         \
        for (size_t i = 0; i < sizeof(type); i++)                                                                      \
            if (block.bytes[i])                                                                                        \
                printf(#type "." #field ": byte %zu is %d\n", i, block.bytes[i]);                                      \
    } while (0)

static void print_readers(void)
{
    SIZE(struct urcu_gp);
    PLACE(struct urcu_gp, ctr);
    PLACE(struct urcu_gp, futex);
    SIZE(struct urcu_bp_gp);
    PLACE(struct urcu_bp_gp, ctr);
    SIZE(struct urcu_reader);
    PLACE(struct urcu_reader, ctr);
    BIT(struct urcu_reader, registered);
    SIZE(struct urcu_qsbr_reader);
    PLACE(struct urcu_qsbr_reader, ctr);
    PLACE(struct urcu_qsbr_reader, waiting);
    BIT(struct urcu_qsbr_reader, registered);
    SIZE(struct urcu_bp_reader);
    PLACE(struct urcu_bp_reader, ctr);
    SIZE(urcu_memb_gp);
    SIZE(urcu_memb_reader);
    SIZE(urcu_memb_has_sys_membarrier);
    SIZE(urcu_mb_gp);
    SIZE(urcu_mb_reader);
    SIZE(urcu_qsbr_gp);
    SIZE(urcu_qsbr_reader);
    SIZE(urcu_bp_gp);
    SIZE(urcu_bp_reader);
    SIZE(urcu_bp_has_sys_membarrier);
}

static void print_callbacks(void)
{
    SIZE(struct rcu_head);
    PLACE(struct rcu_head, func);
    SIZE(struct urcu_atfork);
    PLACE(struct urcu_atfork, before_fork);
    PLACE(struct urcu_atfork, after_fork_parent);
    PLACE(struct urcu_atfork, after_fork_child);
    PLACE(struct urcu_atfork, priv);
    printf("real-time handles: %u\n", URCU_CALL_RCU_RT);
}

static void print_table(void)
{
    SIZE(urcu_memb_flavor);
    PLACE(struct rcu_flavor_struct, read_lock);
    PLACE(struct rcu_flavor_struct, read_unlock);
    PLACE(struct rcu_flavor_struct, read_ongoing);
    PLACE(struct rcu_flavor_struct, read_quiescent_state);
    PLACE(struct rcu_flavor_struct, update_call_rcu);
    PLACE(struct rcu_flavor_struct, update_synchronize_rcu);
    PLACE(struct rcu_flavor_struct, update_defer_rcu);
    PLACE(struct rcu_flavor_struct, thread_offline);
    PLACE(struct rcu_flavor_struct, thread_online);
    PLACE(struct rcu_flavor_struct, register_thread);
    PLACE(struct rcu_flavor_struct, unregister_thread);
    PLACE(struct rcu_flavor_struct, barrier);
    PLACE(struct rcu_flavor_struct, register_rculfhash_atfork);
    PLACE(struct rcu_flavor_struct, unregister_rculfhash_atfork);
}

/* Uses the macros of programs for several platforms, which the flavour's header provides. */
DEFINE_URCU_TLS(int, counted);

static void print_thread_local(void)
{
    URCU_TLS(counted)++;
    printf("of this thread: %d, and its word %lu\n", URCU_TLS(counted), URCU_TLS(urcu_memb_reader).ctr);
}

int main(void)
{
    print_thread_local();
    print_readers();
    print_callbacks();
    print_table();
    return 0;
}
