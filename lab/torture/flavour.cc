// SPDX-License-Identifier: MIT OR Apache-2.0
// The two tables of waits.
#include "torture/flavour.h"

#include <cstdlib>

#include "torture/heap.h"

namespace lab::torture
{

const Flavour rtrcu_flavour = {
    .name = "rtrcu",
    .synchronize = [] { synchronize_rcu(); },
    .synchronize_expedited = [] { synchronize_rcu_expedited(); },
    .call = [](rcu_head *head, rcu_callback_t function) { call_rcu(head, function); },
    .call_hurry = [](rcu_head *head, rcu_callback_t function) { call_rcu_hurry(head, function); },
    .call_try = [](rcu_head *head, rcu_callback_t function) { return call_rcu_try(head, function); },
    .get_state = [] { return get_state_synchronize_rcu(); },
    .start_poll = [] { return start_poll_synchronize_rcu(); },
    .poll = [](unsigned long cookie) { return poll_state_synchronize_rcu(cookie); },
    .cond = [](unsigned long cookie) { cond_synchronize_rcu(cookie); },
    .get_state_expedited = [] { return get_state_synchronize_rcu_expedited(); },
    .start_poll_expedited = [] { return start_poll_synchronize_rcu_expedited(); },
    .poll_expedited = [](unsigned long cookie) { return poll_state_synchronize_rcu_expedited(cookie); },
    .cond_expedited = [](unsigned long cookie) { cond_synchronize_rcu_expedited(cookie); },
    .barrier = [] { rcu_barrier(); },
    .free_memory = [](void *memory) { rcu_free(memory); },
    .free_head = [](HeapNode *node) { rcu_free_head(node, head); },
    .retire = [](void *object, void (*function)(void *object)) { return rcu_retire(object, function); },
};

// Wrong on purpose: nobody waits for a reader.
const Flavour busted_flavour = {
    .name = "busted",
    .synchronize = [] {},
    .synchronize_expedited = [] {},
    .call = [](rcu_head *head, rcu_callback_t function) { function(head); },
    .call_hurry = [](rcu_head *head, rcu_callback_t function) { function(head); },
    .call_try =
        [](rcu_head *head, rcu_callback_t function) {
            function(head);
            return 0;
        },
    .get_state = [] { return 0ul; },
    .start_poll = [] { return 0ul; },
    .poll = [](unsigned long) { return true; },
    .cond = [](unsigned long) {},
    .get_state_expedited = [] { return 0ul; },
    .start_poll_expedited = [] { return 0ul; },
    .poll_expedited = [](unsigned long) { return true; },
    .cond_expedited = [](unsigned long) {},
    .barrier = [] {},
    .free_memory = [](void *memory) { free(memory); },
    .free_head = [](HeapNode *node) { free(node); },
    .retire =
        [](void *object, void (*function)(void *object)) {
            function(object);
            return 0;
        },
};

} // namespace lab::torture
