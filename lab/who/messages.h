// SPDX-License-Identifier: MIT OR Apache-2.0
// Adds names to the addresses in the library's messages, as they are found in a program's log.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace lab::who
{

struct NamedMessages {
    std::size_t named = 0, unnamed = 0; // addresses with and without a name
    std::vector<std::string> problems;  // advice for each file whose addresses have no names
};

// Copies the lines of @log to @out.  Function, file and line are added to a line of the library that has a code
// address.  @program: the file that messages call "the program"; "": unknown.
NamedMessages name_messages(std::istream &log, std::ostream &out, const std::string &program);

} // namespace lab::who
