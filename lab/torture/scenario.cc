// SPDX-License-Identifier: MIT OR Apache-2.0
// Reads scenarios. A row for each key lists the values that it accepts; error messages print them.
#include "torture/scenario.h"

#include <rtrcu/rcu.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <span>

namespace lab::torture
{
namespace
{

using Json = nlohmann::json;

struct NumberKey {
    const char *name;
    int64_t Scenario::*field;
    int64_t low, high;
};

constexpr NumberKey number_keys[] = {
    {"readers", &Scenario::readers, 0, 64},
    {"readers_qsbr", &Scenario::readers_qsbr, 0, 64},
    {"readers_deadline", &Scenario::readers_deadline, 0, 16},
    {"writers", &Scenario::writers, 0, 16},
    {"writers_rt", &Scenario::writers_rt, 0, 16},
    {"fake_writers", &Scenario::fake_writers, 0, 16},
    {"cookies", &Scenario::cookies, 0, 8},
    {"barriers", &Scenario::barriers, 0, 4},
    {"treadmills", &Scenario::treadmills, 0, 64},
    {"floods", &Scenario::floods, 0, 8},
    {"flood_callbacks", &Scenario::flood_callbacks, 1, 1'000'000},
    {"progress", &Scenario::progress, 0, 8},
    {"litmus", &Scenario::litmus, 0, 4},
    {"litmus_online", &Scenario::litmus_online, 0, 4},
    {"tasks", &Scenario::tasks, 0, 1024},
    {"carriers", &Scenario::carriers, 1, 32},
    {"boost_test", &Scenario::boost_test, 0, 1},
    {"table_entries", &Scenario::table_entries, 0, 1'000'000},
    {"table_writers", &Scenario::table_writers, 0, 8},
    {"churn", &Scenario::churn, 0, 8},
    {"churn_threads", &Scenario::churn_threads, 1, 200},
    {"signals_us", &Scenario::signals_us, 0, 1'000'000},
    {"shuffle_ms", &Scenario::shuffle_ms, 0, 60'000},
    {"stutter_ms", &Scenario::stutter_ms, 0, 60'000},
    {"fork_ms", &Scenario::fork_ms, 0, 60'000},
    {"reconfigure_ms", &Scenario::reconfigure_ms, 0, 60'000},
    {"stall_ms", &Scenario::stall_ms, 0, 60'000},
    {"late_ms", &Scenario::late_ms, 0, 60'000},
    {"pause_us", &Scenario::pause_us, 0, 1'000'000},
};

// A key whose value is one of a few words; the word's position is passed to `set`.
struct WordKey {
    const char *name;
    std::vector<std::string> words;
    void (*set)(Scenario &scenario, std::size_t word);
};

const std::vector<WordKey> &word_keys()
{
    static const std::vector<WordKey> keys = {
        {"sections", {"short", "mixed", "long"}, [](Scenario &s, std::size_t w) { s.sections = Sections(w); }},
        {"flavour",
         {"rtrcu", "busted", "srcu"},
         [](Scenario &s, std::size_t w) {
             s.busted = w == 1;
             s.srcu = w == 2;
         }},
        {"cpus", {"all", "one"}, [](Scenario &s, std::size_t w) { s.one_cpu = w == 1; }},
        {"expect", {"success", "failure"}, [](Scenario &s, std::size_t w) { s.must_fail = w == 1; }},
    };
    return keys;
}

constexpr std::array<const char *, static_cast<std::size_t>(Way::count)> way_names = {
    "sync",       "expedited",      "call",           "call_hurry", "call_try",  "cond",  "poll_get",
    "poll_start", "cond_expedited", "poll_expedited", "free",       "free_head", "retire"};

// An error in a scenario, with its message.  Thrown by the functions below and caught by parse_scenario().
struct Mistake {
    std::string text;
};

[[noreturn]] void refuse(const std::string &key, const Json &value, const std::string &allowed)
{
    throw Mistake{fmt::format("{}: {} is not allowed; allowed: {}", key, value.dump(), allowed)};
}

Settings read_settings(const std::string &key, const Json &value)
{
    Settings settings;
    if (!value.is_object())
        refuse(key, value, "an object of the library's settings, such as {\"policy\": \"inline\"}");
    rtrcu_config scratch{};
    rtrcu_config_init(&scratch);
    for (const auto &[name, text] : value.items()) {
        std::string word = text.is_string() ? text.get<std::string>() : text.dump();
        if ((name + word).find('\0') != std::string::npos)
            refuse(key, value, "names and values without NUL");
        if (rtrcu_config_set(&scratch, name.c_str(), word.c_str()) != 0)
            throw Mistake{fmt::format("{}: {}", key, rtrcu_config_error())};
        settings[name] = word;
    }
    return settings;
}

void read_ways(const Json &value, Scenario &scenario)
{
    const std::string allowed = fmt::format("a list of {}", fmt::join(way_names, ", "));
    if (!value.is_array() || value.empty())
        refuse("ways", value, allowed);
    for (const Json &item : value) {
        auto found =
            item.is_string() ? std::find(way_names.begin(), way_names.end(), item.get<std::string>()) : way_names.end();
        if (found == way_names.end())
            refuse("ways", item, allowed);
        scenario.ways.push_back(static_cast<Way>(found - way_names.begin()));
    }
}

void read_reconfigure(const Json &value, Scenario &scenario)
{
    if (!value.is_array())
        refuse("reconfigure", value, "a list of objects of the library's settings");
    for (const Json &item : value)
        scenario.reconfigure.push_back(read_settings("reconfigure", item));
}

bool read_number(const std::string &key, const Json &value, Scenario &scenario)
{
    for (const NumberKey &known : number_keys) {
        if (key != known.name)
            continue;
        if (!value.is_number_integer() || value.get<int64_t>() < known.low || value.get<int64_t>() > known.high)
            refuse(key, value, fmt::format("a whole number from {} to {}", known.low, known.high));
        scenario.*known.field = value.get<int64_t>();
        return true;
    }
    return false;
}

bool read_word(const std::string &key, const Json &value, Scenario &scenario)
{
    for (const WordKey &known : word_keys()) {
        if (key != known.name)
            continue;
        auto found = value.is_string() ? std::find(known.words.begin(), known.words.end(), value.get<std::string>())
                                       : known.words.end();
        if (found == known.words.end())
            refuse(key, value, fmt::format("{}", fmt::join(known.words, ", ")));
        known.set(scenario, static_cast<std::size_t>(found - known.words.begin()));
        return true;
    }
    return false;
}

std::string all_keys()
{
    std::vector<std::string> names = {"what", "config", "reconfigure", "ways"};
    for (const WordKey &key : word_keys())
        names.push_back(key.name);
    for (const NumberKey &key : number_keys)
        names.push_back(key.name);
    return fmt::format("{}", fmt::join(names, ", "));
}

void read_key(const std::string &key, const Json &value, Scenario &scenario)
{
    if (key == "what" && value.is_string())
        scenario.what = value.get<std::string>();
    else if (key == "what")
        refuse(key, value, "one sentence, as a string");
    else if (key == "config")
        scenario.config = read_settings(key, value);
    else if (key == "reconfigure")
        read_reconfigure(value, scenario);
    else if (key == "ways")
        read_ways(value, scenario);
    else if (!read_word(key, value, scenario) && !read_number(key, value, scenario))
        throw Mistake{fmt::format("no key is called \"{}\"; allowed: {}", key, all_keys())};
}

// Checks the keys whose values restrict each other.
void check_whole(const Scenario &scenario)
{
    auto need = [](bool holds, const char *text) {
        if (!holds)
            throw Mistake{text};
    };
    need(!scenario.what.empty(), "what: missing; state the scenario's purpose in one sentence");
    need(scenario.reconfigure_ms == 0 || !scenario.reconfigure.empty(), "reconfigure_ms needs entries in reconfigure");
    need(scenario.floods == 0 || scenario.flood_callbacks > 0, "floods needs flood_callbacks");
    need(scenario.churn == 0 || scenario.churn_threads > 0, "churn needs churn_threads");
    need((scenario.table_entries == 0) == (scenario.table_writers == 0), "table_entries needs table_writers");
    need(scenario.table_entries == 0 || !scenario.busted, "flavour busted frees entries of tables at once");
    need(scenario.tasks == 0 || scenario.carriers > 0, "tasks needs carriers");
    need(scenario.litmus_online <= scenario.litmus, "litmus_online must not be above litmus");
    need(scenario.writers_rt <= scenario.writers, "writers_rt must not be above writers");
    need(scenario.treadmills == 0 || scenario.barriers > 0, "treadmills needs barriers");
    need(!scenario.busted || (scenario.floods == 0 && scenario.barriers == 0 && scenario.churn == 0),
         "flavour busted runs callbacks immediately, so floods, barriers and churn must be 0");
    need(!scenario.srcu || (scenario.cookies == 0 && scenario.progress == 0 && scenario.litmus == 0 &&
                            scenario.tasks == 0 && scenario.boost_test == 0 && scenario.fork_ms == 0 &&
                            scenario.stall_ms == 0 && scenario.table_entries == 0),
         "flavour srcu has no sections of the native domain, so cookies, progress, litmus, tasks, boost_test, fork_ms, "
         "stall_ms and table_entries must be 0");
}

} // namespace

const char *name_of(Way way)
{
    return way_names[static_cast<std::size_t>(way)];
}

bool parse_scenario(const std::string &name, const std::string &text, Scenario &scenario, std::string &error)
{
    Scenario whole;
    whole.name = name;
    try {
        Json document = Json::parse(text);
        if (!document.is_object())
            throw Mistake{"not a JSON object"};
        for (const auto &[key, value] : document.items())
            read_key(key, value, whole);
        check_whole(whole);
    } catch (const Mistake &mistake) {
        error = fmt::format("scenario {}: {}", name, mistake.text);
        return false;
    } catch (const Json::exception &mistake) {
        error = fmt::format("scenario {}: not JSON: {}", name, mistake.what());
        return false;
    }
    if (whole.ways.empty()) {
        for (uint32_t way = 0; way < static_cast<uint32_t>(Way::count); way++)
            whole.ways.push_back(static_cast<Way>(way));
    }
    scenario = std::move(whole);
    return true;
}

} // namespace lab::torture
