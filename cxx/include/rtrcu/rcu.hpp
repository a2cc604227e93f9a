// SPDX-License-Identifier: MIT OR Apache-2.0
// The working draft's <rcu>, clause [saferecl.rcu], in namespace rtrcu; C++17 and later.
//
//     struct Route : rtrcu::rcu_obj_base<Route> { ... };
//
//     std::scoped_lock region(rtrcu::rcu_default_domain());       a reader
//     use(routes.load()->port);
//
//     routes.exchange(changed)->retire();                          an updater
//
// Choices that the draft leaves to implementations: unlock(), retire() and rcu_retire() evaluate no scheduled
// expression; the library's threads do, or calls of <rtrcu/rcu.h> that invoke callbacks.  An evaluation that throws
// terminates. rcu_synchronize() and rcu_barrier() must not be called inside a region of the calling thread, nor
// rcu_barrier() in an evaluation: the library reports it and stops, or never returns.  A folder for -I with this clause
// in namespace std is installed beside this header, as std/.
#ifndef RTRCU_RCU_HPP
#define RTRCU_RCU_HPP

#ifdef rcu_barrier
#error "<urcu.h> defines rcu_barrier as a macro: include it in other files than <rtrcu/rcu.hpp>, or #undef rcu_barrier"
#endif

#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include <rtrcu/detail/library.hpp>

namespace rtrcu
{

namespace detail
{
struct domains;
}

// Regions of RCU protection.  There is one domain, the library's; sections of the C interface are regions of it.
class __attribute__((visibility("default"))) rcu_domain
{
  public:
    rcu_domain(const rcu_domain &) = delete;
    rcu_domain &operator=(const rcu_domain &) = delete;

    void lock() noexcept
    {
        detail::section_begin();
    }
    bool try_lock() noexcept
    {
        lock();
        return true;
    }
    void unlock() noexcept
    {
        detail::section_end();
    }

