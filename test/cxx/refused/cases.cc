// SPDX-License-Identifier: MIT OR Apache-2.0
// Misuses of the C++ headers, one per case: with CASE_X defined the file must not compile, and the compiler's message
// must contain the words after "says:", if there are any.
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <rtrcu/cell.hpp>
#include <rtrcu/coroutine.hpp>
#include <rtrcu/guard.hpp>
#include <rtrcu/loop.hpp>
#include <rtrcu/rcu.hpp>

struct Config {
    int port = 0;
};
struct Shape {
    virtual ~Shape() = default;
};
struct Delete {
    void operator()(Config *config) const
    {
        delete config;
    }
};

// ---- cells: lifetimes ----

#ifdef CASE_REFERENCE_OUT_OF_A_TEMPORARY // says: delete
int case_(rtrcu::cell<Config> &cell)
{
    const Config &dangling = *cell.read();
    return dangling.port;
}
#endif
#ifdef CASE_POINTER_OUT_OF_A_TEMPORARY // says: delete
const Config *case_(rtrcu::cell<Config> &cell)
{
    return cell.read().get();
}
#endif
#ifdef CASE_MEMBER_OUT_OF_A_TEMPORARY // says: delete
const int &case_(rtrcu::cell<Config> &cell)
{
    return cell.read()->port;
}
#endif
#ifdef CASE_SNAPSHOT_MOVED // says: delete
void case_(rtrcu::cell<Config> &cell)
{
    auto now = cell.read();
    auto later = std::move(now);
}
#endif
#ifdef CASE_SNAPSHOT_KEPT
void case_(rtrcu::cell<Config> &cell)
{
    std::vector<rtrcu::snapshot<Config>> all;
    all.push_back(cell.read());
}
#endif
#ifdef CASE_SNAPSHOT_ON_THE_HEAP // says: delete
void *case_(rtrcu::cell<Config> &cell)
{
    return new auto(cell.read());
}
#endif
#ifdef CASE_READ_IN_A_TEMPORARY_GUARD // says: delete
const Config *case_(rtrcu::cell<Config> &cell)
{
    return cell.read(rtrcu::guard());
}
#endif
#ifdef CASE_READ_IN_A_TEMPORARY_LOCK // says: delete
const Config *case_(rtrcu::cell<Config> &cell)
{
    return cell.read(std::scoped_lock<rtrcu::rcu_domain>(rtrcu::rcu_default_domain()));
}
#endif
#ifdef CASE_READ_WITH_A_MUTEX
std::mutex mutex;
const Config *case_(rtrcu::cell<Config> &cell)
{
    std::scoped_lock lock(mutex);
    return cell.read(lock);
}
#endif
#ifdef CASE_POINTER_OUT_OF_WITH // says: return a copy
void case_(rtrcu::cell<Config> &cell)
{
    cell.with([](const Config *config) { return config; });
}
#endif
#ifdef CASE_REFERENCE_OUT_OF_WITH // says: return a copy
void case_(rtrcu::cell<Config> &cell)
{
    cell.with([](const Config *config) -> const int & { return config->port; });
}
#endif
#ifdef CASE_WAIT_ON_A_TEMPORARY // says: delete
Config *case_(rtrcu::cell<Config> &cell)
{
    return cell.exchange(nullptr).wait();
}
#endif

// ---- cells: const, owners, updates ----

#ifdef CASE_CHANGE_WHAT_IS_READ
void case_(rtrcu::cell<Config> &cell)
{
    auto now = cell.read();
    now->port = 1;
}
#endif
#ifdef CASE_POINTER_TO_CHANGE
void case_(rtrcu::cell<Config> &cell)
{
    auto now = cell.read();
    Config *config = now.get();
    config->port = 1;
}
#endif
#ifdef CASE_STORE_INTO_CONST
void case_(const rtrcu::cell<Config> &cell)
{
    cell.store(nullptr);
}
#endif
#ifdef CASE_UPDATE_CONST
void case_(const rtrcu::cell<Config> &cell)
{
    cell.update([](Config &config) { config.port = 1; });
}
#endif
#ifdef CASE_STORE_A_RAW_POINTER
void case_(rtrcu::cell<Config> &cell, Config *config)
{
    cell.store(config);
}
#endif
#ifdef CASE_STORE_A_COPY_OF_AN_OWNER
void case_(rtrcu::cell<Config> &cell, const std::unique_ptr<Config> &config)
{
    cell.store(config);
}
#endif
#ifdef CASE_STORE_WITH_ANOTHER_DELETER
void case_(rtrcu::cell<Config> &cell, std::unique_ptr<Config, Delete> config)
{
    cell.store(std::move(config));
}
#endif
#ifdef CASE_COPY_A_CELL
rtrcu::cell<Config> case_(rtrcu::cell<Config> &cell)
{
    return cell;
}
#endif
#ifdef CASE_A_CELL_OF_AN_ARRAY // says: put an array into a struct
rtrcu::cell<int[]> case_;
#endif
#ifdef CASE_A_CELL_OF_A_REFERENCE
rtrcu::cell<int &> case_;
#endif
#ifdef CASE_UPDATE_CHANGES_ITS_OWN_COPY // says: take a T &
void case_(rtrcu::cell<Config> &cell)
{
    cell.update([](Config config) { config.port = 1; });
}
#endif
#ifdef CASE_UPDATE_LOOKS_ONLY // says: take a T &
void case_(rtrcu::cell<Config> &cell)
{
    cell.update([](const Config &) {});
}
#endif
#ifdef CASE_UPDATE_SLICES // says: may slice a value
void case_(rtrcu::cell<Shape> &cell)
{
    cell.update([](Shape &) {});
}
#endif
#ifdef CASE_UPDATE_WITHOUT_THE_DELETER // says: custom deleter D
void case_(rtrcu::cell<Config, Delete> &cell)
{
    cell.update([](Config &config) { config.port = 1; });
}
#endif
#ifdef CASE_UPDATE_OF_CONST // says: return the next value
void case_(rtrcu::cell<const Config> &cell)
{
    cell.update([](Config &config) { config.port = 1; });
}
#endif
#ifdef CASE_IGNORE_A_SNAPSHOT // says: nodiscard
void case_(rtrcu::cell<Config> &cell)
{
    cell.read();
}
#endif

