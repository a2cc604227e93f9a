// SPDX-License-Identifier: MIT OR Apache-2.0
// Four ways to synchronize readers and updaters of the route cache, as its template parameter Sync.
#pragma once

#include <rtrcu/rcu.h>

#include <atomic>
#include <cstdlib>
#include <vector>

#include "overhead/spin_lock.h"
#include "workload/route_cache.h"

namespace lab::overhead
{

// The base, as in Linux 2.5.3: a reader-writer lock for each chain, and a reference count in each entry.  A packet
// holds a reference while it uses the entry after the lookup.
class CountedChainSync
{
  public:
    explicit CountedChainSync(std::size_t buckets) : locks_(buckets)
    {
    }
    void read_lock(std::size_t bucket)
    {
        locks_[bucket].read_lock();
    }
    void read_unlock(std::size_t bucket)
    {
        locks_[bucket].read_unlock();
    }
    void update_lock(std::size_t bucket)
    {
        locks_[bucket].write_lock();
    }
    void update_unlock(std::size_t bucket)
    {
        locks_[bucket].write_unlock();
    }
    // Takes a reference.  Called with the lookup's read lock held, so that the chain's own reference still exists.
    void hold(RouteEntry *entry)
    {
        std::atomic_ref(entry->references).fetch_add(1, std::memory_order_relaxed);
    }
    // Drops a reference, and frees the entry if it was the last reference.  The count is the number of references minus
    // 1.
    void release(RouteEntry *entry)
    {
        if (std::atomic_ref(entry->references).fetch_sub(1, std::memory_order_acq_rel) == 0)
            std::free(entry);
    }
    // Drops the chain's own reference.
    void retire(RouteEntry *entry)
    {
        release(entry);
    }

  private:
    std::vector<ReadWriteLock> locks_;
};

// A coarser base: one reader-writer lock for the whole cache.
class OneLockSync
{
  public:
    explicit OneLockSync(std::size_t)
    {
    }
    void read_lock(std::size_t)
    {
        lock_.read_lock();
    }
    void read_unlock(std::size_t)
    {
        lock_.read_unlock();
    }
    void update_lock(std::size_t)
    {
        lock_.write_lock();
    }
    void update_unlock(std::size_t)
    {
        lock_.write_unlock();
    }
    // Frees the entry immediately: the caller holds the lock for writing, so no thread reads, and later readers cannot
    // find the entry.
    void retire(RouteEntry *entry)
    {
        std::free(entry);
    }

  private:
    ReadWriteLock lock_;
};

// A finer base: a spinning lock for each chain, which readers take too, and no reference count.
class ChainLockSync
{
  public:
    explicit ChainLockSync(std::size_t buckets) : locks_(buckets)
    {
    }
    void read_lock(std::size_t bucket)
    {
        locks_[bucket].lock();
    }
    void read_unlock(std::size_t bucket)
    {
        locks_[bucket].unlock();
    }
    void update_lock(std::size_t bucket)
    {
        locks_[bucket].lock();
    }
    void update_unlock(std::size_t bucket)
    {
        locks_[bucket].unlock();
    }
    void retire(RouteEntry *entry)
    {
        std::free(entry);
    }

  private:
    std::vector<SpinLock> locks_;
};

// The engines: readers are quiescent-state threads and take no lock; updaters lock the hash chain.
class RcuSync
{
  public:
    using Retire = void (*)(RetiredHead *);
    RcuSync(std::size_t buckets, Retire retire_entry) : locks_(buckets), retire_entry_(retire_entry)
    {
    }
    void read_lock(std::size_t)
    {
        rcu_read_lock_qs();
    }
    void read_unlock(std::size_t)
    {
        rcu_read_unlock_qs();
    }
    void update_lock(std::size_t bucket)
    {
        locks_[bucket].lock();
    }
    void update_unlock(std::size_t bucket)
    {
        locks_[bucket].unlock();
    }
    void retire(RouteEntry *entry)
    {
        retire_entry_(&entry->head);
    }

  private:
    std::vector<SpinLock> locks_;
    const Retire retire_entry_;
};

} // namespace lab::overhead
