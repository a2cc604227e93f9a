/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A function that Debian's gcc needs with musl: its unwinder, built for glibc, calls it in the dynamic linker. musl has
 * none; -1 is "not found", and the unwinder searches by itself. */
int _dl_find_object(void *address, void *found);
int _dl_find_object(void *address, void *found)
{
    (void)address;
    (void)found;
    return -1;
}
