/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Guards against liburcu's headers in one file with <rtrcu/rcu.h>.
 *
 * Headers of a flavour give the same names a different meaning.  In either order of inclusion there is one error
 * message; if it is reported here, nothing else of this library is declared.  Headers of lists, queues, stacks and
 * tables belong to no flavour and are accepted.  This library's own replacements of liburcu's headers are accepted as
 * long as they define no short names.
 */
#ifndef RTRCU_DETAIL_LIBURCU_H
#define RTRCU_DETAIL_LIBURCU_H

#if defined(RTRCU_LIBURCU_SHORT_NAMES)

#error "the short names of liburcu's flavours and <rtrcu/rcu.h> are for different files"
#define RTRCU_RCU_H
#define RTRCU_URCU_H
#define RTRCU_LIST_H

#elif defined(_URCU_CALL_RCU_H)

#error "liburcu's flavours and <rtrcu/rcu.h> are for different files; include liburcu's lists and tables after it"
#define RTRCU_RCU_H
#define RTRCU_URCU_H
#define RTRCU_LIST_H

#else

/* liburcu's queue, compiled in, includes <urcu-call-rcu.h>, whose declarations are in rcu.h. */
#define _URCU_CALL_RCU_H

#ifdef RTRCU_LIBURCU_CALL_RCU_H
/* liburcu's header of the flavour qsbr defines this name, and so does this library. */
#undef rcu_register_thread_qsbr
#else
/* Each flavour's header defines one of these names once. */
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
