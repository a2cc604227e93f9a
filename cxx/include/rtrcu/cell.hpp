// SPDX-License-Identifier: MIT OR Apache-2.0
// rtrcu::cell<T>: a value that many threads read and a few replace; C++17 and later.
//
//     rtrcu::cell<Config> current(std::make_unique<Config>(...));
//
//     auto now = current.read();                                   a section, and the value in it; const
//     if (now)
//         connect(now->host, now->port);
//
//     current.update([](Config &copy) { copy.port = 8080; });      a changed copy takes the old one's place
//     current.store(std::make_unique<Config>(...));
//
// A value that leaves the cell is destroyed after a grace period, by the invoker of callbacks (docs/callbacks.md); the
// cell's destructor does not wait for it.  Only retired::wait() and retired::release() wait for readers.
#ifndef RTRCU_CELL_HPP
#define RTRCU_CELL_HPP

#include <atomic>
#include <memory>
#include <type_traits>
#include <utility>

#ifdef RTRCU_DEBUG
#include <pthread.h>
#endif

#include <rtrcu/detail/library.hpp>

namespace rtrcu
{

namespace detail
{

// The node to which a cell points.  Readers access only @object; @link belongs to the library once the node is
// retired.
template <typename T> struct node {
    head link; // first member, for owner_of(); its function is set at construction
    T *object;

    explicit node(void (*reclaim)(rcu_head *)) noexcept : link{nullptr, reclaim}, object(nullptr)
    {
    }
    node(const node &) = delete;
    node &operator=(const node &) = delete;

    void retire() noexcept
    {
        call(link, link.func);
    }
    // Destroys the value and its node; called when no reader can hold the value.
    void reclaim_now() noexcept
    {
        link.func(reinterpret_cast<rcu_head *>(&link));
    }
};

// A node that keeps the std::unique_ptr in which the program passed the value.
template <typename T, typename D> struct owning_node : node<T> {
    std::unique_ptr<T, D> owner;

    explicit owning_node(std::unique_ptr<T, D> &&given) : node<T>(reclaim), owner(std::move(given))
    {
        this->object = owner.get();
    }
    static void reclaim(rcu_head *at) noexcept
    {
        delete static_cast<owning_node *>(owner_of<node<T>>(at));
    }
};

// A node that contains its value: one allocation for both.
template <typename T> struct value_node : node<T> {
    T value;

    template <typename... Arguments>
    explicit value_node(Arguments &&...arguments) : node<T>(reclaim), value(std::forward<Arguments>(arguments)...)
    {
        this->object = std::addressof(value);
    }
    static void reclaim(rcu_head *at) noexcept
    {
        delete static_cast<value_node *>(owner_of<node<T>>(at));
    }
};

// Deletes a node that no reader can hold: it is not published yet, or its grace period has passed.
template <typename T> struct discard {
    void operator()(node<T> *unread) const noexcept
    {
        unread->reclaim_now();
    }
};
template <typename T> using unread_node = std::unique_ptr<node<T>, discard<T>>;

template <typename T, typename D> unread_node<T> own(std::unique_ptr<T, D> &&given)
{
    return given ? unread_node<T>(new owning_node<T, D>(std::move(given))) : nullptr;
}

// A section that lasts until the end of a block.
struct scoped_section {
    scoped_section() noexcept
    {
        section_begin();
    }
    ~scoped_section()
    {
        section_end();
    }
    scoped_section(const scoped_section &) = delete;
    scoped_section &operator=(const scoped_section &) = delete;
};

#ifdef RTRCU_DEBUG
// Called out of line: a fiber may continue on another thread, but compilers assume that pthread_self() and the
// addresses of thread_local variables do not change within a function.
[[gnu::noinline]] inline pthread_t this_thread()
{
    __asm__ volatile("" ::: "memory");
    return pthread_self();
}
[[gnu::noinline]] inline bool is_in_task()
{
    __asm__ volatile("" ::: "memory");
    return rtrcu_self.task != nullptr;
}

// The thread on which a snapshot began, for a check of debug builds. A snapshot of a parked task may end on another
// thread.
class snapshot_check
{
  protected:
    // Called before the section ends: after a task's last section, is_in_task() may be false.
    void ends() const
    {
        if (!pthread_equal(began_, this_thread()) && !is_in_task())
            misuse("a snapshot ends on a thread other than the one where it began; end it on its own thread");
    }

