// SPDX-License-Identifier: MIT OR Apache-2.0
// Shared memory of a scenario's process and its parent, and the words for what is in it.
#include "torture/shared.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <system_error>
#include <utility>

namespace lab::torture
{
namespace
{

struct CheckText {
    const char *name, *sentence;
};
constexpr std::array<CheckText, checks_count> check_texts = {{
    {"age", "a reader saw an element that was replaced more than one grace period before"},
    {"mark", "a reader saw an element that had been reused, or was not filled in yet"},
    {"canary", "a reader saw memory that had been freed or was not initialised"},
    {"census", "a grace period ended while a reader was in a section"},
    {"cookie", "a cookie was reported complete too early, too late, or never"},
    {"early", "a callback ran before its grace period"},
    {"twice", "a callback ran that was not queued"},
    {"lost", "a callback had not run at the end"},
    {"barrier", "rcu_barrier() returned before a callback queued before it"},
    {"litmus", "a grace period did not wait for a section that had just begun"},
    {"leak", "memory or elements were not freed by the end"},
    {"progress", "grace periods or callbacks made no progress"},
    {"table", "an entry of a hash table was not found, or visited twice"},
    {"late", "grace periods ended long after the sections that they waited for"},
    {"boost", "a reader that held up a grace period was not boosted"},
    {"stall", "a stall was not reported"},
    {"fork", "a forked child did not pass its check"},
    {"configure", "settings were refused or did not take effect"},
    {"hang", "an actor did not finish"},
    {"crash", "the process died"},
}};

constexpr std::array<const char *, static_cast<std::size_t>(Doing::count)> doing_names = {"nothing yet",
                                                                                          "paused",
                                                                                          "resting",
                                                                                          "reading",
                                                                                          "synchronize_rcu()",
                                                                                          "synchronize_rcu_expedited()",
                                                                                          "call_rcu()",
                                                                                          "cond_synchronize_rcu()",
                                                                                          "polling a cookie",
                                                                                          "rcu_barrier()",
                                                                                          "rcu_process_callbacks()",
                                                                                          "registering",
                                                                                          "joining threads",
                                                                                          "rtrcu_configure()",
                                                                                          "fork()",
                                                                                          "waiting for a child",
                                                                                          "finished"};

} // namespace

const char *name_of(Check check)
{
    return check_texts[static_cast<std::size_t>(check)].name;
}

const char *sentence_of(Check check)
{
    return check_texts[static_cast<std::size_t>(check)].sentence;
}

const char *name_of(Doing doing)
{
    return doing_names[static_cast<std::size_t>(doing)];
}

SharedMemory::SharedMemory(int descriptor) : descriptor_(descriptor)
{
    void *memory = mmap(nullptr, sizeof(SharedResult), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (memory == MAP_FAILED)
        throw std::system_error(errno, std::generic_category(), "shared memory of the torture");
    result_ = static_cast<SharedResult *>(memory); // the kernel fills the memory with 0, which is the initial state
}

SharedMemory SharedMemory::create()
{
    int descriptor = memfd_create("rtrcu-torture", 0);
    if (descriptor < 0 || ftruncate(descriptor, sizeof(SharedResult)) != 0)
        throw std::system_error(errno, std::generic_category(), "shared memory of the torture");
    return SharedMemory(descriptor);
}

SharedMemory SharedMemory::open(int descriptor)
{
    return SharedMemory(descriptor);
}

SharedMemory::SharedMemory(SharedMemory &&other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), result_(std::exchange(other.result_, nullptr))
{
}

SharedMemory::~SharedMemory()
{
    if (result_)
        munmap(result_, sizeof(SharedResult));
    if (descriptor_ >= 0)
        close(descriptor_);
}

Totals totals_of(const SharedResult &result)
{
    Totals totals;
    for (uint32_t i = 0; i < result.actors.load() && i < actors_max; i++) {
        const ActorRecord &actor = result.actor[i];
        totals.reads += actor.reads.load(std::memory_order_relaxed);
        totals.updates += actor.updates.load(std::memory_order_relaxed);
        totals.near_misses += actor.near_misses.load(std::memory_order_relaxed);
        totals.parks += actor.parks.load(std::memory_order_relaxed);
        for (std::size_t age = 0; age <= pipe_length; age++)
            totals.pipe[age] += actor.pipe[age].load(std::memory_order_relaxed);
    }
    for (const auto &errors : result.errors)
        totals.errors += errors.load();
    return totals;
}

} // namespace lab::torture
