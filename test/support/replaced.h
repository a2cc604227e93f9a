/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What readers look at while updaters replace it: an object that says whether its time is over.
 *
 * An object that was replaced is poisoned behind its grace period, and its memory is not used again before thousands of
 * others were, and then under another serial number; never before, however long its updater is kept from its CPU with
 * it.  So a reader that holds one too long finds out, where a freed object would come back from the allocator as good
 * as new.  Sections are long enough for an updater that does not wait to be back in time, and they count how often the
 * object was replaced under them: a test goes on until that has happened, since otherwise it could not fail.
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
    /* 0: poisoned, or not used yet.  The plain copy is for the race detector, which sees no missing order between
     * atomic accesses. */
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
        for (;;) { /* beyond those that updaters have in their hands */
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
    /* Still inside the section of see(): the object must be what it was. */
    void check(const Seen &seen)
    {
        spanned_ += !is_current(seen);
        bool same = seen.serial != 0 && seen.object->serial.load(std::memory_order_relaxed) == seen.serial &&
                    seen.object->copy == seen.serial;
        bad_ += !same;
        looks_++;
    }
    /* See, stay for a while, check.  Where the object is replaced meanwhile, the updater gets its chance to come back
     * too soon.  @spins: for how long to stay where it is not. */
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
    /* Behind a grace period; nobody may look at it any more. */
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
    /* At least @times, and until @spans sections have found that they outlived what they saw.  False: they do not. */
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
