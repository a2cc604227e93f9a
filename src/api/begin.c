/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Start of a thread and of a process: the thread-local block, and the domain's initialisation before main().
 *
 * The explorer starts threads and processes by itself, and leaves this file out.
 * tested by: test/api/readers.cc
 */
#include "api/api.h"

__thread struct rtrcu_thread rtrcu_self RTRCU_TLS = {
    .word = RTRCU_WORD_INITIAL,
    .flag = RTRCU_FLAG_INITIAL,
};

/* The address of rtrcu_self, for inline readers on a processor for which detail/reader.h has no assembly. */
__attribute__((noinline)) struct rtrcu_thread *rtrcu_self_pointer(void)
{
    return &rtrcu_self;
}

__attribute__((constructor(101))) static void init_before_main(void)
{
    api_init();
    plat_stay_loaded();
}
