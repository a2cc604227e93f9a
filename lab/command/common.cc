// SPDX-License-Identifier: MIT OR Apache-2.0
// Endings that all sub-commands share.
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include <fmt/format.h>

#include "command/command.h"
#include "command/experiment.h"
#include "command/options.h"
#include "inspect/printable.h"

namespace lab
{

static volatile sig_atomic_t interrupt_seen = 0;

static void on_interrupt(int)
{
    interrupt_seen = 1;
}

void catch_interrupt()
{
    struct sigaction action {
    };
    action.sa_handler = on_interrupt;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
}

bool interrupted()
{
    return interrupt_seen != 0;
}

int complain(int code, const std::string &message)
{
    fmt::print(stderr, "{}: {}\n", program_invocation_short_name, inspect::printable(message));
    return code;
}

void need_writable(const std::string &file)
{
    std::error_code failure;
    if (file.empty())
        return;
    const bool is_new = !std::filesystem::exists(file, failure);
    if (!std::ofstream(file, std::ios::app))
        throw std::runtime_error(
            fmt::format("{} cannot be written ({}); name a file in an existing directory that you may write to", file,
                        std::strerror(errno)));
    if (is_new)
        std::filesystem::remove(file, failure);
}

void add_arguments(const CommonOptions &options, Document &document)
{
    document.argument("quick", options.quick);
    document.argument("seconds", options.seconds);
    document.argument("seed", options.seed);
}

int finish(const CommonOptions &options, const Document &document, int code)
{
    std::string error;
    if (!options.json.empty() && !document.write(options.json, error))
        return complain(exit_usage, error);
    return code;
}

std::vector<std::pair<std::string, std::string>> parse_settings(const std::vector<std::string> &texts)
{
    std::vector<std::pair<std::string, std::string>> settings;
    for (const std::string &text : texts) {
        const std::size_t equals = text.find('=');
        if (equals == std::string::npos)
            throw Refusal(fmt::format("--set {}: expects NAME=VALUE, as in --set tick_us=1000", text));
        settings.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    }
    return settings;
}

} // namespace lab
