// SPDX-License-Identifier: MIT OR Apache-2.0
// What scenarios, and the programs of the race check, call of the simulated machine.
//
// They are instrumented like the library, so this header and they hold no templates or inline functions that the engine
// has too: plain functions and static variables only.  Static variables are put back after each schedule.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sim
{

struct Scenario {
    const char *name;
    const char *what;
    void (*setup)();
    void (*finish)();    // or null: looks at what the threads have left
    void (*invariant)(); // or null: looks at memory after every step
    uint64_t step_limit; // a schedule that is longer has failed
};

// In setup: a thread of the scenario.  Daemons need not end.  Returns its number.
int thread(const char *name, void (*body)());
int daemon(const char *name, void (*body)());
// In setup: do something as that thread, without interleaving (to register it, say).
void as_thread(int id, void (*f)());
// In setup: something that happens once, at any moment.
void event(const char *name, void (*f)());
// A signal that reaches the thread at any moment from now on.
void signal(int id, void (*handler)());
// In setup: timed waits never end by themselves, so that a lost wake-up is a dead end rather than a delay.
void no_timeouts();
// In setup: so many timed waits may end while others could go on.
void early_timeouts(uint32_t count);
// The kernel refuses heavy fences from now on.
void refuse_fences(bool membarrier, bool visit);

// What a machine may run out of.
enum Resource : unsigned { kMalloc = 1, kPages = 2, kThreads = 4, kExitHooks = 8 };
// In setup: so many calls for these may fail, at any moment.
void may_fail(unsigned resources, uint32_t count);
// What malloc() has given and free() has not taken back; the same of pages.
size_t live_allocations();
size_t live_pages();

// Others may go first.
void step();
// Wait for something that is not the library's business to signal.  It orders nothing: what the other thread did before
// is known by an acquire of the program's own, behind this.
void until(bool (*condition)());
// The calling thread forks, and goes on as the only one of the child.
void fork();
// Has what malloc() gave been freed, and does the caller come after that?
bool is_freed(const void *memory);
// Break off the schedule as failed.
void expect(bool condition, const char *text);

// How many timeouts this schedule needed.
uint32_t timeouts();

} // namespace sim
