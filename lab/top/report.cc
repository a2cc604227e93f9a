// SPDX-License-Identifier: MIT OR Apache-2.0
// The rows of `rtrcu top`, and its metrics by Prometheus' conventions: base units, counters end in _total.
#include "top/report.h"

#include <functional>

#include "report/row.h"

namespace lab::top
{
namespace
{

using inside::expedited;
using inside::Kind;
using inside::normal;
using inside::Thread;

// One row a domain, then one a thread and one a parked task, told apart by "row".
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
    Number gp_max_us{*this, "gp_max_us", {0, "max µs"}};
    Number gp_age_ms{*this, "gp_age_ms", {0, "now ms"}};
    Whole gp_completed{*this, "gp_completed"}, gp_busy{*this, "gp_busy"}, gp_slept{*this, "gp_slept"};
    Whole gp_at_once{*this, "gp_at_once"}, gp_unfenced{*this, "gp_unfenced"};
    Number exp_per_s{*this, "exp_per_s", {0, "exp/s"}};
    Number exp_p50_us{*this, "exp_p50_us"}, exp_p99_us{*this, "exp_p99_us"}, exp_max_us{*this, "exp_max_us"};
    Number exp_age_ms{*this, "exp_age_ms"};
    Whole exp_completed{*this, "exp_completed"};
    Number callbacks_per_s{*this, "callbacks_per_s", {0, "cb/s"}};
    Whole callbacks_pending{*this, "callbacks_pending", {0, "queued"}};
    Whole callbacks_queued{*this, "callbacks_queued"}, callbacks_invoked{*this, "callbacks_invoked"};
    Whole ready{*this, "threads_with_ready", {0, "ready"}};
    Number oldest_ms{*this, "oldest_callback_ms", {0, "oldest ms"}};
    Number longest_us{*this, "longest_callback_us"};
    Text longest_function{*this, "longest_callback_function"};
    Number section_max_us{*this, "longest_section_us"};
    Whole threads{*this, "threads", {0, "threads"}};
    Whole inside{*this, "inside", {0, "in"}};
    Whole in_the_way{*this, "in_the_way", {0, "in the way"}};
    Whole parked{*this, "parked", {0, "parked"}};
    Whole boosts{*this, "boosts", {0, "boosts"}};
    Whole stalls{*this, "stall_reports", {0, "stalls"}};
    Whole limits{*this, "limits_hit", {0, "limits"}};
};

struct ThreadRow : Fields {
    Text row{*this, "row"};
    Whole pid{*this, "pid"};
    Text process{*this, "process"}, object{*this, "object"}, domain{*this, "domain"};
    Whole thread{*this, "thread"};
    Text name{*this, "name"};
    Flag registered{*this, "registered"}, online{*this, "online"}, deadline{*this, "deadline"}, lent{*this, "lent"};
    Whole nesting{*this, "nesting"};
    Flag waited_for{*this, "waited_for"}, waited_for_expedited{*this, "waited_for_expedited"};
    Whole pending{*this, "callbacks_pending"};
    Flag ready{*this, "ready"};
    Number oldest_ms{*this, "oldest_callback_ms"};
    Whole tasks{*this, "tasks_parked"};
};

struct TaskRow : Fields {
    Text row{*this, "row"};
    Whole pid{*this, "pid"};
    Text process{*this, "process"}, object{*this, "object"}, domain{*this, "domain"}, name{*this, "name"};
    Flag waited_for{*this, "waited_for"}, waited_for_expedited{*this, "waited_for_expedited"};
};

std::string hexadecimal(uint64_t address)
{
    return address != 0 ? fmt::format("{:#x}", address) : "";
}

template <class Row> void fill_home(Row &row, const View &view, const char *what)
{
    row.row = what;
    row.pid = static_cast<uint64_t>(view.pid);
    row.process = view.process;
    row.object = view.object;
    row.domain = view.now.name;
}

DomainRow row_of(const View &view)
{
    const inside::Domain &now = view.now;
    DomainRow row;
    fill_home(row, view, "domain");
    row.number = std::to_string(view.pid);
    row.problem = view.problem;
    if (!view.problem.empty())
        return row;
    row.library = view.library;
    row.is_private = view.is_private;
    row.gp_per_s = view.gp_per_s(normal);
    row.gp_p50_us = view.gp_quantile_ns(normal, 0.5) / 1e3;
    row.gp_p99_us = view.gp_quantile_ns(normal, 0.99) / 1e3;
    row.gp_max_us = static_cast<double>(now.gp[normal].longest_ns) / 1e3;
    row.gp_age_ms = static_cast<double>(view.gp_age_ns(normal)) / 1e6;
    row.gp_completed = now.gp[normal].completed;
    row.gp_busy = now.gp[normal].busy;
    row.gp_slept = now.gp[normal].slept;
    row.gp_at_once = now.gp[normal].at_once;
    row.gp_unfenced = now.gp[normal].unfenced;
    row.exp_per_s = view.gp_per_s(expedited);
    row.exp_p50_us = view.gp_quantile_ns(expedited, 0.5) / 1e3;
    row.exp_p99_us = view.gp_quantile_ns(expedited, 0.99) / 1e3;
    row.exp_max_us = static_cast<double>(now.gp[expedited].longest_ns) / 1e3;
    row.exp_age_ms = static_cast<double>(view.gp_age_ns(expedited)) / 1e6;
    row.exp_completed = now.gp[expedited].completed;
    row.callbacks_per_s = view.callbacks_per_s();
    row.callbacks_pending = now.pending();
    row.callbacks_queued = now.queued;
    row.callbacks_invoked = now.invoked;
    row.ready = now.ready();
    row.oldest_ms = static_cast<double>(now.oldest_age_ns()) / 1e6;
    row.longest_us = static_cast<double>(now.longest_ns) / 1e3;
    row.longest_function = hexadecimal(now.longest_function);
    row.section_max_us = static_cast<double>(now.counter("watch.section_ns_max")) / 1e3;
    row.threads = now.counter("registry.registered");
    row.inside = now.inside();
    row.in_the_way = now.waited_for();
    row.parked = now.tasks.size();
    row.boosts = now.counter("drive.boosts");
    row.stalls = now.counter("watch.stall_reports");
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
    row.lent = thread.is_lent;
    row.nesting = thread.nesting;
    row.waited_for = thread.is_waited_for[normal];
    row.waited_for_expedited = thread.is_waited_for[expedited];
    row.pending = thread.pending();
    row.ready = thread.has_ready;
    row.oldest_ms = thread.oldest_ns != 0 ? static_cast<double>(view.now.at_ns - thread.oldest_ns) / 1e6 : 0;
    row.tasks = thread.parked;
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
    }
    void head(const char *name, const char *type, const char *help)
    {
        text_ += fmt::format("# HELP rtrcu_{} {}\n# TYPE rtrcu_{} {}\n", name, help, name, type);
    }
    void add(const char *name, const View &view, double value, const std::string &more = "")
    {
        text_ += fmt::format("rtrcu_{}{} {}\n", name, labels(view, more), value);
    }
    void one(const char *name, const char *type, const char *help, const std::function<double(const View &)> &value)
    {
        head(name, type, help);
        for (const View &view : views_)
            if (view.problem.empty())
                add(name, view, value(view));
    }
    void counter(const char *name, const char *help, const char *field)
    {
        one(name, "counter", help, [field](const View &view) { return double(view.now.counter(field)); });
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
    // Buckets of an octave each, whose upper ends are told; the last one has none.
    void lengths()
    {
        const char *name = "grace_period_seconds";
        head(name, "histogram", "How long grace periods took that did not find nobody reading at once.");
        for (const View &view : views_)
            for (Kind kind : {normal, expedited})
                if (view.problem.empty())
                    lengths_of(view, kind, name);
    }
    void waits()
    {
        const char *name = "callback_wait_seconds";
        head(name, "histogram", "From the oldest call_rcu() of a batch to its first callback.");
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
        return fmt::format("kind=\"{}\"", inside::kind_names[kind]);
    }
    void lengths_of(const View &view, Kind kind, const std::string &name)
    {
        const auto &histogram = view.now.gp[kind].histogram;
        double sum = 0;
        for (std::size_t i = 0; i < histogram.size(); i++) {
            sum += static_cast<double>(histogram[i]);
            // From a microsecond to four minutes.
            if (i % 4 == 3 && i >= 35 && i < 148)
                add((name + "_bucket").c_str(), view, sum,
                    kind_label(kind) + fmt::format(",le=\"{}\"", inside::bucket_begin_ns(i + 1) / 1e9));
        }
        add((name + "_bucket").c_str(), view, sum, kind_label(kind) + ",le=\"+Inf\"");
        add((name + "_count").c_str(), view, sum, kind_label(kind));
        add((name + "_sum").c_str(), view, static_cast<double>(view.now.gp[kind].sum_ns) / 1e9, kind_label(kind));
    }

    const std::vector<View> &views_;
    std::string text_;
};

void counters(Metrics &metrics)
{
    metrics.counter("boosts_total", "Times a reader was lent a priority.", "drive.boosts");
    metrics.counter("boosts_refused_total", "Lending that the kernel refused.", "drive.boost_refused");
    metrics.counter("stall_reports_total", "Reports on what does not end.", "watch.stall_reports");
    metrics.counter("over_qmax_total", "Enqueues that went through above qmax.", "callbacks.over_qmax");
    metrics.counter("blocked_at_qmax_total", "Enqueues that waited.", "callbacks.blocked_at_qmax");
    metrics.counter("limit_raised_total", "Times a backlog lifted the limit of count.", "callbacks.limit_raised");
    metrics.counter("deadline_stops_total", "Batches that a deadline cut short.", "callbacks.deadline_stops");
    metrics.counter("budget_stops_total", "Batches that their time cut short.", "callbacks.budget_stops");
    metrics.counter("fence_refused_total", "Heavy fences that the kernel refused.", "drive.fence_refused");
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

void fill_document(Document &document, const std::vector<View> &views)
{
    for (const View &view : views) {
        document.row(row_of(view));
        for (const Thread &thread : view.now.threads)
            document.row(row_of(view, thread));
        for (const inside::Task &task : view.now.tasks) {
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
    metrics.by_kind("grace_periods_total", "counter", "Grace periods that have ended.",
                    [](const View &view, Kind kind) { return double(view.now.gp[kind].completed); });
    metrics.by_kind("grace_period_age_seconds", "gauge", "Of the one under way, 0 where none is.",
                    [](const View &view, Kind kind) { return double(view.gp_age_ns(kind)) / 1e9; });
    metrics.by_kind("grace_period_max_seconds", "gauge", "The longest so far.",
                    [](const View &view, Kind kind) { return double(view.now.gp[kind].longest_ns) / 1e9; });
    metrics.lengths();
    metrics.one("callbacks_queued_total", "counter", "Callbacks and frees that were queued.",
                [](const View &view) { return double(view.now.queued); });
    metrics.one("callbacks_invoked_total", "counter", "Of these, have returned.",
                [](const View &view) { return double(view.now.invoked); });
    metrics.one("callbacks_pending", "gauge", "Of these, have not returned.",
                [](const View &view) { return double(view.now.pending()); });
    metrics.one("callback_oldest_seconds", "gauge", "Age of the oldest that has not returned.",
                [](const View &view) { return double(view.now.oldest_age_ns()) / 1e9; });
    metrics.one("callback_max_seconds", "gauge", "The longest that a callback ran.",
                [](const View &view) { return double(view.now.longest_ns) / 1e9; });
    metrics.waits();
    metrics.one("threads", "gauge", "Registered threads.",
                [](const View &view) { return double(view.now.counter("registry.registered")); });
    metrics.one("threads_inside", "gauge", "Threads inside a section.",
                [](const View &view) { return double(view.now.inside()); });
    metrics.one("threads_waited_for", "gauge", "Threads in the way of a grace period.",
                [](const View &view) { return double(view.now.waited_for()); });
    metrics.one("tasks_parked", "gauge", "Tasks parked inside a section.",
                [](const View &view) { return double(view.now.tasks.size()); });
    counters(metrics);
    return metrics.text();
}

} // namespace lab::top
