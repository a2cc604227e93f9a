/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The stack of the calling thread, for messages: the call site of a misuse.
 *
 * The walk follows frame pointers, since an unwinder may allocate memory and take locks, and a message may be written
 * in a signal handler that interrupted malloc().  The library is compiled with frame pointers, so the walk always
 * reaches the program's call.  It ends at the first frame that is not proven valid: code without frame pointers keeps
 * other values in the register.
 */
#include <pthread.h>

#include "plat/plat.h"

#define FRAMES_MAX 16
#define FRAME_BYTES_MAX ((uintptr_t)64 * 1024)
#define FRAME_ALIGN 16

#if defined(__x86_64__) || defined(__aarch64__)

/* The two words at a frame pointer: the caller's frame pointer, and the return address. */
struct frame {
    const struct frame *caller;
    uintptr_t returns_to;
};

#if defined(__x86_64__)

/* Does a call instruction end at @address?  Its target is a distance of 32 bits, or is in a register or in memory. */
static bool follows_call(uintptr_t address)
{
    static const int indirect[] = {2, 3, 4, 6, 7};
    const unsigned char *after = (const unsigned char *)address;
    if (plat_try_read(address - 7) != 0 || plat_try_read(address - 1) != 0)
        return false;

    bool follows = after[-5] == 0xe8;
    for (size_t i = 0; i < sizeof(indirect) / sizeof(indirect[0]); i++)
        follows |= after[-indirect[i]] == 0xff && (after[1 - indirect[i]] & 0x38) == 0x10;
    return follows;
}

static uintptr_t return_address(const struct frame *frame)
{
    return frame->returns_to;
}

#else

static bool follows_call(uintptr_t address)
{
    return address % 4 == 0;
}

/* The frame's return address, without the signature that a processor may have put into it.  The instruction is a no-op
 * on other processors. */
static uintptr_t return_address(const struct frame *frame)
{
    register uintptr_t address __asm__("x30") = frame->returns_to;
    __asm__("hint #7" : "+r"(address));
    return address;
}

#endif

/* Is the caller's frame valid?  It must be above this frame, near it, and on the same stack, at whose top the C library
 * keeps the thread's own data.  The kernel confirms that the caller's frame can be read. */
static bool caller_is_frame(const struct frame *frame)
{
    uintptr_t at = (uintptr_t)frame, caller = (uintptr_t)frame->caller, top = (uintptr_t)pthread_self();
    if (caller % FRAME_ALIGN != 0 || caller <= at || caller - at > FRAME_BYTES_MAX)
        return false;
    if (at < top && caller >= top)
        return false;
    return plat_try_read(caller) == 0;
}

/* Print an address within the call, which lets a debugger find the line.  False: the walk ends here. */
static bool say_frame(const struct frame *frame)
{
    char text[256];
    uintptr_t address = return_address(frame);
    if (address == 0 || !follows_call(address))
        return false;

    bool known = plat_code(address - 1, text, sizeof(text));
    plat_print("rtrcu:   from %s\n", text);
    return known;
}

void plat_print_stack(void)
{
    const struct frame *frame = __builtin_frame_address(0);
    for (int i = 0; i < FRAMES_MAX && say_frame(frame) && caller_is_frame(frame); i++)
        frame = frame->caller;
}

#else

/* Prints nothing: other processors lay out frames in other ways. */
void plat_print_stack(void)
{
}

#endif
