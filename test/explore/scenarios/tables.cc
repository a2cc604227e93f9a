// SPDX-License-Identifier: MIT OR Apache-2.0
// Hash tables: look-ups, updates and walks while buckets are moved, and the resizer's sleep.
// In all scenarios except the last, a thread of the scenario takes the resizer's steps.
#include "scenarios/common.h"

#include <stdlib.h>

extern "C" {
#include "table/table.h"
}

namespace scenarios
{

namespace
{

struct entry {
    struct rtrcu_hash_node node;
    struct rcu_head head;
    int value;
};

struct rtrcu_hash *table;
struct entry *lasting, *other;

bool accept(const struct rtrcu_hash_node *, const void *)
{
    return true;
}

struct entry *make_entry()
{
    auto *entry = static_cast<struct entry *>(malloc(sizeof(struct entry)));
    entry->value = 42;
    return entry;
}

struct entry *entry_of(struct rtrcu_hash_node *node)
{
    return reinterpret_cast<struct entry *>(node);
}

// A hash whose mixed form ends in these two bits, which select one of four buckets.
uint64_t hash_of_bucket(uint64_t bucket)
{
    uint64_t hash = 1;
    while ((rtrcu_hash_mix(hash) & 3) != bucket)
        hash++;
    return hash;
}

// The hashes of the lasting entry and of the other entry.  In a table of two buckets, they select different buckets.
uint64_t hashes[2];

struct entry *look_up(uint64_t hash)
{
    struct rtrcu_hash_node *node = rtrcu_hash_lookup(table, hash, accept, nullptr);
    if (!node)
        return nullptr;
    sim::expect(entry_of(node)->value == 42, "a look-up sees the entry as it was inserted");
    return entry_of(node);
}

void add(uint64_t hash, struct entry *entry)
{
    rcu_read_lock();
    sim::expect(rtrcu_hash_add(table, hash, &entry->node) == 0, "an entry can be added");
    rcu_read_unlock();
}

void create()
{
    hashes[0] = hash_of_bucket(3);
    hashes[1] = hash_of_bucket(2);
    const struct rtrcu_hash_config config = {1, 0, 0, 1, {0, 0, 0, 0}};
    sim::expect(rtrcu_hash_create(&table, &config) == 0, "a table can be created");
    lasting = make_entry();
    add(hashes[0], lasting);
}

// Run a whole resize before any other thread starts.
void resize_alone(uint64_t buckets)
{
    struct table *inner = table_of(table);
    inner->to = generation_create(inner, buckets);
    while (inner->to)
        (void)table_step(inner);
}

void begin(bool resizer_runs)
{
    configure();
    sim::no_timeouts();
    shared = make_object();
    if (!resizer_runs)
        rtrcu_resizer.thread.state = WORK_RUNNING; // so that no thread of the resizer is created
}

// ---- the thread that moves buckets ----

void move_to(uint64_t buckets)
{
    struct table *inner = table_of(table);
    resizer_lock();
    inner->to = generation_create(inner, buckets);
    while (inner->to)
        (void)table_step(inner);
    resizer_unlock();
}

void free_generations()
{
    while (rtrcu_resizer.retired)
        if (generation_free_retired(&rtrcu_resizer) != 0)
            synchronize_rcu();
}

void grow()
{
    move_to(2);
    free_generations();
}

void grow_twice()
{
    move_to(2);
    move_to(4);
    free_generations();
}

void shrink()
{
    move_to(1);
    free_generations();
}

// ---- look-ups ----

void find_lasting()
{
    rcu_read_lock();
    sim::expect(look_up(hashes[0]) != nullptr, "an entry that is present throughout is found");
    rcu_read_unlock();
}

void find_twice()
{
    find_lasting();
    find_lasting();
}

void find_other_again()
{
    rcu_read_lock();
    bool found = look_up(hashes[1]) != nullptr;
    sim::expect(!found || look_up(hashes[1]) != nullptr, "an inserted entry that was found is found again");
    rcu_read_unlock();
}

void insert_other()
{
    add(hashes[1], other = make_entry());
    rcu_read_lock();
    sim::expect(look_up(hashes[1]) == other, "an entry is found by the thread that inserted it");
    rcu_read_unlock();
}

void find_removed()
{
    rcu_read_lock();
    (void)look_up(hashes[1]); // the machine reports an access to a freed entry
    rcu_read_unlock();
}

void remove_other()
{
    rcu_read_lock();
    sim::expect(rtrcu_hash_remove(table, &other->node) == 0, "an entry is removed once");
    sim::expect(look_up(hashes[1]) == nullptr, "a removed entry is not found by the thread that removed it");
    rcu_read_unlock();
    synchronize_rcu();
    free(other);
}

void replace_lasting()
{
    struct entry *fresh = make_entry(), *old = lasting;
    rcu_read_lock();
    sim::expect(rtrcu_hash_replace(table, &old->node, &fresh->node) == 0, "an entry is replaced once");
    rcu_read_unlock();
    synchronize_rcu();
    free(old);
}

void count(struct rtrcu_hash_node *node, void *argument)
{
    if (entry_of(node) == lasting)
        ++*static_cast<int *>(argument);
}

void walk()
{
    int seen = 0;
    uint64_t cursor = 0;
    while (rtrcu_hash_walk(table, &cursor, 1, count, &seen))
        ;
    sim::expect(seen == 1, "a walk visits an entry that is present throughout once");
}

// ---- the threads ----

void invariants()
{
    check_invariants();
}

void lookup_setup()
{
    begin(false);
    sim::as_thread(sim::thread("reader", find_twice), register_reader);
    sim::as_thread(sim::thread("mover", grow_twice), create);
}

void insert_setup()
{
    begin(false);
    sim::as_thread(sim::thread("reader", find_other_again), register_reader);
    sim::as_thread(sim::thread("inserter", insert_other), create);
    sim::thread("mover", grow);
}

void create_two()
{
    create();
    add(hashes[1], other = make_entry());
}

void remove_setup()
{
    begin(false);
    sim::as_thread(sim::thread("reader", find_removed), register_reader);
    sim::as_thread(sim::thread("remover", remove_other), create_two);
    sim::thread("mover", grow);
}

void replace_setup()
{
    begin(false);
    sim::as_thread(sim::thread("reader", find_twice), register_reader);
    sim::as_thread(sim::thread("replacer", replace_lasting), create);
    sim::thread("mover", grow);
}

void create_grown()
{
    create();
    resize_alone(2);
    add(hash_of_bucket(1), make_entry()); // a second entry, beside the lasting one
    free_generations();
}

void shrink_setup()
{
    begin(false);
    sim::as_thread(sim::thread("reader", find_twice), register_reader);
    sim::as_thread(sim::thread("inserter", insert_other), create_grown);
    sim::thread("mover", shrink);
}

void walk_setup()
{
    begin(false);
    sim::as_thread(sim::thread("walker", walk), register_reader);
    sim::as_thread(sim::thread("mover", grow_twice), create);
}

void walk_shrink_setup()
{
    begin(false);
    sim::as_thread(sim::thread("walker", walk), register_reader);
    sim::as_thread(sim::thread("mover", shrink), create_grown);
}

// ---- the resizer sleeps for ever unless a request wakes it ----

bool has_grown()
{
    return rtrcu_load_relaxed(&table_of(table)->resizes) != 0;
}

void insert_many()
{
    for (int i = 0; i < 3; i++)
        add(hashes[i & 1], make_entry());
    sim::until(has_grown);
}

void request_setup()
{
    begin(true);
    sim::as_thread(sim::thread("first", insert_many), create);
    sim::thread("second", insert_many);
}

} // namespace

extern const sim::Scenario kTableLookup, kTableInsert, kTableRemove, kTableReplace, kTableShrink, kTableWalk,
    kTableWalkShrink, kTableRequest;

const sim::Scenario kTableLookup = {"table-lookup", "look-ups during two resizes", lookup_setup, nullptr, invariants,
                                    20000};
const sim::Scenario kTableInsert = {
    "table-insert", "an insert and look-ups during a move", insert_setup, nullptr, invariants, 20000};
const sim::Scenario kTableRemove = {
    "table-remove", "a removed entry is freed during a move", remove_setup, nullptr, invariants, 20000};
const sim::Scenario kTableReplace = {
    "table-replace", "an entry is replaced during a move", replace_setup, nullptr, invariants, 20000};
const sim::Scenario kTableShrink = {
    "table-shrink", "an insert and look-ups during a shrink", shrink_setup, nullptr, invariants, 20000};
const sim::Scenario kTableWalk = {"table-walk", "a walk during two resizes", walk_setup, nullptr, invariants, 20000};
const sim::Scenario kTableWalkShrink = {
    "table-walk-shrink", "a walk during a shrink", walk_shrink_setup, nullptr, invariants, 20000};
const sim::Scenario kTableRequest = {
    "table-request", "requests wake the resizer", request_setup, nullptr, invariants, 30000};

} // namespace scenarios
