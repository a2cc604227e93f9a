/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Reader records and their registry: who exists, and what their word says.
 *
 * Knows: records, leaves of 32 slots, the reader word, who uses full fences.
 * Must not know: grace periods, callbacks, drivers, what other rooms keep of a leaf.
 *
 * A slot of a leaf:
 *  state     entered by            leaves when                        to         bits
 *  FREE      reader_release_slot()       a thread takes it                  USED       used 0
 *  USED      reader_slot_take()    the record is filled in            READER     used 1, registered 0, draining 0
 *  READER    reader_publish()      the thread leaves                  DRAINING   used 1, registered 1
 *  DRAINING  reader_withdraw()     every room has let go              FREE       used 1, registered 0, draining 1
 *
 * Slots and leaves are taken without a lock, since registration may run in a signal handler; memory is never given
 * back. A scan may read the owner's thread-local word only under the leaf lock and while the registered bit is set: the
 * word goes away with the thread.
 *
 *  registry.h     records, leaves, the registry
 *  self.h         the calling thread
 *  anonymous.h    readers without a record
 *  ask.h          the flag, and for what readers are asked by it
 *
 * INV-RD1: registered is a subset of used.
 * INV-RD2: a thread takes its flag back only inside a slow path that rtrcu_thread.slow counts.
 * INV-RD4: the flag of a registered thread that is neither awake nor leaving is set; see reader/scanned.h.
 * INV-RD5 to INV-RD7 are the reader word's: see reader/word.h.
 */
#ifndef RTRCU_READER_READER_H
#define RTRCU_READER_READER_H

#include "reader/anonymous.h"
#include "reader/ask.h"
#include "reader/self.h"

#endif
