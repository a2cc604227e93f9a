/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Messages to standard error.
 *
 * tested by: test/unit/plat/plat.cc
 */
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "plat/plat.h"
#include "plat/syscall.h"

/* Is there room in standard error, and somebody who reads it?  Files and terminals of their own accord have both. */
static bool has_room(void)
{
    struct pollfd error = {.fd = 2, .events = POLLOUT};
    struct timespec at_once = {0};
    long ready = plat_syscall(SYS_ppoll, (long)&error, 1, (long)&at_once, 0, 8, 0);
    return ready == 1 && (error.revents & (POLLOUT | POLLERR | POLLNVAL)) == POLLOUT;
}

static void print_list(const char *format, va_list arguments)
{
    char text[1024];
    int length = vsnprintf(text, sizeof(text), format, arguments);
    if (length > (int)sizeof(text) - 1)
        length = (int)sizeof(text) - 1;

    if (has_room())
        plat_syscall(SYS_write, 2, (long)text, length, 0, 0, 0);
}

void plat_write(const char *text)
{
    size_t left = strlen(text);
    while (left > 0) { /* ends when all is written, or the file takes no more */
        long written = plat_syscall(SYS_write, 2, (long)text, (long)left, 0, 0, 0);
        if (written == -EINTR)
            continue;

        if (written <= 0)
            return;

        text += written;
        left -= (size_t)written;
    }
}

void plat_print(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_list(format, arguments);
    va_end(arguments);
}

void plat_die(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_list(format, arguments);
    va_end(arguments);
    abort();
}
