/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Rate limit of messages about misuse.
 *
 * tested by: test/unit/base/complaint.cc
 */
#include "base/complaint.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/lock.h"

/* Count a message.  Returns its number if it is due, or 0 if it is only counted. */
static uint64_t count(struct complaint *complaint)
{
    uint64_t number = rtrcu_fetch_add(&complaint->count, 1) + 1;
    bool is_power = (number & (number - 1)) == 0;
    return number <= COMPLAINT_FIRST || is_power ? number : 0;
}

static void say(const char *text, const char *name, uint64_t number)
{
    if (number < COMPLAINT_FIRST)
        plat_print("%s (printed by \"%s\")\n", text, name);
    else
        plat_print("%s (printed by \"%s\"; number %llu of its kind; most of those that follow are only counted)\n",
                   text, name, (unsigned long long)number);
}

static void say_here(uint64_t number, const char *format, va_list arguments)
{
    char text[512], name[PLAT_THREAD_NAME];
    vsnprintf(text, sizeof(text), format, arguments);
    plat_own_name(name);
    say(text, name, number);
    if (number == 1)
        plat_print_stack();
}

void complain(struct complaint *complaint, const char *format, ...)
{
    va_list arguments;
    uint64_t number = count(complaint);
    if (!number)
        return;

    va_start(arguments, format);
    say_here(number, format, arguments);
    va_end(arguments);
}

static void leave_in(struct complaint_box *box, uint64_t number, const char *format, va_list arguments)
{
    uint32_t empty = COMPLAINT_BOX_EMPTY;
    if (!rtrcu_compare_exchange(&box->state, &empty, COMPLAINT_BOX_BUSY))
        return;

    box->thread = lock_thread_number();
    box->number = number;
    vsnprintf(box->text, sizeof(box->text), format, arguments);
    rtrcu_store_release(&box->state, COMPLAINT_BOX_FULL);
}

void complain_by(struct complaint *complaint, struct complaint_box *box, const char *format, ...)
{
    va_list arguments;
    uint64_t number = count(complaint);
    if (!number)
        return;

    va_start(arguments, format);
    if (box)
        leave_in(box, number, format, arguments);
    else
        say_here(number, format, arguments);
    va_end(arguments);
}

bool complaint_box_write(struct complaint_box *box)
{
    char text[sizeof(box->text)], name[PLAT_THREAD_NAME];
    uint32_t full = COMPLAINT_BOX_FULL;
    if (!rtrcu_compare_exchange(&box->state, &full, COMPLAINT_BOX_BUSY))
        return false;

    uint64_t number = box->number;
    struct plat_tid thread = {box->thread};
    memcpy(text, box->text, sizeof(text));
    rtrcu_store_release(&box->state, COMPLAINT_BOX_EMPTY);

    plat_thread_name(thread, name, sizeof(name));
    say(text, name, number);
    return true;
}

void complaint_box_forget(struct complaint_box *box)
{
    rtrcu_store_relaxed(&box->state, COMPLAINT_BOX_EMPTY);
}
