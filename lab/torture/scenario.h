// SPDX-License-Identifier: MIT OR Apache-2.0
// A torture scenario, read from JSON: its actors, its disturbances, and the library's configuration.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace lab::torture
{

// The ways in which a writer waits for pre-existing readers.  A scenario's "ways" lists their names.
enum class Way : uint32_t {
    sync,           // synchronize_rcu()
    expedited,      // synchronize_rcu_expedited()
    call,           // call_rcu()
    call_hurry,     // call_rcu_hurry()
    call_try,       // call_rcu_try(), and synchronize_rcu() if that refuses
    cond,           // get_state_synchronize_rcu(), work, cond_synchronize_rcu()
    poll_get,       // get_state_synchronize_rcu(), poll for a while, cond_synchronize_rcu()
    poll_start,     // start_poll_synchronize_rcu(), poll until it has ended
    cond_expedited, // get_state_synchronize_rcu_expedited(), work, cond_synchronize_rcu_expedited()
    poll_expedited, // start_poll_synchronize_rcu_expedited(), poll until it has ended
    free,           // rcu_free()
    free_head,      // rcu_free_head()
    retire,         // rcu_retire(), and synchronize_rcu() if that has no memory
    count
};
const char *name_of(Way way);

enum class Sections : int64_t { brief, mixed, drawn_out }; // "short", "mixed", "long"

using Settings = std::map<std::string, std::string>; // settings of the library: name and value

struct Scenario {
    std::string name;
    std::string what; // one sentence
    Settings config;
    std::vector<Settings> reconfigure; // settings, of which a random entry is applied every reconfigure_ms
    std::vector<Way> ways;             // the ways that writers use; all ways if the file names none
    bool must_fail = false;            // "expect": "failure": a control that proves that the checks can fail
    bool busted = false;               // "flavour": "busted": grace periods that do not wait for readers
    bool srcu = false;                 // "flavour": "srcu": readers and writers use a domain that the program defines
    bool one_cpu = false;              // "cpus": "one"
    Sections sections = Sections::mixed;

    // The number of each kind of actor.
    int64_t readers = 0; // preemptible; a third registers explicitly, a third by its first section, a third repeatedly
    int64_t readers_qsbr = 0;     // quiescent-state discipline
    int64_t readers_deadline = 0; // deadline threads, alternately preemptible and quiescent-state
    int64_t writers = 0;
    int64_t writers_rt = 0;      // the number of writers that run as SCHED_FIFO, if that is permitted
    int64_t fake_writers = 0;    // actors that only wait, in every way, so that grace periods are always in progress
    int64_t cookies = 0;         // actors that take cookies everywhere and check their results
    int64_t barriers = 0;        // groups of threads that check rcu_barrier() by counting callbacks
    int64_t treadmills = 0;      // callbacks that queue themselves again without end
    int64_t floods = 0;          // threads that queue callbacks without pause
    int64_t flood_callbacks = 0; // callbacks that each flooding thread keeps queued
    int64_t progress = 0;        // readers that read without pause; grace periods must end nevertheless
    int64_t litmus = 0;          // pairs of one reader and one updater that run as close together as possible
    int64_t litmus_online = 0;   // the number of litmus readers that go online and offline instead of locking
    int64_t tasks = 0;           // tasks that are parked inside a section and continue on other threads
    int64_t carriers = 0;        // threads that run the tasks
    int64_t boost_test = 0;      // 1: check that a reader is boosted while a real-time thread keeps it off its CPU
    int64_t table_entries = 0;   // entries that the writers of a hash table insert and remove again; 0: no table
    int64_t table_writers = 0;   // writers of the hash table
    int64_t churn = 0;           // threads that create short-lived threads
    int64_t churn_threads = 0;   // the largest number of short-lived threads at a time

    // The interval of each disturbance; 0: never.
    int64_t signals_us = 0;     // a signal to a random actor; the handler of a reader reads and calls call_rcu()
    int64_t shuffle_ms = 0;     // every actor is moved to a random set of CPUs
    int64_t stutter_ms = 0;     // all actors pause for a while
    int64_t fork_ms = 0;        // a fork, whose child checks itself
    int64_t reconfigure_ms = 0; // a random entry of "reconfigure" is applied
    int64_t stall_ms = 0;       // length of sections that must be reported as stalls
    int64_t late_ms = 0;        // longest permitted wait for a grace period; two waits may exceed it; 0: no limit
    int64_t pause_us = 200;     // longest pause of a writer between two updates
};

// Parses a scenario.  On an error, returns false, sets `error` to a message that lists the allowed values, and leaves
// `scenario` unchanged.
bool parse_scenario(const std::string &name, const std::string &text, Scenario &scenario, std::string &error);

// The scenarios that are compiled into the program, in alphabetical order.
struct EmbeddedScenario {
    const char *name;
    const char *text;
};
const std::vector<EmbeddedScenario> &embedded_scenarios();

} // namespace lab::torture
