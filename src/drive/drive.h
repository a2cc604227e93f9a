/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Drivers: the only room that sleeps, wakes and makes threads.  Inside are rooms, of which each includes only those
 * before it.
 *
 *  work/work.h       threads of the library: how one is made, sleeps and is woken
 *  turn/turn.h       turning a grace period: its steps, the fence, expedited ones, boosting readers in its way
 *  serve/serve.h     serving callbacks: to whom ready ones go, daemons, waiting for them
 *  driver/driver.h   what turns and serves when nobody waits
 *  history/          drivers that reproduce what a document tells, for comparison
 */
#ifndef RTRCU_DRIVE_DRIVE_H
#define RTRCU_DRIVE_DRIVE_H

#include "drive/driver/driver.h"

#endif
