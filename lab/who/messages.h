// SPDX-License-Identifier: MIT OR Apache-2.0
// Messages of the library, as a program wrote them, with the names of the addresses in them.
#pragma once

#include <iosfwd>
#include <string>

namespace lab::who
{

// Copies the lines of @in to @out; a line with an address of code gets the function, the file and the line after it.
// @program: the file that messages call "the program"; "": not known.  Returns the number of names that were found.
std::size_t name_messages(std::istream &in, std::ostream &out, const std::string &program);

} // namespace lab::who
