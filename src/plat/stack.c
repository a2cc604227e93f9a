/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The stack of the calling thread, for messages: where in the program a mistake was made.
 *
 * tested by: test/unit/base/complaint.cc
 */
#include <dlfcn.h>
#include <link.h>
#include <unwind.h>

#include "plat/plat.h"

#define FRAMES_MAX 16

/* A program without an unwinder has no stack to tell, and none is loaded for it: that would take the loader's lock. */
#pragma weak _Unwind_Backtrace
#pragma weak _Unwind_GetIP

#ifdef DLFO_STRUCT_HAS_EH_DBASE
#pragma weak _dl_find_object
#endif

/* As addr2line takes it: the file, and the address within it.  Without a lock. */
static void say_address(uintptr_t address)
{
#ifdef DLFO_STRUCT_HAS_EH_DBASE
    struct dl_find_object found;
    if (_dl_find_object && _dl_find_object((void *)address, &found) == 0) {
        const char *file = found.dlfo_link_map->l_name;
        plat_print("rtrcu:   from %s 0x%lx\n", file && file[0] ? file : "the program",
                   (unsigned long)(address - found.dlfo_link_map->l_addr));
        return;
    }
#endif
    plat_print("rtrcu:   from 0x%lx\n", (unsigned long)address);
}

static _Unwind_Reason_Code say_frame(struct _Unwind_Context *context, void *argument)
{
    unsigned int *frames = argument;
    uintptr_t address = _Unwind_GetIP(context);
    if (address && (*frames)++ > 0) /* the first is this file's */
        say_address(address - 1);   /* in the call, not behind it */
    return address && *frames <= FRAMES_MAX ? _URC_NO_REASON : _URC_END_OF_STACK;
}

void plat_print_stack(void)
{
    unsigned int frames = 0;
    if (_Unwind_Backtrace && _Unwind_GetIP)
        _Unwind_Backtrace(say_frame, &frames);
}
