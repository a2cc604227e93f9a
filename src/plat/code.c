/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Lookup of code addresses: the loaded object that contains an address, and the object's name.
 *
 * plat_code() is used in messages, so it takes no lock and allocates nothing: the loader's own index of objects needs
 * no lock (glibc 2.35), and the program's headers are in memory.
 */
#include <dlfcn.h>
#include <link.h>
#include <linux/futex.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <time.h>

#include "plat/plat.h"
#include "plat/syscall.h"

#ifdef DLFO_STRUCT_HAS_EH_DBASE
#pragma weak _dl_find_object /* static programs lack this function */
#endif

static void fill(struct plat_object *object, const char *file, uintptr_t base, uintptr_t begin, uintptr_t end)
{
    *object = (struct plat_object){.begin = begin, .end = end, .base = base};
    snprintf(object->file, sizeof(object->file), "%s", file && file[0] ? file : "the program");
}

/* Find the program itself, the only object that can be found without the loader's index.  Its program headers begin 64
 * bytes after its first byte, in every program that a linker creates. */
static bool find_in_program(uintptr_t address, struct plat_object *object)
{
    const ElfW(Phdr) *segment = (const ElfW(Phdr) *)getauxval(AT_PHDR);
    unsigned long count = segment ? getauxval(AT_PHNUM) : 0;
    uintptr_t base = 0;

    for (unsigned long i = 0; i < count; i++) {
        if (segment[i].p_type == PT_LOAD && segment[i].p_offset == 0)
            base = (uintptr_t)segment - sizeof(ElfW(Ehdr)) - segment[i].p_vaddr;
    }

    for (unsigned long i = 0; i < count; i++) {
        uintptr_t begin = base + segment[i].p_vaddr;
        if (segment[i].p_type == PT_LOAD && address - begin < segment[i].p_memsz) {
            fill(object, NULL, base, begin, begin + segment[i].p_memsz);
            return true;
        }
    }
    return false;
}

bool plat_code_object(uintptr_t address, struct plat_object *object)
{
#ifdef DLFO_STRUCT_HAS_EH_DBASE
    struct dl_find_object found;
    if (_dl_find_object) {
        if (_dl_find_object((void *)address, &found) != 0)
            return false;
        fill(object, found.dlfo_link_map->l_name, found.dlfo_link_map->l_addr, (uintptr_t)found.dlfo_map_start,
             (uintptr_t)found.dlfo_map_end);
        return true;
    }
#endif
    return find_in_program(address, object);
}

bool plat_code(uintptr_t address, char *text, size_t size)
{
    struct plat_object object;
    bool found = plat_code_object(address, &object);
    if (found)
        snprintf(text, size, "%s 0x%lx", object.file, (unsigned long)(address - object.base));
    else
        snprintf(text, size, "0x%lx", (unsigned long)address);
    return found;
}

void plat_symbol(uintptr_t address, char *text, size_t size)
{
    Dl_info info;
    if (dladdr((void *)address, &info) && info.dli_fname && info.dli_sname)
        snprintf(text, size, "%s+0x%lx (%s)", info.dli_sname, (unsigned long)(address - (uintptr_t)info.dli_saddr),
                 info.dli_fname);
    else
        (void)plat_code(address, text, size);
}

/* Calls FUTEX_WAIT, which fails with EFAULT if it cannot read the word.  With a timeout of 0 it does not sleep. */
int plat_try_read(uintptr_t address)
{
    struct timespec at_once = {0};
    uintptr_t word = address & ~(uintptr_t)3;
    long error = plat_syscall(SYS_futex, (long)word, FUTEX_WAIT_PRIVATE, 1, (long)&at_once, 0, 0);
    return error == -EAGAIN || error == -ETIMEDOUT ? 0 : (int)error;
}
