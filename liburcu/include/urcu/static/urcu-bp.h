/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Readers of bp, registered by their first section; they never wake a waiter.
 */
#ifndef RTRCU_LIBURCU_STATIC_BP_H
#define RTRCU_LIBURCU_STATIC_BP_H

#include <urcu/static/urcu-common.h>

#ifdef __cplusplus
extern "C" {
#endif

struct urcu_bp_gp {
    unsigned long ctr; /* atomic */
} __attribute__((aligned(128)));

struct urcu_bp_reader {
    unsigned long ctr; /* atomic; written by its thread alone */
    unsigned long unused[31];
};

extern struct urcu_bp_gp urcu_bp_gp;
extern __thread struct urcu_bp_reader *urcu_bp_reader URCU_READER_BLOCK;
extern int urcu_bp_has_sys_membarrier;

void urcu_bp_register(void);
void urcu_bp_read_lock(void);
void urcu_bp_read_unlock(void);
int urcu_bp_read_ongoing(void);
void urcu_bp_before_fork(void);
void urcu_bp_after_fork_parent(void);
void urcu_bp_after_fork_child(void);
void *urcu_bp_dereference_sym(void *p);
void *urcu_bp_set_pointer_sym(void **p, void *v);
void *urcu_bp_xchg_pointer_sym(void **p, void *v);
void *urcu_bp_cmpxchg_pointer_sym(void **p, void *old, void *fresh);

static inline void _urcu_bp_read_lock(void)
{
    if (__builtin_expect(!urcu_bp_reader, 0))
        urcu_bp_register();
    rtrcu_adopted_enter(&urcu_bp_reader->ctr, &urcu_bp_gp.ctr, (const uint32_t *)&urcu_bp_has_sys_membarrier);
}

static inline void _urcu_bp_read_unlock(void)
{
    URCU_READER_CHECK(rtrcu_adopted_is_inside(&urcu_bp_reader->ctr));
    (void)rtrcu_adopted_leave(&urcu_bp_reader->ctr, &urcu_bp_gp.ctr, (const uint32_t *)&urcu_bp_has_sys_membarrier);
}

static inline int _urcu_bp_read_ongoing(void)
{
    return urcu_bp_reader && rtrcu_adopted_is_inside(&urcu_bp_reader->ctr);
}

/* Does nothing: a thread unregisters when it exits. */
static inline void urcu_bp_unregister_thread(void)
{
}

static inline void urcu_bp_init(void)
{
}

static inline void _urcu_bp_quiescent_state(void)
{
}

static inline void urcu_bp_thread_offline(void)
{
}

static inline void urcu_bp_thread_online(void)
{
}

#ifdef __cplusplus
}
#endif

#endif
