/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Reader records and their registry: which threads exist, and the state in their words.
 *
 * Knows: records, leaves of 32 slots, the reader word, which threads use full fences.
 * Must not know: grace periods, callbacks, drivers, the other rooms' parts of a leaf.
 *
 * A slot of a leaf:
 *  state     entered by            leaves when                        to         bits
 *  FREE      reader_release_slot() a thread takes it                  USED       used 0
 *  USED      reader_slot_take()    the record is filled in            READER     used 1, registered 0, draining 0
 *  READER    reader_publish()      the thread exits                   DRAINING   used 1, registered 1
 *  DRAINING  reader_withdraw()     every room has released it         FREE       used 1, registered 0, draining 1
 *
 * Slots and leaves are taken without a lock, since registration may run in a signal handler; memory is never freed.
 * A scan may read the owner's thread-local word only under the leaf lock and while the registered bit is set, since the
 * word disappears with the thread.
 *
 *  registry.h     records, leaves, the registry
 *  self.h         the calling thread
 *  anonymous.h    readers without a record
 *  ask.h          the flag, and the requests that set it
 *
 * INV-RD1: registered is a subset of used.
 * INV-RD2: a thread clears its flag only inside a slow path that rtrcu_thread.slow counts.
 * INV-RD4: the flag of a registered thread that is neither scanned nor a candidate is set; see reader/scanned.h.
 * INV-RD5 to INV-RD7 are the reader word's: see reader/word.h.
 */
#ifndef RTRCU_READER_READER_H
#define RTRCU_READER_READER_H

#include "reader/anonymous.h"
#include "reader/ask.h"
#include "reader/self.h"

#endif
