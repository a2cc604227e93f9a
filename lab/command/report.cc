// SPDX-License-Identifier: MIT OR Apache-2.0
// `rtrcu report`: one table from the JSON results of torture runs, from any number of machines.
#include <fmt/format.h>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "command/command.h"
#include "command/options.h"
#include "report/campaign.h"

namespace lab
{
namespace
{

int run(const std::vector<std::string> &files)
{
    Campaign campaign;
    for (const std::string &name : files) {
        std::ifstream file(name);
        std::string error;
        if (!file)
            return complain(exit_usage, fmt::format("cannot read {}", name));
        if (!campaign_add(campaign, name, Json::parse(file, nullptr, false), error))
            return complain(exit_usage, error);
    }
    const bool failed = campaign_failed(campaign);
    fmt::print("{}Campaign of {} files: {}\n", campaign_text(campaign), files.size(), failed ? "FAILURE" : "SUCCESS");
    return failed ? exit_check_failed : exit_ok;
}

} // namespace

Registration add_report(CLI::App &application)
{
    auto files = std::make_shared<std::vector<std::string>>();
    CLI::App *command = add_command(application, "report", "print one table of the results of several torture runs");
    Options(*command).files("file", *files, "files written by `rtrcu torture --json`");
    return {command, [files] { return run(*files); }};
}

} // namespace lab
