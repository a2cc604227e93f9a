/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Event descriptors: eventfds that the library makes readable, and duplicates of them.
 *
 * tested by: test/api/ready.cc
 */
#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "plat/plat.h"
#include "plat/syscall.h"

/* Lowest number of a duplicate with @high: programs seldom use numbers from here on, and the usual limit is 1,024. */
#define PRIVATE_FROM 768

int plat_event_make(void)
{
    return (int)plat_syscall(SYS_eventfd2, 0, EFD_CLOEXEC | EFD_NONBLOCK, 0, 0, 0, 0);
}

static int duplicate_from(int number, int least)
{
    return (int)plat_syscall(SYS_fcntl, number, F_DUPFD_CLOEXEC, least, 0, 0, 0);
}

/* Falls back to any number: the process's limit may be lower, or all high numbers are in use. */
int plat_event_duplicate(int number, bool high)
{
    int duplicate = high ? duplicate_from(number, PRIVATE_FROM) : -EINVAL;
    return duplicate >= 0 ? duplicate : duplicate_from(number, 0);
}

void plat_event_set(int number)
{
    uint64_t one = 1;
    (void)plat_syscall(SYS_write, number, (long)&one, sizeof(one), 0, 0, 0);
}

void plat_event_clear(int number)
{
    uint64_t count;
    (void)plat_syscall(SYS_read, number, (long)&count, sizeof(count), 0, 0, 0);
}

void plat_event_close(int number)
{
    (void)plat_syscall(SYS_close, number, 0, 0, 0, 0, 0);
}
