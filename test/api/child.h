/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Bodies of tests that need a process of their own.
 *
 * A child executes the test program again, so the library starts with the environment that the test gives.  Its output
 * is collected, and a child that does not end in time is killed.
 */
#ifndef RTRCU_TEST_API_CHILD_H
#define RTRCU_TEST_API_CHILD_H

#include <string>
#include <vector>

#include <gtest/gtest.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#include <rtrcu/rcu.h>
#pragma GCC diagnostic pop

#include "../support/variant.h"

#ifdef RTRCU_DEBUG
#define TEST_DEBUG 1
#else
#define TEST_DEBUG 0
#endif

namespace test
{

struct ChildResult {
    int status = 0;         /* the status that waitpid() stores */
    bool timed_out = false; /* the child was killed */
    std::string output;     /* standard output and error */

    bool contains(const std::string &what) const
    {
        return output.find(what) != std::string::npos;
    }
};

/* Run the body @name in a child, with additions to the environment: "NAME=value". */
ChildResult run_child(const std::string &name, const std::vector<std::string> &environment = {});
/* Like run_child(), but kill the child as soon as its output contains @until. */
ChildResult run_child_until(const std::string &name, const std::string &until,
                            const std::vector<std::string> &environment = {});

testing::AssertionResult exited_well(const ChildResult &result);
testing::AssertionResult aborted(const ChildResult &result, const std::string &saying);

/* Execute this program again in the calling process, with the body @name. */
[[noreturn]] void become_child(const std::string &name);
/* Like become_child(), but drop the permission for real-time scheduling first. */
[[noreturn]] void become_child_without_real_time(const std::string &name);

/* The number of threads that the kernel counts. */
int threads_of_this_process();

struct RegisterChild {
    RegisterChild(const char *name, void (*body)());
};

/* For bodies of children: print the failed condition and exit. */
[[noreturn]] void child_failed(const char *condition, const char *file, int line);
#define REQUIRE(condition) ((condition) ? (void)0 : test::child_failed(#condition, __FILE__, __LINE__))

#define CHILD(name)                                                                                                    \
    static void name();                                                                                                \
    static const test::RegisterChild register_##name(#name, name);                                                     \
    static void name()

inline struct rtrcu_stats stats()
{
    struct rtrcu_stats all = {};
    all.size = sizeof(all);
    (void)rtrcu_stats(&all);
    return all;
}

} // namespace test

#endif
