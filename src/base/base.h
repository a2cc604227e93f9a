/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The door of base: pure values, the ranked lock, messages that repeat.  Rooms above include this, never its files.
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
