// SPDX-License-Identifier: MIT OR Apache-2.0
// The scenarios' interface to the machine.
#include "scenario.h"

#include "machine/world.h"

namespace sim
{

namespace
{

void *run(void *argument)
{
    reinterpret_cast<void (*)()>(argument)();
    return nullptr;
}

} // namespace

int thread(const char *name, void (*body)())
{
    return world()->add_thread(name, run, reinterpret_cast<void *>(body), false);
}

int daemon(const char *name, void (*body)())
{
    return world()->add_thread(name, run, reinterpret_cast<void *>(body), true);
}

void as_thread(int id, void (*f)())
{
    world()->as_thread(id, f);
}

void event(const char *name, void (*f)())
{
    world()->add_event(name, f);
}

void signal(int id, void (*handler)())
{
    world()->set_signal(id, handler);
}

void no_timeouts()
{
    world()->allow_timeouts(false, 0);
}

void early_timeouts(uint32_t count)
{
    world()->allow_timeouts(true, count);
}

void refuse_fences(bool membarrier, bool visit)
{
    world()->refuse_fences(membarrier, visit);
}

void may_fail(unsigned resources, uint32_t count)
{
    world()->may_fail(resources, count);
}

size_t live_allocations()
{
    return world()->live_allocations();
}

size_t live_pages()
{
    return world()->live_pages();
}

void step()
{
    world()->point("step", "scenario");
}

void until(bool (*condition)())
{
    world()->wait_until(condition);
}

bool event_is_set(int number)
{
    return world()->event_is_set(number);
}

uint32_t event_edges(int number)
{
    return world()->event_edges(number);
}

void fork()
{
    world()->fork();
}

bool is_freed(const void *memory)
{
    return world()->is_freed(memory);
}

void expect(bool condition, const char *text)
{
    world()->expect(condition, text);
}

int rt_priority_of(uint32_t number)
{
    return world()->rt_priority_of(number);
}

uint32_t timeouts()
{
    return world()->outcome().timeouts;
}

} // namespace sim
