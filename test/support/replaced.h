/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* An object that updaters replace while readers read it, and that detects reads after its grace period.
 * After its grace period a replaced object is poisoned, and reused only after thousands of others, with another serial
 * number.  So a reader that holds it too long sees the change.  A section lasts long enough for an updater that wrongly
 * does not wait.  A test continues until the object has been replaced during sections, since only then it can fail.
 */
#ifndef RTRCU_TEST_SUPPORT_REPLACED_H
#define RTRCU_TEST_SUPPORT_REPLACED_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <sched.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#include <rtrcu/rcu.h>
#pragma GCC diagnostic pop

#include "sync.h"

namespace test
{

class Replaced
{
  public:
    /* The serial number is 0 in an object that is poisoned or unused.  The race detector checks the plain copy. */
    struct Object {
        std::atomic<uint64_t> serial{0};
        uint64_t copy = 0;
    };
    struct Seen {
        const Object *object = nullptr;
        uint64_t serial = 0;

        explicit operator bool() const
        {
            return object != nullptr;
        }
    };

  private:
    static constexpr size_t objects = 8192;
    std::unique_ptr<Object[]> all_{new Object[objects]};
    std::atomic<uint64_t> made_{0};
    Object *current_ = make();
    std::atomic<long> looks_{0}, spanned_{0}, bad_{0};

    Object *make()
    {
        for (;;) { /* skips objects in use */
            uint64_t serial = made_.fetch_add(1) + 1, unused = 0;
            Object *fresh = &all_[serial % objects];
            if (!fresh->serial.compare_exchange_strong(unused, serial, std::memory_order_acquire))
                continue;
            fresh->copy = serial;
            return fresh;
        }
    }
    bool is_current(const Seen &seen) const
    {
        return rcu_access_pointer(current_) == seen.object;
    }

  public:
    /* ---- readers, inside a section ---- */

    Seen see()
    {
        const Object *object = rcu_dereference(current_);
        return {object, object->serial.load(std::memory_order_relaxed)};
    }
    /* In the section of see(): check that the object is unchanged. */
    void check(const Seen &seen)
    {
        spanned_ += !is_current(seen);
        bool same = seen.serial != 0 && seen.object->serial.load(std::memory_order_relaxed) == seen.serial &&
                    seen.object->copy == seen.serial;
        bad_ += !same;
        looks_++;
    }
    /* Read the object, spin for @spins rounds, check it. If the object is replaced meanwhile, spin longer, so that an
     * updater that wrongly does not wait can return. */
    void look(int spins = 200)
    {
        Seen seen = see();
        for (int i = 0; i < spins && is_current(seen); i++)
            rtrcu_cpu_relax();
        if (!is_current(seen)) {
            for (int i = 0; i < 400; i++)
                rtrcu_cpu_relax();
            sched_yield();
        }
        check(seen);
    }

    /* ---- updaters ---- */

    struct Taken {
        Object *object;
        uint64_t serial;
    };
    Taken take()
    {
        Object *old = rcu_xchg_pointer(&current_, make());
        return {old, old->serial.load(std::memory_order_relaxed)};
    }
    /* Called after a grace period; no reader may access the object any more. */
    void retire(const Taken &old)
    {
        old.object->copy = 0;
        old.object->serial.store(0, std::memory_order_release);
    }
    template <typename Wait> void replace(Wait wait)
    {
        Taken old = take();
        wait();
        retire(old);
    }
    void replace()
    {
        replace(synchronize_rcu);
    }
    /* Replace the object at least @times times, and until @spans sections have outlived the object that they read.
     * Returns false if time runs out. */
    template <typename Wait> bool replace_until_spanned(long times, long spans, Wait wait)
    {
        long until = spanned_ + spans;
        return eventually([&] {
            replace(wait);
            return --times <= 0 && spanned_ >= until;
        });
    }
    bool replace_until_spanned(long times, long spans)
    {
        return replace_until_spanned(times, spans, synchronize_rcu);
    }

    long looks() const
    {
        return looks_;
    }
    long spanned() const
    {
        return spanned_;
    }
    long bad() const
    {
        return bad_;
    }
};

} // namespace test

#endif
