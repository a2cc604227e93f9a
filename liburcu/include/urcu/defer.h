/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Callbacks without a head.  The functions belong to a flavour, and are declared in its header. */
#ifndef RTRCU_LIBURCU_DEFER_H
#define RTRCU_LIBURCU_DEFER_H

#include <pthread.h>
#include <stdlib.h>

#endif