// ---- guards ----

#ifdef CASE_COPY_A_GUARD
void case_()
{
    rtrcu::guard first;
    rtrcu::guard second = first;
}
#endif
#ifdef CASE_GUARD_FROM_A_TASK_BY_ACCIDENT
void section(rtrcu::guard);
void case_(rtrcu::task &task)
{
    section(task);
}
#endif
#ifdef CASE_QUIESCENT_GUARD_WITHOUT_A_THREAD
rtrcu::quiescent_guard case_;
#endif
#ifdef CASE_MOVE_A_QUIESCENT_THREAD
void case_()
{
    rtrcu::quiescent_thread first;
    rtrcu::quiescent_thread second = std::move(first);
}
#endif
#ifdef CASE_IGNORE_ACROSS // says: nodiscard
void case_(rtrcu::section &section, std::suspend_always &awaited)
{
    section.across(awaited);
}
#endif

// ---- [saferecl.rcu] ----

#ifdef CASE_RCU_A_DOMAIN_OF_ONES_OWN
rtrcu::rcu_domain case_;
#endif
#ifdef CASE_RCU_COPY_THE_DOMAIN
rtrcu::rcu_domain case_ = rtrcu::rcu_default_domain();
#endif
#ifdef CASE_RCU_BASE_ALONE
rtrcu::rcu_obj_base<Config> case_;
#endif
#ifdef CASE_RCU_PRIVATE_BASE
class Private : rtrcu::rcu_obj_base<Private>
{
  public:
    void go()
    {
        retire();
    }
};
void case_(Private &object)
{
    object.go();
}
#endif
#ifdef CASE_RCU_VIRTUAL_BASE // says: rcu-protectable
struct Virtual : virtual rtrcu::rcu_obj_base<Virtual> {
};
void case_(Virtual &object)
{
    object.retire();
}
#endif
#ifdef CASE_RCU_TWO_BASES // says: rcu-protectable
struct Two : rtrcu::rcu_obj_base<Two>, rtrcu::rcu_obj_base<Config> {
};
void case_(Two &object)
{
    object.rtrcu::rcu_obj_base<Two>::retire();
}
#endif
#ifdef CASE_RCU_NOT_DERIVED // says: rcu-protectable
struct Other : rtrcu::rcu_obj_base<Config> {
};
void case_(Other &object)
{
    object.retire();
}
#endif
#ifdef CASE_RCU_DELETER_TAKES_ANOTHER // says: callable with a T
void case_(Config *config)
{
    rtrcu::rcu_retire(config, [](Shape *) {});
}
#endif
#ifdef CASE_RCU_DELETER_MAY_THROW // says: moved out of its object
struct Object;
struct Throws {
    Throws() = default;
    Throws(const Throws &);
    Throws &operator=(const Throws &);
    void operator()(Object *) const;
};
struct Object : rtrcu::rcu_obj_base<Object, Throws> {
};
void case_(Object *object)
{
    object->retire();
}
#endif
#ifdef CASE_RCU_DELETER_CANNOT_MOVE
struct Fixed {
    Fixed() = default;
    Fixed(const Fixed &) = delete;
    void operator()(Config *) const;
};
void case_(Config *config)
{
    rtrcu::rcu_retire<Config, Fixed>(config);
}
#endif

// ---- published pointers ----

#ifdef CASE_POINTER_ATOMIC_INT
std::atomic<int> number;
int case_()
{
    return rcu_dereference(number);
}
#endif
#ifdef CASE_POINTER_ATOMIC_OF_ANOTHER
std::atomic<Config *> place;
void case_(Shape *shape)
{
    rcu_assign_pointer(place, shape);
}
#endif
#ifdef CASE_POINTER_ATOMIC_CONST_PLACE
void case_(const std::atomic<Config *> &place, Config *config)
{
    rcu_assign_pointer(place, config);
}
#endif
#ifdef CASE_POINTER_A_UNIQUE_PTR
std::unique_ptr<Config> place;
Config *case_()
{
    return rcu_dereference(place);
}
#endif

int main()
{
    return 0;
}
