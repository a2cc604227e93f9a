/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Helpers of unit tests: a registry and a grace-period machine of their own, made-up records, grace periods in
 * steps. */
#ifndef RTRCU_TEST_SUPPORT_INTERNALS_H
#define RTRCU_TEST_SUPPORT_INTERNALS_H

#include <cstdint>
#include <cstdlib>
#include <deque>
#include <memory>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
extern "C" {
#include "api/api.h"
}
#pragma GCC diagnostic pop

namespace test
{

struct Freer {
    void operator()(void *memory) const
    {
        free(memory);
    }
};

/* Zeroed and aligned like the library's own static memory. */
template <typename T> std::unique_ptr<T, Freer> zeroed()
{
    void *memory = aligned_alloc(alignof(T), (sizeof(T) + alignof(T) - 1) / alignof(T) * alignof(T));
    __builtin_memset(memory, 0, sizeof(T));
    return std::unique_ptr<T, Freer>(static_cast<T *>(memory));
}

/* Register @self, and clear its flag as its first slow path would. */
inline void publish(reader_registry *registry, reader_record *record, rtrcu_thread *self)
{
    reader_publish(registry, record, self);
    if (!reader_fences_are_full(registry))
        rtrcu_word_disarm(self);
}

/* Withdraw @record, as at its thread's exit, and release its slot for the rooms that keep no data of the thread. */
inline void withdraw(reader_registry *registry, reader_record *record)
{
    reader_lock(record->leaf);
    reader_withdraw(registry, record);
    reader_release_slot(record, READER_PARKED);
    reader_unlock(record->leaf);
    serve_release_slot(record);
}

/* Release for @room every slot whose thread has exited, as in a fork's child. */
inline void let_go(reader_registry *registry, reader_room room)
{
    for (reader_leaf *leaf = nullptr; (leaf = reader_next_leaf(registry, leaf));) {
        uint32_t left = READER_ALL_SLOTS;
        reader_lock(leaf);
        while (reader_record *record = reader_next(leaf, &left))
            reader_release_slot(record, room);
        reader_unlock(leaf);
    }
}

/* A registry and a grace-period machine, separate from the process's own. */
class World
{
    std::unique_ptr<reader_registry, Freer> registry_ = zeroed<reader_registry>();
    std::unique_ptr<struct gp, Freer> gp_ = zeroed<struct gp>();
    std::unique_ptr<domain_leaf, Freer> first_leaf_ = zeroed<domain_leaf>();
    std::deque<rtrcu_thread> threads_;

  public:
    World()
    {
        reader_registry_init(registry(), &rtrcu_domain.registry.plan, first_leaf_.get());
        gp_init(gp(), registry());
    }
    /* Leaves are never freed, as in the library. */
    reader_registry *registry()
    {
        return registry_.get();
    }
    struct gp *gp()
    {
        return gp_.get();
    }
    /* A registered record without a thread; its word is set by the test, at first to @inside. */
    reader_record *craft(uint32_t inside)
    {
        reader_record *record = reader_slot_take(registry());
        threads_.push_back(rtrcu_thread{});
        rtrcu_thread *self = &threads_.back();
        publish(registry(), record, self);
        set_inside(record, inside);
        return record;
    }
    static void set_inside(reader_record *record, uint32_t inside)
    {
        rtrcu_store_relaxed(&record->self->word, (rtrcu_load_relaxed(&record->self->word) & 0xff000000u) | inside);
    }
    /* Mark all slots of the last leaf as used, so that the next slot is in a new leaf. */
    void fill_last_leaf()
    {
        reader_leaf_at(registry(), reader_leaf_count(registry()) - 1)->used = UINT32_MAX;
    }
    void withdraw(reader_record *record)
    {
        test::withdraw(registry(), record);
    }
};

/* One grace period of @gp, advanced step by step by the test. */
class GpStepper
{
    struct gp *gp_;
    gp_kind kind_;
    gp_actions actions_ = GP_ACTION_NONE;

  public:
    explicit GpStepper(struct gp *gp, gp_kind kind = GP_NORMAL) : gp_(gp), kind_(kind)
    {
        lock_acquire(&gp_->machine[kind_].gp_lock);
    }
    ~GpStepper()
    {
        lock_release(&gp_->machine[kind_].gp_lock);
    }
    GpStepper(const GpStepper &) = delete;
    GpStepper &operator=(const GpStepper &) = delete;

    /* Returns true if the scan found a reader inside. */
    bool begin_and_scan(int64_t now = 1000)
    {
        gp_begin(gp_, kind_, now);
        (void)plat_fence_heavy();
        return gp_scan(gp_, kind_);
    }
    uint32_t poll(bool arm)
    {
        return gp_poll(gp_, kind_, arm, &actions_);
    }
    /* The actions that polls left to the caller. */
    gp_actions actions() const
    {
        return actions_;
    }
    bool is_clear() const
    {
        return gp_is_clear(gp_, kind_);
    }
    void end(int64_t now = 2000)
    {
        gp_end(gp_, kind_, now);
    }
};

} // namespace test

#endif
