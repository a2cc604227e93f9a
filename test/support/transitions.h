/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Comparison of transitions with the tables in the comments of headers.
 * A table begins after a line with the columns `before`, `transition` and `after`, and ends with the next empty line of
 * the comment.  `any` means every state before; several states after are alternatives. */
#ifndef RTRCU_TEST_SUPPORT_TRANSITIONS_H
#define RTRCU_TEST_SUPPORT_TRANSITIONS_H

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <tuple>

#include <gtest/gtest.h>

namespace test
{

class Transitions
{
    using Row = std::tuple<std::string, std::string, std::string>; // before, transition, after
    std::string header_;
    std::set<Row> told_, seen_;

    static bool is_state(const std::string &word)
    {
        return word.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == std::string::npos;
    }
    void read_row(const std::string &line)
    {
        std::istringstream words(line);
        std::string star, before, transition, after;
        words >> star >> before >> transition;
        while (words >> after && is_state(after))
            told_.emplace(before, transition, after);
    }

  public:
    /* Reads the table of @header, a path below the root, whose head line begins with @what. */
    Transitions(const std::string &header, const std::string &what) : header_(header)
    {
        const char *root = getenv("RTRCU_TEST_ROOT");
        std::ifstream stream(std::string(root ? root : ".") + "/" + header);
        EXPECT_TRUE(stream) << header << ": run by ctest, or with RTRCU_TEST_ROOT at the root of the source";
        bool inside = false;
        for (std::string line; std::getline(stream, line);) {
            bool is_head = line.find(" *  " + what) == 0 && line.find(" transition ") != std::string::npos;
            if (inside && line == " *")
                break;
            if (inside)
                read_row(line);
            inside = inside || is_head;
        }
        EXPECT_FALSE(told_.empty()) << header << " has no table with the column " << what;
    }

    /* Record that @transition led from @before to @after. */
    void saw(const std::string &before, const std::string &transition, const std::string &after)
    {
        for (const std::string &from : {before, std::string("any")}) {
            if (told_.count({from, transition, after})) {
                seen_.emplace(from, transition, after);
                return;
            }
        }
        ADD_FAILURE() << header_ << ": the table lacks " << transition << " from " << before << " to " << after;
    }
    /* Expect that every row of the table has been seen. */
    void all_seen() const
    {
        for (const Row &row : told_) {
            const auto &[before, transition, after] = row;
            EXPECT_TRUE(seen_.count(row))
                << header_ << ": the test did not make " << transition << " from " << before << " to " << after;
        }
    }
};

} // namespace test

#endif
