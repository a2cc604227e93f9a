/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The explored build's CPU of a thread: its id, once the thread has queried it. */
#ifndef RTRCU_DETAIL_CPU_H
#define RTRCU_DETAIL_CPU_H

#include <rtrcu/detail/reader.h>

static inline uint32_t rtrcu_cpu_hint(void)
{
    return rtrcu_load_relaxed(&rtrcu_self.thread_id);
}

#endif
