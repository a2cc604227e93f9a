// SPDX-License-Identifier: MIT OR Apache-2.0
// The standard library: an atomic shared_ptr, and a shared_mutex around a unique_ptr.
#include <memory>
#include <shared_mutex>

#include "work/works.h"

namespace bench
{
namespace
{

struct Standard {
    static const char *version()
    {
        return __VERSION__;
    }
    static constexpr auto configure = no_settings;
    static void begin()
    {
    }
    static void end()
    {
    }
    static void settle()
    {
    }
};

struct AtomicShared : Standard {
    static inline std::atomic<std::shared_ptr<const CellValue>> cell{std::make_shared<const CellValue>()};
    static uint64_t read()
    {
        return cell.load(std::memory_order_acquire)->words[0];
    }
    static void update()
    {
        std::shared_ptr<const CellValue> old = cell.load(std::memory_order_acquire);
        std::shared_ptr<CellValue> next;
        do {
            next = std::make_shared<CellValue>(*old);
            next->change();
        } while (!cell.compare_exchange_strong(old, next, std::memory_order_acq_rel, std::memory_order_acquire));
    }
};

struct SharedMutex : Standard {
    static inline std::shared_mutex mutex;
    static inline std::unique_ptr<const CellValue> cell = std::make_unique<const CellValue>();
    static uint64_t read()
    {
        std::shared_lock lock(mutex);
        return cell->words[0];
    }
    static void update()
    {
        std::unique_ptr<const CellValue> old; // freed after the lock is released
        std::unique_lock lock(mutex);
        auto next = std::make_unique<CellValue>(*cell);
        next->change();
        old = std::exchange(cell, std::move(next));
        lock.unlock();
    }
};

} // namespace

const Peer cell_atomic_shared_peer =
    peer_row<AtomicShared>("atomic-shared", "std::atomic<std::shared_ptr<T>>, by compare and exchange");
const Peer cell_shared_mutex_peer = peer_row<SharedMutex>("shared-mutex", "std::shared_mutex and std::unique_ptr");

} // namespace bench
