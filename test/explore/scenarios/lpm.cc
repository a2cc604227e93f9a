// SPDX-License-Identifier: MIT OR Apache-2.0
// Longest prefix match: look-ups beside inserts, removals and short prefixes that reach nodes below.
#include "scenarios/common.h"

#include <stdlib.h>

extern "C" {
#include "lpm/lpm.h"
}

namespace scenarios
{

namespace
{

struct route {
    uint64_t value;
};

struct rtrcu_lpm *lpm;
struct route *wide, *narrow;

const uint8_t inside_narrow[4] = {10, 1, 2, 3};

struct route *make_route()
{
    auto *route = static_cast<struct route *>(malloc(sizeof(struct route)));
    route->value = 42;
    return route;
}

// Returns the route that is found for an address in the narrow prefix.
struct route *look_up()
{
    auto *route = static_cast<struct route *>(rtrcu_lpm_lookup(lpm, inside_narrow));
    if (route)
        sim::expect(route->value == 42, "a look-up sees the value as it was inserted");
    return route;
}

void insert_wide()
{
    sim::expect(rtrcu_lpm_insert(lpm, inside_narrow, 16, wide = make_route()) == 0, "a short prefix is inserted");
}

void insert_narrow()
{
    sim::expect(rtrcu_lpm_insert(lpm, inside_narrow, 24, narrow = make_route()) == 0, "a long prefix is inserted");
}

void remove_narrow()
{
    sim::expect(rtrcu_lpm_remove(lpm, inside_narrow, 24, nullptr) == 0, "a prefix is removed once");
}

void create()
{
    sim::expect(rtrcu_lpm_create(&lpm, 32) == 0, "a table can be created");
}

// Create a table with another prefix in the node of the narrow prefix.
void create_neighbour()
{
    const uint8_t neighbour[4] = {10, 1, 7, 0};
    create();
    sim::expect(rtrcu_lpm_insert(lpm, neighbour, 24, make_route()) == 0, "a neighbour is inserted");
}

void create_narrow()
{
    create_neighbour();
    insert_narrow();
}

void free_narrow()
{
    synchronize_rcu();
    free(narrow);
    rcu_barrier();
}

// ---- the threads ----

void find_narrow_again()
{
    rcu_read_lock();
    bool found = look_up() != nullptr;
    sim::expect(!found || look_up() != nullptr, "an inserted prefix that was found is found again");
    rcu_read_unlock();
}

void find_removed()
{
    rcu_read_lock();
    (void)look_up(); // the machine reports an access to a freed value or node
    rcu_read_unlock();
}

void find_any()
{
    rcu_read_lock();
    sim::expect(look_up() != nullptr, "an address that has a prefix throughout has a value");
    rcu_read_unlock();
}

void insert_in_section()
{
    rcu_read_lock();
    insert_narrow();
    sim::expect(look_up() == narrow, "a prefix is found by the thread that inserted it");
    rcu_read_unlock();
    rcu_barrier();
}

void remove_and_free()
{
    remove_narrow();
    free_narrow();
}

// Replace the narrow prefix by a wide one.  At each moment one of them contains the address.
void widen()
{
    insert_wide();
    remove_narrow();
    free_narrow();
}

void begin()
{
    configure();
    sim::no_timeouts();
    shared = make_object();
}

void insert_setup()
{
    begin();
    sim::as_thread(sim::thread("reader", find_narrow_again), register_reader);
    sim::as_thread(sim::thread("inserter", insert_in_section), create_neighbour);
}

void remove_setup()
{
    begin();
    sim::as_thread(sim::thread("reader", find_removed), register_reader);
    sim::as_thread(sim::thread("remover", remove_and_free), create_narrow);
}

void inherit_setup()
{
    begin();
    sim::as_thread(sim::thread("reader", find_any), register_reader);
    sim::as_thread(sim::thread("widener", widen), create_narrow);
}

void invariants()
{
    check_invariants();
}

} // namespace

extern const sim::Scenario kLpmInsert, kLpmRemove, kLpmInherit;

const sim::Scenario kLpmInsert = {"lpm-insert", "a look-up during an insert", insert_setup, nullptr, invariants, 20000};
const sim::Scenario kLpmRemove = {
    "lpm-remove", "a removed value, and its node, are freed", remove_setup, nullptr, invariants, 20000};
const sim::Scenario kLpmInherit = {
    "lpm-inherit", "a short prefix replaces a long one", inherit_setup, nullptr, invariants, 20000};

} // namespace scenarios
