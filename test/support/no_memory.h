/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A scope in which neither malloc() nor the kernel has memory.  Sanitizers' allocators would end the program. */
#ifndef RTRCU_TEST_SUPPORT_NO_MEMORY_H
#define RTRCU_TEST_SUPPORT_NO_MEMORY_H

#include <cstdlib>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace test
{

class NoMemory
{
    static constexpr rlim_t limit = rlim_t{1} << 28;
    struct rlimit before_ = {};
    void **taken_ = nullptr;

    void set(rlim_t bytes) const
    {
        const struct rlimit now = {bytes, before_.rlim_max};
        if (setrlimit(RLIMIT_AS, &now) != 0)
            abort();
    }

  public:
    NoMemory()
    {
        if (getrlimit(RLIMIT_AS, &before_) != 0)
            abort();
        set(limit);
        for (size_t bytes = limit / 2; bytes >= sizeof(void *); bytes /= 2) {
            while (void *more = malloc(bytes)) {
                *static_cast<void **>(more) = taken_;
                taken_ = static_cast<void **>(more);
            }
        }
        leave(0); /* when malloc() fails, the kernel still has some pages */
    }
    ~NoMemory()
    {
        set(before_.rlim_cur);
        while (void *memory = taken_) {
            taken_ = static_cast<void **>(*taken_);
            free(memory);
        }
    }
    NoMemory(const NoMemory &) = delete;
    NoMemory &operator=(const NoMemory &) = delete;

    /* Let the kernel provide @bytes more, in whole pages. */
    void leave(size_t bytes) const
    {
        char text[32] = {};
        int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
        if (file < 0 || read(file, text, sizeof(text) - 1) <= 0)
            abort();
        close(file);
        auto page = static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
        set(strtoul(text, nullptr, 10) * page + (bytes + page - 1) / page * page);
    }
};

} // namespace test

#endif
