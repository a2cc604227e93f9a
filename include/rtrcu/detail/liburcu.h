/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* liburcu's headers in the file of <rtrcu/rcu.h>.
 *
 * Those of a flavour give the same names another meaning: whichever comes first, there is one sentence, and where it is
 * said here nothing of this library's follows.  Those of lists, queues, stacks and tables belong to no flavour.  This
 * library's own headers in the place of liburcu's may be there as long as they give no short names.
 */
#ifndef RTRCU_DETAIL_LIBURCU_H
#define RTRCU_DETAIL_LIBURCU_H

#if defined(RTRCU_LIBURCU_SHORT_NAMES)

#error "the short names of liburcu's flavours and <rtrcu/rcu.h> are for different files"
#define RTRCU_RCU_H
#define RTRCU_URCU_H
#define RTRCU_LIST_H

#elif defined(_URCU_CALL_RCU_H)

#error "liburcu's flavours and <rtrcu/rcu.h> are for different files; liburcu's lists, queues and tables go behind it"
#define RTRCU_RCU_H
#define RTRCU_URCU_H
#define RTRCU_LIST_H

#else

/* liburcu's queue, compiled in, includes <urcu-call-rcu.h>: what that declares, rcu.h has. */
#define _URCU_CALL_RCU_H

#ifdef RTRCU_LIBURCU_CALL_RCU_H
/* The flavour qsbr's, and ours here. */
#undef rcu_register_thread_qsbr
#else
/* Each flavour's header has its own of these once. */
#define RTRCU_REFUSE_FLAVOUR(name)                                                                                     \
    _Pragma("GCC error \"liburcu's flavours and <rtrcu/rcu.h> are for different files\"") name
#define urcu_memb_register_thread RTRCU_REFUSE_FLAVOUR(urcu_memb_register_thread)
#define urcu_mb_register_thread RTRCU_REFUSE_FLAVOUR(urcu_mb_register_thread)
#define urcu_qsbr_register_thread RTRCU_REFUSE_FLAVOUR(urcu_qsbr_register_thread)
#define urcu_bp_register_thread RTRCU_REFUSE_FLAVOUR(urcu_bp_register_thread)
#define urcu_signal_register_thread RTRCU_REFUSE_FLAVOUR(urcu_signal_register_thread)
#endif

#endif

#endif
