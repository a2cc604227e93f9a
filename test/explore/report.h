// SPDX-License-Identifier: MIT OR Apache-2.0
// Failures in words: addresses of code become function and line.
#pragma once

#include <string>

namespace explore
{

// Replace every "|0x..." by the function, file and line of that address, where addr2line is installed.
std::string symbolize(const std::string &text);

} // namespace explore
