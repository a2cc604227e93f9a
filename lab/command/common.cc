// SPDX-License-Identifier: MIT OR Apache-2.0
// Options and endings that all sub-commands share.
#include <csignal>
#include <fmt/format.h>

#include "command/command.h"

namespace lab
{

static volatile sig_atomic_t interrupt_seen = 0;

void add_common_options(CLI::App &command, CommonOptions &options)
{
    command.add_flag("--quick", options.quick, "a short run, within 20 s, that judges counts and not times");
    command.add_option("--seconds", options.seconds, "about how long to measure")->check(CLI::Range(0.5, 86400.0));
    command.add_option("--seed", options.seed, "seed of everything random")->capture_default_str();
    command.add_option("--json", options.json, "write the results to this file");
}

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
    fmt::print(stderr, "rtrcu: {}\n", message);
    return code;
}

int finish(const CommonOptions &options, const Json &document, int code)
{
    std::string error;
    if (!options.json.empty() && !write_json(options.json, document, error))
        return complain(exit_usage, error);
    return code;
}

Json common_arguments(const CommonOptions &options)
{
    return {{"quick", options.quick}, {"seconds", options.seconds}, {"seed", options.seed}};
}

} // namespace lab
