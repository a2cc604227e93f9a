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
    for (const char *folder : {LAB_SCRIPTS, LAB_SCRIPTS_INSTALLED}) {
        const auto script = std::filesystem::path(folder) / (stem + "_html.py");
        if (std::filesystem::exists(script, failure))
            return script;
    }
    return {};
}

// What the script says when there is nothing to plot with.
constexpr int no_plots = 3;

// The script's exit code, or -1 where the interpreter did not run or did not end by itself.
int run_script(const char *python, const std::string &script, const std::string &data, const std::string &page)
{
    std::string words[] = {python, script, data, page};
    char *arguments[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(), nullptr};
    pid_t child = -1;
    int status = 0;
    if (posix_spawnp(&child, python, nullptr, nullptr, arguments, environ) != 0 ||
        waitpid(child, &status, 0) != child || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status);
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
    // The distribution's interpreter is the one that its matplotlib belongs to; another may come first in the path.
    int code = run_script("/usr/bin/python3", script, file, page);
    if (code != 0)
        code = run_script("python3", script, file, page);
    if (code == no_plots)
        return fmt::format("page: {}, without plots: install python3-matplotlib", page);
    if (code != 0)
        return fmt::format("no page: python3 did not run the plotting script; the data is in {}", file);
    return fmt::format("page with plots: {}", page);
}

} // namespace lab