  private:
    friend struct detail::domains;
    constexpr rcu_domain() noexcept = default;
};

namespace detail
{
// The domain: one object in the process, even if plugins are built with hidden symbols.
struct __attribute__((visibility("default"))) domains {
    static rcu_domain native;
};
inline rcu_domain domains::native;
} // namespace detail

inline rcu_domain &rcu_default_domain() noexcept
{
    return detail::domains::native;
}

// Wait for the regions that are open at the call.
inline void rcu_synchronize(rcu_domain &) noexcept
{
    rtrcu_synchronize();
}
inline void rcu_synchronize() noexcept
{
    rcu_synchronize(rcu_default_domain());
}

// Wait until all deleters scheduled before the call have returned.
inline void rcu_barrier(rcu_domain &) noexcept
{
    rtrcu_barrier();
}
// A template, so that overload resolution prefers the C interface's rcu_barrier() in a program that includes both.  The
// two functions do the same.
template <int = 0> void rcu_barrier() noexcept
{
    rcu_barrier(rcu_default_domain());
}

template <class T, class D> class rcu_obj_base;

namespace detail
{

// Head and deleter of an object; an empty deleter takes no memory.
template <class D, bool = std::is_empty_v<D> && !std::is_final_v<D>> struct retirement {
    head link; // first
    D value;
    D &deleter() noexcept
    {
        return value;
    }
};
template <class D> struct retirement<D, true> : D {
    head link; // at the object's address, since the base is empty
    D &deleter() noexcept
    {
        return *this;
    }
};

// The only specialization of rcu_obj_base among the bases of T, if exactly one exists.
template <class X, class Y> rcu_obj_base<X, Y> *object_base(rcu_obj_base<X, Y> *);

// [saferecl.rcu.general]/2: T has exactly one base rcu_obj_base<X, Y>; the base is public and not virtual.
template <class T, class Base, class = void> inline constexpr bool is_protectable = false;
template <class T, class Base>
inline constexpr bool is_protectable<T, Base,
                                     std::void_t<decltype(object_base(static_cast<T *>(nullptr))),
                                                 decltype(static_cast<T *>(static_cast<Base *>(nullptr)))>> =
    std::is_same_v<decltype(object_base(static_cast<T *>(nullptr))), Base *> &&std::is_convertible_v<T *, Base *>;

// Is d(pointer) an expression, where d is a D?
template <class D, class Pointer, class = void> inline constexpr bool deletes = false;
template <class D, class Pointer>
inline constexpr bool deletes<D, Pointer, std::void_t<decltype(std::declval<D &>()(std::declval<Pointer>()))>> = true;

// Call a deleter that is part of the object that it deletes: the deleter is moved out first.
template <class D, class T> void call_deleter(D &deleter, T *object) noexcept
{
    D taken(std::move(deleter));
    taken(object);
}

} // namespace detail

// Base of objects that retire without an allocation.  Private names begin with rtrcu_, since lookup in T finds them.
template <class T, class D = std::default_delete<T>> class rcu_obj_base
{
  public:
    void retire(D d = D(), rcu_domain &dom = rcu_default_domain()) noexcept
    {
        static_assert(detail::is_protectable<T, rcu_obj_base>,
                      "T must be rcu-protectable: one public, non-virtual base rcu_obj_base<T, D>, and no other "
                      "specialization of it");
        static_assert(detail::deletes<D, T *>, "D must be callable with a T *");
        static_assert(
            std::is_nothrow_move_constructible_v<D>,
            "D must be move constructible without exceptions: it is moved out of its object before it is called");
        (void)dom;
        rtrcu_retirement_.deleter() = std::move(d);
        detail::call(rtrcu_retirement_.link, rtrcu_reclaim_);
    }

  protected:
    rcu_obj_base() = default;
    rcu_obj_base(const rcu_obj_base &) = default;
    rcu_obj_base(rcu_obj_base &&) = default;
    rcu_obj_base &operator=(const rcu_obj_base &) = default;
    rcu_obj_base &operator=(rcu_obj_base &&) = default;
    ~rcu_obj_base() = default;

  private:
    static void rtrcu_reclaim_(rcu_head *head) noexcept
    {
        rcu_obj_base *self = detail::owner_of<rcu_obj_base>(head);
        detail::call_deleter(self->rtrcu_retirement_.deleter(), static_cast<T *>(self));
    }

    detail::retirement<D> rtrcu_retirement_; // first
};

namespace detail
{

template <class T, class D> struct retired_object {
    head link; // first
    T *object;
    D deleter;

    retired_object(T *p, D &&d) : link(), object(p), deleter(std::move(d))
    {
    }
    static void reclaim(rcu_head *at) noexcept
    {
        auto *self = owner_of<retired_object>(at);
        self->deleter(self->object);
        delete self;
    }
};

// Are all values of D equal? Then a D can be created when it is called, and need not be stored.
template <class D>
inline constexpr bool makes_no_difference =
    std::is_empty_v<D> &&std::is_trivially_default_constructible_v<D> &&std::is_trivially_copyable_v<D>;

// The function for rtrcu_retire(), which stores it with the pointer in blocks, as rcu_free() does.
template <class T, class D> struct retired_pointer {
    static void reclaim(void *at) noexcept
    {
        T *object = static_cast<T *>(at);
        D deleter{};
        deleter(object);
    }
};

} // namespace detail

// Schedule d(p) for an object whose class has no base rcu_obj_base.  Allocates with new only if D has a state, T is a
// function, or rtrcu_retire() fails for lack of memory.
template <class T, class D = std::default_delete<T>>
void rcu_retire(T *p, D d = D(), rcu_domain &dom = rcu_default_domain())
{
    static_assert(std::is_move_constructible_v<D>, "D must be move constructible");
    static_assert(detail::deletes<D, T *&>, "D must be callable with a T *");
    (void)dom;
    if constexpr (detail::makes_no_difference<D> && !std::is_function_v<T>) {
        void *object = const_cast<void *>(static_cast<const volatile void *>(p));
        if (rtrcu_retire(object, detail::retired_pointer<T, D>::reclaim) == 0)
            return;
    }
    auto *scheduled = new detail::retired_object<T, D>(p, std::move(d));
    detail::call(scheduled->link, detail::retired_object<T, D>::reclaim);
}

namespace detail
{
// Reports rtrcu::rcu_barrier() as an error if <urcu.h> is included after this header.
template <typename... Domain> constexpr void refuse_macro() noexcept
{
    static_assert(sizeof...(Domain) > 1000,
                  "<urcu.h> defines rcu_barrier as a macro: include it in other files than <rtrcu/rcu.hpp>, or "
                  "#undef rcu_barrier");
}
} // namespace detail

template <typename... Domain> void urcu_memb_barrier(Domain &...) noexcept
{
    detail::refuse_macro<Domain...>();
}
template <typename... Domain> void urcu_mb_barrier(Domain &...) noexcept
{
    detail::refuse_macro<Domain...>();
}
template <typename... Domain> void urcu_bp_barrier(Domain &...) noexcept
{
    detail::refuse_macro<Domain...>();
}
template <typename... Domain> void urcu_qsbr_barrier(Domain &...) noexcept
{
    detail::refuse_macro<Domain...>();
}
template <typename... Domain> void urcu_signal_barrier(Domain &...) noexcept
{
    detail::refuse_macro<Domain...>();
}

} // namespace rtrcu

#endif
