// SPDX-License-Identifier: MIT OR Apache-2.0
// The hash table, its writers and its walker.
#include "torture/table.h"

#include <cerrno>
#include <cstddef>
#include <cstdlib>

#include "measure/clock.h"
#include "torture/actors.h"

namespace lab::torture
{
namespace
{

constexpr uint64_t entry_canary = UINT64_C(0x5b81d0c7e43f962a);

TableEntry *entry_of(rtrcu_hash_node *node)
{
    return reinterpret_cast<TableEntry *>(node);
}

const TableEntry *entry_of(const rtrcu_hash_node *node)
{
    return reinterpret_cast<const TableEntry *>(node);
}

// Returns a key's hash.  Two keys share each hash, so that look-ups depend on the comparison.
uint64_t hash_of(uint64_t key)
{
    return key / 2;
}

bool has_key(const rtrcu_hash_node *node, const void *key)
{
    return entry_of(node)->key == *static_cast<const uint64_t *>(key);
}

bool is_sound(const TableEntry &entry, uint64_t key)
{
    return entry.canary == entry_canary && entry.key == key && entry.version == entry.version_again;
}

// Frees an entry, after making it invalid, so that a reader that is still inside detects the error.
void give_back(rcu_head *head)
{
    auto *entry = reinterpret_cast<TableEntry *>(reinterpret_cast<char *>(head) - offsetof(TableEntry, head));
    entry->canary = 0;
    entry->version_again = 0;
    free(entry);
}

} // namespace

Table::Table(Context &context) : context_(context)
{
    if (context.scenario.table_entries == 0)
        return;
    if (rtrcu_hash_create(&table_, nullptr) != 0)
        abort();
    lasting_.resize(lasting);
    rcu_read_lock();
    for (uint64_t key = 0; key < lasting; key++)
        insert(key, lasting_[key]);
    rcu_read_unlock();
}

Table::~Table()
{
    if (table_ == nullptr)
        return;
    rtrcu_hash_destroy(table_);
    for (TableEntry *entry : lasting_)
        free(entry);
}

uint64_t Table::resizes() const
{
    rtrcu_hash_counters counters{};
    if (table_ != nullptr)
        rtrcu_hash_stats(table_, &counters);
    return counters.resizes;
}

TableEntry *Table::make(uint64_t key)
{
    auto *entry = static_cast<TableEntry *>(malloc(sizeof(TableEntry)));
    if (entry == nullptr)
        abort();
    const uint64_t version = version_.fetch_add(1, std::memory_order_relaxed) + 1;
    entry->context = &context_;
    entry->canary = entry_canary;
    entry->key = key;
    entry->version = entry->version_again = version;
    return entry;
}

void Table::retire(TableEntry *entry)
{
    context_.flavour.call(&entry->head, give_back);
}

// ---- readers ----

const TableEntry *Table::find(uint64_t key) const
{
    return entry_of(rtrcu_hash_lookup(table_, hash_of(key), has_key, &key));
}

Table::Seen Table::look_up(Random &random, const ActorRecord &record) const
{
    const auto entries = static_cast<uint64_t>(context_.scenario.table_entries);
    Seen seen = {{nullptr, nullptr}, {random.below(lasting), random.below(lasting + entries)}};
    for (int i = 0; i < 2; i++) {
        seen.entries[i] = find(seen.keys[i]);
        if (seen.entries[i] == nullptr && seen.keys[i] < lasting)
            context_.findings.report(Check::table, "{} did not find key {}", record.name.data(), seen.keys[i]);
    }
    check(seen, record);
    return seen;
}

void Table::check(const Seen &seen, const ActorRecord &record) const
{
    for (int i = 0; i < 2; i++) {
        const TableEntry *entry = seen.entries[i];
        if (entry != nullptr && !is_sound(*entry, seen.keys[i]))
            context_.findings.report(Check::canary, "{} saw canary {:#x}, key {} for {}, versions {} and {}",
                                     record.name.data(), entry->canary, entry->key, seen.keys[i], entry->version,
                                     entry->version_again);
    }
}

void Table::check_lasting(const char *who) const
{
    for (uint64_t key = 0; key < lasting; key++) {
        rcu_read_lock();
        const TableEntry *entry = find(key);
        if (entry == nullptr || !is_sound(*entry, key))
            context_.findings.report(Check::table, "{} did not find key {}", who, key);
        rcu_read_unlock();
    }
}

void Table::walk(unsigned int buckets, const char *who) const
{
    std::array<uint32_t, lasting> visits{};
    uint64_t cursor = 0;
    auto visit = [](rtrcu_hash_node *node, void *argument) {
        const TableEntry *entry = entry_of(node);
        if (entry->key < lasting)
            (*static_cast<std::array<uint32_t, lasting> *>(argument))[entry->key]++;
    };
    while (rtrcu_hash_walk(table_, &cursor, buckets, visit, &visits)) // ends when the walk reaches the end of the table
        ;
    for (uint64_t key = 0; key < lasting; key++)
        if (visits[key] != 1)
            context_.findings.report(Check::table, "{} visited key {} {} times", who, key, visits[key]);
}

void Table::check_end() const
{
    if (table_ == nullptr)
        return;
    rtrcu_hash_counters counters{};
    rtrcu_hash_stats(table_, &counters);
    if (counters.entries != lasting)
        context_.findings.report(Check::table, "the table has {} entries at the end instead of {}", counters.entries,
                                 lasting);
    check_lasting("the end");
    walk(1, "the end");
}

// ---- writers ----

void Table::insert(uint64_t key, TableEntry *&own)
{
    rtrcu_hash_node *existing = nullptr;
    TableEntry *fresh = make(key);
    const int error = rtrcu_hash_insert(table_, hash_of(key), &fresh->node, has_key, &key, &existing);
    const bool right = own != nullptr ? error == -EEXIST && existing == &own->node : error == 0;
    if (!right && own != nullptr && error == -EEXIST)
        context_.findings.report(Check::table, "insert of key {} returned the wrong existing node", key);
    else if (!right)
        context_.findings.report(Check::table, "insert of key {} returned {}, but the key is {} the table", key, error,
                                 own != nullptr ? "already in" : "not in");
    if (error == 0)
        own = fresh;
    else
        free(fresh); // not published, so no reader has seen it
}

void Table::replace(TableEntry *&own)
{
    TableEntry *old = own, *fresh = make(old->key);
    const int error = rtrcu_hash_replace(table_, &old->node, &fresh->node);
    if (error != 0) {
        context_.findings.report(Check::table, "replace of key {} returned {}", old->key, error);
        free(fresh); // not published, so no reader has seen it
        return;
    }
    own = fresh;
    retire(old);
}

void Table::remove(TableEntry *&own)
{
    const int error = rtrcu_hash_remove(table_, &own->node), again = rtrcu_hash_remove(table_, &own->node);
    if (error != 0 || again != -ENOENT)
        context_.findings.report(Check::table, "remove of key {} returned {}, then {}", own->key, error, again);
    retire(own);
    own = nullptr;
}

namespace
{

// A writer of the table.  Its own keys begin at Table::lasting + index, in steps of the number of writers.
class TableWriter
{
  public:
    explicit TableWriter(Actor &actor)
        : actor_(actor), table_(actor.context.table),
          step_(static_cast<uint64_t>(actor.context.scenario.table_writers)),
          own_(static_cast<uint64_t>(actor.context.scenario.table_entries) / step_ + 1)
    {
    }

