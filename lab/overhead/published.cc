// SPDX-License-Identifier: MIT OR Apache-2.0
// The published tables, and the prefixes of function names that belong to each step of the work.
#include "overhead/published.h"

#include <algorithm>
#include <string_view>

namespace lab::overhead
{
namespace
{

struct Ticks {
    const char *function;
    const char *work;
    Figure base, ltimer, sched, poll;
};
constexpr std::nullopt_t no = std::nullopt;

const std::vector<Ticks> rare = {
    {"ip_route_output_key", "lookup", 4486, 2026, 2162, 2135},
    {"call_rcu", "rcu", no, 11, 68, 71},
    {"rcu_process_callbacks", "rcu", no, 4, no, 128},
    {"rcu_invoke_callbacks", "rcu", no, 4, no, 24},
    {"rcu_batch_done", "rcu", no, no, 1, no},
    {"schedule", "schedule", 423, 453, 459, 500},
    {"rcu_prepare_polling", "rcu", no, no, no, 13},
    {"rcu_polling", "rcu", no, no, no, 134},
};

const std::vector<Ticks> frequent = {
    {"ip_route_output_key", "lookup", 2358, 1646, 1619, 1641},
    {"call_rcu", "rcu", no, 262, 1147, 2251},
    {"rcu_process_callbacks", "rcu", no, 49, no, 2778},
    {"rcu_invoke_callbacks", "rcu", no, 57, no, 488},
    {"rcu_check_quiescent_state", "rcu", no, 27, no, no},
    {"rcu_check_callbacks", "rcu", no, 24, no, no},
    {"rcu_reg_batch", "rcu", no, 3, no, no},
    {"rcu_batch_done", "rcu", no, no, 3, no},
    {"schedule", "schedule", 294, no, 849, 808},
    {"rcu_prepare_polling", "rcu", no, no, no, 21},
    {"rcu_polling", "rcu", no, no, no, 2756},
    {"rcu_completion", "rcu", no, no, no, 4},
    {"force_cpu_reschedule", "rcu", no, no, no, 553},
    {"__tasklet_hi_schedule", "rcu", no, no, no, 1557},
};

using Prefixes = std::vector<std::string_view>;

bool begins(const std::string &name, const Prefixes &prefixes)
{
    return std::any_of(prefixes.begin(), prefixes.end(),
                       [&](std::string_view prefix) { return name.rfind(prefix, 0) == 0; });
}

// Functions whose system calls give up the CPU; the profile names the function that makes the call.
const Prefixes switches = {"sched_yield", "plat_futex_wait", "plat_clock_sleep", "clock_nanosleep", "syscall"};

// Steps by function prefix.  The first matching prefix decides, so exceptions of a room precede the room's name.
const std::vector<std::pair<Step, Prefixes>> rcu_steps = {
    {Step::wake, {"plat_futex_wake", "work_driver_wake", "work_thread_wake", "work_worker_wake"}},
    {Step::ask, {"plat_fence", "turn_fence", "reader_arm", "reader_fences"}},
    {Step::queue,
     {"retire_", "GlobalQueue::enqueue", "GlobalQueue::lock", "GlobalQueue::send", "GlobalQueue::cut_batch",
      "rtrcu_call", "call_rcu", "call_slow", "call_later", "callback_enqueue", "callback_check_limits", "check_after",
      "cbqueue_push", "own_record"}},
    {Step::invoke,
     {"callback_invoke", "callback_may_begin", "callback_want", "counted_reclaim", "probe_starts",
      "GlobalQueue::", "owner_", "learn", "check_duration", "refill", "let_go", "rtrcu_process_callbacks"}},
    {Step::check,
     {"callback_anything_new", "gp_is_needed", "gp_next_needed", "driver_anything_new", "driver_work_is_left",
      "turn_is_needed"}},
    {Step::collect, {"callback_", "cb", "note_ready", "serve_dispatch", "dispatch_leaf"}},
    {Step::quiescent, {"rtrcu_quiescent", "section_"}},
    {Step::begin, {"gp_begin", "begin_again", "gp_request", "gp_nobody_reads", "gp_needs_fence", "gp_snap"}},
    {Step::end, {"gp_end", "gp_reached", "turn_has_reached", "gp_carry", "gp_idle_settle"}},
    {Step::scan, {"gp_", "scan_below", "poll_below", "reader_", "spin", "try_to_scan"}},
    {Step::schedule,
     {"work_", "turn_", "serve_", "driver_", "body", "notify", "online", "arm_online", "leave", "serve_requested"}},
};

constexpr const char *no_counterpart = "(no counterpart)";

struct StepName {
    Step step;
    const char *function, *in_poll;
};
constexpr StepName step_names[] = {
    {Step::lookup, "ip_route_output_key", "ip_route_output_key"},
    {Step::queue, "call_rcu", "call_rcu"},
    {Step::collect, "rcu_process_callbacks", "rcu_process_callbacks"},
    {Step::invoke, "rcu_invoke_callbacks", "rcu_invoke_callbacks"},
    {Step::quiescent, "rcu_check_quiescent_state", "rcu_check_quiescent_state"},
    {Step::scan, "rcu_check_quiescent_state", "rcu_polling"},
    {Step::check, "rcu_check_callbacks", "rcu_check_callbacks"},
    {Step::begin, "rcu_reg_batch", "rcu_prepare_polling"},
    {Step::end, "rcu_batch_done", "rcu_completion"},
    {Step::schedule, "schedule", "schedule"},
    {Step::ask, "force_cpu_reschedule", "force_cpu_reschedule"},
    {Step::wake, "__tasklet_hi_schedule", "__tasklet_hi_schedule"},
    {Step::other, no_counterpart, no_counterpart},
};

} // namespace

std::vector<PublishedRow> published_rows(const std::string &environment)
{
    std::vector<PublishedRow> rows;
    for (const Ticks &ticks : environment == "rare" ? rare : frequent) {
        PublishedRow &row = rows.emplace_back();
        row.table = "published";
        row.environment = environment;
        row.function = ticks.function;
        row.work = ticks.work;
        row.base = ticks.base;
        row.ltimer = ticks.ltimer;
        row.sched = ticks.sched;
        row.poll = ticks.poll;
    }
    return rows;
}

const char *published_columns_note()
{
    return "The text of 2002 has lost its blank columns. We assigned the figures of rcu_process_callbacks, "
           "rcu_invoke_callbacks, rcu_batch_done and, where updates are frequent, schedule to engines by the "
           "functions' names and the engines' features.";
}

const std::vector<PublishedEngine> &published_engines()
{
    static const std::vector<PublishedEngine> engines = {
        {"base", "base", &PublishedRow::base},
        {"rcu_ltimer", "ltimer", &PublishedRow::ltimer},
        {"rcu_sched", "sched/global counter", &PublishedRow::sched},
        {"rcu_poll", "poll/global queue", &PublishedRow::poll},
    };
    return engines;
}

double published_sum(const std::string &environment, const PublishedEngine &engine)
{
    double sum = 0;
    for (const PublishedRow &row : published_rows(environment))
        if (row.work != "schedule")
            sum += (row.*engine.ticks).value_or(0);
    return sum;
}

Step step_of(const std::string &function, Work work)
{
    if (begins(function, switches))
        return Step::schedule;
    if (work == Work::lookup)
        return Step::lookup;
    if (work != Work::rcu)
        return Step::none;
    for (const auto &[step, prefixes] : rcu_steps)
        if (begins(function, prefixes))
            return step;
    return Step::other;
}

const char *published_function(Step step, bool polls)
{
    for (const StepName &name : step_names)
        if (name.step == step)
            return polls ? name.in_poll : name.function;
    return nullptr;
}

const std::vector<Counterpart> &counterparts()
{
    static const std::vector<Counterpart> rows = {
        {"ip_route_output_key", "RouteCache::route(), with the locks and counts that it takes"},
        {"call_rcu", "call_rcu(), with the global queue or the global counter where there is one"},
        {"rcu_process_callbacks", "callback_collect(), callback_advance(): find the ready callbacks"},
        {"rcu_invoke_callbacks", "callback_invoke(), without the free() that callbacks call"},
        {"rcu_check_quiescent_state", "slow path of rcu_quiescent_state(); except with driver poll, scans too"},
        {"rcu_check_callbacks", "checks whether anything waits for a grace period"},
        {"rcu_reg_batch", "gp_begin(), except with driver poll"},
        {"rcu_batch_done", "gp_end(), except with driver poll"},
        {"schedule", "the driver's own functions, and system calls that give up the CPU"},
        {"rcu_prepare_polling", "poll: gp_begin()"},
        {"rcu_polling", "poll: gp_scan(), gp_poll(), and the spinning between them"},
        {"rcu_completion", "poll: gp_end()"},
        {"force_cpu_reschedule", "the heavy fence, and the flags that request reports from readers"},
        {"__tasklet_hi_schedule", "waking the driver"},
        {no_counterpart, "the rest of the library"},
    };
    return rows;
}

} // namespace lab::overhead
