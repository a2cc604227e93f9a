// SPDX-License-Identifier: MIT OR Apache-2.0
// The `rtrcu` program: chooses a sub-command, nothing else.
#include <rtrcu/rcu.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <vector>

#include "command/command.h"

int main(int argc, char **argv)
{
    CLI::App application{"rtrcu: experiments, proofs and observation of the rtrcu library"};
    application.require_subcommand(1);
    application.set_version_flag("--version", rtrcu_version());
    const std::vector<lab::Registration> commands = {lab::add_latency(application),  lab::add_expedited(application),
                                                     lab::add_overhead(application), lab::add_blocked(application),
                                                     lab::add_torture(application),  lab::add_report(application),
                                                     lab::add_env(application)};
    try {
        application.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        return application.exit(error) == 0 ? lab::exit_ok : lab::exit_usage;
    }
    try {
        for (const lab::Registration &command : commands)
            if (command.command->parsed())
                return command.run();
    } catch (const std::exception &error) {
        return lab::complain(lab::exit_usage, error.what());
    }
    return lab::exit_usage;
}
