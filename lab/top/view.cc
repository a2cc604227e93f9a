// SPDX-License-Identifier: MIT OR Apache-2.0
// The figures of `rtrcu top`, and lines of text made from them.
#include "top/view.h"

#include <algorithm>

#include "report/table.h"

namespace lab::top
{

using inspect::Domain;
using inspect::expedited;
using inspect::GracePeriods;
using inspect::normal;
using inspect::Task;
using inspect::Thread;

double View::seconds() const
{
    return before ? static_cast<double>(now.at_ns - before->at_ns) / 1e9 : 0;
}

std::optional<double> View::rate(uint64_t then, uint64_t later) const
{
    if (seconds() <= 0 || later < then)
        return std::nullopt;
    return static_cast<double>(later - then) / seconds();
}

std::optional<double> View::gp_per_s(inspect::Kind kind) const
{
    return before ? rate(before->gp[kind].completed, now.gp[kind].completed) : std::nullopt;
}

std::optional<double> View::callbacks_per_s() const
{
    return before ? rate(before->invoked, now.invoked) : std::nullopt;
}

double View::gp_quantile_ns(inspect::Kind kind, double quantile) const
{
    const auto &all = now.gp[kind].histogram;
    const double value = inspect::quantile_ns(before ? inspect::since(before->gp[kind].histogram, all) : all, quantile);
    // A bucket's upper limit may exceed the largest value in it.
    return std::min(value, static_cast<double>(now.gp[kind].longest_ns));
}

int64_t View::gp_age_ns(inspect::Kind kind) const
{
    const GracePeriods &gp = now.gp[kind];
    return gp.running ? std::max<int64_t>(now.at_ns - gp.began_ns, 0) : 0;
}

uint64_t View::limits() const
{
    uint64_t sum = 0;
    for (const char *name :
         {"over_qmax", "blocked_at_qmax", "limit_raised", "deadline_stops", "budget_stops", "limit_stops"})
        sum += now.counter(std::string("callbacks.") + name);
    return sum;
}

std::vector<View> views(const std::vector<inspect::Process> &now, const std::vector<View> &before)
{
    std::vector<View> all;
    for (const inspect::Process &process : now) {
        View view;
        view.pid = process.pid;
        view.process = process.name;
        view.problem = process.problem;
        if (process.copies.empty() || !process.problem.empty())
            all.push_back(view);
        view.problem.clear();
        for (const inspect::CopyLook &look : process.copies) {
            view.object = look.copy.object.substr(look.copy.object.rfind('/') + 1);
            view.library = look.library;
            view.is_private = look.copy.is_private;
            for (const Domain &domain : look.domains) {
                view.now = domain;
                view.before.reset();
                for (const View &old : before)
                    if (old.pid == view.pid && old.object == view.object && old.now.name == domain.name &&
                        old.process == view.process && old.problem.empty())
                        view.before = old.now;
                all.push_back(view);
            }
        }
    }
    return all;
}

std::string duration(double ns)
{
    struct Unit {
        double ns;
        const char *name;
    };
    if (ns <= 0)
        return "-";
    for (const Unit &unit : {Unit{3600e9, "h"}, {60e9, "min"}, {1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}})
        if (ns >= unit.ns)
            return fmt::format("{} {}", number(ns / unit.ns), unit.name);
    return fmt::format("{:.0f} ns", ns);
}

std::string rate_text(const std::optional<double> &rate)
{
    return !rate ? "" : *rate == 0 ? "0" : *rate < 10 ? fmt::format("{:.1f}", *rate) : whole(*rate);
}

std::string count_text(uint64_t count)
{
    return count == 0 ? "-" : whole(static_cast<double>(count));
}

// ---- the list of domains ----

static std::string section_text(const View &view)
{
    const auto longest = view.now.longest_section();
    return duration(longest ? static_cast<double>(longest->ns) : 0);
}

const std::vector<ListColumn> &list_columns()
{
    static const std::vector<ListColumn> columns = {
        {"PID", "process", 7, false, [](const View &v) { return std::to_string(v.pid); },
         [](const View &v) { return double(v.pid); }},
        {"PROCESS", "name of the process", 15, true, [](const View &v) { return v.process; }, nullptr},
        {"DOMAIN", "name of the domain", 8, true, [](const View &v) { return v.is_private ? "private" : v.now.name; },
         nullptr},
        {"GP/S", "grace periods per second", 8, false, [](const View &v) { return rate_text(v.gp_per_s(normal)); },
         [](const View &v) { return v.gp_per_s(normal).value_or(0); }},
        {"P99", "99th percentile of durations", 8, false,
         [](const View &v) { return duration(v.gp_quantile_ns(normal, 0.99)); },
         [](const View &v) { return v.gp_quantile_ns(normal, 0.99); }},
        {"QUEUED", "callbacks and frees that have not returned", 8, false,
         [](const View &v) { return count_text(v.now.pending()); },
         [](const View &v) { return double(v.now.pending()); }},
        {"OLDEST", "age of the oldest callback", 8, false,
         [](const View &v) { return duration(static_cast<double>(v.now.oldest_age_ns())); },
         [](const View &v) { return double(v.now.oldest_age_ns()); }},
        {"IN", "threads inside a section", 4, false, [](const View &v) { return count_text(v.now.inside()); },
         [](const View &v) { return double(v.now.inside()); }},
        {"NOW", "age of the grace period under way", 8, false,
         [](const View &v) { return duration(static_cast<double>(v.gp_age_ns(normal))); },
         [](const View &v) { return double(v.gp_age_ns(normal)); }},
        {"P50", "median duration", 8, false, [](const View &v) { return duration(v.gp_quantile_ns(normal, 0.5)); },
         [](const View &v) { return v.gp_quantile_ns(normal, 0.5); }},
        {"MAX", "the longest grace period", 8, false,
         [](const View &v) { return duration(static_cast<double>(v.now.gp[normal].longest_ns)); },
         [](const View &v) { return double(v.now.gp[normal].longest_ns); }},
        {"EXP/S", "expedited grace periods per second", 7, false,
         [](const View &v) { return rate_text(v.gp_per_s(expedited)); },
         [](const View &v) { return v.gp_per_s(expedited).value_or(0); }},
        {"CB/S", "callbacks per second", 9, false, [](const View &v) { return rate_text(v.callbacks_per_s()); },
         [](const View &v) { return v.callbacks_per_s().value_or(0); }},
        {"READY", "threads with ready callbacks", 5, false, [](const View &v) { return count_text(v.now.ready()); },
         [](const View &v) { return double(v.now.ready()); }},
        {"PARKED", "tasks parked inside a section", 6, false,
         [](const View &v) { return count_text(v.now.tasks.size()); },
         [](const View &v) { return double(v.now.tasks.size()); }},
        {"THREADS", "registered threads", 7, false,
         [](const View &v) { return count_text(v.now.counter("registry.registered")); },
         [](const View &v) { return double(v.now.counter("registry.registered")); }},
        {"BOOSTS", "boosts so far", 8, false, [](const View &v) { return count_text(v.now.counter("drive.boosts")); },
         [](const View &v) { return double(v.now.counter("drive.boosts")); }},
        {"STALLS", "stall reports", 6, false,
         [](const View &v) { return count_text(v.now.counter("watch.stall_reports")); },
         [](const View &v) { return double(v.now.counter("watch.stall_reports")); }},
        {"LIMITS", "times that a limit was reached", 9, false, [](const View &v) { return count_text(v.limits()); },
         [](const View &v) { return double(v.limits()); }},
        {"SECTION", "the longest section, if sections are measured", 8, false,
         [](const View &v) { return section_text(v); },
         [](const View &v) {
             return double(v.now.longest_section().value_or(Domain::Section{0, 0}).ns);
         }},
        {"LIBRARY", "version", 8, true, [](const View &v) { return v.library; }, nullptr},
        {"OBJECT", "program or library that contains the copy of rtrcu", 24, true,
         [](const View &v) { return v.object; }, nullptr},
    };
    return columns;
}

std::vector<std::size_t> columns_that_fit(std::size_t width)
{
    std::vector<std::size_t> fit;
    std::size_t used = 0;
    for (std::size_t i = 0; i < list_columns().size(); i++) {
        used += list_columns()[i].width + (i != 0 ? 1 : 0);
        if (used > width)
            break;
        fit.push_back(i);
    }
    return fit;
}

std::string cut(std::string text, std::size_t width)
{
    while (display_width(text) > width) {
        while ((static_cast<unsigned char>(text.back()) & 0xc0) == 0x80)
            text.pop_back();
        text.pop_back();
    }
    return text;
}

static std::string fitted(const std::string &whole_text, std::size_t width, bool is_left)
{
    const std::string text = cut(whole_text, width), gap(width - display_width(text), ' ');
    return is_left ? text + gap : gap + text;
}

std::string list_heading(const std::vector<std::size_t> &columns)
{
    std::string line;
    for (std::size_t i : columns) {
        const ListColumn &column = list_columns()[i];
        line += (line.empty() ? "" : " ") + fitted(column.heading, column.width, column.is_left);
    }
    return line;
}

std::string list_line(const std::vector<std::size_t> &columns, const View &view)
{
    std::string line;
    for (std::size_t i : columns) {
        const ListColumn &column = list_columns()[i];
        line += (line.empty() ? "" : " ") + fitted(column.text(view), column.width, column.is_left);
        if (i == 1 && !view.problem.empty())
            return line + " " + view.problem;
    }
    return line;
}

void sort_views(std::vector<View> &views, std::size_t column, bool reverse)
{
    const ListColumn &by = list_columns()[column];
    std::stable_sort(views.begin(), views.end(), [&](const View &a, const View &b) {
        const View &first = reverse ? b : a, &second = reverse ? a : b;
        return by.value != nullptr ? by.value(first) < by.value(second) : by.text(first) < by.text(second);
    });
}

// ---- the details of one domain ----

namespace
{

std::string gp_line(const View &view, inspect::Kind kind)
{
    const GracePeriods &gp = view.now.gp[kind];
    std::string state = gp.running ? fmt::format("number {} has been under way for {}", gp.number,
                                                 duration(static_cast<double>(view.gp_age_ns(kind))))
                                   : "none is under way";
    return fmt::format("{:<9} {}; {} ended, {}/s; p50 {}, p99 {}, max {}", inspect::kind_names[kind], state,
                       whole(static_cast<double>(gp.completed)), rate_text(view.gp_per_s(kind)),
                       duration(view.gp_quantile_ns(kind, 0.5)), duration(view.gp_quantile_ns(kind, 0.99)),
                       duration(static_cast<double>(gp.longest_ns)));
}

std::string state_text(const View &view, const Thread &thread)
{
    std::string text;
    auto add = [&](const std::string &part) { text += (text.empty() ? "" : ", ") + part; };
    if (!thread.is_registered)
        return thread.id == 0 ? "of threads without a record" : "exited";
    if (thread.nesting != 0)
        add(thread.nesting == 1 ? "inside" : fmt::format("inside, nesting {}", thread.nesting));
    if (view.now.inside_ns(thread) != 0)
        add("for " + duration(static_cast<double>(view.now.inside_ns(thread))));
    if (thread.is_quiescent_state)
        add("online");
    for (inspect::Kind kind : {normal, expedited})
        if (thread.is_waited_for[kind])
            add(fmt::format("{}holdout for {}", kind == expedited ? "expedited " : "",
                            duration(static_cast<double>(view.gp_age_ns(kind)))));
    if (thread.is_boosted)
        add("boosted");
    if (thread.has_deadline)
        add("deadline");
    if (thread.parked != 0)
        add(fmt::format("{} tasks parked", thread.parked));
    return text.empty() ? "outside" : text;
}

std::string thread_line(const View &view, const Thread &thread)
{
    const double age = thread.oldest_ns != 0 ? static_cast<double>(view.now.at_ns - thread.oldest_ns) : 0;
    return fmt::format("{:>8} {} {:>9} {:>5} {} {}", thread.id, fitted(thread.name, 15, true),
                       count_text(thread.pending()), thread.has_ready ? "yes" : "-", fitted(duration(age), 8, false),
                       state_text(view, thread));
}

// Sorts threads: first those that hold up a grace period, then those inside sections, then by number of callbacks.
std::vector<Thread> by_weight(std::vector<Thread> threads)
{
    auto weight = [](const Thread &thread) {
        const bool waited = thread.is_waited_for[normal] || thread.is_waited_for[expedited];
        return std::make_tuple(!waited, !thread.is_inside(), ~thread.pending(), thread.id);
    };
    std::stable_sort(threads.begin(), threads.end(),
                     [&](const Thread &a, const Thread &b) { return weight(a) < weight(b); });
    return threads;
}

// Returns a table with the counters of rtrcu_thread_stats() for each thread that has them; empty if no thread does.
std::vector<std::string> stats_lines(const std::vector<Thread> &threads)
{
    std::vector<std::string> lines;
    for (const Thread &thread : threads)
        if (thread.stats)
            lines.push_back(fmt::format("{:>8} {} {:>9} {:>9} {} {} {:>6} {:>9}", thread.id,
                                        fitted(thread.name, 15, true), count_text(thread.stats->slow_paths),
                                        count_text(thread.stats->system_calls),
                                        fitted(duration(static_cast<double>(thread.stats->callback_ns)), 9, false),
                                        fitted(duration(static_cast<double>(thread.stats->batch_ns_max)), 8, false),
                                        count_text(thread.stats->boosts), count_text(thread.stats->lock_waits)));
    if (lines.empty())
        return lines;
    lines.insert(lines.begin(), {"", "totals of each thread since it began:",
                                 fmt::format("{:>8} {:<15} {:>9} {:>9} {:>9} {:>8} {:>6} {:>9}", "THREAD", "NAME",
                                             "SLOW", "SYSCALLS", "CALLBACKS", "LONGEST", "BOOSTS", "LOCKWAITS")});
    return lines;
}

} // namespace

std::vector<std::string> depth_lines(const View &view, std::size_t width)
{
    std::vector<std::string> lines;
    if (!view.problem.empty()) {
        lines.push_back(view.problem);
        return lines;
    }
    const Domain &now = view.now;
    auto count = [&](const char *name) { return count_text(now.counter(name)); };
    lines.push_back(fmt::format("{} {}  domain {}  library {} in {}{}", view.pid, view.process, now.name, view.library,
                                view.object, view.is_private ? " (private)" : ""));
    for (inspect::Kind kind : {normal, expedited})
        lines.push_back(gp_line(view, kind));
    lines.push_back(fmt::format("callbacks {} pending, {}/s, oldest {}, longest {}; barriers {}",
                                count_text(now.pending()), rate_text(view.callbacks_per_s()),
                                duration(static_cast<double>(now.oldest_age_ns())),
                                duration(static_cast<double>(now.longest_ns)), count("callbacks.barriers")));
    lines.push_back(fmt::format("threads   {} now, peak {}; {}", count("registry.registered"),
                                count("registry.registered_peak"),
                                now.counter("registry.fence_mode") % 2 != 0 ? "full fences" : "no fences"));
    lines.push_back(
        fmt::format("sections  {} inside, {} holdouts; anonymous {}; the longest {}", now.inside(), now.waited_for(),
                    count("registry.anonymous"),
                    now.longest_section() ? section_text(view) : "not measured, built without RTRCU_DEBUG"));
    lines.push_back(fmt::format("boosts    {} for {}, refused {}, given up {}; stall reports {}", count("drive.boosts"),
                                duration(static_cast<double>(now.counter("drive.boost_ns"))),
                                count("drive.boost_refused"), count("drive.boost_given_up"),
                                count("watch.stall_reports")));
    lines.push_back(fmt::format("limits    over qmax {}, blocked {}, raised {}; batches cut by deadline {}, time {}, "
                                "count {}",
                                count("callbacks.over_qmax"), count("callbacks.blocked_at_qmax"),
                                count("callbacks.limit_raised"), count("callbacks.deadline_stops"),
                                count("callbacks.budget_stops"), count("callbacks.limit_stops")));
    lines.emplace_back();
    lines.push_back(
        fmt::format("{:>8} {:<15} {:>9} {:>5} {:>8} {}", "THREAD", "NAME", "QUEUED", "READY", "OLDEST", "STATE"));
    const std::vector<Thread> threads = by_weight(now.threads);
    for (const Thread &thread : threads)
        lines.push_back(thread_line(view, thread));
    for (const Task &task : now.tasks)
        lines.push_back(fmt::format("{:>8} {} parked inside a section{}", "task",
                                    task.name.empty() ? "(no name)" : task.name,
                                    task.is_waited_for[normal]      ? ", holdout"
                                    : task.is_waited_for[expedited] ? ", expedited holdout"
                                                                    : ""));
    for (const std::string &line : stats_lines(threads))
        lines.push_back(line);
    for (std::string &line : lines)
        line = cut(line, width);
    return lines;
}

} // namespace lab::top
