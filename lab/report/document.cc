// SPDX-License-Identifier: MIT OR Apache-2.0
// The JSON document and the progress line.
#include "report/document.h"

#include <rtrcu/rcu.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <fstream>

#include "measure/clock.h"

namespace lab
{

Json make_document(const std::string &experiment, const Machine &machine, const Json &arguments)
{
    return {{"experiment", experiment},
            {"version", rtrcu_version()},
            {"machine", to_json(machine)},
            {"args", arguments},
            {"rows", Json::array()}};
}

Json or_null(const Figure &figure)
{
    return figure ? Json(*figure) : Json(nullptr);
}

bool write_json(const std::string &file_name, const Json &document, std::string &error)
{
    std::ofstream file(file_name);
    file << document.dump(1) << '\n';
    file.close();
    if (!file)
        error = fmt::format("{}: cannot be written ({}); name a file in a directory that exists", file_name,
                            std::strerror(errno));
    return static_cast<bool>(file);
}

Progress::Progress(std::string what, double total) : what_(std::move(what)), total_(total), terminal_(isatty(2) != 0)
{
}

void Progress::at(double done, const std::string &detail)
{
    const int64_t now = now_ns();
    if (!terminal_ && last_ns_ != 0 && now - last_ns_ < 5'000'000'000)
        return;
    last_ns_ = now;
    std::string line = fmt::format("{}: {:3.0f} %  {}", what_, 100 * done / total_, detail);
    if (terminal_)
        fmt::print(stderr, "\r\033[K{}", line);
    else
        fmt::print(stderr, "{}\n", line);
    dirty_ = terminal_;
}

Progress::~Progress()
{
    if (dirty_)
        fmt::print(stderr, "\r\033[K");
}

} // namespace lab
