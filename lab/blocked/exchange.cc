// SPDX-License-Identifier: MIT OR Apache-2.0
// Requests and results as JSON. The names of the fields are the keys.
#include "blocked/exchange.h"

#include <nlohmann/json.hpp>

namespace lab::blocked
{

NLOHMANN_JSON_SERIALIZE_ENUM(Lists, {{Lists::none, "none"},
                                     {Lists::node_spin, "node-spin"},
                                     {Lists::percpu_spin, "percpu-spin"},
                                     {Lists::node, "node"},
                                     {Lists::percpu, "percpu"}})
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RunRequest, lists, readers, carriers, preemptors, cpus, burst_ns, preempted_share,
                                   gp_pause_ns, throughput_ns, metered_ns, without_gp_ns, undisturbed_ns, seed)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LockUse, acquisitions, hold_ns, hold_ns_max, wait_ns, wait_ns_max, hold_log2)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Phase, seconds, iterations, preemptor_cpu_s, readers, others, promotions,
                                   promotion_ns)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RunResult, throughput, metered, without_gp, undisturbed, gp_latency_ns,
                                   wake_lateness_ns, errors)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(OrderRequest, lists, rounds, older, later, seed)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(OrderResult, rounds, ended_early, not_ended, older_not_waited, later_waited_for,
                                   found_ns)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CrowdRequest, lists, tasks)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CrowdResult, bytes_each, park_ns, unlock_ns, promotions, promotion_ns, begin_ns,
                                   end_ns, spread_ns, gp_without_ns, lock_hold_ns_max)

std::string name_of(Lists lists)
{
    return nlohmann::json(lists);
}

bool spins(Lists lists)
{
    return lists == Lists::node_spin || lists == Lists::percpu_spin;
}

bool are_per_cpu(Lists lists)
{
    return lists == Lists::percpu || lists == Lists::percpu_spin;
}

template <class T> std::string to_text(const T &value)
{
    return nlohmann::json(value).dump();
}

template <class T> T from_text(const std::string &text)
{
    return nlohmann::json::parse(text).get<T>();
}

template std::string to_text(const RunRequest &);
template RunRequest from_text(const std::string &);
template std::string to_text(const RunResult &);
template RunResult from_text(const std::string &);
template std::string to_text(const OrderRequest &);
template OrderRequest from_text(const std::string &);
template std::string to_text(const OrderResult &);
template OrderResult from_text(const std::string &);
template std::string to_text(const CrowdRequest &);
template CrowdRequest from_text(const std::string &);
template std::string to_text(const CrowdResult &);
template CrowdResult from_text(const std::string &);

} // namespace lab::blocked
