// SPDX-License-Identifier: MIT OR Apache-2.0
// A torture scenario: who takes part, what disturbs them, and how the library is configured.  Data, read from JSON.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace lab::torture
{

// How a writer makes sure that no reader is left; the names that a scenario's "ways" uses.
enum class Way : uint32_t {
    sync,           // synchronize_rcu()
    expedited,      // synchronize_rcu_expedited()
    call,           // call_rcu()
    call_hurry,     // call_rcu_hurry()
    call_try,       // call_rcu_try(), and synchronize_rcu() where it refuses
    cond,           // get_state_synchronize_rcu(), work, cond_synchronize_rcu()
    poll_get,       // get_state_synchronize_rcu(), poll for a while, cond_synchronize_rcu()
    poll_start,     // start_poll_synchronize_rcu(), poll until it has ended
    cond_expedited, // get_state_synchronize_rcu_expedited(), work, cond_synchronize_rcu_expedited()
    poll_expedited, // start_poll_synchronize_rcu_expedited(), poll until it has ended
    free,           // rcu_free()
    free_head,      // rcu_free_head()
    retire,         // rcu_retire(), and synchronize_rcu() where it has no memory
    count
};
const char *name_of(Way way);

enum class Sections : int64_t { brief, mixed, drawn_out }; // "short", "mixed", "long"

using Settings = std::map<std::string, std::string>; // the library's configuration, by its own names

struct Scenario {
    std::string name;
    std::string what; // one sentence
    Settings config;
    std::vector<Settings> reconfigure; // one of these is put into force every now and then
    std::vector<Way> ways;             // of writers; all if the file names none
    bool must_fail = false;            // "expect": "failure": a control that proves that the checks can fail
    bool busted = false;               // "flavour": "busted": grace periods that do not wait
    bool one_cpu = false;              // "cpus": "one"
    Sections sections = Sections::mixed;

    // How many of each actor.
    int64_t readers = 0;          // preemptible: registered explicitly, at first use, or coming and going, in turn
    int64_t readers_qsbr = 0;     // quiescent-state discipline
    int64_t readers_deadline = 0; // deadline threads, in both disciplines in turn; they also queue callbacks
    int64_t writers = 0;
    int64_t writers_rt = 0;      // of these, how many run as SCHED_FIFO where that is permitted
    int64_t fake_writers = 0;    // only wait, in every way, to keep grace periods busy
    int64_t cookies = 0;         // take cookies in every place and check what they say
    int64_t barriers = 0;        // groups of threads that count callbacks through rcu_barrier()
    int64_t treadmills = 0;      // callbacks that queue themselves again, for ever
    int64_t floods = 0;          // threads that queue callbacks without a break
    int64_t flood_callbacks = 0; // callbacks that each of these keeps in the air
    int64_t progress = 0;        // tight readers beside which grace periods must go on
    int64_t litmus = 0;          // pairs of one reader and one updater, as close together as they get
    int64_t litmus_online = 0;   // of these, how many readers go online and offline instead of locking
    int64_t tasks = 0;           // sections that are parked and go on in other threads
    int64_t carriers = 0;        // threads that run these
    int64_t boost_test = 0;      // 1: a reader kept from its CPU by a real-time thread must be boosted
    int64_t churn = 0;           // threads that make short-lived threads
    int64_t churn_threads = 0;   // at most so many at once

    // What disturbs, and how often.  0: never.
    int64_t signals_us = 0;     // a signal to some reader, whose handler reads and calls call_rcu()
    int64_t shuffle_ms = 0;     // other CPUs for some thread
    int64_t stutter_ms = 0;     // everybody stops for a while
    int64_t fork_ms = 0;        // a child checks itself
    int64_t reconfigure_ms = 0; // another entry of "reconfigure"
    int64_t stall_ms = 0;       // a section of this length, which must be reported as a stall
    int64_t late_ms = 0;        // no grace period may end this long after its readers, but for two
    int64_t pause_us = 200;     // writers rest up to this long between updates
};

// Read a scenario.  On a mistake: false, and what is wrong, with what is allowed; `scenario` is as it was.
bool parse_scenario(const std::string &name, const std::string &text, Scenario &scenario, std::string &error);

// The scenarios that are part of the program, in the order of their names.
struct EmbeddedScenario {
    const char *name;
    const char *text;
};
const std::vector<EmbeddedScenario> &embedded_scenarios();

} // namespace lab::torture
