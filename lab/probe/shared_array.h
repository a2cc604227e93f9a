// SPDX-License-Identifier: MIT OR Apache-2.0
// Arrays that a forked child fills and its parent reads, even if the child is ended early.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <new>
#include <type_traits>

namespace lab
{

// An array in anonymous memory that parent and child share after fork().  It has one writer; readers see only complete
// elements, those below count().
template <class T> class SharedArray
{
    static_assert(std::is_trivially_copyable_v<T>);
    struct Header {
        std::atomic<std::size_t> count;
        std::size_t lost;
    };

  public:
    explicit SharedArray(std::size_t capacity) : capacity_(capacity)
    {
        void *memory =
            mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED)
            throw std::bad_alloc();
        header_ = new (memory) Header{};
    }
    ~SharedArray()
    {
        munmap(header_, bytes());
    }
    SharedArray(const SharedArray &) = delete;
    SharedArray &operator=(const SharedArray &) = delete;

    // Touches every page, so that no page fault occurs during a measurement.
    void touch()
    {
        auto *byte = reinterpret_cast<volatile char *>(header_);
        for (std::size_t i = 0; i < bytes(); i += 4096)
            byte[i] = byte[i];
    }
    // Removes all elements.  No other process may read the array meanwhile.
    void clear()
    {
        header_->count.store(0, std::memory_order_release);
    }
    // Appends an element; if the array is full, drops it and counts the loss.
    void push(const T &value)
    {
        std::size_t at = header_->count.load(std::memory_order_relaxed);
        if (at == capacity_) {
            header_->lost++;
            return;
        }
        data()[at] = value;
        header_->count.store(at + 1, std::memory_order_release);
    }
    std::size_t count() const
    {
        return header_->count.load(std::memory_order_acquire);
    }
    std::size_t lost() const
    {
        return header_->lost;
    }
    const T &operator[](std::size_t index) const
    {
        return data()[index];
    }

  private:
    std::size_t bytes() const
    {
        return sizeof(Header) + capacity_ * sizeof(T);
    }
    T *data() const
    {
        return reinterpret_cast<T *>(header_ + 1);
    }

    std::size_t capacity_;
    Header *header_;
};

} // namespace lab
