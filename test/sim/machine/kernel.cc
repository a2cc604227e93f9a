// SPDX-License-Identifier: MIT OR Apache-2.0
// The simulated kernel: heavy fences, futexes, clock, signal mask, memory.
// A system call that accesses a futex word is a full fence of its caller, as in the kernel.
#include <cerrno>
#include <cstring>

#include <fmt/core.h>

#include "machine/world.h"

namespace sim
{

namespace
{

// The kernel's layout of the word of a priority-inheriting futex.
constexpr uint32_t kOwnerMask = 0x3fffffff, kWaitersBit = 0x80000000;

} // namespace

// Each thread passes a full fence at its own step between the beginning and the end of the call, in any order.
int World::fence_heavy(bool visit)
{
    point(visit ? "visit every CPU" : "membarrier", "fence_heavy");
    if (visit ? visit_refused_ : membarrier_refused_) {
        trace("heavy fence refused", "", 0);
        current_->history = mix(current_->history, 0xdead);
        return -EPERM;
    }
    Thread &self = *current_;
    real_fence(self);
    std::vector<Thread *> left;
    for (Thread &thread : threads_) {
        if (&thread != &self && thread.waits != Waits::kFinished)
            left.push_back(&thread);
    }
    while (!left.empty()) {
        auto next = left.begin() + static_cast<std::ptrdiff_t>(choose(left.size()));
        Thread &thread = **next;
        left.erase(next);
        if (!thread.buffer.empty())
            point("heavy fence reaches", thread.name.c_str());
        real_fence(thread);
    }
    real_fence(self);
    self.history = mix(self.history, 0xfe);
    trace("heavy fence done", "", 0);
    return 0;
}

int World::futex_wait(uintptr_t word, uint32_t expected, int64_t timeout_ns)
{
    point("futex wait", "futex_wait");
    Thread &t = *current_;
    real_fence(t);
    auto value = static_cast<uint32_t>(Memory::read(word, 4));
    check_access(word, 4, AccessKind::kAtomicRead, "futex wait", nullptr);
    if (value != expected) {
        t.history = mix(t.history, 0xa6a);
        trace("futex wait: the word has changed", "", value);
        return -EAGAIN;
    }
    if (timeout_ns == 0)
        return -ETIMEDOUT;
    block(Waits::kFutex, word, timeout_ns);
    return t.wait_result;
}

// Wake waiters in the order of thread numbers; the kernel promises no order.
int World::futex_wake(uintptr_t word, int count)
{
    point("futex wake", "futex_wake");
    real_fence(*current_);
    int woken = 0;
    for (Thread &thread : threads_) {
        if (woken < count && thread.waits == Waits::kFutex && thread.wait_address == word) {
            wake(thread, 0);
            woken++;
        }
    }
    current_->history = mix(current_->history, static_cast<uint64_t>(woken));
    trace("futex wake", "", static_cast<uint64_t>(woken));
    return woken;
}

// Find a thread by the kernel's number, among the threads that exist now.
Thread *World::thread_of(uint32_t number)
{
    for (Thread &thread : threads_) {
        if (thread.number == number)
            return &thread;
    }
    return nullptr;
}

World::EventState &World::event_of(int number, const char *text)
{
    point(text, "event");
    real_fence(*current_);
    size_t event = number < 0 ? kClosed : numbers_[static_cast<size_t>(number)];
    if (event == kClosed)
        fail(fmt::format("{}: descriptor {} is closed, and may be another file's", text, number));
    return events_made_[event];
}

int World::event_make()
{
    numbers_.push_back(events_made_.size());
    events_made_.push_back({});
    return static_cast<int>(numbers_.size()) - 1;
}

int World::event_duplicate(int number)
{
    numbers_.push_back(numbers_[static_cast<size_t>(number)]);
    return static_cast<int>(numbers_.size()) - 1;
}

void World::event_set(int number)
{
    EventState &event = event_of(number, "event set");
    event.set = true;
    event.edges++;
    trace("event set", "", event.edges);
}

void World::event_clear(int number)
{
    event_of(number, "event clear").set = false;
    trace("event clear", "", 0);
}

void World::event_close(int number)
{
    (void)event_of(number, "event close");
    numbers_[static_cast<size_t>(number)] = kClosed;
}

int World::futex_lock_pi(uintptr_t word, int64_t timeout_ns)
{
    point("futex lock", "futex_lock_pi");
    Thread &t = *current_;
    real_fence(t);
    uint64_t value = update_begin(word, 4, true, "futex lock");
    if ((value & kOwnerMask) == t.number)
        return -EDEADLK;
    if (value == 0) {
        update_end(word, t.number, 4, true, "futex lock", "futex_lock_pi");
        real_fence(t);
        return 0;
    }
    const Thread *owner = thread_of(static_cast<uint32_t>(value & kOwnerMask));
    if (!owner || owner->waits == Waits::kFinished)
        return -ESRCH;
    update_end(word, value | kWaitersBit, 4, true, "futex lock: a waiter", "futex_lock_pi");
    real_fence(t);
    block(Waits::kPi, word, timeout_ns);
    memory_.publishers(word, 4, t.clock);
    real_fence(t);
    return t.wait_result;
}

int World::futex_unlock_pi(uintptr_t word)
{
    point("futex unlock", "futex_unlock_pi");
    Thread &t = *current_;
    real_fence(t);
    uint64_t value = update_begin(word, 4, true, "futex unlock");
    if ((value & kOwnerMask) != t.number)
        return -EPERM;
    Thread *heir = nullptr;
    bool more = false;
    for (Thread &thread : threads_) {
        if (thread.waits != Waits::kPi || thread.wait_address != word)
            continue;
        more |= heir != nullptr;
        heir = heir ? heir : &thread;
    }
    uint32_t now = heir ? heir->number | (more ? kWaitersBit : 0) : 0;
    update_end(word, now, 4, true, "futex unlock", "futex_unlock_pi");
    real_fence(t);
    if (heir)
        wake(*heir, 0);
    return 0;
}

int64_t World::clock_now()
{
    if (exploring())
        current_->history = mix(current_->history, static_cast<uint64_t>(now_));
    return now_;
}

void World::clock_sleep(int64_t ns)
{
    point("sleep", "clock_sleep");
    real_fence(*current_);
    block(Waits::kSleep, 0, ns);
}

bool World::block_signals(bool blocked)
{
    bool before = current_->signals_blocked;
    current_->signals_blocked = blocked;
    signal_point(); // pending signals are delivered before the call returns
    return before;
}

void World::set_signal(int id, void (*handler)())
{
    threads_[static_cast<size_t>(id)].signal = handler;
}

void World::add_event(const char *name, void (*f)())
{
    events_.emplace_back(name, f);
}

// Affects only scheduling: it is no fence, and does not synchronize with the thread that made the condition true.
void World::wait_until(bool (*condition)())
{
    Thread &t = *current_;
    t.until = condition;
    point("wait until", "wait_until");
    block(Waits::kUntil, 0, INT64_MAX);
}

// Never returns the same address twice in a schedule: freed memory remains known as freed.
void *World::allocate(size_t bytes)
{
    settle();
    size_t rounded = (bytes + 31) & ~size_t{15};
    if (heap_used_ + rounded > heap_.size())
        fail("the scenario's heap is used up");
    unsigned char *memory = heap_.data() + heap_used_;
    heap_used_ += rounded;
    memset(memory, 0xa5, bytes);
    memory_.set_freed(reinterpret_cast<uintptr_t>(memory) + bytes, rounded - bytes, true);
    allocations_[reinterpret_cast<uintptr_t>(memory)] = bytes;
    current_->history = mix(current_->history, heap_used_);
    return memory;
}

// Aligned like the library's cache lines, of which it puts several into a page.
void *World::allocate_pages(size_t bytes)
{
    while (reinterpret_cast<uintptr_t>(heap_.data() + heap_used_) % 64)
        heap_used_ += 16;
    void *pages = allocate(bytes);
    allocations_.erase(reinterpret_cast<uintptr_t>(pages)); // not an allocation that free() may take
    pages_[reinterpret_cast<uintptr_t>(pages)] = bytes;
    return memset(pages, 0, bytes);
}

// Like release(), for pages that this schedule has allocated.
void World::release_pages(void *memory, size_t bytes)
{
    auto address = reinterpret_cast<uintptr_t>(memory);
    auto found = pages_.find(address);
    if (found == pages_.end() || found->second != bytes)
        fail("release of pages that were not given so, or twice");
    point("release of pages", "release_pages");
    check_access(address, bytes, AccessKind::kPlainWrite, "release of pages", nullptr);
    memory_.set_freed(address, bytes, true);
    pages_.erase(found);
    trace("release of pages", "", address);
}

// Freeing is a write of the whole allocation: every other access must happen before it.
void World::release(void *memory)
{
    auto address = reinterpret_cast<uintptr_t>(memory);
    if (!memory)
        return;
    auto found = allocations_.find(address);
    if (found == allocations_.end())
        fail("free of something that was not allocated, or twice");
    size_t bytes = found->second;
    point("free", "release");
    check_access(address, bytes, AccessKind::kPlainWrite, "free", nullptr);
    memory_.set_freed(address, bytes, true);
    allocations_.erase(address);
    trace("free", "", address);
}

bool World::is_freed(const void *memory) const
{
    auto address = reinterpret_cast<uintptr_t>(memory);
    bool ordered = !options_.races || memory_.comes_after_write(address, current_->clock);
    return !allocations_.contains(address) && ordered;
}

} // namespace sim
