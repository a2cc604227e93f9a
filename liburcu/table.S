/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The flavour's table for liburcu-cds: 16 functions, in the order of struct rtrcu_flavor_0_15.
 *
 * Programs of liburcu 0.13 use the first 14, those of 0.15 all.  TABLE_BYTES is the size of the exported symbol, which
 * is smaller than the table in the libraries that programs load: see copy.c.  No compiler creates such a symbol.
 */
#ifdef __CET__
#include <cet.h>
#endif

#define PASTE(flavour, name) urcu_##flavour##_##name
#define EXPANDED(flavour, name) PASTE(flavour, name)
#define NAME(name) EXPANDED(FLAVOUR, name)

    .section .data.rel.ro, "aw"
    .balign 32
    .globl NAME(flavor)
    .type NAME(flavor), %object
    .globl shim_table
    .hidden shim_table
    .type shim_table, %object
NAME(flavor):
shim_table:
    .quad NAME(read_lock)
    .quad NAME(read_unlock)
    .quad NAME(read_ongoing)
    .quad NAME(quiescent_state)
    .quad NAME(call_rcu)
    .quad NAME(synchronize_rcu)
    .quad NAME(defer_rcu)
    .quad NAME(thread_offline)
    .quad NAME(thread_online)
    .quad NAME(register_thread)
    .quad NAME(unregister_thread)
    .quad NAME(barrier)
    .quad NAME(register_rculfhash_atfork)
    .quad NAME(unregister_rculfhash_atfork)
    .quad NAME(start_poll_synchronize_rcu)
    .quad NAME(poll_state_synchronize_rcu)
    .size shim_table, . - shim_table
    .size NAME(flavor), TABLE_BYTES

    .section .note.GNU-stack, "", %progbits
