/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The message that ends a torn child: a process that a signal handler forked inside a call of the library.
 *
 * tested by: test/api/fork_handlers.cc
 */
#include "base/call.h"

void call_die(void)
{
    plat_die("rtrcu: thread %u: this process was forked by a signal handler that interrupted the library: it may only"
             " exec() or _exit(); use _Fork() in handlers\n",
             plat_thread_id().number);
}
