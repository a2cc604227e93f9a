// SPDX-License-Identifier: MIT OR Apache-2.0
// Names for the addresses in messages of the library, as a program wrote them to its log.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace lab::who
{

struct NamedMessages {
    std::size_t named = 0, unnamed = 0; // addresses
    std::vector<std::string> problems;  // of each file whose addresses have no names: what to do
};

// Copies the lines of @log to @out.  A line of the library with an address of code gets function, file and line at its
// end.  @program: the file that messages call "the program"; "": not known.
NamedMessages name_messages(std::istream &log, std::ostream &out, const std::string &program);

} // namespace lab::who
