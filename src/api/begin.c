/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Where a thread and a process begin: the thread-local block, and the domain's start before main().
 *
 * The explorer has threads and starts of its own, and leaves this file out.
 * tested by: test/api/readers.cc
 */
#include "api/api.h"

__thread struct rtrcu_thread rtrcu_self __attribute__((tls_model("initial-exec"))) = {
    .word = RTRCU_WORD_INITIAL,
    .flag = RTRCU_FLAG_INITIAL,
};

__attribute__((constructor(101))) static void init_before_main(void)
{
    api_init();
    plat_stay_loaded();
}
