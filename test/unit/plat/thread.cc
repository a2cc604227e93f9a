/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Test of a thread that cannot be created. */
#include <cerrno>
#include <thread>

#include <gtest/gtest.h>

#include "../../support/internals.h"
#include "../../support/trapped.h"
#include "../../support/variant.h"

namespace
{

TEST(Refused, RefusedThreadPreservesErrno)
{
    if (TEST_EMULATED || TEST_ASAN || TEST_TSAN)
        GTEST_SKIP() << "the emulator and sanitizers make other system calls";
    bool trapped = false;
    int error = 0, left = 0;
    std::thread([&] {
        plat_thread_attr attr;
        plat_thread thread;
        plat_thread_attr_init(&attr);
        attr.stack_bytes = 16 << 20; /* so that no stack of an earlier thread can be reused */
        plat_thread_prepare(
            &thread, "refused", [](void *) -> void * { return nullptr; }, nullptr, 0);
        trapped = test::trap(SYS_mmap, nullptr, [] { return long{-ENOMEM}; });
        errno = 77;
        error = trapped ? plat_thread_create(&thread, &attr) : 0;
        left = errno;
    }).join();
    if (!trapped)
        GTEST_SKIP() << "system calls cannot be trapped here";
    EXPECT_LT(error, 0);
    EXPECT_EQ(left, 77);
}

} // namespace
