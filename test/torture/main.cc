// SPDX-License-Identifier: MIT OR Apache-2.0
// The torture as a program of its own, for variants without the lab and for broken twins of the library.
#include <exception>

#include <CLI/CLI.hpp>

#include "command/command.h"

int main(int argc, char **argv)
{
    CLI::App application{"torture: the torture of the rtrcu library, as a program of its own"};
    application.require_subcommand(1);
    const lab::Registration torture = lab::add_torture(application);
    try {
        application.parse(argc, argv);
        return torture.run();
    } catch (const CLI::ParseError &error) {
        return application.exit(error) == 0 ? lab::exit_ok : lab::exit_usage;
    } catch (const std::exception &error) {
        return lab::complain(lab::exit_usage, error.what());
    }
}
