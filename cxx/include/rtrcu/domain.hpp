// SPDX-License-Identifier: MIT OR Apache-2.0
// rtrcu::domain: a domain of the program's own, whose sections may sleep and move to other threads; C++17 and later.
//
//     rtrcu::domain filters("filters");
//     std::atomic<Rules *> rules;
//
//     auto section = filters.read();                               a section, on whatever thread it ends
//     use(*section.get(rules));
//
//     filters.retire(std::unique_ptr<Rules>(rules.exchange(fresh)));
//
// docs/domains.md describes when a reader needs one.
#ifndef RTRCU_DOMAIN_HPP
#define RTRCU_DOMAIN_HPP

#include <atomic>
#include <memory>
#include <utility>

#include <rtrcu/detail/library.hpp>
#include <rtrcu/srcu.h>

namespace rtrcu
{

class domain
{
  public:
    // A section of the domain.  A guard may be moved, also to another thread; a guard that was moved from holds no
    // section.
    class [[nodiscard]] guard
    {
      public:
        explicit guard(domain &owner) noexcept : domain_(&owner.state_), index_(srcu_down_read(domain_))
        {
        }
        guard(guard &&other) noexcept : domain_(std::exchange(other.domain_, nullptr)), index_(other.index_)
        {
        }
        guard &operator=(guard &&other) noexcept
        {
            guard taken(std::move(other)); // the section that this guard held ends with @taken
            std::swap(domain_, taken.domain_);
            std::swap(index_, taken.index_);
            return *this;
        }
        ~guard()
        {
            end();
        }

        // End the section before the end of the scope.
        void end() noexcept
        {
            if (srcu_struct *held = std::exchange(domain_, nullptr))
                srcu_up_read(held, index_);
        }
        explicit operator bool() const noexcept
        {
            return domain_ != nullptr;
        }
        // Load @pointer; its object stays valid until the section ends.
        template <typename T> T *get(const std::atomic<T *> &pointer) const noexcept
        {
            return pointer.load(std::memory_order_acquire);
        }

      private:
        srcu_struct *domain_;
        int index_;
    };

    // @name is for reports, and must outlive the domain.
    explicit domain(const char *name = "domain") noexcept
    {
        rtrcu_srcu_init(&state_, name);
    }
    // Waits until open sections have ended and retired objects are destroyed, also objects that their destructors
    // retire.  No section may begin during the call.
    ~domain()
    {
        do
            srcu_barrier(&state_);
        while (rtrcu_srcu_pending(&state_) != 0);
        if (cleanup_srcu_struct(&state_) != 0)
            detail::misuse("a domain is destroyed while a section or a call uses it; end these first");
    }
    domain(const domain &) = delete;
    domain &operator=(const domain &) = delete;

    guard read() noexcept
    {
        return guard(*this);
    }
    void synchronize() noexcept
    {
        synchronize_srcu(&state_);
    }
    // Wait until the objects retired before the call have been destroyed.
    void barrier() noexcept
    {
        srcu_barrier(&state_);
    }
    // Destroy the object after a grace period, on a thread of the library.  Allocates; if it throws, nothing has
    // changed.
    template <typename T, typename D> void retire(std::unique_ptr<T, D> &&object)
    {
        if (!object)
            return;
        auto *node = new retired<T, D>();
        node->object = std::move(object);
        call_srcu(&state_, &node->head, reclaim<T, D>);
    }

  private:
    template <typename T, typename D> struct retired {
        rcu_head head = {}; // first
        std::unique_ptr<T, D> object;
    };
    template <typename T, typename D> static void reclaim(rcu_head *at) noexcept
    {
        delete detail::owner_of<retired<T, D>>(at);
    }

    srcu_struct state_;
};

} // namespace rtrcu

#endif
