// SPDX-License-Identifier: MIT OR Apache-2.0
// Thread counters from perf_event_open(2), /proc/thread-self/schedstat, getrusage(2) and the thread's clock.
#include "machine/thread_counters.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <vector>

#include "measure/clock.h"

namespace lab
{

// Opens perf's task-clock of the calling thread.  exclude_kernel, which ordinary users must set, does not change its
// count.
static int open_task_clock()
{
    perf_event_attr attributes{};
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.size = sizeof(attributes);
    attributes.config = PERF_COUNT_SW_TASK_CLOCK;
    attributes.exclude_kernel = 1;
    return static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

ThreadCounters::ThreadCounters()
    : task_clock_(open_task_clock()), schedstat_(open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC))
{
}

ThreadCounters::~ThreadCounters()
{
    if (task_clock_ >= 0)
        close(task_clock_);
    if (schedstat_ >= 0)
        close(schedstat_);
}

ThreadCounts ThreadCounters::read() const
{
    ThreadCounts counts;
    counts.at_ns = now_ns();
    // The two clocks are compared, so they are read directly after each other.
    uint64_t occupied = 0;
    counts.cpu_ns = thread_cpu_ns();
    const bool known = task_clock_ >= 0 && ::read(task_clock_, &occupied, sizeof(occupied)) == sizeof(occupied);
    counts.occupied_ns = known ? static_cast<int64_t>(occupied) : counts.cpu_ns;
    char text[96];
    const ssize_t length = schedstat_ >= 0 ? pread(schedstat_, text, sizeof(text) - 1, 0) : -1;
    if (length > 0) { // The text: "time on a CPU, time runnable, times on a CPU".
        text[length] = '\0';
        char *second = nullptr;
        (void)std::strtoll(text, &second, 10);
        counts.waited_ns = std::strtoll(second, nullptr, 10);
    }
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    counts.faults = static_cast<uint64_t>(usage.ru_minflt);
    counts.major_faults = static_cast<uint64_t>(usage.ru_majflt);
    counts.voluntary = static_cast<uint64_t>(usage.ru_nvcsw);
    counts.involuntary = static_cast<uint64_t>(usage.ru_nivcsw);
    return counts;
}

int64_t minor_fault_ns()
{
    constexpr std::size_t pages = 128;
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void *memory = mmap(nullptr, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        throw std::bad_alloc();
    (void)madvise(memory, pages * page, MADV_NOHUGEPAGE);
    auto *bytes = static_cast<volatile char *>(memory);
    std::vector<int64_t> each;
    for (std::size_t i = 0; i < pages; i++) {
        const int64_t begin = now_ns();
        bytes[i * page] = 1;
        each.push_back(now_ns() - begin);
    }
    munmap(memory, pages * page);
    std::nth_element(each.begin(), each.begin() + pages / 2, each.end());
    return each[pages / 2];
}

} // namespace lab
