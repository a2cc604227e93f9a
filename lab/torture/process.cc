// SPDX-License-Identifier: MIT OR Apache-2.0
// Starts a scenario's process, waits for it for a bounded time, and reads its shared memory.
#include "torture/process.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <csignal>
#include <cstring>
#include <system_error>

#include "measure/clock.h"
#include "torture/findings.h"

namespace lab::torture
{
namespace
{

std::string variable_of(const std::string &setting)
{
    std::string name = "RTRCU_";
    for (char letter : setting)
        name += static_cast<char>(toupper(static_cast<unsigned char>(letter)));
    return name;
}

// Returns the scenario's settings, followed by the rest of this process's environment.
std::vector<std::string> environment_of(const Scenario &scenario)
{
    std::vector<std::string> entries;
    for (const auto &[name, value] : scenario.config)
        entries.push_back(variable_of(name) + "=" + value);
    for (char **entry = environ; *entry; entry++) {
        const std::string name(*entry, strcspn(*entry, "="));
        bool set = false;
        for (const auto &[setting, value] : scenario.config)
            set |= name == variable_of(setting);
        if (!set)
            entries.push_back(*entry);
    }
    return entries;
}

std::vector<char *> pointers_to(std::vector<std::string> &texts)
{
    std::vector<char *> pointers;
    for (std::string &text : texts)
        pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
}

pid_t begin(const Scenario &scenario, std::vector<std::string> arguments)
{
    std::vector<std::string> environment = environment_of(scenario);
    pid_t pid = -1;
    const int error = posix_spawn(&pid, "/proc/self/exe", nullptr, nullptr, pointers_to(arguments).data(),
                                  pointers_to(environment).data());
    if (error != 0)
        throw std::system_error(error, std::generic_category(), "the process of a scenario");
    return pid;
}

enum class Ending { regular, died, hung, interrupted };

Ending await(pid_t pid, int64_t until_ns, bool (*interrupted)(), int &status)
{
    constexpr int64_t gap_ns = 1'000'000'000; // a longer gap between two checks means that this process was stopped
    int64_t before = now_ns();
    while (waitpid(pid, &status, WNOHANG) == 0) {
        const int64_t gap = now_ns() - before;
        until_ns += gap > gap_ns ? gap : 0;
        before = now_ns();
        const bool stop = interrupted();
        if (stop || now_ns() > until_ns) {
            kill(pid, SIGKILL);
            waitpid(pid, &status, 0);
            return stop ? Ending::interrupted : Ending::hung;
        }
        pause_ns(10'000'000);
    }
    return WIFEXITED(status) && WEXITSTATUS(status) <= 1 ? Ending::regular : Ending::died;
}

// Reports an irregular end of the scenario's process as a finding.
void judge(Ending ending, int status, const Scenario &scenario, const RunOptions &options, SharedResult &shared)
{
    Findings findings(shared, scenario.name, options.seed);
    const bool found = totals_of(shared).errors > 0;
    if (ending == Ending::hung)
        findings.report(Check::hang, "the process did not end in time and was killed");
    else if (ending == Ending::died && WIFSIGNALED(status))
        findings.report(Check::crash, "signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else if (ending == Ending::died)
        findings.report(Check::crash, "exit status {}", WEXITSTATUS(status));
    else if (ending == Ending::regular && !found && (WEXITSTATUS(status) != 0 || !shared.finished.load()))
        findings.report(Check::crash, "exit status {} {} its regular end", WEXITSTATUS(status),
                        shared.finished.load() ? "after" : "before");
}

void read_outcome(const SharedResult &shared, int64_t began_ns, Outcome &outcome)
{
    outcome.totals = totals_of(shared);
    outcome.grace_periods = shared.grace_periods.load();
    outcome.expedited_grace_periods = shared.expedited_grace_periods.load();
    outcome.boosts = shared.boosts.load();
    outcome.resizes = shared.resizes.load();
    outcome.carriers_ended = shared.carriers_ended.load();
    outcome.callbacks = shared.callbacks_invoked.load();
    outcome.forks = shared.forks.load();
    outcome.stalls = shared.stalls_reported.load();
    outcome.reconfigurations = shared.reconfigurations.load();
    outcome.skipped = shared.skipped.load() != 0;
    for (std::size_t i = 0; i < checks_count; i++)
        if (shared.errors[i].load() > 0)
            outcome.failed_checks.push_back(name_of(static_cast<Check>(i)));
    const int64_t first = shared.first_error_ns.load();
    outcome.first_error_s = first ? static_cast<double>(first - began_ns) / 1e9 : 0;
}

} // namespace

Outcome run_in_process(const Scenario &scenario, const std::vector<std::string> &arguments, const RunOptions &options,
                       bool (*interrupted)())
{
    SharedMemory memory = SharedMemory::create();
    std::vector<std::string> line = {"torture-scenario", "torture"};
    line.insert(line.end(), arguments.begin(), arguments.end());
    line.insert(line.end(), {"--result-descriptor", std::to_string(memory.descriptor()), "--seconds",
                             fmt::format("{}", options.seconds), "--seed", std::to_string(options.seed), "--patience",
                             fmt::format("{}", options.patience_s)});
    if (options.stop_at_first_error)
        line.push_back("--stop-at-first-error");

    Outcome outcome;
    outcome.scenario = scenario.name;
    outcome.seed = options.seed;
    outcome.must_fail = scenario.must_fail;
    const int64_t began = now_ns();
    const auto allowed = static_cast<int64_t>((options.seconds + 5 * options.patience_s + 10) * 1e9);
    int status = 0;
    const Ending ending = await(begin(scenario, line), began + allowed, interrupted, status);
    outcome.interrupted = ending == Ending::interrupted;
    judge(ending, status, scenario, options, memory.result());
    outcome.seconds = static_cast<double>(now_ns() - began) / 1e9;
    read_outcome(memory.result(), began, outcome);
    return outcome;
}

} // namespace lab::torture
