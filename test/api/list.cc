// SPDX-License-Identifier: MIT OR Apache-2.0
// Tests of <rtrcu/list.h>: every operation, and readers that walk a list while an updater changes it.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#include <rtrcu/list.h>
#pragma GCC diagnostic pop

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <thread>
#include <unistd.h>
#include <vector>

#include "../support/seed.h"
#include "../support/sync.h"

extern "C" int list_bsd_together(void);

namespace
{

// The alignment is large, so a loop that computes an object from the list's head makes a misaligned pointer.
struct Item {
    alignas(64) int value;
    int check; // always value + 1 in a published item
    struct list_head node;
    struct hlist_node chain;
    struct rcu_head rcu;
    Item *next_gone;
};

// Freed items, poisoned.  Their memory is not reused, so a reader that wrongly holds one finds the poison.
std::atomic<Item *> gone{nullptr};

Item *make(int value)
{
    auto *item = new Item{};
    item->value = value;
    item->check = value + 1;
    return item;
}

std::vector<int> forward(struct list_head *head)
{
    std::vector<int> values;
    Item *item;
    list_for_each_entry(item, head, node) values.push_back(item->value);
    return values;
}

std::vector<int> backward(struct list_head *head)
{
    std::vector<int> values;
    Item *item;
    list_for_each_entry_reverse(item, head, node) values.push_back(item->value);
    std::reverse(values.begin(), values.end());
    return values;
}

std::vector<int> by_reader(struct list_head *head)
{
    std::vector<int> values;
    Item *item;
    rcu_read_lock();
    list_for_each_entry_rcu(item, head, node) values.push_back(item->value);
    rcu_read_unlock();
    return values;
}

std::vector<int> chained(struct hlist_head *head)
{
    std::vector<int> values;
    Item *item;
    hlist_for_each_entry(item, head, chain) values.push_back(item->value);
    return values;
}

// Checks that every node's pprev points to the pointer that points to the node.
bool chain_is_sound(struct hlist_head *head)
{
    struct hlist_node **place = &head->first;
    for (; *place; place = &(*place)->next)
        if ((*place)->pprev != place)
            return false;
    return true;
}

using Values = std::vector<int>;

TEST(List, PlainOperationsChangeTheList)
{
    LIST_HEAD(head);
    LIST_HEAD(other);
    Item a{}, b{}, c{}, d{};
    a.value = 1, b.value = 2, c.value = 3, d.value = 4;
    EXPECT_TRUE(list_empty(&head));
    EXPECT_EQ(list_first_entry_or_null(&head, Item, node), nullptr);
    list_add(&b.node, &head);
    EXPECT_TRUE(list_is_singular(&head));
    list_add(&a.node, &head);
    list_add_tail(&c.node, &head);
    EXPECT_FALSE(list_is_singular(&head));
    EXPECT_EQ(forward(&head), (Values{1, 2, 3}));
    EXPECT_EQ(backward(&head), (Values{1, 2, 3}));
    EXPECT_TRUE(list_is_first(&a.node, &head));
    EXPECT_TRUE(list_is_last(&c.node, &head));
    EXPECT_EQ(list_first_entry(&head, Item, node), &a);
    EXPECT_EQ(list_last_entry(&head, Item, node), &c);
    EXPECT_EQ(list_prev_entry(&c, node), &b);
    list_move_tail(&a.node, &head);
    EXPECT_EQ(forward(&head), (Values{2, 3, 1}));
    list_replace(&b.node, &d.node);
    EXPECT_EQ(backward(&head), (Values{4, 3, 1}));
    list_add(&b.node, &other);
    list_splice_init(&other, &head);
    EXPECT_EQ(forward(&head), (Values{2, 4, 3, 1}));
    EXPECT_EQ(backward(&head), (Values{2, 4, 3, 1}));
    EXPECT_TRUE(list_empty(&other));
    list_del_init(&b.node);
    EXPECT_TRUE(list_empty(&b.node));
    list_move(&a.node, &head);
    Item *item, *next;
    list_for_each_entry_safe(item, next, &head, node) list_del(&item->node);
    EXPECT_TRUE(list_empty(&head));
    EXPECT_EQ(a.node.next, RTRCU_LIST_GONE_NEXT);
    EXPECT_EQ(a.node.prev, RTRCU_LIST_GONE_PREV);
}

TEST(List, RemovedEntriesKeepTheirLinksForReaders)
{
    LIST_HEAD(head);
    LIST_HEAD(other);
    Item a{}, b{}, c{}, d{};
    a.value = 1, b.value = 2, c.value = 3, d.value = 4;
    rcu_read_lock();
    EXPECT_EQ(list_first_or_null_rcu(&head, Item, node), nullptr);
    rcu_read_unlock();
    list_add_rcu(&b.node, &head);
    list_add_rcu(&a.node, &head);
    list_add_tail_rcu(&c.node, &head);
    EXPECT_EQ(by_reader(&head), (Values{1, 2, 3}));
    EXPECT_EQ(backward(&head), (Values{1, 2, 3}));

    rcu_read_lock();
    EXPECT_EQ(list_first_or_null_rcu(&head, Item, node), &a);
    EXPECT_EQ(list_next_or_null_rcu(&head, &a.node, Item, node), &b);
    EXPECT_EQ(list_next_or_null_rcu(&head, &c.node, Item, node), nullptr);
    EXPECT_EQ(list_entry_rcu(list_next_rcu(&head), Item, node), &a);
    Item *item = &a;
    Values rest;
    list_for_each_entry_continue_rcu(item, &head, node) rest.push_back(item->value);
    item = &b;
    list_for_each_entry_from_rcu(item, &head, node) rest.push_back(item->value);
    rcu_read_unlock();
    EXPECT_EQ(rest, (Values{2, 3, 2, 3}));

    list_replace_rcu(&b.node, &d.node);
    EXPECT_EQ(by_reader(&head), (Values{1, 4, 3}));
    EXPECT_EQ(b.node.next, &c.node) << "a reader on a replaced node continues along the list";
    list_del_rcu(&d.node);
    EXPECT_EQ(backward(&head), (Values{1, 3}));
    EXPECT_EQ(d.node.next, &c.node) << "a reader on a removed node continues along the list";
    synchronize_rcu();
    list_add_tail_rcu(&b.node, &other);
    list_add_tail_rcu(&d.node, &other);
    list_splice_init_rcu(&other, &head, synchronize_rcu);
    EXPECT_EQ(by_reader(&head), (Values{2, 4, 1, 3}));
    EXPECT_EQ(backward(&head), (Values{2, 4, 1, 3}));
    EXPECT_TRUE(list_empty(&other));
    list_splice_tail_init_rcu(&head, &other, synchronize_rcu);
    EXPECT_EQ(by_reader(&other), (Values{2, 4, 1, 3}));
    list_splice_init_rcu(&head, &other, nullptr); // empty: does not wait
}

TEST(Hlist, OperationsChangeTheChain)
{
    HLIST_HEAD(head);
    Item a{}, b{}, c{}, d{}, e{};
    a.value = 1, b.value = 2, c.value = 3, d.value = 4, e.value = 5;
    EXPECT_TRUE(hlist_empty(&head));
    INIT_HLIST_NODE(&a.chain);
    EXPECT_TRUE(hlist_unhashed(&a.chain));
    hlist_add_head_rcu(&b.chain, &head);
    hlist_add_before_rcu(&a.chain, &b.chain);
    hlist_add_behind_rcu(&d.chain, &b.chain);
    hlist_add_before_rcu(&c.chain, &d.chain);
    hlist_add_tail_rcu(&e.chain, &head);
    EXPECT_EQ(chained(&head), (Values{1, 2, 3, 4, 5}));
    EXPECT_TRUE(chain_is_sound(&head));
    EXPECT_FALSE(hlist_unhashed(&a.chain));

    Item fresh{};
    fresh.value = 9;
    hlist_replace_rcu(&c.chain, &fresh.chain);
    EXPECT_EQ(chained(&head), (Values{1, 2, 9, 4, 5}));
    EXPECT_EQ(c.chain.next, &d.chain) << "a reader on a replaced node continues along the list";
    hlist_del_rcu(&b.chain);
    EXPECT_EQ(b.chain.next, &fresh.chain) << "a reader on a removed node continues along the list";
    EXPECT_FALSE(hlist_unhashed(&b.chain));
    hlist_del_init_rcu(&a.chain);
    EXPECT_TRUE(hlist_unhashed(&a.chain));
    hlist_del_init_rcu(&a.chain); // no effect, since the node is on no list
    EXPECT_EQ(chained(&head), (Values{9, 4, 5}));
    EXPECT_TRUE(chain_is_sound(&head));

    rcu_read_lock();
    Values seen;
    Item *item;
    hlist_for_each_entry_rcu(item, &head, chain) seen.push_back(item->value);
    item = hlist_entry_safe(rcu_dereference(hlist_first_rcu(&head)), Item, chain);
    hlist_for_each_entry_continue_rcu(item, chain) seen.push_back(item->value);
    item = &d;
    hlist_for_each_entry_from_rcu(item, chain) seen.push_back(item->value);
    rcu_read_unlock();
    EXPECT_EQ(seen, (Values{9, 4, 5, 4, 5, 4, 5}));

    struct hlist_node *next;
    hlist_for_each_entry_safe(item, next, &head, chain) hlist_del_init(&item->chain);
    EXPECT_TRUE(hlist_empty(&head));
    hlist_add_head(&a.chain, &head);
    hlist_add_behind(&c.chain, &a.chain);
    hlist_add_before(&b.chain, &c.chain);
    EXPECT_EQ(chained(&head), (Values{1, 2, 3}));
    hlist_del(&b.chain);
    EXPECT_EQ(b.chain.pprev, RTRCU_HLIST_GONE_PPREV);
    INIT_HLIST_HEAD(&head);
    EXPECT_TRUE(hlist_empty(&head));
}

/* The address of the fault identifies the link of a removed node, even if another handler watches for faults. */
void say_where(int, siginfo_t *info, void *)
{
    dprintf(STDERR_FILENO, "fault at %p\n", info->si_addr);
    _exit(1);
}

void with_faults_said(void (*remove)(Item *), Item *item)
{
    struct sigaction action = {};
    action.sa_sigaction = say_where;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, nullptr);
    remove(item);
}

