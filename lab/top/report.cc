// SPDX-License-Identifier: MIT OR Apache-2.0
// The rows of `rtrcu top`, and its metrics by Prometheus' conventions: base units, and names of counters that end in
// _total.
#include "top/report.h"

#include <functional>

#include "report/row.h"

namespace lab::top
{
namespace
{

using inspect::expedited;
using inspect::Kind;
using inspect::normal;
using inspect::Thread;

// One row for each domain, then one for each thread and one for each parked task; "row" names the kind.  The counters
// of struct rtrcu_stats have their names here.
struct DomainRow : Fields {
    Text row{*this, "row"};
    Whole pid{*this, "pid"};
    Text number{*this, nullptr, {0, "pid"}};
    Text process{*this, "process", {0, "process"}};
    Text object{*this, "object"}, library{*this, "library"};
    Flag is_private{*this, "private"};
    Text domain{*this, "domain", {0, "domain"}};
    Text problem{*this, "problem"};
    Number gp_per_s{*this, "gp_per_s", {0, "gp/s"}};
    Number gp_p50_us{*this, "gp_p50_us", {0, "p50 µs"}}, gp_p99_us{*this, "gp_p99_us", {0, "p99 µs"}};
    Whole gp_ns_max{*this, "gp_ns_max", {0, "max µs", nullptr, 1e-3}}, gp_ns_last{*this, "gp_ns_last"};
    Number gp_age_ms{*this, "gp_age_ms", {0, "now ms"}};
    Whole gp_completed{*this, "gp_completed"}, gp_busy{*this, "gp_busy"}, gp_slept{*this, "gp_slept"};
    Whole gp_at_once{*this, "gp_at_once"}, gp_unfenced{*this, "gp_unfenced"}, gp_by_caller{*this, "gp_by_caller"};
    Number exp_per_s{*this, "exp_per_s", {0, "exp/s"}};
    Number exp_p50_us{*this, "exp_p50_us"}, exp_p99_us{*this, "exp_p99_us"}, exp_max_us{*this, "exp_max_us"};
    Number exp_age_ms{*this, "exp_age_ms"};
    Whole exp_completed{*this, "exp_completed"}, exp_by_caller{*this, "exp_by_caller"};
    Whole full_fences{*this, "full_fences"}, fence_refused{*this, "fence_refused"};
    Number callbacks_per_s{*this, "callbacks_per_s", {0, "cb/s"}};
    Whole callbacks_backlog{*this, "callbacks_backlog", {0, "queued"}};
    Whole callbacks_queued{*this, "callbacks_queued"}, callbacks_invoked{*this, "callbacks_invoked"};
    Whole callbacks_by_owner{*this, "callbacks_by_owner"}, callbacks_direct{*this, "callbacks_direct"};
    Whole direct_refused{*this, "direct_refused"}, krcud_given{*this, "krcud_given"};
    Whole callbacks_lost_at_fork{*this, "callbacks_lost_at_fork"};
    Whole frees_leaked{*this, "frees_leaked"}, barriers{*this, "barriers"};
    Whole ready{*this, "threads_with_ready", {0, "ready"}};
    Number oldest_ms{*this, "oldest_callback_ms", {0, "oldest ms"}};
    Whole callback_oldest_ns{*this, "callback_oldest_ns"}, callback_ns_max{*this, "callback_ns_max"};
    Whole callback_longest{*this, "callback_longest"};
    Counts latency{*this, "latency_us_log2"};
    Whole section_ns_max{*this, "section_ns_max"}, section_longest{*this, "section_longest"};
    Whole threads{*this, "threads_registered", {0, "threads"}};
    Whole threads_peak{*this, "threads_peak"}, threads_deadline{*this, "threads_deadline"};
    Whole threads_slept{*this, "threads_slept"}, threads_woken{*this, "threads_woken"};
    Whole slow_locks{*this, "slow_locks"};
    Whole inside{*this, "inside", {0, "in"}};
    Whole holdouts{*this, "holdouts", {0, "holdouts"}};
    Whole parked{*this, "parked", {0, "parked"}};
    Whole boosts{*this, "boosts", {0, "boosts"}}, boost_refused{*this, "boost_refused"};
    Whole boost_ns{*this, "boost_ns"}, boost_ns_max{*this, "boost_ns_max"}, boost_given_up{*this, "boost_given_up"};
    Whole stall_reports{*this, "stall_reports", {0, "stalls"}};
    Whole limits{*this, "limits_hit", {0, "limits"}};
    Whole over_qmax{*this, "over_qmax"}, blocked_at_qmax{*this, "blocked_at_qmax"};
    Whole limit_raised{*this, "limit_raised"}, limit_stops{*this, "limit_stops"};
    Whole deadline_stops{*this, "deadline_stops"}, budget_stops{*this, "budget_stops"};
    Whole driver_wakeups{*this, "driver_wakeups"}, driver_passes{*this, "driver_passes"};
    Whole rt_refused{*this, "rt_refused"}, threads_refused{*this, "threads_refused"};
};

// The fields of a row that are words of the block, copied unchanged.
constexpr std::pair<Whole DomainRow::*, const char *> words[] = {
    {&DomainRow::fence_refused, "drive.fence_refused"},
    {&DomainRow::callbacks_by_owner, "callbacks.by_owner"},
    {&DomainRow::callbacks_direct, "callbacks.direct"},
    {&DomainRow::direct_refused, "callbacks.direct_refused"},
    {&DomainRow::krcud_given, "drive.krcud_given"},
    {&DomainRow::callbacks_lost_at_fork, "callbacks.lost_at_fork"},
    {&DomainRow::frees_leaked, "callbacks.frees_leaked"},
    {&DomainRow::barriers, "callbacks.barriers"},
    {&DomainRow::threads, "registry.registered"},
    {&DomainRow::threads_peak, "registry.registered_peak"},
    {&DomainRow::threads_deadline, "registry.deadline_count"},
    {&DomainRow::threads_slept, "leaf.slept"},
    {&DomainRow::threads_woken, "leaf.woken"},
    {&DomainRow::boosts, "drive.boosts"},
    {&DomainRow::boost_ns, "drive.boost_ns"},
    {&DomainRow::boost_ns_max, "drive.boost_ns_max"},
    {&DomainRow::boost_refused, "drive.boost_refused"},
    {&DomainRow::boost_given_up, "drive.boost_given_up"},
    {&DomainRow::stall_reports, "watch.stall_reports"},
    {&DomainRow::over_qmax, "callbacks.over_qmax"},
    {&DomainRow::blocked_at_qmax, "callbacks.blocked_at_qmax"},
    {&DomainRow::limit_raised, "callbacks.limit_raised"},
    {&DomainRow::limit_stops, "callbacks.limit_stops"},
    {&DomainRow::deadline_stops, "callbacks.deadline_stops"},
    {&DomainRow::budget_stops, "callbacks.budget_stops"},
    {&DomainRow::driver_wakeups, "drive.wakeups"},
    {&DomainRow::driver_passes, "drive.passes"},
    {&DomainRow::rt_refused, "drive.rt_refused"},
    {&DomainRow::threads_refused, "drive.threads_refused"},
};

struct ThreadRow : Fields {
    Text row{*this, "row"};
    Whole pid{*this, "pid"};
    Text process{*this, "process"}, object{*this, "object"}, domain{*this, "domain"};
    Whole thread{*this, "thread"};
    Text name{*this, "name"};
    Flag registered{*this, "registered"}, online{*this, "online"}, deadline{*this, "deadline"},
        boosted{*this, "boosted"};
    Whole nesting{*this, "nesting"};
    Number inside_ms{*this, "inside_ms"}; // set only if the program was built with RTRCU_DEBUG
    Flag waited_for{*this, "waited_for"}, waited_for_expedited{*this, "waited_for_expedited"};
    Whole pending{*this, "callbacks_pending"};
    Flag ready{*this, "ready"};
    Number oldest_ms{*this, "oldest_callback_ms"};
    Whole tasks{*this, "tasks_parked"};
    // As in struct rtrcu_thread_stats; null if the thread has ended or has no such counters.
    Whole slow_paths{*this, "slow_paths"}, system_calls{*this, "system_calls"};
    Whole callback_ns{*this, "callback_ns"}, batch_ns_max{*this, "batch_ns_max"};
    Whole boosts{*this, "boosts"}, lock_waits{*this, "lock_waits"};
};

struct TaskRow : Fields {
    Text row{*this, "row"};
    Whole pid{*this, "pid"};
    Text process{*this, "process"}, object{*this, "object"}, domain{*this, "domain"}, name{*this, "name"};
    Flag waited_for{*this, "waited_for"}, waited_for_expedited{*this, "waited_for_expedited"};
};

template <class Row> void fill_home(Row &row, const View &view, const char *what)
{
    row.row = what;
    row.pid = static_cast<uint64_t>(view.pid);
    row.process = view.process;
    row.object = view.object;
    row.domain = view.now.name;
}

void fill_grace_periods(DomainRow &row, const View &view)
{
    const inspect::GracePeriods &gp = view.now.gp[normal], &exp = view.now.gp[expedited];
    row.gp_per_s = view.gp_per_s(normal);
    row.gp_p50_us = view.gp_quantile_ns(normal, 0.5) / 1e3;
    row.gp_p99_us = view.gp_quantile_ns(normal, 0.99) / 1e3;
    row.gp_ns_max = static_cast<uint64_t>(gp.longest_ns);
    row.gp_ns_last = static_cast<uint64_t>(gp.last_ns);
    row.gp_age_ms = static_cast<double>(view.gp_age_ns(normal)) / 1e6;
    row.gp_completed = gp.completed;
    row.gp_busy = gp.busy;
    row.gp_slept = gp.slept;
    row.gp_at_once = gp.at_once;
    row.gp_unfenced = gp.unfenced;
    row.gp_by_caller = gp.by_caller;
    row.exp_per_s = view.gp_per_s(expedited);
    row.exp_p50_us = view.gp_quantile_ns(expedited, 0.5) / 1e3;
    row.exp_p99_us = view.gp_quantile_ns(expedited, 0.99) / 1e3;
    row.exp_max_us = static_cast<double>(exp.longest_ns) / 1e3;
    row.exp_age_ms = static_cast<double>(view.gp_age_ns(expedited)) / 1e6;
    row.exp_completed = exp.completed;
    row.exp_by_caller = exp.by_caller;
}

void fill_callbacks(DomainRow &row, const View &view)
{
    const inspect::Domain &now = view.now;
    row.callbacks_per_s = view.callbacks_per_s();
    row.callbacks_backlog = now.pending();
    row.callbacks_queued = now.queued;
    row.callbacks_invoked = now.invoked;
    row.ready = now.ready();
    row.oldest_ms = static_cast<double>(now.oldest_age_ns()) / 1e6;
    row.callback_oldest_ns = now.oldest_age_ns() != 0 ? static_cast<uint64_t>(now.at_ns - now.oldest_age_ns()) : 0;
    row.callback_ns_max = now.longest_ns;
    row.callback_longest = now.longest_function;
    row.latency = now.waits;
}

DomainRow row_of(const View &view)
{
    const inspect::Domain &now = view.now;
    DomainRow row;
    fill_home(row, view, "domain");
    row.number = std::to_string(view.pid);
    row.problem = view.problem;
    if (!view.problem.empty())
        return row;
    row.library = view.library;
    row.is_private = view.is_private;
    for (const auto &[field, name] : words)
        row.*field = now.counter(name);
    fill_grace_periods(row, view);
    fill_callbacks(row, view);
    if (const auto longest = now.longest_section()) { // null if no code of the program was built with RTRCU_DEBUG
        row.section_ns_max = static_cast<uint64_t>(longest->ns);
        row.section_longest = longest->began_at;
    }
    row.full_fences = now.counter("registry.fence_mode") % 2;
    row.slow_locks = now.slow_calls;
    row.inside = now.inside();
    row.holdouts = now.waited_for();
    row.parked = now.tasks.size();
    row.limits = view.limits();
    return row;
}

ThreadRow row_of(const View &view, const Thread &thread)
{
    ThreadRow row;
    fill_home(row, view, "thread");
    row.thread = static_cast<uint64_t>(thread.id);
    row.name = thread.name;
    row.registered = thread.is_registered;
    row.online = thread.is_quiescent_state;
    row.deadline = thread.has_deadline;
    row.boosted = thread.is_boosted;
    row.nesting = thread.nesting;
    if (view.now.inside_ns(thread) != 0)
        row.inside_ms = static_cast<double>(view.now.inside_ns(thread)) / 1e6;
    row.waited_for = thread.is_waited_for[normal];
    row.waited_for_expedited = thread.is_waited_for[expedited];
    row.pending = thread.pending();
    row.ready = thread.has_ready;
    row.oldest_ms = thread.oldest_ns != 0 ? static_cast<double>(view.now.at_ns - thread.oldest_ns) / 1e6 : 0;
    row.tasks = thread.parked;
    if (thread.stats) {
        row.slow_paths = thread.stats->slow_paths;
        row.system_calls = thread.stats->system_calls;
        row.callback_ns = thread.stats->callback_ns;
        row.batch_ns_max = thread.stats->batch_ns_max;
        row.boosts = thread.stats->boosts;
        row.lock_waits = thread.stats->lock_waits;
    }
    return row;
}

// ---- Prometheus ----

std::string escaped(const std::string &text)
{
    std::string out;
    for (char c : text)
        out += c == '\\' ? "\\\\" : c == '"' ? "\\\"" : c == '\n' ? "\\n" : std::string(1, c);
    return out;
}

std::string labels(const View &view, const std::string &more = "")
{
    return fmt::format("{{pid=\"{}\",process=\"{}\",object=\"{}\",domain=\"{}\"{}{}}}", view.pid, escaped(view.process),
                       escaped(view.object), escaped(view.now.name), more.empty() ? "" : ",", more);
}

class Metrics
{
  public:
    explicit Metrics(const std::vector<View> &views) : views_(views)
    {
        for (const View &view : views)
            rows_.push_back(row_of(view));
    }
    void head(const char *name, const char *type, const char *help)
    {
        text_ += fmt::format("# HELP rtrcu_{} {}\n# TYPE rtrcu_{} {}\n", name, help, name, type);
    }
    void add(const char *name, const View &view, double value, const std::string &more = "")
    {
        text_ += fmt::format("rtrcu_{}{} {}\n", name, labels(view, more), value);
    }
    // Adds a field of each domain's row, times `scale`; omits domains whose field is unknown.
    template <class Value>
    void field(const char *name, const char *type, const char *help, Value DomainRow::*field, double scale)
    {
        head(name, type, help);
        for (std::size_t i = 0; i < rows_.size(); i++)
            if (const Figure value = scaled(rows_[i].*field, scale))
                add(name, views_[i], *value);
    }
    template <class Value> void counter(const char *name, const char *help, Value DomainRow::*of_row, double scale = 1)
    {
        field(name, "counter", help, of_row, scale);
    }
    template <class Value> void gauge(const char *name, const char *help, Value DomainRow::*of_row, double scale = 1)
    {
        field(name, "gauge", help, of_row, scale);
    }
    void by_kind(const char *name, const char *type, const char *help,
                 const std::function<double(const View &, Kind)> &value)
    {
        head(name, type, help);
        for (const View &view : views_)
            for (Kind kind : {normal, expedited})
                if (view.problem.empty())
                    add(name, view, value(view, kind), kind_label(kind));
    }
    // Adds the histogram of grace-period durations.  Each bucket covers one octave; its label is its upper limit.
    void lengths()
    {
        const char *name = "grace_period_seconds";
        head(name, "histogram", "Durations of grace periods, except those that found no reader.");
        for (const View &view : views_)
            for (Kind kind : {normal, expedited})
                if (view.problem.empty())
                    lengths_of(view, kind, name);
    }
    void waits()
    {
        const char *name = "callback_wait_seconds";
        head(name, "histogram",
             "Time from the oldest call_rcu() of a batch to the begin of the batch's first callback.");
        for (const View &view : views_) {
            if (!view.problem.empty())
                continue;
            double sum = 0;
            for (std::size_t i = 0; i < view.now.waits.size(); i++) {
                sum += static_cast<double>(view.now.waits[i]);
                if (i + 1 < view.now.waits.size())
                    add("callback_wait_seconds_bucket", view, sum,
                        fmt::format("le=\"{}\"", static_cast<double>(uint64_t(2) << i) / 1e6));
            }
            add("callback_wait_seconds_bucket", view, sum, "le=\"+Inf\"");
            add("callback_wait_seconds_count", view, sum);
        }
    }
    const std::string &text() const
    {
        return text_;
    }

