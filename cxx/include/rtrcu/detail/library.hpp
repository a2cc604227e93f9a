// SPDX-License-Identifier: MIT OR Apache-2.0
// The part of the library that the C++ headers use, without the kernel's names: programs may use rcu_barrier and the
// like themselves.
#ifndef RTRCU_DETAIL_LIBRARY_HPP
#define RTRCU_DETAIL_LIBRARY_HPP

#if __cplusplus < 201703L
#error "rtrcu's C++ headers need C++17 or later: compile with -std=c++17"
#endif

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <rtrcu/detail/reader.h>

// Marks an argument that the function's result must not outlive; only clang checks this.
#if defined(__clang__)
#define RTRCU_DETAIL_BOUND [[clang::lifetimebound]]
#else
#define RTRCU_DETAIL_BOUND
#endif

extern "C" {
struct rcu_head;
void rtrcu_call(struct rcu_head *head, void (*func)(struct rcu_head *head));
int rtrcu_retire(void *object, void (*func)(void *object)) __attribute__((warn_unused_result));
void rtrcu_barrier(void);
void rtrcu_synchronize(void);
uint64_t rtrcu_start_poll(void);
bool rtrcu_poll_state(uint64_t cookie);
void rtrcu_cond_synchronize(uint64_t cookie);
}

namespace rtrcu
{
class rcu_domain;

namespace detail
{

// As rcu_read_lock() and rcu_read_unlock().  Static, since they depend on RTRCU_DEBUG, which may differ between files.
static __attribute__((always_inline)) inline void section_begin() noexcept
{
    if (__builtin_expect(rtrcu_word_enter(), 0))
        rtrcu_read_lock_slow();
#ifdef RTRCU_DEBUG
    rtrcu_note_entry();
#endif
}
static __attribute__((always_inline)) inline void section_end() noexcept
{
#ifdef RTRCU_DEBUG
    rtrcu_note_leave();
#endif
    rtrcu_tsan_release(rtrcu_read_unlock_slow);
    if (__builtin_expect(rtrcu_word_leave(), 0))
        rtrcu_read_unlock_slow();
}

// Report misuse by the program, and abort.
[[noreturn]] inline void misuse(const char *what) noexcept
{
    std::fprintf(stderr, "rtrcu: %s\n", what);
    std::abort();
}

// A struct rcu_head under another name: the program's headers may declare a struct rcu_head of another library.
struct head {
    void *next;
    void (*func)(rcu_head *);
};

// Queue @func for @at after a grace period.  The cast is valid, since both types have the same layout.
inline void call(head &at, void (*func)(rcu_head *)) noexcept
{
    rtrcu_call(reinterpret_cast<rcu_head *>(&at), func);
}
// Returns the object whose first member is @at.
template <typename Owner> Owner *owner_of(rcu_head *at) noexcept
{
    return reinterpret_cast<Owner *>(at);
}

// Does S prove that the calling code is in a section? True for classes that declare this, and for standard locks of the
// domain.
template <typename S, typename = void> struct is_section {
    static constexpr bool value = false;
};
template <typename S> struct is_section<S, typename S::rtrcu_is_section> {
    static constexpr bool value = true;
};
template <template <typename...> class Lock> struct is_section<Lock<rcu_domain>, void> {
    static constexpr bool value = true;
};

} // namespace detail
} // namespace rtrcu

#endif
