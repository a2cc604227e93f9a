// SPDX-License-Identifier: MIT OR Apache-2.0
// The JSON document, the page that a script draws from it, and the progress line.
#include "report/document.h"

#include <rtrcu/rcu.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>

#include "inspect/printable.h"
#include "measure/clock.h"

namespace lab
{

static Json to_json(const Machine &machine)
{
    return {{"cpu_model", machine.cpu_model},
            {"architecture", machine.architecture},
            {"cpus", machine.cpus_allowed.size()},
            {"memory_mb", machine.memory_mb},
            {"kernel", machine.kernel},
            {"preempt_rt", machine.preempt_rt},
            {"hypervisor", machine.hypervisor},
            {"clock_source", machine.clock_source},
            {"clock_read_ns", machine.clock_read_ns},
            {"thread_cpu_read_ns", machine.thread_cpu_read_ns},
            {"membarrier_expedited", machine.membarrier_expedited},
            {"rseq", machine.rseq},
            {"realtime_permitted", machine.realtime_permitted},
            {"realtime_limits", machine.realtime_limits}};
}

Document::Document(const std::string &experiment, const Machine &machine)
    : json_(std::make_unique<Json>(Json{{"experiment", experiment},
                                        {"version", rtrcu_version()},
                                        {"machine", to_json(machine)},
                                        {"args", Json::object()},
                                        {"rows", Json::array()}})),
      curves_(std::make_unique<Json>(Json::array()))
{
}

Document::~Document() = default;

void Document::argument(const char *key, const std::string &value)
{
    (*json_)["args"][key] = value;
}

void Document::argument(const char *key, const std::vector<std::string> &value)
{
    (*json_)["args"][key] = value;
}

void Document::argument(const char *key, const std::vector<uint64_t> &value)
{
    (*json_)["args"][key] = value;
}

void Document::argument(const char *key, const std::map<std::string, std::string> &value)
{
    (*json_)["args"][key] = value;
}

void Document::argument(const char *key, double value)
{
    (*json_)["args"][key] = value;
}

void Document::argument(const char *key, bool value)
{
    (*json_)["args"][key] = value;
}

void Document::whole_argument(const char *key, int64_t value)
{
    (*json_)["args"][key] = value;
}

void Document::row(const Fields &row)
{
    (*json_)["rows"].push_back(to_json(row));
}

void Document::verdicts(const Verdicts &verdicts)
{
    Json &all = (*json_)["verdicts"] = Json::array();
    for (const Verdict &verdict : verdicts)
        all.push_back(
            {{"outcome", outcome_name(verdict.outcome)}, {"claim", verdict.claim}, {"figures", verdict.figures}});
}

void Document::curve(const Fields &curve)
{
    curves_->push_back(to_json(curve));
}

// Makes all strings valid UTF-8, which the writer requires: names of files, processes and machines may contain any
// bytes.
static Json printable(Json json)
{
    if (json.is_string())
        return inspect::printable(json.get_ref<const std::string &>());
    if (json.is_structured())
        for (Json &part : json)
            part = printable(std::move(part));
    return json;
}

static bool write_json(const std::string &file_name, const Json &given, std::string &error)
{
    std::ofstream file(file_name);
    const Json json = printable(given);
    file << json.dump(1) << '\n';
    file.close();
    if (!file)
        error = fmt::format("{}: cannot be written ({}); name a file in a directory that exists", file_name,
                            std::strerror(errno));
    return static_cast<bool>(file);
}

bool Document::write(const std::string &file_name, std::string &error) const
{
    return write_json(file_name, *json_, error);
}

// The scripts are found relative to the program, in the build tree or where it was installed.
static std::string find_script(const std::string &stem)
{
    std::error_code failure;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", failure).parent_path();
    for (const char *folder : {"pages", "../share/rtrcu"}) {
        const auto script = program / folder / (stem + "_html.py");
        if (std::filesystem::exists(script, failure))
            return script;
    }
    return {};
}

// The exit code of a script that did not find python3-plotly.
constexpr int exit_no_charts = 3;

// Returns the script's exit code, or -1 if the interpreter did not run or was killed.
static int run_script(const char *python, const std::string &script, const std::string &data, const std::string &page)
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

std::string Document::write_page(const std::string &directory) const
{
    const std::string stem = json_->at("experiment");
    std::error_code failure;
    std::filesystem::create_directories(directory, failure);
    if (failure)
        return fmt::format("no page: {}: {}; name another directory with --out", directory, failure.message());
    Json data = *json_;
    data["curves"] = *curves_;
    const std::string file = fmt::format("{}/{}.json", directory, stem),
                      page = fmt::format("{}/{}.html", directory, stem);
    std::string error;
    if (!write_json(file, data, error))
        return "no page: " + error;
    const std::string script = find_script(stem);
    if (script.empty())
        return fmt::format("no page: the plotting script was not found; the data is in {}", file);
    switch (run_script("python3", script, file, page)) {
    case 0:
        return fmt::format("page with charts: {}", page);
    case exit_no_charts:
        return fmt::format("page with tables alone: {}; its charts need python3-plotly (apt-get install "
                           "python3-plotly)",
                           page);
    default:
        return fmt::format("no page: python3 did not run the plotting script; the data is in {}", file);
    }
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
