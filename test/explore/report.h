// SPDX-License-Identifier: MIT OR Apache-2.0
// Reports of failures, in which addresses of code become function and line.
#pragma once

#include <string>

namespace explore
{

// Replace each "|0x..." by the function, file and line of that address, if addr2line is installed.
std::string symbolize(const std::string &text);

} // namespace explore
