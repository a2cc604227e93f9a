// SPDX-License-Identifier: MIT OR Apache-2.0
// The entry points of the machine: the calls of sim.h, and those that the compiler inserts before every plain access.
// The explored source is compiled with the instrumentation of the race detector, but linked without its library.  These
// functions are called instead.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "machine/world.h"
#include "sim.h"

using sim::World;
using sim::world;

namespace
{

uintptr_t number(const volatile void *address)
{
    return reinterpret_cast<uintptr_t>(address);
}

uint64_t apply(sim_rmw operation, uint64_t old, uint64_t value)
{
    switch (operation) {
    case SIM_EXCHANGE:
        return value;
    case SIM_ADD:
        return old + value;
    case SIM_OR:
        return old | value;
    case SIM_AND:
        return old & value;
    }
    return value;
}

bool acquires(int order)
{
    return order != SIM_RELAXED && order != SIM_RELEASE;
}

bool releases(int order)
{
    return order == SIM_RELEASE || order == SIM_ACQ_REL || order == SIM_SEQ_CST;
}

void plain(void *address, size_t size, bool writes, const void *pc)
{
    World *w = world();
    if (w && w->active())
        w->plain(number(address), size, writes, pc);
}

} // namespace

extern "C" {

uint64_t sim_load(const volatile void *address, size_t size, int order, const char *text, const char *where)
{
    return world()->load(number(address), size, acquires(order), text, where);
}

void sim_store(volatile void *address, uint64_t value, size_t size, int order, const char *text, const char *where)
{
    world()->store(number(address), value, size, releases(order), text, where);
}

uint64_t sim_update(volatile void *address, uint64_t value, size_t size, sim_rmw operation, int order, const char *text,
                    const char *where)
{
    World *w = world();
    w->point(text, where);
    uint64_t old = w->update_begin(number(address), size, acquires(order), text);
    w->update_end(number(address), apply(operation, old, value), size, releases(order), text, where);
    return old;
}

bool sim_compare_exchange(volatile void *address, void *expected, uint64_t desired, size_t size, int order,
                          const char *text, const char *where)
{
    World *w = world();
    uint64_t wanted = 0;
    memcpy(&wanted, expected, size);
    w->point(text, where);
    uint64_t old = w->update_begin(number(address), size, acquires(order), text);
    if (old == wanted) {
        w->update_end(number(address), desired, size, releases(order), text, where);
        return true;
    }
    plain(expected, size, true, __builtin_return_address(0));
    memcpy(expected, &old, size);
    return false;
}

uint64_t sim_owner_add(volatile void *address, uint64_t amount, size_t size, int order, const char *text,
                       const char *where)
{
    return world()->owner_add(number(address), amount, size, releases(order), text, where);
}

void sim_count(volatile void *address, uint64_t amount, size_t size, const char *text)
{
    world()->count(number(address), amount, size, text);
}

void sim_fence_full(const char *where)
{
    world()->fence_full(where);
}

void sim_relax(const char *where)
{
    world()->relax(where);
}

struct rtrcu_thread *sim_self(void)
{
    return static_cast<struct rtrcu_thread *>(world()->thread_block());
}

// ---- malloc() and free() of the explored source, by the linker's --wrap ----

void *__real_malloc(size_t bytes);
void __real_free(void *memory);
void *__wrap_malloc(size_t bytes);
void __wrap_free(void *memory);

void *__wrap_malloc(size_t bytes)
{
    World *w = world();
    if (!w || !w->active())
        return __real_malloc(bytes);
    return w->refuses(sim::kMalloc) ? nullptr : w->allocate(bytes);
}

void __wrap_free(void *memory)
{
    if (world() && world()->active())
        world()->release(memory);
    else
        __real_free(memory);
}

// ---- plain accesses ----

#define PLAIN(name, size, writes)                                                                                      \
    void name(void *address);                                                                                          \
    void name(void *address)                                                                                           \
    {                                                                                                                  \
        plain(address, size, writes, __builtin_return_address(0));                                                     \
    }

PLAIN(__tsan_read1, 1, false)
PLAIN(__tsan_read2, 2, false)
PLAIN(__tsan_read4, 4, false)
PLAIN(__tsan_read8, 8, false)
PLAIN(__tsan_read16, 16, false)
PLAIN(__tsan_write1, 1, true)
PLAIN(__tsan_write2, 2, true)
PLAIN(__tsan_write4, 4, true)
PLAIN(__tsan_write8, 8, true)
PLAIN(__tsan_write16, 16, true)
PLAIN(__tsan_unaligned_read2, 2, false)
PLAIN(__tsan_unaligned_read4, 4, false)
PLAIN(__tsan_unaligned_read8, 8, false)
PLAIN(__tsan_unaligned_write2, 2, true)
PLAIN(__tsan_unaligned_write4, 4, true)
PLAIN(__tsan_unaligned_write8, 8, true)

void __tsan_read_range(void *address, size_t size);
void __tsan_write_range(void *address, size_t size);
void __tsan_init(void);

void __tsan_read_range(void *address, size_t size)
{
    plain(address, size, false, __builtin_return_address(0));
}

void __tsan_write_range(void *address, size_t size)
{
    plain(address, size, true, __builtin_return_address(0));
}

void __tsan_init(void)
{
}

void *sim_memset(void *place, int byte, size_t size);
void *sim_memcpy(void *place, const void *from, size_t size);

void *sim_memset(void *place, int byte, size_t size)
{
    if (size)
        plain(place, size, true, __builtin_return_address(0));
    return memset(place, byte, size);
}

// The buffered bytes of the source lie over memory only for the access, so they are copied before the target is
// accessed.
void *sim_memcpy(void *place, const void *from, size_t size)
{
    std::vector<uint8_t> bytes(size);
    if (size == 0)
        return place;
    plain(const_cast<void *>(from), size, false, __builtin_return_address(0));
    memcpy(bytes.data(), from, size);
    plain(place, size, true, __builtin_return_address(0));
    return memcpy(place, bytes.data(), size);
}
}