  private:
    static std::string kind_label(Kind kind)
    {
        return fmt::format("kind=\"{}\"", inspect::kind_names[kind]);
    }
    void lengths_of(const View &view, Kind kind, const std::string &name)
    {
        const auto &histogram = view.now.gp[kind].histogram;
        double sum = 0;
        for (std::size_t i = 0; i < histogram.size(); i++) {
            sum += static_cast<double>(histogram[i]);
            // from a microsecond to four minutes
            if (i % 4 == 3 && i >= 35 && i < 148)
                add((name + "_bucket").c_str(), view, sum,
                    kind_label(kind) + fmt::format(",le=\"{}\"", inspect::bucket_begin_ns(i + 1) / 1e9));
        }
        add((name + "_bucket").c_str(), view, sum, kind_label(kind) + ",le=\"+Inf\"");
        add((name + "_count").c_str(), view, sum, kind_label(kind));
        add((name + "_sum").c_str(), view, static_cast<double>(view.now.gp[kind].sum_ns) / 1e9, kind_label(kind));
    }

    const std::vector<View> &views_;
    std::vector<DomainRow> rows_;
    std::string text_;
};

constexpr double seconds = 1e-9; // in nanoseconds

void grace_periods(Metrics &metrics)
{
    metrics.by_kind("grace_periods_total", "counter", "Grace periods that have ended.",
                    [](const View &view, Kind kind) { return double(view.now.gp[kind].completed); });
    metrics.by_kind("grace_period_age_seconds", "gauge", "Age of the grace period in progress, 0 if there is none.",
                    [](const View &view, Kind kind) { return double(view.gp_age_ns(kind)) / 1e9; });
    metrics.by_kind("grace_period_max_seconds", "gauge", "Longest grace period so far.",
                    [](const View &view, Kind kind) { return double(view.now.gp[kind].longest_ns) / 1e9; });
    metrics.by_kind("grace_period_last_seconds", "gauge", "Duration of the last grace period.",
                    [](const View &view, Kind kind) { return double(view.now.gp[kind].last_ns) / 1e9; });
    metrics.lengths();
    metrics.counter("gp_busy_total", "Grace periods that had to wait for a reader.", &DomainRow::gp_busy);
    metrics.counter("gp_slept_total", "Grace periods in which the advancing thread slept.", &DomainRow::gp_slept);
    metrics.counter("gp_at_once_total", "Grace periods that found no reader and completed immediately.",
                    &DomainRow::gp_at_once);
    metrics.counter("gp_unfenced_total", "Grace periods, advanced in steps, that needed no heavy fence.",
                    &DomainRow::gp_unfenced);
    metrics.counter("gp_by_caller_total", "Grace periods advanced by a caller.", &DomainRow::gp_by_caller);
    metrics.counter("exp_by_caller_total", "Expedited grace periods that a caller advanced to the end.",
                    &DomainRow::exp_by_caller);
    metrics.gauge("full_fences", "1 if readers use full fences, else 0.", &DomainRow::full_fences);
    metrics.counter("fence_refused_total", "Heavy fences that the kernel refused.", &DomainRow::fence_refused);
    metrics.counter("stall_reports_total", "Stall reports.", &DomainRow::stall_reports);
}

void callbacks(Metrics &metrics)
{
    metrics.counter("callbacks_queued_total", "Callbacks and frees that were queued.", &DomainRow::callbacks_queued);
    metrics.counter("callbacks_invoked_total", "Callbacks and frees that have returned.",
                    &DomainRow::callbacks_invoked);
    metrics.counter("callbacks_by_owner_total", "Callbacks and frees that returned in a call of their owner.",
                    &DomainRow::callbacks_by_owner);
    metrics.gauge("callbacks_backlog", "Callbacks that have not returned.", &DomainRow::callbacks_backlog);
    metrics.gauge("callback_oldest_seconds", "Age of the oldest callback that has not returned.", &DomainRow::oldest_ms,
                  1e-3);
    metrics.gauge("callback_max_seconds", "Longest callback.", &DomainRow::callback_ns_max, seconds);
    metrics.waits();
    metrics.counter("callbacks_direct_total", "Callbacks that call_rcu_rt() ran immediately.",
                    &DomainRow::callbacks_direct);
    metrics.counter("direct_refused_total", "Calls of call_rcu_rt() that had to queue.", &DomainRow::direct_refused);
    metrics.counter("callbacks_lost_at_fork_total", "Callbacks running in threads that a fork did not copy.",
                    &DomainRow::callbacks_lost_at_fork);
    metrics.counter("frees_leaked_total", "Pointers passed to rcu_free() without memory to queue them.",
                    &DomainRow::frees_leaked);
    metrics.counter("krcud_given_total", "Queues passed to a daemon.", &DomainRow::krcud_given);
    metrics.counter("over_qmax_total",
                    "Enqueues that succeeded and left a backlog above qmax or above the share in force.",
                    &DomainRow::over_qmax);
    metrics.counter("blocked_at_qmax_total", "Enqueues that waited at qmax.", &DomainRow::blocked_at_qmax);
    metrics.counter("limit_raised_total",
                    "Times that a backlog above qhimark lifted the limit on the number of callbacks in a batch.",
                    &DomainRow::limit_raised);
    metrics.counter("limit_stops_total", "Batches ended by a limit on the number of callbacks.",
                    &DomainRow::limit_stops);
    metrics.counter("deadline_stops_total", "Batches ended by a near deadline.", &DomainRow::deadline_stops);
    metrics.counter("budget_stops_total", "Batches ended by their time limit.", &DomainRow::budget_stops);
}

void threads(Metrics &metrics)
{
    metrics.gauge("threads_registered", "Registered threads.", &DomainRow::threads);
    metrics.gauge("threads_peak", "Most threads registered at a time.", &DomainRow::threads_peak);
    metrics.gauge("threads_deadline", "Deadline threads.", &DomainRow::threads_deadline);
    metrics.gauge("threads_inside", "Threads inside a section.", &DomainRow::inside);
    metrics.gauge("threads_waited_for", "Threads that a grace period waits for.", &DomainRow::holdouts);
    metrics.counter("threads_slept_total", "Times that scans began to skip an idle thread.", &DomainRow::threads_slept);
    metrics.counter("threads_woken_total", "Times that scans began to scan an idle thread again.",
                    &DomainRow::threads_woken);
    metrics.counter("slow_locks_total", "Calls of readers that took the slow path.", &DomainRow::slow_locks);
    metrics.gauge("tasks_parked", "Tasks parked inside a section.", &DomainRow::parked);
    metrics.gauge("section_max_seconds", "Longest section, if sections are measured.", &DomainRow::section_ns_max,
                  seconds);
    metrics.counter("boosts_total", "Number of times that a reader was boosted.", &DomainRow::boosts);
    metrics.counter("boost_seconds_total", "Total duration of boosts, in seconds.", &DomainRow::boost_ns, seconds);
    metrics.gauge("boost_max_seconds", "Longest boost.", &DomainRow::boost_ns_max, seconds);
    metrics.counter("boost_refused_total", "Boosts that were refused.", &DomainRow::boost_refused);
    metrics.counter("boost_given_up_total", "Readers that reached their boost limit.", &DomainRow::boost_given_up);
    metrics.counter("driver_wakeups_total", "Wake-ups sent to the driver.", &DomainRow::driver_wakeups);
    metrics.counter("driver_passes_total", "Passes of the driver.", &DomainRow::driver_passes);
    metrics.counter("rt_refused_total",
                    "Times that the kernel refused a thread of the library its scheduling class or priority.",
                    &DomainRow::rt_refused);
}

} // namespace

std::string once_text(const std::vector<View> &views)
{
    std::vector<DomainRow> rows;
    for (const View &view : views)
        if (view.problem.empty())
            rows.push_back(row_of(view));
    return rows.empty() ? "" : table_text(0, rows);
}

std::vector<std::string> counter_lines(const View &view, std::size_t width)
{
    constexpr std::size_t name_width = 24, column_width = name_width + 16;
    std::vector<std::string> lines;
    const DomainRow row = row_of(view);
    const std::size_t columns = std::max<std::size_t>(width / column_width, 1);
    std::size_t count = 0;
    for (const Fields::Field &field : row.fields()) {
        if (field.kind != Fields::Kind::whole || field.key == std::string("pid") ||
            !field.in<std::optional<uint64_t>>(row))
            continue;
        if (count++ % columns == 0)
            lines.emplace_back();
        lines.back() += fmt::format("{:<{}}{:>14}  ", field.key, name_width, *field.in<std::optional<uint64_t>>(row));
    }
    return lines;
}

void fill_document(Document &document, const std::vector<View> &views)
{
    for (const View &view : views) {
        document.row(row_of(view));
        for (const Thread &thread : view.now.threads)
            document.row(row_of(view, thread));
        for (const inspect::Task &task : view.now.tasks) {
            TaskRow row;
            fill_home(row, view, "task");
            row.name = task.name;
            row.waited_for = task.is_waited_for[normal];
            row.waited_for_expedited = task.is_waited_for[expedited];
            document.row(row);
        }
    }
}

std::string prometheus_text(const std::vector<View> &views)
{
    Metrics metrics(views);
    grace_periods(metrics);
    callbacks(metrics);
    threads(metrics);
    return metrics.text();
}

} // namespace lab::top
