// SPDX-License-Identifier: MIT OR Apache-2.0
// Counts and prints the findings of the checks.
#include "torture/findings.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "measure/clock.h"

namespace lab::torture
{

constexpr uint64_t told_each = 3;

bool Findings::count(Check check)
{
    uint64_t before = shared_.errors[static_cast<std::size_t>(check)].fetch_add(1);
    int64_t never = 0;
    shared_.first_error_ns.compare_exchange_strong(never, now_ns());
    return before < told_each;
}

void Findings::say(std::string_view line)
{
    ssize_t written = write(STDERR_FILENO, line.data(), line.size());
    (void)written; // a failure cannot be reported
}

void Findings::tell(Check check, fmt::string_view format, fmt::format_args arguments) const
{
    std::array<char, 2048> line;
    auto part = fmt::format_to_n(line.data(), line.size(), "!!! {} (seed {}): {}: {}; ", scenario_, seed_,
                                 name_of(check), sentence_of(check));
    std::size_t used = std::min(part.size, line.size());
    part = fmt::vformat_to_n(line.data() + used, line.size() - used - 1, format, arguments);
    used += std::min(part.size, line.size() - used - 1);
    line[used++] = '\n';
    say(std::string_view(line.data(), used));
}

} // namespace lab::torture
