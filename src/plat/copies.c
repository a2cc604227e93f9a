/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The object that contains the library: it carries an ELF note, by which a second copy in the process is found, and
 * stays loaded.
 *
 * A static copy in a plugin and a shared one in the program would be two domains: readers of one are invisible to grace
 * periods of the other.
 * tested by: test/api/second_copy.sh
 */
#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "plat/plat.h"

#define NOTE_NAME "rtrcu"
#define PUBLIC_TYPE 0x7274
/* A private copy, whose names no other code can use, is built with a note type of its own and may coexist with
 * others. */
#ifndef RTRCU_NOTE_TYPE
#define RTRCU_NOTE_TYPE PUBLIC_TYPE
#endif

static const struct {
    ElfW(Nhdr) header;
    char name[8];
    uint32_t version;
} copy_note __attribute__((section(".note.rtrcu"), aligned(4), used)) = {
    .header = {.n_namesz = sizeof(NOTE_NAME), .n_descsz = sizeof(uint32_t), .n_type = RTRCU_NOTE_TYPE},
    .name = NOTE_NAME,
    .version = 1,
};

static bool segment_has_note(const char *notes, size_t size)
{
    size_t at = 0;

    while (at + sizeof(ElfW(Nhdr)) <= size) {
        const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)(notes + at);
        const char *name = notes + at + sizeof(*note);
        if (note->n_type == PUBLIC_TYPE && note->n_namesz == sizeof(NOTE_NAME) &&
            !memcmp(name, NOTE_NAME, sizeof(NOTE_NAME)))
            return true;

        at += sizeof(*note) + ((note->n_namesz + 3) & ~3u) + ((note->n_descsz + 3) & ~3u);
    }
    return false;
}

static int count_object(struct dl_phdr_info *info, size_t size, void *count)
{
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_NOTE)
            continue;

        if (segment_has_note((const char *)(info->dlpi_addr + segment->p_vaddr), segment->p_memsz)) {
            ++*(int *)count;
            break;
        }
    }
    return 0;
}

int plat_copies(void)
{
    int count = 0;
    dl_iterate_phdr(count_object, &count);
    return count;
}

/* Keep the object @name loaded.  A static program has no such object, and may lack dlsym().  A direct call of dlopen()
 * would make the linker warn about every static program. */
#pragma weak dlsym

static void keep_named(const char *name)
{
    void *(*open)(const char *, int) = dlsym ? (void *(*)(const char *, int))dlsym(RTLD_DEFAULT, "dlopen") : NULL;
    if (open)
        (void)open(name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

static int keep_object(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size, (void)unused;

    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + segment->p_vaddr, own = (uintptr_t)&copy_note;

        if (segment->p_type != PT_LOAD || own < begin || own - begin >= segment->p_memsz)
            continue;

        if (info->dlpi_name[0]) /* the loader has no name for the program itself, which is never unloaded */
            keep_named(info->dlpi_name);
        return 1;
    }
    return 0;
}

void plat_stay_loaded(void)
{
    dl_iterate_phdr(keep_object, NULL);
}
