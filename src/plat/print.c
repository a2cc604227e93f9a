/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Messages to standard error.
 *
 * tested by: test/unit/plat/plat.cc
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "plat/plat.h"
#include "plat/syscall.h"

static void print_list(const char *format, va_list arguments)
{
    char text[1024];
    int length = vsnprintf(text, sizeof(text), format, arguments);
    if (length > (int)sizeof(text) - 1)
        length = (int)sizeof(text) - 1;
    plat_syscall(SYS_write, 2, (long)text, length, 0, 0, 0);
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
