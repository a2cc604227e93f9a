/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The installed liburcu-cds' hash table over our flavour, resized automatically while it is read. */
#include <pthread.h>

#include HEADER

#include "entries.h"

static void *reader(void *unused)
{
    (void)unused;
    rcu_register_thread();
    for (unsigned long key = 0; !rtrcu_load_relaxed(&done); key = (key + 1) % KEYS) {
        rcu_read_lock();
        (void)find(key);
        rcu_read_unlock();
        called.quiescent();
    }
    rcu_unregister_thread();
    return NULL;
}

int main(void)
{
    pthread_t thread;
    expect_ours();
    rcu_register_thread();
    table = cds_lfht_new(1, 1, 0, CDS_LFHT_AUTO_RESIZE | CDS_LFHT_ACCOUNTING, NULL);
    EXPECT(table);
    EXPECT(pthread_create(&thread, NULL, reader, NULL) == 0);
    for (int round = 0; round < 15; round++) {
        for (unsigned long key = 0; key < KEYS; key++) {
            add_entry(key);
            called.quiescent();
        }
        for (unsigned long key = 0; key < KEYS; key++) {
            take_entry_out(key);
            called.quiescent();
        }
    }
    rtrcu_store_relaxed(&done, 1);
#if QUIESCES
    /* until the end: the destruction of the table waits for resizes, which wait for grace periods */
    rcu_thread_offline();
#endif
    pthread_join(thread, NULL);
    rcu_barrier();
    EXPECT(cds_lfht_destroy(table, NULL) == 0);
    rcu_unregister_thread();
    return 0;
}
