// SPDX-License-Identifier: MIT OR Apache-2.0
// Caches without evictions, and a kernel that never blocks.
#include "machine/world.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <pthread.h>
#include <sys/mman.h>

namespace sim
{

namespace
{

constexpr uintptr_t kLine = 64;
World *the_world;

uint64_t read_bytes(uintptr_t address, size_t size)
{
    uint64_t value = 0;
    memcpy(&value, reinterpret_cast<const void *>(address), size);
    return value;
}

void write_bytes(uintptr_t address, uint64_t value, size_t size)
{
    memcpy(reinterpret_cast<void *>(address), &value, size);
}

bool has(const std::vector<uint64_t> &set, size_t member)
{
    return set[member / 64] >> member % 64 & 1;
}

// Adds a member to a set. Returns false if it was already in the set.
bool add(std::vector<uint64_t> &set, size_t member)
{
    const bool fresh = !has(set, member);
    set[member / 64] |= uint64_t{1} << member % 64;
    return fresh;
}

uint64_t size_of(const std::vector<uint64_t> &set)
{
    uint64_t members = 0;
    for (uint64_t word : set)
        members += static_cast<uint64_t>(__builtin_popcountll(word));
    return members;
}

void *pages(size_t bytes)
{
    void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        abort();
    return memory;
}

} // namespace

World *world()
{
    return the_world;
}

void set_world(World *world)
{
    the_world = world;
}

World::World(int cpus)
{
    for (int id = 0; id < cpus; id++)
        cpus_.push_back({id, static_cast<uint32_t>(id + 1)});
    blocks_ = static_cast<unsigned char *>(pages(static_cast<size_t>(cpus) * kThreadBlock));
    for (size_t cpu = 0; cpu < cpus_.size(); cpu++)
        sim_thread_block_init(blocks_ + cpu * kThreadBlock);
    pthread_attr_t attributes;
    void *low;
    size_t size;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0 || pthread_attr_getstack(&attributes, &low, &size) != 0)
        abort();
    pthread_attr_destroy(&attributes);
    stack_low_ = reinterpret_cast<uintptr_t>(low);
    stack_high_ = stack_low_ + size;
}

void World::as_cpu(int cpu, const std::function<void()> &body)
{
    const size_t before = current_;
    current_ = static_cast<size_t>(cpu);
    body();
    current_ = before;
}

void World::start_counting()
{
    tally_ = {};
    for (auto &[address, line] : lines_) {
        line.transfers = 0;
        line.touched.clear();
        line.accesses.clear();
    }
    counting_ = true;
}

Tally World::stop_counting()
{
    counting_ = false;
    return tally_;
}

Contended World::most_contended() const
{
    Contended most;
    for (const auto &[address, line] : lines_) {
        if (line.transfers <= most.transfers)
            continue;
        most.transfers = line.transfers;
        most.cpus = size_of(line.touched);
        const auto access = std::max_element(line.accesses.begin(), line.accesses.end(),
                                             [](const auto &a, const auto &b) { return a.second < b.second; });
        most.access = access->first.first;
        most.where = access->first.second;
    }
    return most;
}

void World::touch_line(Line &line, bool writes)
{
    if (line.holders.empty())
        line.holders.resize((cpus_.size() + 63) / 64);
    const bool mine = has(line.holders, current_);
    const bool moves = writes ? line.held > (mine ? 1u : 0u) : !mine && line.written;
    if (writes) {
        std::fill(line.holders.begin(), line.holders.end(), 0);
        line.held = 0;
        line.written = true;
    }
    line.held += add(line.holders, current_);
    if (!counting_)
        return;
    if (line.touched.empty())
        line.touched.resize(line.holders.size());
    tally_.lines += add(line.touched, current_);
    if (!moves)
        return;
    tally_.transfers++;
    line.transfers++;
    line.accesses[{text_, where_}]++;
}

void World::touch(uintptr_t address, size_t size, bool writes)
{
    if (address >= stack_low_ && address < stack_high_)
        return;
    for (uintptr_t line = address / kLine; line <= (address + size - 1) / kLine; line++)
        touch_line(lines_[line], writes);
}

uint64_t World::load(uintptr_t address, size_t size, bool, const char *text, const char *where)
{
    point(text, where);
    touch(address, size, false);
    return read_bytes(address, size);
}

void World::store(uintptr_t address, uint64_t value, size_t size, bool, const char *text, const char *where)
{
    point(text, where);
    touch(address, size, true);
    write_bytes(address, value, size);
}

uint64_t World::update_begin(uintptr_t address, size_t size, bool, const char *text)
{
    point(text, where_);
    touch(address, size, true);
    return read_bytes(address, size);
}

void World::update_end(uintptr_t address, uint64_t value, size_t size, bool, const char *, const char *)
{
    write_bytes(address, value, size);
}

uint64_t World::owner_add(uintptr_t address, uint64_t amount, size_t size, bool, const char *text, const char *where)
{
    point(text, where);
    touch(address, size, true);
    const uint64_t mask = size == 8 ? UINT64_MAX : (UINT64_C(1) << (8 * size)) - 1;
    const uint64_t value = (read_bytes(address, size) + amount) & mask;
    write_bytes(address, value, size);
    return value;
}

void World::count(uintptr_t address, uint64_t amount, size_t size, const char *text)
{
    point(text, "");
    touch(address, size, true);
    write_bytes(address, read_bytes(address, size) + amount, size);
}

void World::plain(uintptr_t address, size_t size, bool writes, const void *)
{
    point("a plain access", "");
    touch(address, size, writes);
}

int World::fence_heavy(bool)
{
    tally_.fences += counting_;
    return 0;
}

// Runs the work of the other CPUs while the running CPU waits. A wait during that work returns immediately.
void World::wait()
{
    if (waiting_ || !others_)
        return;
    waiting_ = true;
    others_();
    waiting_ = false;
}

int World::futex_wait(uintptr_t word, uint32_t expected, int64_t timeout_ns)
{
    if (read_bytes(word, 4) != expected)
        return -EAGAIN;
    now_ += timeout_ns > 0 && timeout_ns < 1'000'000'000 ? timeout_ns : 1'000'000;
    wait();
    return 0;
}

int World::futex_lock_pi(uintptr_t, int64_t)
{
    fail("futex_lock_pi(): another CPU holds the lock, although only one CPU runs at a time");
}

int World::futex_unlock_pi(uintptr_t word)
{
    write_bytes(word, 0, 4);
    return 0;
}

void *World::allocate(size_t bytes)
{
    return pages(bytes);
}

void *World::allocate_pages(size_t bytes)
{
    return pages(bytes);
}

void World::fail(const std::string &message)
{
    fprintf(stderr, "rtrcu-lines: %s\n", message.c_str());
    abort();
}

void World::print(const char *format, va_list arguments)
{
    vfprintf(stderr, format, arguments);
}

} // namespace sim
