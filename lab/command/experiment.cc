// SPDX-License-Identifier: MIT OR Apache-2.0
// The steps common to all experiments, from the plan to the exit code.
#include "command/experiment.h"

#include <algorithm>
#include <fmt/format.h>
#include <filesystem>
#include <numeric>
#include <random>

#include "measure/clock.h"

namespace lab
{

void Experiment::need_two_cpus(const std::string &why) const
{
    if (machine.cpus_allowed.size() < 2)
        throw Refusal("this needs two CPUs: " + why +
                      "; allow this process two or more (taskset -c 0,1, or more CPUs for the machine)");
}

void Experiment::need_realtime(const std::string &why) const
{
    if (!machine.realtime_permitted)
        throw Refusal("the kernel refuses SCHED_FIFO to this user, and " + why +
                      ": run as root, give the program CAP_SYS_NICE, or raise the rtprio limit (ulimit -r 20)");
}

int64_t Experiment::end_of_turns_ns(double ending_s) const
{
    if (!common.quick)
        return 0;
    const double limit_s = std::max(quick_limit_s, common.seconds);
    return began_ns + static_cast<int64_t>((limit_s - ending_s) * 1e9);
}

static bool fits(const Rounds &rounds, const Turn &turn)
{
    return rounds.end_ns == 0 || now_ns() + static_cast<int64_t>(turn.seconds * 1e9) <= rounds.end_ns;
}

static bool takes_part(const Turn &turn, unsigned round)
{
    return round % turn.every == 0;
}

double seconds_of(const Rounds &rounds, const std::vector<Turn> &turns)
{
    double seconds = 0;
    for (const Turn &turn : turns)
        seconds += turn.seconds * ((rounds.planned + turn.every - 1) / turn.every);
    return seconds;
}

bool play(Rounds &rounds, const std::vector<Turn> &turns)
{
    std::mt19937_64 random(rounds.seed);
    std::vector<std::size_t> order(turns.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    Progress progress(rounds.what, seconds_of(rounds, turns));
    const int64_t begin_ns = now_ns();
    double done = 0;
    for (unsigned round = 0; round < rounds.planned; round++) {
        const double took_s = static_cast<double>(now_ns() - begin_ns) / 1e9;
        if (rounds.seconds > 0 && round >= 2 && took_s * (round + 1) / round > rounds.seconds * 1.25)
            break;
        std::shuffle(order.begin(), order.end(), random);
        for (const std::size_t i : order) {
            const Turn &turn = turns[i];
            if (interrupted())
                return false;
            if (!takes_part(turn, round))
                continue;
            progress.at(done, rounds.planned == 1
                                  ? turn.what
                                  : fmt::format("round {} of {}, {}", round + 1, rounds.planned, turn.what));
            done += turn.seconds;
            if (!turn.error->empty())
                continue;
            if (fits(rounds, turn))
                turn.run(round);
            else
                rounds.skipped++;
        }
        rounds.done = round + 1;
    }
    return true;
}

static int conclude(Experiment &experiment, const char *name, bool complete)
{
    const bool any = experiment.measured();
    if (any)
        experiment.print_results();
    const std::vector<std::string> left_out = experiment.left_out();
    for (const std::string &text : left_out)
        fmt::print("{}\n", text);
    if (!any && !complete)
        return complain(exit_interrupted, "nothing was measured");
    if (!any)
        return complain(left_out.empty() ? exit_usage : exit_check_failed, "nothing was measured");
    const bool times = complete && !experiment.common.quick;
    const std::vector<Verdict> verdicts = experiment.judge(times);
    if (!verdicts.empty())
        fmt::print("\n{}", judgement_text(verdicts, times));
    Document document(name, experiment.machine);
    add_arguments(experiment.common, document);
    experiment.fill(document);
    document.verdicts(verdicts);
    if (!experiment.out.empty())
        fmt::print("\n{}\n", document.write_page(experiment.out));
    const int code = left_out.empty() && !any_failed(verdicts) ? exit_ok : exit_check_failed;
    return finish(experiment.common, document, complete ? code : exit_interrupted);
}

static void need_page_writable(const std::string &directory, const char *name)
{
    std::error_code failure;
    if (directory.empty())
        return;
    std::filesystem::create_directories(directory, failure);
    if (failure)
        throw Refusal(fmt::format("--out {}: {}; name another directory", directory, failure.message()));
    need_writable(fmt::format("{}/{}.json", directory, name));
}

int run_experiment(Experiment &experiment, const char *name)
{
    experiment.began_ns = now_ns();
    experiment.machine = read_machine();
    need_writable(experiment.common.json);
    need_page_writable(experiment.out, name);
    try {
        experiment.prepare();
    } catch (const Refusal &refusal) {
        return complain(exit_usage, refusal.what());
    }
    catch_interrupt();
    fmt::print("Kernel {}, PREEMPT_RT: {}.\n", experiment.machine.kernel, experiment.machine.preempt_rt ? "yes" : "no");
    experiment.print_plan();
    fflush(stdout); // so that a program that reads the plan from a pipe sees it before the measurement begins
    const bool complete = experiment.measure();
    if (!complete)
        fmt::print("interrupted: the figures cover only the completed part\n");
    return conclude(experiment, name, complete);
}

} // namespace lab
