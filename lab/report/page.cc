// SPDX-License-Identifier: MIT OR Apache-2.0
// Writes a page's data and runs the script that plots it.
#include "report/page.h"

#include <spawn.h>
#include <sys/wait.h>

#include <filesystem>
#include <fmt/format.h>

extern char **environ;

namespace lab
{
namespace
{

// The scripts stand beside each other: in the source tree, or where they were installed.
std::string find_script(const std::string &stem)
{
    std::error_code failure;
    for (const char *neighbour : {LAB_PLOT_SCRIPT, LAB_PLOT_SCRIPT_INSTALLED}) {
        const auto script = std::filesystem::path(neighbour).parent_path() / (stem + "_html.py");
        if (std::filesystem::exists(script, failure))
            return script;
    }
    return {};
}

// Tries the interpreters in turn: Debian's first, which is the one that has matplotlib as a package.
bool run_script(const std::string &script, const std::string &data, const std::string &page)
{
    for (const char *python : {"/usr/bin/python3", "python3"}) {
        std::string words[] = {python, script, data, page};
        char *arguments[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(), nullptr};
        pid_t child = -1;
        int status = 0;
        if (posix_spawnp(&child, python, nullptr, nullptr, arguments, environ) == 0 &&
            waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0)
            return true;
    }
    return false;
}

} // namespace

std::string write_plot_page(const std::string &stem, const std::string &directory, const Json &data)
{
    std::error_code failure;
    std::filesystem::create_directories(directory, failure);
    if (failure)
        return fmt::format("no page: {}: {}; name another directory with --out", directory, failure.message());
    const std::string file = fmt::format("{}/{}.json", directory, stem),
                      page = fmt::format("{}/{}.html", directory, stem);
    std::string error;
    if (!write_json(file, data, error))
        return "no page: " + error;
    const std::string script = find_script(stem);
    if (script.empty())
        return fmt::format("no page: the plotting script was not found; the data is in {}", file);
    if (!run_script(script, file, page))
        return fmt::format("no page: python3 did not run the plotting script; the data is in {}", file);
    return fmt::format("page with plots: {}", page);
}

} // namespace lab
