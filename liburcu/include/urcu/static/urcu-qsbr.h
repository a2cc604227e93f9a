/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Readers of qsbr: an online thread is inside until its next quiescent state.  Work needed once per grace period is
 * done by a function of the library.
 */
#ifndef RTRCU_LIBURCU_STATIC_QSBR_H
#define RTRCU_LIBURCU_STATIC_QSBR_H

#ifdef _LGPL_SOURCE
#include <urcu/futex.h> /* programs expect it from this header */
#endif
#include <urcu/static/urcu-common.h>

#ifdef __cplusplus
extern "C" {
#endif

struct urcu_qsbr_reader {
    unsigned long ctr; /* atomic; written by its thread alone */
    unsigned long unused[17];
    int waiting; /* atomic */
    int unused_int[3];
    unsigned int registered : 1;
    unsigned long unused_too[11];
};

extern struct urcu_gp urcu_qsbr_gp;
extern __thread struct urcu_qsbr_reader urcu_qsbr_reader URCU_READER_BLOCK;

void urcu_qsbr_read_lock(void);
void urcu_qsbr_read_unlock(void);
int urcu_qsbr_read_ongoing(void);
void urcu_qsbr_quiescent_state(void);
void urcu_qsbr_thread_offline(void);
void urcu_qsbr_thread_online(void);
void urcu_qsbr_unregister_thread(void);

static inline void _urcu_qsbr_read_lock(void)
{
    URCU_READER_CHECK(urcu_qsbr_reader.ctr);
}

static inline void _urcu_qsbr_read_unlock(void)
{
    URCU_READER_CHECK(urcu_qsbr_reader.ctr);
}

static inline int _urcu_qsbr_read_ongoing(void)
{
    return urcu_qsbr_reader.ctr != 0;
}

static inline void _urcu_qsbr_quiescent_state(void)
{
    URCU_READER_CHECK(urcu_qsbr_reader.registered);
    if (rtrcu_load_relaxed(&urcu_qsbr_gp.ctr) != urcu_qsbr_reader.ctr)
        urcu_qsbr_quiescent_state();
}

#ifdef __cplusplus
}
#endif

#endif
