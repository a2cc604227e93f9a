/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads that cannot be made.
 */
#include <cerrno>
#include <thread>

#include <gtest/gtest.h>

#include "../../support/internals.h"
#include "../../support/trapped.h"
#include "../../support/variant.h"

namespace
{

TEST(Refused, LeavesErrnoAlone)
{
    if (TEST_EMULATED || TEST_ASAN || TEST_TSAN)
        GTEST_SKIP() << "not every call is the program's";
    bool trapped = false;
    int error = 0, left = 0;
    std::thread([&] {
        plat_thread_attr attr;
        plat_thread thread;
        plat_thread_attr_init(&attr);
        attr.stack_bytes = 16 << 20; /* none of that size is left of an earlier thread */
        plat_thread_prepare(
            &thread, "refused", [](void *) -> void * { return nullptr; }, nullptr, 0);
        trapped = test::trap(SYS_mmap, nullptr, [] { return long{-ENOMEM}; });
        errno = 77;
        error = trapped ? plat_thread_create(&thread, &attr) : 0;
        left = errno;
    }).join();
    if (!trapped)
        GTEST_SKIP() << "no call can be trapped here";
    EXPECT_LT(error, 0);
    EXPECT_EQ(left, 77);
}

} // namespace
