// SPDX-License-Identifier: MIT OR Apache-2.0
// Adds names to the addresses in the library's messages, as they are found in a program's log.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace lab::who
{

struct NamedMessages {
    std::size_t named = 0, unnamed = 0; // number of addresses that have a name, and of those that have none
    std::vector<std::string> problems;  // for each file whose addresses have no names, the reason and advice
};

// Copies @log to @out, and adds function, file and line to each of the library's lines that has a code address.
// @program: the file that messages call "the program"; "": unknown.
NamedMessages name_messages(std::istream &log, std::ostream &out, const std::string &program);

} // namespace lab::who
