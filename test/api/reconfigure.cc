/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of changes of configuration: refused changes, their memory, and daemons for lists of CPUs. */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/syscall.h>
#include <unistd.h>

#include "../support/sandbox.h"
#include "child.h"
#include "no_threads.h"
#include "owned.h"

namespace
{

using test::NoThreads;

struct rtrcu_config in_force()
{
    struct rtrcu_config config;
    rtrcu_config_get(&config);
    return config;
}

/* Policy krcud is refused if its daemons cannot be created. */
CHILD(daemons_refused)
{
    struct rtrcu_config before = in_force(), wanted = before;
    wanted.policy = RTRCU_POLICY_KRCUD;
    wanted.budget_ns = 77777;
    {
        NoThreads none;
        REQUIRE(rtrcu_configure(&wanted) != 0);
        struct rtrcu_config after = in_force();
        REQUIRE(memcmp(&before, &after, sizeof(before)) == 0);
    }
    REQUIRE(rtrcu_configure(&wanted) == 0);
    REQUIRE(in_force().budget_ns == 77777);
}

TEST(Reconfigure, PolicyKrcudIsRefusedWithoutItsDaemons)
{
    if (TEST_TSAN || TEST_ASAN)
        GTEST_SKIP() << "the sanitizer needs the memory that is refused";
    EXPECT_TRUE(exited_well(test::run_child("daemons_refused")));
}

long mapped_bytes()
{
    long total = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    REQUIRE(file && fscanf(file, "%ld", &total) == 1);
    fclose(file);
    return total * sysconf(_SC_PAGESIZE);
}

CHILD(many_changes)
{
    struct rtrcu_config first = in_force(), second = first, other_driver = first;
    second.budget_ns = 77777;
    REQUIRE(rtrcu_config_set(&second, "cpus", "0") == 0);
    other_driver.driver = RTRCU_DRIVER_POLL;
    owned::queue(1);
    rcu_barrier();
    long before = mapped_bytes();
    for (int i = 0; i < 2000; i++) {
        REQUIRE(rtrcu_configure(&second) == 0);
        REQUIRE(rtrcu_configure(&first) == 0);
        if (i < 20)
            REQUIRE(rtrcu_configure(&other_driver) == -EINVAL);
    }
    REQUIRE(mapped_bytes() - before < 1000000);
}

TEST(Reconfigure, RepeatedChangesTakeNoMemory)
{
    EXPECT_TRUE(exited_well(test::run_child("many_changes")));
}

void have_all_daemons(const char *cpus)
{
    struct rtrcu_config config = in_force();
    REQUIRE(rtrcu_config_set(&config, "cpus", cpus) == 0);
    config.policy = RTRCU_POLICY_KRCUD;
    int before = test::threads_of_this_process();
    REQUIRE(rtrcu_configure(&config) == 0);
    REQUIRE(test::threads_of_this_process() - before <=
            sysconf(_SC_NPROCESSORS_CONF) + 1); /* one daemon per CPU, and the driver, if its creation was requested */
}

CHILD(all_cpus_by_name)
{
    have_all_daemons("0-1023");
}

CHILD(all_cpus_unknown)
{
    have_all_daemons("process");
}

CHILD(affinity_refused)
{
    if (!test::refuse({{SYS_sched_getaffinity, EPERM}}))
        exit(0);
    test::become_child("all_cpus_unknown");
}

TEST(Reconfigure, ChangeToPolicyKrcudCreatesOneDaemonPerCpu)
{
    EXPECT_TRUE(exited_well(test::run_child("all_cpus_by_name")));
    if (TEST_TSAN || TEST_ASAN)
        return; /* the sanitizer makes the refused call at the beginning of each thread */
    EXPECT_TRUE(exited_well(test::run_child("affinity_refused")));
}

} // namespace
