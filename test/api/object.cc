/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of the shared library's thread-local storage, and of the name that programs record. */
#include <cstring>
#include <link.h>
#include <string>

#include "child.h"

namespace
{

struct Found {
    size_t thread_storage = 0;
    bool static_storage = false;
    std::string name, path;
};

void look_at_dynamic(const ElfW(Addr) base, const ElfW(Phdr) & segment, Found *found)
{
    auto *entry = reinterpret_cast<const ElfW(Dyn) *>(base + segment.p_vaddr);
    const char *strings = nullptr;
    size_t name = 0;
    for (; entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_STRTAB)
            strings = reinterpret_cast<const char *>(entry->d_un.d_ptr);
        if (entry->d_tag == DT_SONAME)
            name = entry->d_un.d_val;
        if (entry->d_tag == DT_FLAGS)
            found->static_storage = entry->d_un.d_val & DF_STATIC_TLS;
    }
    if (strings)
        found->name = strings + name;
}

int look(struct dl_phdr_info *info, size_t, void *argument)
{
    auto *found = static_cast<Found *>(argument);
    if (!strstr(info->dlpi_name, "librtrcu.so"))
        return 0;
    found->path = info->dlpi_name;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type == PT_TLS)
            found->thread_storage = info->dlpi_phdr[i].p_memsz;
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            look_at_dynamic(info->dlpi_addr, info->dlpi_phdr[i], found);
    }
    return 1;
}

Found library()
{
    Found found;
    EXPECT_EQ(dl_iterate_phdr(look, &found), 1);
    return found;
}

/* The library uses little initial-exec storage, which is taken from a small reserve that all late-loaded libraries
 * share. */
TEST(Object, LibraryUsesLittleThreadLocalStorage)
{
    Found found = library();
    EXPECT_TRUE(found.static_storage) << found.path;
    EXPECT_GT(found.thread_storage, 0u);
    EXPECT_LE(found.thread_storage, 192u);
}

/* The library's name contains the minor version until 1.0, since a minor version may break programs until then. */
TEST(Object, SharedNameContainsTheMinorVersionBeforeOne)
{
    std::string version = rtrcu_version();
    std::string expected =
        version.starts_with("0.") ? version.substr(0, version.rfind('.')) : version.substr(0, version.find('.'));
    EXPECT_EQ(library().name, "librtrcu.so." + expected);
}

} // namespace
