// SPDX-License-Identifier: MIT OR Apache-2.0
// A machine that counts: the interface of the explorer's machine (test/sim), with a CPU and a cache for each thread
// and one thread running at a time.
//
// The model: memory consists of lines of 64 bytes; a cache loses a line only when another CPU writes it.
//   read    of a line that another CPU wrote last, and that was not read here since: a transfer
//   write   of a line that any other CPU has read or written since our last write: a transfer
//   first touch of a line that no CPU has: from memory, no transfer
// A read-modify-write is a write, whether it changes the value or not.  Not counted: the cost of fences, the interrupts
// of membarrier(), how many caches a write invalidates, distances, and waits for another CPU's access.
#pragma once

#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace sim
{

constexpr size_t kThreadBlock = 256;

enum Resource : unsigned { kMalloc = 1, kPages = 2, kThreads = 4, kExitHooks = 8 };

// The counts of a part of the run.
struct Tally {
    uint64_t transfers = 0; // transfers of lines between CPUs
    uint64_t lines = 0;     // lines accessed, each counted once for each CPU
    uint64_t fences = 0;    // heavy fences
};

// The line with the most transfers.
struct Contended {
    uint64_t transfers = 0;
    uint64_t cpus = 0;       // number of CPUs that accessed the line
    const char *access = ""; // the access that causes most of the transfers, as in the source
    const char *where = "";  // the function of the access
};

struct Cpu {
    int id;
    uint32_t number; // id of the thread that runs on the CPU
    int rt_priority = 0, nice = 0;
};

class World
{
  public:
    explicit World(int cpus);

    // ---- for the subjects ----
    void as_cpu(int cpu, const std::function<void()> &body);
    // The work that other CPUs do whenever the running CPU waits. This work must end by itself.
    void meanwhile(std::function<void()> others)
    {
        others_ = std::move(others);
    }
    void start_counting();
    Tally stop_counting();
    uint64_t transfers() const
    {
        return tally_.transfers;
    }
    // The counts of the last part of the run.
    Contended most_contended() const;

    // ---- for the library: accesses ----
    uint64_t load(uintptr_t address, size_t size, bool acquire, const char *text, const char *where);
    void store(uintptr_t address, uint64_t value, size_t size, bool release, const char *text, const char *where);
    uint64_t update_begin(uintptr_t address, size_t size, bool acquire, const char *text);
    void update_end(uintptr_t address, uint64_t value, size_t size, bool release, const char *text, const char *where);
    uint64_t owner_add(uintptr_t address, uint64_t amount, size_t size, bool release, const char *text,
                       const char *where);
    void count(uintptr_t address, uint64_t amount, size_t size, const char *text);
    void fence_full(const char *)
    {
    }
    void relax(const char *)
    {
        wait();
    }
    void plain(uintptr_t address, size_t size, bool writes, const void *pc);
    void point(const char *text, const char *where)
    {
        text_ = text;
        where_ = where;
    }

    // ---- for the library: the kernel ----
    int fence_heavy(bool visit);
    int futex_wait(uintptr_t word, uint32_t expected, int64_t timeout_ns);
    int futex_wake(uintptr_t, int)
    {
        return 0;
    }
    int futex_lock_pi(uintptr_t word, int64_t timeout_ns);
    int futex_unlock_pi(uintptr_t word);
    int event_make() // not implemented: no thread of the model sleeps in an event loop
    {
        return -ENOSYS;
    }
    int event_duplicate(int)
    {
        return -ENOSYS;
    }
    void event_set(int)
    {
    }
    void event_clear(int)
    {
    }
    void event_close(int)
    {
    }
    int64_t clock_now()
    {
        return now_ += 100;
    }
    void clock_sleep(int64_t ns)
    {
        now_ += ns;
        wait();
    }
    bool block_signals(bool)
    {
        return false;
    }
    void set_exit_hook(void (*)(void *))
    {
    }
    void set_fork_hooks(void (*)(), void (*)()) // does nothing: no thread of the model forks
    {
    }
    void arm_exit(void *)
    {
    }
    bool refuses(unsigned)
    {
        return false;
    }
    // Threads that the library makes never run: the run names the CPU that does their work.
    int add_thread(const char *, void *(*)(void *), void *, bool)
    {
        return static_cast<int>(cpus_.size());
    }
    void set_rt_priority(uint32_t, int)
    {
    }
    // The CPU time of a thread is the elapsed time, since each thread has a CPU for itself.
    int64_t cpu_ns_of(uint32_t)
    {
        return now_;
    }
    int nice_of(uint32_t)
    {
        return 0;
    }
    Cpu *current()
    {
        return &cpus_[current_];
    }
    void *thread_block()
    {
        return blocks_ + current_ * kThreadBlock;
    }
    void *allocate(size_t bytes);
    void *allocate_pages(size_t bytes);
    void release(void *)
    {
    }
    void release_pages(void *, size_t)
    {
    }
    bool active() const
    {
        return true;
    }
    bool exploring() const
    {
        return true;
    }
    [[noreturn]] void fail(const std::string &message);
    void print(const char *format, va_list arguments);

  private:
    // The CPUs that have a line, as bits.
    struct Line {
        std::vector<uint64_t> holders;
        uint32_t held = 0;
        bool written = false;
        uint64_t transfers = 0; // this and the following members count the present part of the run
        std::vector<uint64_t> touched;
        std::map<std::pair<const char *, const char *>, uint64_t> accesses;
    };
    void touch(uintptr_t address, size_t size, bool writes);
    void touch_line(Line &line, bool writes);
    void wait();

    std::vector<Cpu> cpus_;
    size_t current_ = 0;
    unsigned char *blocks_; // a CPU's thread-local block on lines of its own
    std::unordered_map<uintptr_t, Line> lines_;
    std::function<void()> others_;
    bool counting_ = false, waiting_ = false;
    Tally tally_;
    const char *text_ = "", *where_ = "";
    int64_t now_ = 1;
    uintptr_t stack_low_ = 0, stack_high_ = 0;
};

World *world();
void set_world(World *world);

} // namespace sim

extern "C" void sim_thread_block_init(void *block);
