// SPDX-License-Identifier: MIT OR Apache-2.0
// Options and endings that all sub-commands share.
#include <csignal>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "command/command.h"
#include "command/experiment.h"
#include "command/options.h"

namespace lab
{

static volatile sig_atomic_t interrupt_seen = 0;

CLI::App *add_command(CLI::App &application, const char *name, const char *what)
{
    return application.add_subcommand(name, what);
}

CLI::App *add_command(CLI::App &application, const char *name, const char *what, CommonOptions &options)
{
    CLI::App *command = add_command(application, name, what);
    command->add_flag("--quick", options.quick, "a short run, within 20 s, that judges counts and not times");
    command->add_option("--seconds", options.seconds, "about how long to measure")->check(CLI::Range(0.5, 86400.0));
    command->add_option("--seed", options.seed, "seed of everything random")->capture_default_str();
    command->add_option("--json", options.json, "write the results to this file");
    return command;
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
    fmt::print(stderr, "{}: {}\n", program_invocation_short_name, message);
    return code;
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

void Options::flag(const char *name, bool &value, const char *what)
{
    command_.add_flag(name, value, what);
}

void Options::text(const char *name, std::string &value, const char *what)
{
    command_.add_option(name, value, what)->capture_default_str();
}

void Options::texts(const char *name, std::vector<std::string> &values, const char *what,
                    const std::vector<std::string> &allowed)
{
    CLI::Option *option = command_.add_option(name, values, what);
    if (!allowed.empty())
        option->check(CLI::IsMember(allowed));
}

void Options::list(const char *name, std::vector<std::string> &values, const char *what)
{
    command_.add_option(name, values, what)->delimiter(',');
}

void Options::seed(const char *name, uint64_t &value, const char *what)
{
    command_.add_option(name, value, what)->capture_default_str();
}

void Options::files(const char *name, std::vector<std::string> &values, const char *what)
{
    command_.add_option(name, values, what)->required();
}

void Options::number(const char *name, double &value, const char *what, double least, double most)
{
    command_.add_option(name, value, what)->check(CLI::Range(least, most))->capture_default_str();
}

void Options::count(const char *name, unsigned &value, const char *what, unsigned least, unsigned most)
{
    CLI::Option *option = command_.add_option(name, value, what)->check(CLI::Range(least, most));
    if (value != 0)
        option->capture_default_str();
}

std::vector<std::pair<std::string, std::string>> parse_settings(const std::vector<std::string> &texts)
{
    std::vector<std::pair<std::string, std::string>> settings;
    for (const std::string &text : texts) {
        const std::size_t equals = text.find('=');
        if (equals == std::string::npos)
            throw Refusal(fmt::format("--set {}: wants NAME=VALUE, as in --set tick_us=1000", text));
        settings.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    }
    return settings;
}

} // namespace lab
