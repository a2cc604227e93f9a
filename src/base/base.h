/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The interface of base: pure values, the ranked lock, rate-limited messages.  Rooms above include only this header.
 *
 * Knows: plat.  Must not know: readers, grace periods, callbacks' meaning.
 */
#ifndef RTRCU_BASE_BASE_H
#define RTRCU_BASE_BASE_H

#include "base/call.h"
#include "base/check.h"
#include "base/complaint.h"
#include "base/counter.h"
#include "base/inspect.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/seq.h"
#include "base/tally.h"
#include "base/trace.h"

#endif