TEST(ListDeathTest, SecondRemovalOfAnEntryFaults)
{
    RTRCU_LIST_HEAD(head);
    HLIST_HEAD(chain);
    Item a{};
    list_add_rcu(&a.node, &head);
    hlist_add_head_rcu(&a.chain, &chain);
    list_del_rcu(&a.node);
    hlist_del_rcu(&a.chain);
    auto from_list = [](Item *item) { list_del_rcu(&item->node); };
    auto from_chain = [](Item *item) { hlist_del_rcu(&item->chain); };
    EXPECT_DEATH(with_faults_said(from_list, &a), "fault at 0x120");
    EXPECT_DEATH(with_faults_said(from_chain, &a), "fault at 0x140");
}

TEST(List, CoexistsWithSysQueue)
{
    EXPECT_EQ(list_bsd_together(), 0);
}

// ---- readers and an updater ----

constexpr int residents = 8; // values that are always on the list, in rising order
constexpr int changes = 3000;

void check_walk(int value, int check, int &last, Values &found)
{
    EXPECT_EQ(check, value + 1) << "the reader saw an object before its publication or after its free";
    EXPECT_GT(value, last) << "the walk went back, or visited an object and its replacement";
    last = value;
    if (value % 100 == 0)
        found.push_back(value / 100);
}

