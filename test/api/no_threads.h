/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A scope in which no thread can be created, since a limit of address space refuses its stack, for root too. */
#ifndef RTRCU_TEST_API_NO_THREADS_H
#define RTRCU_TEST_API_NO_THREADS_H

#include <cstdio>
#include <sys/resource.h>
#include <unistd.h>

#include "child.h"

namespace test
{

/* Refuses memory for another stack until the object allows it or is destroyed. */
class NoThreads
{
    struct rlimit before_;

  public:
    NoThreads()
    {
        long pages = 0;
        FILE *file = fopen("/proc/self/statm", "re");
        REQUIRE(file && fscanf(file, "%ld", &pages) == 1);
        fclose(file);
        REQUIRE(getrlimit(RLIMIT_AS, &before_) == 0);
        struct rlimit now = before_;
        now.rlim_cur = static_cast<rlim_t>(pages * sysconf(_SC_PAGESIZE));
        REQUIRE(setrlimit(RLIMIT_AS, &now) == 0);
    }
    ~NoThreads()
    {
        REQUIRE(setrlimit(RLIMIT_AS, &before_) == 0);
    }
    NoThreads(const NoThreads &) = delete;
    NoThreads &operator=(const NoThreads &) = delete;
};

} // namespace test

#endif
