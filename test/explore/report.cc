// SPDX-License-Identifier: MIT OR Apache-2.0
// Reports of failures.
#include "report.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <regex>

#include <unistd.h>

#include <fmt/core.h>

namespace explore
{

namespace
{

// The load address of the program: the start of the first mapping of its file.
uint64_t load_address()
{
    std::ifstream maps("/proc/self/maps");
    uint64_t address = 0;
    maps >> std::hex >> address;
    return address;
}

std::string place_of(const std::string &hex)
{
    uint64_t address = std::strtoull(hex.c_str(), nullptr, 16);
    if (address == 0)
        return {};
    std::string command =
        fmt::format("addr2line -sfe /proc/{}/exe {:#x} 2>/dev/null", getpid(), address - load_address() - 1);
    std::unique_ptr<FILE, int (*)(FILE *)> pipe(popen(command.c_str(), "r"), pclose);
    char function[200] = "", line[200] = "";
    if (!pipe || fscanf(pipe.get(), "%199s %199s", function, line) != 2)
        return " at " + hex;
    return fmt::format(" in {} ({})", function, line);
}

} // namespace

std::string symbolize(const std::string &text)
{
    static const std::regex mark("\\|(0x[0-9a-f]+)");
    std::string out;
    auto at = text.cbegin();
    for (std::sregex_iterator it(text.begin(), text.end(), mark), end; it != end; ++it) {
        out.append(at, text.cbegin() + it->position());
        out += place_of((*it)[1]);
        at = text.cbegin() + it->position() + it->length();
    }
    return out.append(at, text.cend());
}

} // namespace explore
