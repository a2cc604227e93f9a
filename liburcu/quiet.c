/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What readers say in qsbr alone: elsewhere it is in the table for liburcu-cds, and does nothing.
 */
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
