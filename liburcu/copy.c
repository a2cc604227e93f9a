/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A program's own copy of the flavour's table, for programs of liburcu 0.13 and of 0.15.
 *
 * A program that takes the table's address is linked with room for it: 112 bytes by liburcu 0.13, 128 by 0.15.  At its
 * start the loader copies the library's table to that room, as many bytes as the smaller of both symbols has, and
 * prints a warning if the library's is larger.  So the symbol has 112 bytes, and a larger copy is completed here,
 * before main().
 * tested by: test/dropin/table.c
 */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shim.h"

/* The exported table, declared without a size, which the program chooses. */
extern EXPORT const uintptr_t NAME(flavor)[];

/* Value: an address, and whether the loader has made it read-only. */
struct place {
    uintptr_t at;
    bool is_read_only;
};

static uintptr_t page_of(uintptr_t address)
{
    return address & -(uintptr_t)sysconf(_SC_PAGESIZE);
}

static int look_at_object(struct dl_phdr_info *object, size_t size, void *argument)
{
    struct place *place = argument;
    (void)size;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        uintptr_t begin = object->dlpi_addr + segment->p_vaddr, end = begin + segment->p_memsz;
        if (segment->p_type == PT_GNU_RELRO && place->at >= page_of(begin) && place->at < page_of(end))
            place->is_read_only = true;
    }
    return place->is_read_only;
}

/* Store @value at @word, if need be after making its page writable.  False: the page cannot be made writable. */
static bool store(uintptr_t *word, uintptr_t value)
{
    struct place place = {.at = (uintptr_t)word};
    void *page = (void *)page_of(place.at);
    size_t bytes = (size_t)sysconf(_SC_PAGESIZE);

    (void)dl_iterate_phdr(look_at_object, &place);
    if (place.is_read_only && mprotect(page, bytes, PROT_READ | PROT_WRITE) != 0)
        return false;
    *word = value;
    return !place.is_read_only || mprotect(page, bytes, PROT_READ) == 0;
}

/* Is @seen a program's copy of this table's first part, with room for the rest? */
static bool is_larger_copy(const uintptr_t *seen)
{
    Dl_info found;
    const ElfW(Sym) *symbol = NULL;
    if (!dladdr1(seen, &found, (void **)&symbol, RTLD_DL_SYMENT) || !symbol)
        return false;
    return symbol->st_size >= sizeof(shim_table) && memcmp(seen, &shim_table, sizeof(shim_table.first)) == 0;
}

void shim_complete_copy(void)
{
    size_t first = sizeof(shim_table.first) / sizeof(uintptr_t), all = sizeof(shim_table) / sizeof(uintptr_t);
    uintptr_t *copy = (uintptr_t *)NAME(flavor);
    const uintptr_t *table = (const uintptr_t *)&shim_table;

    if (!is_larger_copy(NAME(flavor)))
        return;
    for (size_t word = first; word < all; word++) {
        if (copy[word] != table[word] && !store(&copy[word], table[word]))
            fprintf(stderr,
                    "rtrcu: %s: the program's table lacks start_poll_synchronize_rcu(): its page is read-only\n",
                    shim_flavour.name);
    }
}
