// SPDX-License-Identifier: MIT OR Apache-2.0
// The back-end under test: this library, with the loop as a deadline thread of the quiescent-state discipline.
#include <algorithm>
#include <rtrcu/rcu.h>
#include <tuple>

#include "peer/peer.h"

namespace lab
{
namespace
{

static_assert(sizeof(rcu_head) <= sizeof(RetiredHead) && alignof(rcu_head) <= alignof(RetiredHead));

bool start(const PeerSettings &settings, std::string &error)
{
    rtrcu_config config{};
    rtrcu_config_init(&config);
    for (const auto &[name, value] : settings) {
        if (rtrcu_config_set(&config, name.c_str(), value.c_str()) != 0) {
            error = rtrcu_config_error();
            return false;
        }
    }
    if (rtrcu_configure(&config) != 0) {
        error = rtrcu_config_error();
        return false;
    }
    return true;
}

void thread_begin(ThreadRole role)
{
    rtrcu_register_thread(role == ThreadRole::deadline_loop ? RTRCU_DEADLINE | RTRCU_QSBR : 0);
    if (role == ThreadRole::deadline_loop)
        rcu_thread_offline();
}

void thread_end()
{
    rcu_unregister_thread();
}

Section section(ThreadRole role)
{
    if (role == ThreadRole::deadline_loop)
        return {[] { rcu_read_lock_qs(); }, [] { rcu_read_unlock_qs(); }};
    return {[] { rcu_read_lock(); }, [] { rcu_read_unlock(); }};
}

void retire(RetiredHead *head, ReclaimFunction reclaim)
{
    call_rcu(reinterpret_cast<rcu_head *>(head), reinterpret_cast<rcu_callback_t>(reclaim));
}

bool try_retire(RetiredHead *head, ReclaimFunction reclaim)
{
    return call_rcu_try(reinterpret_cast<rcu_head *>(head), reinterpret_cast<rcu_callback_t>(reclaim)) == 0;
}

uint64_t backlog_limit()
{
    rtrcu_config config{};
    rtrcu_config_get(&config);
    return static_cast<uint64_t>(config.qmax);
}

// Retires by call_rcu_rt().  A quiescent-state thread that calls it must keep no reference to the object; the workloads
// keep none.
void retire_directly(RetiredHead *head, ReclaimFunction reclaim)
{
    call_rcu_rt(reinterpret_cast<rcu_head *>(head), reinterpret_cast<rcu_callback_t>(reclaim));
}

void turn(int64_t next_due_ns)
{
    rcu_set_deadline(next_due_ns);
    rcu_quiescent_state();
    rcu_process_callbacks(0);
}

PeerCounters counters()
{
    struct rtrcu_stats stats {
    };
    stats.size = sizeof(stats);
    if (rtrcu_stats(&stats) != 0)
        return {};
    PeerCounters all = {stats.gp_completed, stats.deadline_stops,   stats.budget_stops,   stats.over_qmax,
                        stats.limit_raised, stats.callbacks_direct, stats.direct_refused, {}};
    static_assert(RTRCU_LATENCY_BUCKETS == std::tuple_size_v<decltype(all.ages)>);
    std::copy(std::begin(stats.latency_us_log2), std::end(stats.latency_us_log2), all.ages.begin());
    return all;
}

// Makes a back-end of this library, with a function that retires an object.
constexpr Peer make_peer(const char *name, const char *what, void (*hand_over)(RetiredHead *, ReclaimFunction),
                         bool single)
{
    return {
        .name = name,
        .what = what,
        .start = start,
        .thread_begin = thread_begin,
        .thread_end = thread_end,
        .section = section,
        .retire = hand_over,
        .try_retire = try_retire,
        .backlog_limit = backlog_limit,
        .offline = [] { rcu_thread_offline(); },
        .online = [] { rcu_thread_online(); },
        .turn = turn,
        .runs_callbacks_in_turn = true,
        .single_reader = single,
        .grace_period_number = [] { return rtrcu_get_state(); },
        .between_rounds = nullptr,
        .counters = counters,
    };
}

} // namespace

const Peer rtrcu_peer = make_peer("rtrcu", "this library", retire, false);
const Peer rtrcu_direct_peer =
    make_peer("rtrcu-direct", "this library; callbacks run immediately if no reader exists", retire_directly, true);

} // namespace lab
