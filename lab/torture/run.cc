// SPDX-License-Identifier: MIT OR Apache-2.0
// Runs a scenario: preparation, the actors, the watchdog beside them, and the checks at the end.
#include "torture/run.h"

#include <malloc.h>

#include <cstring>

#include "machine/realtime.h"
#include "measure/clock.h"
#include "torture/actors.h"
#include "torture/watchdog.h"

namespace lab::torture
{
namespace
{

// Allowed growth of the memory in use, since allocators and the C library keep some memory.
constexpr uint64_t leak_allowed_bytes = 512 << 10;

// Checks that the scenario's settings, which are passed in the environment, are in force.
void check_configuration(Context &context)
{
    rtrcu_config wanted{}, in_force{};
    rtrcu_config_get(&in_force);
    wanted = in_force;
    for (const auto &[name, value] : context.scenario.config)
        rtrcu_config_set(&wanted, name.c_str(), value.c_str());
    if (memcmp(&wanted, &in_force, sizeof(wanted)) != 0)
        context.findings.report(Check::configure, "the library does not run with the scenario's settings");
}

void add_everybody(Cast &cast, Context &context)
{
    const Scenario &scenario = context.scenario;
    add_readers(cast, scenario);
    add_writers(cast, scenario);
    add_cookie_takers(cast, scenario);
    add_barriers(cast, scenario);
    add_floods(cast, scenario);
    add_litmus(cast, scenario);
    add_churn(cast, scenario);
    add_table(cast, scenario);
    add_disturbers(cast, scenario);
    add_forker(cast, scenario);
    add_boost(cast, scenario);
    add_tasks(cast, context);
}

void let_run(Context &context, const RunOptions &options)
{
    constexpr int64_t step_ns = 20'000'000, behind_error_ns = 300'000'000;
    const int64_t end = now_ns() + static_cast<int64_t>(options.seconds * 1e9);
    while (now_ns() < end) {
        pause_ns(std::min(step_ns, std::max<int64_t>(end - now_ns(), 1)));
        const int64_t first = context.shared.first_error_ns.load();
        if (options.stop_at_first_error && first != 0 && now_ns() - first > behind_error_ns)
            return;
    }
}

uint64_t bytes_in_use()
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return 0; // not measured under sanitizers, some of which find leaks themselves
#else
    return mallinfo2().uordblks;
#endif
}

// After all actors have ended, checks that every callback has run, and that all elements and all memory are free.
void check_end(Context &context, uint64_t bytes_before)
{
    context.table.check_end();
    for (std::size_t i = 0; i < pipe_length + 2; i++) // an element's callback queues itself once for each age
        context.flavour.barrier();
    const uint64_t queued = context.callbacks_queued.load(), invoked = context.callbacks_invoked.load();
    if (queued != invoked)
        context.findings.report(Check::lost, "{} callbacks queued, {} invoked", queued, invoked);
    struct rtrcu_stats stats {
    };
    stats.size = sizeof(stats);
    rtrcu_stats(&stats);
    if (stats.callbacks_backlog != 0)
        context.findings.report(Check::lost, "the library reports a backlog of {} callbacks at the end",
                                stats.callbacks_backlog);
    if (context.pipeline.outstanding() != 0)
        context.findings.report(Check::leak, "{} elements are still in the pipeline at the end",
                                context.pipeline.outstanding());
    malloc_trim(0);
    const uint64_t bytes = bytes_in_use();
    if (bytes > bytes_before + leak_allowed_bytes)
        context.findings.report(Check::leak, "{} bytes in use at the beginning, {} at the end", bytes_before, bytes);
}

} // namespace

int play(const Scenario &scenario, const RunOptions &options, SharedResult &shared)
{
    if (scenario.one_cpu)
        pin_to_cpus({cpus_allowed().front()});
    auto context =
        std::make_unique<Context>(scenario, options.seed, shared, static_cast<int64_t>(options.patience_s * 1e9));
    check_configuration(*context);
    install_handler();
    Watchdog watchdog(*context);
    {
        const uint64_t bytes_before = bytes_in_use();
        auto cast = std::make_unique<Cast>(*context);
        add_everybody(*cast, *context);
        cast->start();
        let_run(*context, options);
        context->stopping.store(true);
        watchdog.expect_end();
        cast->join();
        for (std::size_t i = 0; i < 3; i++)
            context->flavour.barrier(); // callbacks may still use objects that the cast keeps alive
        cast.reset();
        check_end(*context, bytes_before);
    }
    watchdog.stop();
    shared.finished.store(1);
    return context->findings.any() ? 1 : 0;
}

} // namespace lab::torture
