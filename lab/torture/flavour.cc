// SPDX-License-Identifier: MIT OR Apache-2.0
// The tables of waits.
#include "torture/flavour.h"

#include <rtrcu/srcu.h>

#include <cstddef>
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

// A deliberately wrong flavour, whose grace periods do not wait for readers.
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

namespace
{

DEFINE_STATIC_SRCU(domain);

void free_node(rcu_head *head)
{
    free(reinterpret_cast<char *>(head) - offsetof(HeapNode, head));
}

void call(rcu_head *head, rcu_callback_t function)
{
    call_srcu(&domain, head, function);
}

void wait()
{
    synchronize_srcu(&domain);
}

unsigned long get_state()
{
    return get_state_synchronize_srcu(&domain);
}

unsigned long start_poll()
{
    return start_poll_synchronize_srcu(&domain);
}

bool poll(unsigned long cookie)
{
    return poll_state_synchronize_srcu(&domain, cookie);
}

void wait_for(unsigned long cookie)
{
    if (!poll(cookie))
        wait();
}

} // namespace

const Flavour srcu_flavour = {
    .name = "srcu",
    .synchronize = wait,
    .synchronize_expedited = [] { synchronize_srcu_expedited(&domain); },
    .call = call,
    .call_hurry = call,
    .call_try =
        [](rcu_head *head, rcu_callback_t function) {
            call(head, function);
            return 0;
        },
    .get_state = get_state,
    .start_poll = start_poll,
    .poll = poll,
    .cond = wait_for,
    .get_state_expedited = get_state,
    .start_poll_expedited = start_poll,
    .poll_expedited = poll,
    .cond_expedited = wait_for,
    .barrier = [] { srcu_barrier(&domain); },
    .free_memory =
        [](void *memory) {
            wait();
            free(memory);
        },
    .free_head = [](HeapNode *node) { call(&node->head, free_node); },
    .retire = [](void *, void (*)(void *)) { return -1; },
    .enter = [] { return srcu_down_read(&domain); },
    .leave = [](int index) { srcu_up_read(&domain, index); },
};

} // namespace lab::torture