void free_item(struct rcu_head *head)
{
    auto *item = reinterpret_cast<Item *>(reinterpret_cast<char *>(head) - offsetof(Item, rcu));
    item->value = item->check = -1;
    item->next_gone = gone.exchange(item);
}

// Multiples of 100 are residents: they are replaced, but always present.  The other values are inserted and removed
// between them.
struct Table {
    RTRCU_LIST_HEAD(list);
    HLIST_HEAD(chain);
    std::atomic<bool> stop{false};
    std::atomic<int> walks{0};

    Table()
    {
        for (int i = residents; i >= 1; i--) {
            Item *item = make(100 * i);
            list_add_rcu(&item->node, &list);
            hlist_add_head_rcu(&item->chain, &chain);
        }
    }
    ~Table()
    {
        Item *item, *next;
        list_for_each_entry_safe(item, next, &list, node) delete item;
        for (item = gone.exchange(nullptr); item; item = next) {
            next = item->next_gone;
            delete item;
        }
    }
    void walk()
    {
        Values in_list, in_chain;
        int last = 0;
        Item *item;
        rcu_read_lock();
        list_for_each_entry_rcu(item, &list, node) check_walk(item->value, item->check, last, in_list);
        last = 0;
        hlist_for_each_entry_rcu(item, &chain, chain) check_walk(item->value, item->check, last, in_chain);
        rcu_read_unlock();
        Values all;
        for (int i = 1; i <= residents; i++)
            all.push_back(i);
        EXPECT_EQ(in_list, all) << "a walk missed an object that never left";
        EXPECT_EQ(in_chain, all) << "a walk missed an object that never left";
        walks++;
    }
    Item *resident(int number)
    {
        Item *item;
        list_for_each_entry(item, &list, node) if (item->value == 100 * number) return item;
        return nullptr;
    }
    void replace(int number)
    {
        Item *old = resident(number), *fresh = make(100 * number);
        list_replace_rcu(&old->node, &fresh->node);
        hlist_replace_rcu(&old->chain, &fresh->chain);
        call_rcu(&old->rcu, free_item);
    }
    // Insert a guest after a resident, or remove it if it is present.
    void toggle(int number)
    {
        Item *host = resident(number);
        Item *guest = list_is_last(&host->node, &list) ? nullptr : list_next_entry(host, node);
        if (!guest || guest->value % 100 == 0) {
            guest = make(100 * number + 1);
            list_add_rcu(&guest->node, &host->node);
            hlist_add_behind_rcu(&guest->chain, &host->chain);
            return;
        }
        list_del_rcu(&guest->node);
        hlist_del_rcu(&guest->chain);
        call_rcu(&guest->rcu, free_item);
    }
};

