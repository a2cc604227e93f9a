// SPDX-License-Identifier: MIT OR Apache-2.0
// Calls of the simulated machine for scenarios and for the programs of the race check.
// Scenarios are instrumented like the library, so neither they nor this header contain templates or inline functions
// that the engine has too: only plain functions and static variables.  Static variables are restored after each
// schedule.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sim
{

struct Scenario {
    const char *name;
    const char *what;
    void (*setup)();
    void (*finish)();    // or null: checks the state that the threads have left
    void (*invariant)(); // or null: checks memory after every step
    uint64_t step_limit; // a schedule that is longer has failed
};

// In setup: add a thread of the scenario; returns its number.  Daemons need not exit.
int thread(const char *name, void (*body)());
int daemon(const char *name, void (*body)());
// In setup: run @f as that thread, without interleaving (to register it, for example).
void as_thread(int id, void (*f)());
// In setup: add an event that happens once, at any step.
void event(const char *name, void (*f)());
// Send a signal that is delivered to the thread at any later step.
void signal(int id, void (*handler)());
// In setup: timed waits never end by themselves, so that a lost wake-up is a deadlock and not a delay.
void no_timeouts();
// In setup: up to @count timed waits may end while other threads could continue.
void early_timeouts(uint32_t count);
// The kernel refuses heavy fences from now on.
void refuse_fences(bool membarrier, bool visit);

// Resources of which a machine may run out.
enum Resource : unsigned { kMalloc = 1, kPages = 2, kThreads = 4, kExitHooks = 8 };
// In setup: up to @count calls for these resources may fail, at any step.
void may_fail(unsigned resources, uint32_t count);
// The number of blocks from malloc() that have not been freed, and of pages.
size_t live_allocations();
size_t live_pages();

// Let other threads run first.
void step();
// Wait for a condition that the library does not signal.  It orders nothing: to synchronize with the other thread, the
// program needs an acquire of its own after this.
void until(bool (*condition)());
// Whether the descriptor's event is set, which a level-triggered loop sees, and how often it was set, which an
// edge-triggered one sees.
bool event_is_set(int number);
uint32_t event_edges(int number);
// The calling thread forks, and continues as the only thread of the child.
void fork();
// Returns whether memory from malloc() has been freed, and the free happens before the caller.
bool is_freed(const void *memory);
// If @condition is false, end the schedule as failed.
void expect(bool condition, const char *text);

// The real-time priority of a thread of that number; 0: an ordinary thread, or none.
int rt_priority_of(uint32_t number);

// The number of timeouts that this schedule needed.
uint32_t timeouts();

} // namespace sim