  private:
    pthread_t began_ = this_thread();
};
#else
struct snapshot_check {
    void ends() const noexcept
    {
    }
};
#endif

} // namespace detail

// Code built with RTRCU_DEBUG uses a namespace of its own: its snapshots are larger, and must not link by accident with
// code built without RTRCU_DEBUG.
#ifdef RTRCU_DEBUG
inline namespace checked
{
#endif

template <typename T, typename D = std::default_delete<T>> class cell;
template <typename T, typename D = std::default_delete<T>> class retired;
template <typename Key, typename T, typename Hash, typename Equal, typename Allocator> class hash_map;

// A section, and the value that was loaded in it from a cell or a hash map.  A snapshot stays in the block where it was
// created: it cannot be copied, moved or allocated by new.  A temporary snapshot returns no pointer or reference.
template <typename T> class [[nodiscard]] snapshot : detail::snapshot_check
{
  public:
    snapshot(const snapshot &) = delete;
    snapshot &operator=(const snapshot &) = delete;
    ~snapshot()
    {
        this->ends();
        detail::section_end();
    }
    static void *operator new(std::size_t) = delete;
    static void *operator new[](std::size_t) = delete;

    const T &operator*() const &noexcept RTRCU_DETAIL_BOUND
    {
        return *object_;
    }
    const T *operator->() const &noexcept RTRCU_DETAIL_BOUND
    {
        return object_;
    }
    const T *get() const &noexcept RTRCU_DETAIL_BOUND
    {
        return object_;
    }
    // Deleted for temporaries, whose section ends too early.  Keep the snapshot in a variable: auto now = cell.read();
    const T &operator*() const && = delete;
    const T *operator->() const && = delete;
    const T *get() const && = delete;

    explicit operator bool() const noexcept
    {
        return object_ != nullptr;
    }
    friend bool operator==(const snapshot &left, std::nullptr_t) noexcept
    {
        return left.object_ == nullptr;
    }
    friend bool operator!=(const snapshot &left, std::nullptr_t) noexcept
    {
        return left.object_ != nullptr;
    }

  private:
    template <typename, typename> friend class cell;
    template <typename, typename, typename, typename, typename> friend class hash_map;

    // The caller has begun the section; the snapshot ends it.
    explicit snapshot(const T *object) noexcept : object_(object)
    {
    }
    explicit snapshot(const std::atomic<detail::node<T> *> &place) noexcept
    {
        detail::section_begin();
        const detail::node<T> *seen = place.load(std::memory_order_acquire);
        object_ = seen ? seen->object : nullptr;
    }

    const T *object_;
};

// A value that was removed from a cell, and may still have readers.
template <typename T, typename D> class [[nodiscard]] retired
{
  public:
    retired() noexcept = default;
    retired(retired &&other) noexcept : node_(std::exchange(other.node_, nullptr)), cookie_(other.cookie_)
    {
    }
    retired &operator=(retired &&other) noexcept
    {
        retired taken(std::move(other));
        std::swap(node_, taken.node_);
        std::swap(cookie_, taken.cookie_);
        return *this;
    }
    // Does not wait: a value that was not released is destroyed after its grace period.
    ~retired()
    {
        if (node_)
            node_->retire();
    }

    // Does this hold a value?
    explicit operator bool() const noexcept
    {
        return node_ != nullptr;
    }
    // Have all readers of the value left?  Never waits.
    bool ready() const noexcept
    {
        return !node_ || rtrcu_poll_state(cookie_);
    }
    // Wait, outside sections, until all readers of the value have left.  Then only the caller uses the value, which
    // lives as long as this object.  Returns null if this object holds no value.
    T *wait() &noexcept RTRCU_DETAIL_BOUND
    {
        if (!node_)
            return nullptr;
        rtrcu_cond_synchronize(cookie_);
        return node_->object;
    }
    T *wait() && = delete;
    // Wait until all readers of the value have left, and take the value.  A value that the cell constructed shares the
    // allocation of its node, so it is moved into a new allocation.
    std::unique_ptr<T, D> release()
    {
        if (!wait())
            return nullptr;
        detail::unread_node<T> last(std::exchange(node_, nullptr));
        if (last->link.func == detail::owning_node<T, D>::reclaim)
            return std::move(static_cast<detail::owning_node<T, D> *>(last.get())->owner);
        if constexpr (std::is_same_v<D, std::default_delete<T>> && std::is_move_constructible_v<T>)
            return std::make_unique<T>(std::move(*last->object));
        else
            detail::misuse("retired::release() cannot move a value that the cell constructed into a std::unique_ptr<T, "
                           "D>; use wait()");
    }

  private:
    template <typename, typename> friend class cell;

    explicit retired(detail::node<T> *node) noexcept : node_(node), cookie_(node ? rtrcu_start_poll() : 0)
    {
    }

    detail::node<T> *node_ = nullptr;
    std::uint64_t cookie_ = 0;
};

template <typename T, typename D> class cell
{
    static_assert(std::is_object_v<T> && !std::is_array_v<T>, "a cell holds an object; put an array into a struct");
    using node = detail::node<T>;
    using unread = detail::unread_node<T>;

  public:
    using element_type = T;
    using owner_type = std::unique_ptr<T, D>;
    static_assert(std::is_same_v<typename owner_type::pointer, T *>, "the deleter's pointer must be a T *");

    // An empty cell.
    constexpr cell() noexcept = default;
    constexpr explicit cell(std::nullptr_t) noexcept
    {
    }
    explicit cell(owner_type first) : place_(detail::own(std::move(first)).release())
    {
    }
    template <typename... Arguments>
    explicit cell(std::in_place_t, Arguments &&...arguments)
        : place_(new detail::value_node<T>(std::forward<Arguments>(arguments)...))
    {
    }
    ~cell()
    {
        reset();
    }
    cell(const cell &) = delete;
    cell &operator=(const cell &) = delete;

    // The current value, and a section that keeps it alive.  Wait-free; costs a section and two loads.
    snapshot<T> read() const noexcept
    {
        return snapshot<T>(place_);
    }
    // The current value, or null, inside a section of the caller: a guard, a coroutine's section, or a standard lock of
    // the domain.  The value may be used until that section ends.
    template <typename Section, std::enable_if_t<detail::is_section<Section>::value, int> = 0>
    const T *read(const Section &within RTRCU_DETAIL_BOUND) const noexcept
    {
        (void)within;
        const node *seen = place_.load(std::memory_order_acquire);
        return seen ? seen->object : nullptr;
    }
    template <typename Section, std::enable_if_t<detail::is_section<Section>::value, int> = 0>
    const T *read(const Section &&within) const = delete;
    // Call @look(pointer to the value, or null) in a section; return a copy of its result.
    template <typename Look> auto with(Look &&look) const -> std::invoke_result_t<Look, const T *>
    {
        using Result = std::invoke_result_t<Look, const T *>;
        static_assert(!std::is_reference_v<Result> && !std::is_pointer_v<Result>,
                      "the result of with() outlives the section: return a copy");
        snapshot<T> now(place_);
        return std::forward<Look>(look)(now.get());
    }

    // Publish @next, which may be null.  If the call throws for lack of memory, the cell is unchanged and @next is
    // destroyed.
    void store(owner_type next)
    {
        replace(detail::own(std::move(next)));
    }
    // Publish a new value constructed from @arguments, in one allocation.
    template <typename... Arguments> void emplace(Arguments &&...arguments)
    {
        replace(unread(new detail::value_node<T>(std::forward<Arguments>(arguments)...)));
    }
    // Empty the cell.
    void reset() noexcept
    {
        replace(nullptr);
    }
    // As store(), but return the old value, whose readers may still use it.
    retired<T, D> exchange(owner_type next)
    {
        return retired<T, D>(place_.exchange(detail::own(std::move(next)).release(), std::memory_order_acq_rel));
    }

    // Replace the value by the result of @change, in one of three forms:
    //
    //     [](T &copy) { ... }                                           changes a copy
    //     [](const T &old) { ... return a T; }                          makes the next value
    //     [](const T &old) { ... return a std::unique_ptr<T, D>; }      makes the next value; null: nothing changes
    //
    // Updaters do not wait for each other: an updater that finds the value replaced discards its own result and starts
    // over with the new value, so @change may be called more than once.  @change runs in a section.  If @change or the
    // copy throws, the cell is unchanged.  Returns false if nothing changed: the cell is empty, or @change returned
    // null.
    template <typename Change> bool update(Change &&change)
    {
        for (bool updated;;) { /* ends when the value was not replaced during an attempt */
            detail::scoped_section within;
            if (attempt(change, updated))
                return updated;
        }
    }
    // As update() above, in a section that the caller has open.  This saves the section that update() opens otherwise.
    template <typename Section, typename Change, std::enable_if_t<detail::is_section<Section>::value, int> = 0>
    bool update(const Section &within, Change &&change)
    {
        (void)within;
        bool updated;
        while (!attempt(change, updated)) /* ends when the value was not replaced during an attempt */
            ;
        return updated;
    }

  private:
    static constexpr bool makes_values = std::is_same_v<D, std::default_delete<T>>;

    // Try once to replace the value.  Called in a section: there the old value is not freed, so no new value can have
    // its address.  False: another thread replaced the value first.  @updated: false if there was nothing to replace it
    // by.
    template <typename Change> bool attempt(Change &change, bool &updated)
    {
        node *old = place_.load(std::memory_order_acquire);
        unread next = old ? changed(change, *old->object) : nullptr;
        updated = next != nullptr;
        if (!updated)
            return true;
        if (!place_.compare_exchange_strong(old, next.get(), std::memory_order_acq_rel, std::memory_order_relaxed))
            return false;
        (void)next.release();
        old->retire();
        return true;
    }

    void replace(unread next) noexcept
    {
        if (node *old = place_.exchange(next.release(), std::memory_order_acq_rel))
            old->retire();
    }

    template <typename Change> static unread changed(Change &change, const T &old)
    {
        using Value = std::remove_const_t<T>;
        using Result = std::invoke_result_t<Change &, Value &>;
        if constexpr (std::is_same_v<Result, owner_type>) {
            return detail::own(change(old));
        } else {
            static_assert(
                makes_values,
                "a cell with a custom deleter D needs an update() function that returns a std::unique_ptr<T, D>");
            static_assert(!std::is_polymorphic_v<T> || std::is_final_v<T>,
                          "a copy of a T may slice a value of a derived class: return a std::unique_ptr<T, D>");
            return changed_value<Result, Value>(change, old);
        }
    }

    template <typename Result, typename Value, typename Change>
    static unread changed_value(Change &change, const T &old)
    {
        if constexpr (std::is_void_v<Result>) {
            static_assert(!std::is_const_v<T>, "a const value cannot be changed: return the next value");
            static_assert(
                !std::is_invocable_v<Change &, Value>,
                "the function returns nothing, so it must take a T &: update() publishes the copy that it changes");
            std::unique_ptr<detail::value_node<T>> next(new detail::value_node<T>(old));
            change(next->value);
            return unread(next.release());
        } else {
            return unread(new detail::value_node<T>(change(old)));
        }
    }

    std::atomic<node *> place_{nullptr};
};

#ifdef RTRCU_DEBUG
} // namespace checked
#endif
} // namespace rtrcu

#endif
