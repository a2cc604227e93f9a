/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of names of addresses of code, and of reading a word that may be unreadable. */
#include <cstring>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "../../support/internals.h"

namespace
{

TEST(Code, SymbolsHaveNamesOrNumbers)
{
    char text[256];
    plat_symbol(reinterpret_cast<uintptr_t>(&getpid) + 1, text, sizeof(text));
    EXPECT_NE(strstr(text, "getpid+0x1"), nullptr) << text;
    plat_symbol(0x10, text, sizeof(text));
    EXPECT_STREQ(text, "0x10");
}

TEST(Code, NameOfAnAddressContainsTheObjectAndTheOffset)
{
    char text[256];
    EXPECT_TRUE(plat_code(reinterpret_cast<uintptr_t>(&plat_code), text, sizeof(text)));
    EXPECT_EQ(std::string(text).find("the program 0x"), 0u) << text;
    EXPECT_LT(strtoul(strstr(text, "0x"), nullptr, 16), 1ul << 32) << "the offset in the file: " << text;
    EXPECT_FALSE(plat_code(0x10, text, sizeof(text)));
    EXPECT_STREQ(text, "0x10");
}

TEST(Code, AddressInALibraryHasTheLibrarysName)
{
    char text[256];
    EXPECT_TRUE(plat_code(reinterpret_cast<uintptr_t>(&getpid), text, sizeof(text)));
    EXPECT_EQ(std::string(text).find("the program"), std::string::npos) << text;
}

TEST(Code, UnreadableAddressIsDetectedWithoutAFault)
{
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    char *pages = static_cast<char *>(mmap(nullptr, 2 * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(pages, MAP_FAILED);
    ASSERT_EQ(mprotect(pages + page, page, PROT_NONE), 0);
    EXPECT_EQ(plat_try_read(reinterpret_cast<uintptr_t>(pages + page - 1)), 0);
    EXPECT_EQ(plat_try_read(reinterpret_cast<uintptr_t>(pages + page)), -EFAULT);
    munmap(pages, 2 * page);
    EXPECT_EQ(plat_try_read(reinterpret_cast<uintptr_t>(pages)), -EFAULT);
    EXPECT_EQ(plat_try_read(0), -EFAULT);
    for (uint32_t value : {0u, 1u, 2u})
        EXPECT_EQ(plat_try_read(reinterpret_cast<uintptr_t>(&value)), 0) << value;
}

} // namespace
