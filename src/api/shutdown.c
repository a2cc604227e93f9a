/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Shutdown of the library: its threads end, and are created again when they are needed.
 *
 * tested by: test/api/shutdown.cc
 */
#include <errno.h>

#include "api/api.h"

int rtrcu_shutdown(void)
{
    if (section_nesting() != 0 || reader_self_is(READER_STATE_OURS | READER_STATE_CALLBACK))
        return -EDEADLK;

    rtrcu_barrier();
    CALL_SCOPE();
    work_thread_end_all(&rtrcu_domain.drive.work);
    return 0;
}