    void run()
    {
        while (actor_.keep_going()) {
            pass();
            if (grows_ ? present_ > own_.size() / 8 * 7 : present_ < own_.size() / 16) {
                grows_ = !grows_;
                actor_.rest(20'000); // gives the resizer time to finish
            } else if (actor_.random.one_in(64)) {
                actor_.rest(1000);
            }
        }
        for (TableEntry *&entry : own_)
            if (entry != nullptr)
                in_section([&] { table_.remove(entry); });
    }

  private:
    template <typename Function> void in_section(Function function)
    {
        rcu_read_lock();
        function();
        rcu_read_unlock();
    }

    // Makes a few updates in one section, which grow the table if grows_ is true, and shrink it otherwise.
    void pass()
    {
        in_section([&] {
            for (int64_t i = actor_.random.between(1, 64); i > 0; i--)
                update(next_++ % own_.size());
            std::vector<TableEntry *> &all = table_.lasting_entries();
            const uint64_t key = actor_.random.below(all.size() / step_) * step_ + actor_.index;
            if (key < all.size())
                table_.replace(all[key]);
        });
        actor_.count_update();
    }

    void update(uint64_t i)
    {
        TableEntry *&entry = own_[i];
        const bool other_way = actor_.random.one_in(32);
        const bool was_present = entry != nullptr;
        if (grows_ != other_way && (!was_present || actor_.random.one_in(4)))
            table_.insert(Table::lasting + i * step_ + actor_.index, entry);
        else if (was_present && actor_.random.one_in(4))
            table_.replace(entry);
        else if (was_present && grows_ == other_way)
            table_.remove(entry);
        present_ += static_cast<uint64_t>(entry != nullptr) - static_cast<uint64_t>(was_present);
    }

    Actor &actor_;
    Table &table_;
    const uint64_t step_;
    std::vector<TableEntry *> own_;
    uint64_t next_ = 0, present_ = 0;
    bool grows_ = true;
};

void walk_often(Actor &actor)
{
    actor.set(Doing::reading);
    while (actor.keep_going()) {
        actor.context.table.walk(static_cast<unsigned int>(actor.random.between(1, 64)), actor.record.name.data());
        actor.context.table.check_lasting(actor.record.name.data());
        actor.rest(500);
    }
}

} // namespace

void add_table(Cast &cast, const Scenario &scenario)
{
    for (int64_t i = 0; i < scenario.table_writers; i++)
        cast.add("table", static_cast<uint64_t>(i), [](Actor &actor) { TableWriter(actor).run(); });
    if (scenario.table_writers > 0)
        cast.add("walker", 0, walk_often);
}

void check_table_of_child(Context &context)
{
    if (!context.table.exists())
        return;
    context.table.check_lasting("a forked child");
    context.table.walk(8, "a forked child");

    rtrcu_hash *own = nullptr;
    rtrcu_hash_counters counters{};
    std::vector<TableEntry> entries(1000);
    if (rtrcu_hash_create(&own, nullptr) != 0)
        return context.findings.report(Check::table, "a forked child cannot create a table");
    for (uint64_t key = 0; key < entries.size(); key++) {
        entries[key].key = key;
        rcu_read_lock();
        rtrcu_hash_insert(own, hash_of(key), &entries[key].node, has_key, &key, nullptr);
        rcu_read_unlock();
    }
    for (; counters.resizes == 0;
         pause_ns(100'000)) // until the resizer has grown the table; SIGALRM ends a child that hangs
        rtrcu_hash_stats(own, &counters);
    if (counters.entries != entries.size())
        context.findings.report(Check::table, "a forked child's table has {} entries", counters.entries);
    rtrcu_hash_destroy(own);
    context.flavour.synchronize();
}

} // namespace lab::torture
