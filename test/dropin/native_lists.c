/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* liburcu's lists before and after this library's header: pointers are the same, and the program links. */
#ifdef LISTS_FIRST
#include <urcu/rculist.h>
#endif
#include <rtrcu/rcu.h>
#ifndef LISTS_FIRST
#include <urcu/rculist.h>
#endif

#include "dropin.h"

struct entry {
    struct cds_list_head link;
    int number;
};

static struct entry first = {.number = 1}, second = {.number = 2};
static struct entry *shared;

int main(void)
{
    CDS_LIST_HEAD(list);
    struct entry *entry;
    int sum = 0;
    cds_list_add_rcu(&first.link, &list);
    cds_list_add_rcu(&second.link, &list);
    rcu_assign_pointer(shared, &first);
    rcu_read_lock();
    cds_list_for_each_entry_rcu(entry, &list, link) sum += entry->number;
    EXPECT(sum == 3 && rcu_dereference(shared) == &first);
    rcu_read_unlock();
    EXPECT(rcu_xchg_pointer(&shared, &second) == &first && shared == &second);
    synchronize_rcu();
    return 0;
}
