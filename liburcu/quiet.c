/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Functions that only qsbr needs: other flavours list them in the table for liburcu-cds, and they do nothing. */
#include "shim.h"

void NAME(quiescent_state)(void)
{
}

void NAME(thread_offline)(void)
{
}

void NAME(thread_online)(void)
{
}
