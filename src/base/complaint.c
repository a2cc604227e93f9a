/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Which messages of a kind are said.
 *
 * tested by: test/unit/base/complaint.cc
 */
#include "base/complaint.h"

#include <stdarg.h>
#include <stdio.h>

void complain(struct complaint *complaint, const char *format, ...)
{
    char text[512], name[PLAT_THREAD_NAME];
    va_list arguments;

    uint64_t number = rtrcu_fetch_add(&complaint->count, 1) + 1;
    bool is_power = (number & (number - 1)) == 0;
    if (number > COMPLAINT_FIRST && !is_power)
        return;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);

    plat_own_name(name);
    if (number < COMPLAINT_FIRST)
        plat_print("%s (said by \"%s\")\n", text, name);
    else
        plat_print("%s (said by \"%s\"; number %llu of its kind; most of those that follow are only counted)\n", text,
                   name, (unsigned long long)number);

    if (number == 1)
        plat_print_stack();
}
