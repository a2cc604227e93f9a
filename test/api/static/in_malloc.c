/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A static program whose signal handler interrupts malloc() and misuses the library: the message, with its stack, is
 * printed without an allocation.  An unwinder would allocate, to sort the frames that every static program registers.
 */
#include <malloc.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rtrcu/rcu.h>

enum { HELD_TWICE = 2, NO_MESSAGE };

static char memory[1 << 20] __attribute__((aligned(16)));
static size_t used;
static volatile sig_atomic_t armed, inside, handled;

/* The allocator of this program.  It ends the process if a thread calls malloc() inside malloc(): a real allocator
 * would then wait for a lock that the thread itself holds. */
void *malloc(size_t size)
{
    size_t at = used;
    if (inside)
        _exit(HELD_TWICE);

    inside = 1;
    if (armed) {
        armed = 0;
        raise(SIGUSR1);
    }
    inside = 0;

    used += (size + 31) & ~(size_t)15;
    *(size_t *)(memory + at) = size;
    return memory + at + 16;
}

void free(void *old)
{
    (void)old;
    if (inside)
        _exit(HELD_TWICE);
}

void *calloc(size_t count, size_t size)
{
    return memset(malloc(count * size), 0, count * size);
}

void *realloc(void *old, size_t size)
{
    char *fresh = malloc(size);
    size_t before = old ? *(size_t *)((char *)old - 16) : 0;
    return old ? memmove(fresh, old, before < size ? before : size) : fresh;
}

void *memalign(size_t alignment, size_t size)
{
    return (void *)(((uintptr_t)malloc(size + alignment) + alignment - 1) & ~(alignment - 1));
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return memalign(alignment, size);
}

static void unlock_too_many(int signal)
{
    (void)signal;
    rcu_read_unlock();
    handled = 1;
}

int main(void)
{
    char text[4096] = "";
    FILE *file = tmpfile();
    rcu_read_lock();
    rcu_read_unlock();

    dup2(fileno(file), 2);
    signal(SIGUSR1, unlock_too_many);
    armed = 1;
    free(malloc(100));

    rewind(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    printf("%s", text);
    return handled && strstr(text, "without rcu_read_lock()") && strstr(text, "from the program 0x") ? 0 : NO_MESSAGE;
}
