// SPDX-License-Identifier: MIT OR Apache-2.0
// Fuzzing of the reader of torture scenarios: it reads the document's keys, and the others keep their defaults.
#include "torture/scenario.h"

#include <rtrcu/rcu.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "check.h"

namespace
{

using lab::torture::Scenario;
using lab::torture::Settings;
using lab::torture::Way;
using Json = nlohmann::json;

constexpr struct {
    const char *name;
    int64_t Scenario::*field;
} numbers[] = {
    {"readers", &Scenario::readers},
    {"readers_qsbr", &Scenario::readers_qsbr},
    {"readers_deadline", &Scenario::readers_deadline},
    {"writers", &Scenario::writers},
    {"writers_rt", &Scenario::writers_rt},
    {"fake_writers", &Scenario::fake_writers},
    {"cookies", &Scenario::cookies},
    {"barriers", &Scenario::barriers},
    {"treadmills", &Scenario::treadmills},
    {"floods", &Scenario::floods},
    {"flood_callbacks", &Scenario::flood_callbacks},
    {"progress", &Scenario::progress},
    {"litmus", &Scenario::litmus},
    {"litmus_online", &Scenario::litmus_online},
    {"tasks", &Scenario::tasks},
    {"carriers", &Scenario::carriers},
    {"boost_test", &Scenario::boost_test},
    {"table_entries", &Scenario::table_entries},
    {"table_writers", &Scenario::table_writers},
    {"churn", &Scenario::churn},
    {"churn_threads", &Scenario::churn_threads},
    {"signals_us", &Scenario::signals_us},
    {"shuffle_ms", &Scenario::shuffle_ms},
    {"stutter_ms", &Scenario::stutter_ms},
    {"fork_ms", &Scenario::fork_ms},
    {"reconfigure_ms", &Scenario::reconfigure_ms},
    {"stall_ms", &Scenario::stall_ms},
    {"late_ms", &Scenario::late_ms},
    {"pause_us", &Scenario::pause_us},
};

// Returns @scenario as a document that names every key.
Json shown(const Scenario &scenario)
{
    static constexpr const char *sections[] = {"short", "mixed", "long"};
    Json ways = Json::array();
    for (Way way : scenario.ways)
        ways.push_back(name_of(way));
    Json document = {{"what", scenario.what},
                     {"config", scenario.config},
                     {"reconfigure", scenario.reconfigure},
                     {"ways", ways},
                     {"sections", sections[static_cast<std::size_t>(scenario.sections)]},
                     {"flavour", scenario.busted ? "busted"
                                 : scenario.srcu ? "srcu"
                                                 : "rtrcu"},
                     {"cpus", scenario.one_cpu ? "one" : "all"},
                     {"expect", scenario.must_fail ? "failure" : "success"}};
    for (const auto &[name, field] : numbers)
        document[name] = scenario.*field;
    return document;
}

Json defaults()
{
    Scenario scenario;
    for (uint32_t way = 0; way < static_cast<uint32_t>(Way::count); way++)
        scenario.ways.push_back(static_cast<Way>(way));
    return shown(scenario);
}

// Settings may be written as numbers; the scenario keeps them as words.
void write_as_words(Json &settings)
{
    for (auto &[name, value] : settings.items())
        if (!value.is_string())
            value = value.dump();
}

void check_settings(const Settings &settings)
{
    struct rtrcu_config config;
    rtrcu_config_init(&config);
    for (const auto &[name, value] : settings) {
        check((name + value).find('\0') == std::string::npos, "settings are what the library reads of them");
        check(rtrcu_config_set(&config, name.c_str(), value.c_str()) == 0, "settings are those of the library");
    }
}

void check_accepted(const Json &document, const Scenario &scenario)
{
    Json expected = defaults();
    expected.update(document);
    write_as_words(expected["config"]);
    for (Json &settings : expected["reconfigure"])
        write_as_words(settings);
    check(shown(scenario) == expected, "the accepted scenario equals the document");

    check(!scenario.what.empty() && !scenario.ways.empty(), "a scenario says what it is for, and how to wait");
    for (const auto &[name, field] : numbers) {
        const std::string key = name;
        const int64_t most = key == "flood_callbacks" || key == "table_entries" || key.ends_with("_us") ? 1'000'000
                             : key.ends_with("_ms")                                                     ? 60'000
                                                                                                        : 1024;
        check(scenario.*field >= 0 && scenario.*field <= most, "numbers are such as a machine can have");
    }
    check_settings(scenario.config);
    for (const Settings &settings : scenario.reconfigure)
        check_settings(settings);
}

void check_refused(const Json &document, const std::string &error)
{
    const std::string prefix = "scenario NAME: ";
    check(error.starts_with(prefix), "what is refused names the scenario");
    const std::string reason = error.substr(prefix.size());
    if (document.is_discarded()) {
        check(reason.starts_with("not JSON: "), "a text that is not JSON is reported as such");
        return;
    }
    if (!document.is_object()) {
        check(reason == "not a JSON object", "what is no object is called so");
        return;
    }
    auto is_named = [&](const auto &item) { return reason.find(item.key()) != std::string::npos; };
    const Json keys = defaults();
    check(std::ranges::any_of(keys.items(), is_named) || std::ranges::any_of(document.items(), is_named),
          "what is refused names the key");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const std::string text(reinterpret_cast<const char *>(data), size);
    const Json document = Json::parse(text, nullptr, false);
    Scenario scenario;
    scenario.what = "before";
    const Json before = shown(scenario);
    std::string error;
    if (!parse_scenario("NAME", text, scenario, error)) {
        check(shown(scenario) == before && scenario.name.empty(), "a refused file changes nothing");
        check_refused(document, error);
        return 0;
    }
    check(scenario.name == "NAME" && error.empty(), "a scenario has its name");
    check_accepted(document, scenario);
    return 0;
}
