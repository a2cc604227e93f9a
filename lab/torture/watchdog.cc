// SPDX-License-Identifier: MIT OR Apache-2.0
// Watches the progress of the actors, and prints a dump if one of them hangs.
#include "torture/watchdog.h"

#include <dirent.h>
#include <fmt/format.h>
#include <unistd.h>

#include <fstream>

#include "measure/clock.h"

namespace lab::torture
{
namespace
{

std::string read_word_file(const std::string &path)
{
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

// Prints the state, kernel function and system call of each thread of the process, as the kernel reports them.
void dump_threads()
{
    DIR *tasks = opendir("/proc/self/task");
    if (!tasks)
        return;
    while (dirent *entry = readdir(tasks)) {
        if (entry->d_name[0] == '.')
            continue;
        const std::string folder = fmt::format("/proc/self/task/{}/", entry->d_name);
        std::string stat = read_word_file(folder + "stat");
        const std::size_t close = stat.rfind(')');
        const std::string state = close == std::string::npos ? "?" : stat.substr(close + 2, 1);
        Findings::say(fmt::format("    thread {} \"{}\" state {} in {} system call {}\n", entry->d_name,
                                  read_word_file(folder + "comm"), state, read_word_file(folder + "wchan"),
                                  read_word_file(folder + "syscall")));
    }
    closedir(tasks);
}

void dump_stats()
{
    struct rtrcu_stats s {
    };
    s.size = sizeof(s);
    rtrcu_stats(&s);
    Findings::say(
        fmt::format("    library: {} grace periods ({} had to sleep, {} by callers), {} expedited, {} threads, "
                    "backlog {}, {} driver passes, {} wake-ups, {} stall reports, full fences {}\n",
                    s.gp_completed, s.gp_slept, s.gp_by_caller, s.exp_completed, s.threads_registered,
                    s.callbacks_backlog, s.driver_passes, s.driver_wakeups, s.stall_reports, s.full_fences));
}

} // namespace

Watchdog::Watchdog(Context &context) : context_(context), thread_([this] { watch(); })
{
}

Watchdog::~Watchdog()
{
    stop();
}

void Watchdog::expect_end()
{
    end_since_ns_.store(now_ns());
}

void Watchdog::stop()
{
    stopping_.store(true);
    if (thread_.joinable())
        thread_.join();
    publish();
}

void Watchdog::publish()
{
    struct rtrcu_stats stats {
    };
    stats.size = sizeof(stats);
    rtrcu_stats(&stats);
    SharedResult &shared = context_.shared;
    shared.grace_periods.store(stats.gp_completed + stats.exp_completed);
    shared.expedited_grace_periods.store(stats.exp_completed);
    shared.boosts.store(stats.boosts);
    shared.resizes.store(context_.table.resizes());
    shared.callbacks_queued.store(context_.callbacks_queued.load());
    shared.callbacks_invoked.store(context_.callbacks_invoked.load());
}

const ActorRecord *Watchdog::find_hung(int64_t now)
{
    for (uint32_t i = 0; i < context_.shared.actors.load() && i < actors_max; i++) {
        const ActorRecord &actor = context_.shared.actor[i];
        const Seen at = {actor.beats.load(), actor.doing.load(), now};
        const auto doing = static_cast<Doing>(at.doing);
        const bool may_wait = doing == Doing::paused || doing == Doing::finished || doing == Doing::nothing;
        if (may_wait || at.beats != seen_[i].beats || at.doing != seen_[i].doing)
            seen_[i] = at;
        else if (now - seen_[i].since_ns > context_.patience_ns)
            return &actor;
    }
    return nullptr;
}

// Does not count a time in which the watchdog's thread did not run as waiting time of the actors, since the whole
// process may have been stopped.
void Watchdog::forgive(int64_t ns)
{
    context_.gaps.fetch_add(1);
    for (Seen &seen : seen_)
        seen.since_ns += ns;
    if (end_since_ns_.load() != 0)
        end_since_ns_.fetch_add(ns);
}

void Watchdog::watch()
{
    int64_t before = now_ns();
    while (!stopping_.load()) {
        pause_ns(watch_step_ns);
        publish();
        const int64_t now = now_ns();
        if (now - before > watch_gap_ns)
            forgive(now - before);
        before = now;
        const int64_t end_since = end_since_ns_.load();
        if (const ActorRecord *hung = find_hung(now))
            give_up(hung->name.data(), name_of(static_cast<Doing>(hung->doing.load())), context_.patience_ns);
        // Actors end one after another, so the end of the run may take three times as long as a wait.
        if (end_since != 0 && now - end_since > 3 * context_.patience_ns)
            give_up("main", "the end of the run", now - end_since);
    }
}

void Watchdog::give_up(const char *who, const char *what, int64_t ns)
{
    context_.findings.report(Check::hang, "{} has been in {} for {:.1f} s", who, what, static_cast<double>(ns) / 1e9);
    for (uint32_t i = 0; i < context_.shared.actors.load() && i < actors_max; i++) {
        const ActorRecord &actor = context_.shared.actor[i];
        Findings::say(fmt::format("    {} (thread {}): {}, {} beats, {} reads, {} updates\n", actor.name.data(),
                                  actor.thread_id.load(), name_of(static_cast<Doing>(actor.doing.load())),
                                  actor.beats.load(), actor.reads.load(), actor.updates.load()));
    }
    dump_stats();
    dump_threads();
    _exit(1);
}

} // namespace lab::torture