TEST(List, ReadersVisitAllResidentsDuringUpdates)
{
    Table table;
    auto random = test::seeded_random("list");
    std::vector<std::thread> readers;
    for (int i = 0; i < 2; i++)
        readers.emplace_back([&table] {
            while (!table.stop)
                table.walk();
        });
    for (int i = 0; i < changes && !::testing::Test::HasFailure(); i++) {
        int number = static_cast<int>(random() % residents) + 1;
        if (random() % 2)
            table.replace(number);
        else
            table.toggle(number);
    }
    EXPECT_TRUE(test::eventually([&table] { return table.walks >= 10; }));
    table.stop = true;
    for (std::thread &reader : readers)
        reader.join();
    rcu_barrier();
    EXPECT_TRUE(chain_is_sound(&table.chain));
    EXPECT_EQ(forward(&table.list), chained(&table.chain));
}

// list_splice_init_rcu() waits for the readers of the list that it empties.
TEST(List, SpliceWaitsForReaders)
{
    RTRCU_LIST_HEAD(from);
    RTRCU_LIST_HEAD(to);
    Item a{}, b{}, c{};
    a.value = 1, b.value = 2, c.value = 3;
    list_add_tail_rcu(&a.node, &from);
    list_add_tail_rcu(&b.node, &from);
    list_add_tail_rcu(&c.node, &to);
    test::Steps reader, updater;
    Values seen;
    std::thread walker([&] {
        Item *item;
        rcu_read_lock();
        list_for_each_entry_rcu(item, &from, node)
        {
            seen.push_back(item->value);
            if (seen.size() > 4)
                break; // the walk strayed to the other list and would never meet its own head
            if (item == &a) {
                reader.reach(1);
                EXPECT_TRUE(test::eventually([&] { return list_empty(&from); }));
            }
        }
        EXPECT_EQ(updater.at(), 0) << "the splice did not wait for the walk";
        rcu_read_unlock();
    });
    reader.wait(1);
    list_splice_init_rcu(&from, &to, synchronize_rcu);
    updater.reach(1);
    walker.join();
    EXPECT_EQ(seen, (Values{1, 2})) << "the walk strayed into the other list";
    EXPECT_EQ(forward(&to), (Values{1, 2, 3}));
}

} // namespace
