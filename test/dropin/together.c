/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* All flavours by this library's replacement headers, and this library's own readers, in one file.  Each grace period
 * waits only for readers of its own kind, and one head can be used with each. */
#include <rtrcu/urcu.h>
#include <urcu/urcu-bp.h>
#include <urcu/urcu-mb.h>
#include <urcu/urcu-memb.h>
#include <urcu/urcu-qsbr.h>

#include "dropin.h"

static int ran;

static void count(struct rcu_head *head)
{
    (void)head;
    ran++;
}

/* A reader of each kind is inside; `flavour` waits while the others stay. */
#define WAIT_BESIDE_OTHERS(flavour)                                                                                    \
    do {                                                                                                               \
        struct rcu_head head;                                                                                          \
        int before = ran;                                                                                              \
        struct urcu_gp_poll_state state = urcu_##flavour##_start_poll_synchronize_rcu();                               \
        EXPECT(urcu_##flavour##_read_ongoing() && !urcu_##flavour##_poll_state_synchronize_rcu(state));                \
        urcu_##flavour##_read_unlock();                                                                                \
        EXPECT(!urcu_##flavour##_read_ongoing());                                                                      \
        urcu_##flavour##_synchronize_rcu();                                                                            \
        EXPECT(urcu_##flavour##_poll_state_synchronize_rcu(state));                                                    \
        urcu_##flavour##_call_rcu(&head, count);                                                                       \
        urcu_##flavour##_barrier();                                                                                    \
        EXPECT(ran == before + 1);                                                                                     \
        urcu_##flavour##_read_lock();                                                                                  \
    } while (0)

static void wait_beside_flavours(void)
{
    struct rcu_head head;
    unsigned long cookie = start_poll_synchronize_rcu();
    EXPECT(rcu_read_ongoing() && !poll_state_synchronize_rcu(cookie));
    rcu_read_unlock();
    synchronize_rcu();
    EXPECT(poll_state_synchronize_rcu(cookie));
    call_rcu(&head, count);
    rcu_barrier();
    rcu_read_lock();
}

int main(void)
{
    static int *pointer, number;
    expect_ours();
    urcu_memb_register_thread();
    urcu_mb_register_thread();
    urcu_qsbr_register_thread();
    urcu_memb_read_lock();
    urcu_mb_read_lock();
    urcu_bp_read_lock();
    rcu_read_lock();
    WAIT_BESIDE_OTHERS(memb);
    WAIT_BESIDE_OTHERS(mb);
    WAIT_BESIDE_OTHERS(bp);
    wait_beside_flavours();
    EXPECT(ran == 4);

    rcu_assign_pointer(pointer, &number);
    EXPECT(rcu_dereference(pointer) == &number);
    EXPECT(urcu_qsbr_read_ongoing());
    urcu_qsbr_thread_offline();
    EXPECT(!urcu_qsbr_read_ongoing());
    urcu_qsbr_synchronize_rcu();
    urcu_qsbr_unregister_thread();

    rcu_read_unlock();
    urcu_bp_read_unlock();
    urcu_mb_read_unlock();
    urcu_memb_read_unlock();
    urcu_mb_unregister_thread();
    urcu_memb_unregister_thread();
    return 0;
}
