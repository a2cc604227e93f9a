// SPDX-License-Identifier: MIT OR Apache-2.0
// The command line. All code that needs the parser's header is here, because that header takes longer to compile than
// the
// rest of a command.
#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fmt/format.h>

#include "command/command.h"
#include "command/options.h"
#include "report/table.h"

namespace lab
{

CLI::App *add_command(CLI::App &application, const char *name, const char *what)
{
    return application.add_subcommand(name, what);
}

CLI::App *add_command(CLI::App &application, const char *name, const char *what, CommonOptions &options)
{
    CLI::App *command = add_command(application, name, what);
    command->add_flag("--quick", options.quick, "a short run, within 20 s, that judges counts and not times");
    command->add_option("--seconds", options.seconds, "approximate duration of the measurement")
        ->check(CLI::Range(0.5, 86400.0));
    command->add_option("--seed", options.seed, "seed of all random choices")->capture_default_str();
    command->add_option("--json", options.json, "write the results to this file");
    command
        ->add_option_function<unsigned>(
            "--width", [](const unsigned &width) { choose_table_width(width); },
            "width of tables in columns, 0: no limit (default: the terminal's width; no limit in a file or a pipe)")
        ->check(CLI::Range(0u, 10000u));
    return command;
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

void Options::program(std::vector<std::string> &words)
{
    command_.prefix_command();
    command_.footer("PROGRAM [ARGUMENT...]  the program to run");
    command_.final_callback([this_command = &command_, &words] { words = this_command->remaining(); });
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

void Options::hidden(const char *name, int &value)
{
    command_.add_option(name, value)->group("");
}

void Options::either(const char *name, const char *other)
{
    command_.get_option(name)->excludes(other);
}

void Options::describe(const char *name, const char *what)
{
    command_.get_option(name)->description(what);
}

// Returns an error if standard output could not be written: a command whose output was lost must not exit with 0.
static int with_output_written(int code)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    complain(code, fmt::format("standard output cannot be written{}",
                               errno ? fmt::format(" ({})", std::strerror(errno)) : " to its end"));
    return code == exit_ok ? exit_usage : code;
}

static int run_chosen(const char *what, const char *version, const std::vector<Adder> &adders, int argc, char **argv)
{
    CLI::App application{what};
    application.require_subcommand(1);
    application.set_version_flag("--version", version);
    std::vector<Registration> commands;
    commands.reserve(adders.size());
    for (const Adder &add : adders)
        commands.push_back(add(application));
    std::string names;
    bool known = false;
    for (const Registration &command : commands) {
        names += (names.empty() ? "" : ", ") + command.command->get_name();
        known |= argc > 1 && command.command->check_name(argv[1]);
    }
    if (argc < 2)
        return complain(exit_usage, "a command is missing; the commands are: " + names + " (--help explains them)");
    if (!known && argv[1][0] != '-')
        return complain(exit_usage, std::string("no command is called '") + argv[1] + "'; the commands are: " + names);
    try {
        application.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        return application.exit(error) == 0 ? exit_ok : exit_usage;
    }
    try {
        for (const Registration &command : commands)
            if (command.command->parsed())
                return command.run();
    } catch (const std::exception &error) {
        return complain(exit_usage, error.what());
    }
    return exit_usage;
}

int run_command(const char *what, const char *version, const std::vector<Adder> &adders, int argc, char **argv)
{
    return with_output_written(run_chosen(what, version, adders, argc, argv));
}

} // namespace lab
