// SPDX-License-Identifier: MIT OR Apache-2.0
// A value that a forked child writes and its parent reads, even if the child is ended early.
#pragma once

#include <sys/mman.h>

#include <new>
#include <type_traits>

namespace lab
{

template <class T> class SharedValue
{
    static_assert(std::is_trivially_copyable_v<T>);

  public:
    SharedValue()
    {
        void *memory = mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
            throw std::bad_alloc();
        value_ = new (memory) T{};
    }
    ~SharedValue()
    {
        munmap(value_, sizeof(T));
    }
    SharedValue(const SharedValue &) = delete;
    SharedValue &operator=(const SharedValue &) = delete;

    T &operator*() const
    {
        return *value_;
    }
    T *operator->() const
    {
        return value_;
    }

  private:
    T *value_;
};

} // namespace lab
