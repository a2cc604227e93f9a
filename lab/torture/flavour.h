// SPDX-License-Identifier: MIT OR Apache-2.0
// The waits that writers use, as a table: the library's, and busted ones that do not wait, which the checks must catch.
#pragma once

#include <rtrcu/rcu.h>

namespace lab::torture
{

struct HeapNode;

struct Flavour {
    const char *name;
    void (*synchronize)();
    void (*synchronize_expedited)();
    void (*call)(rcu_head *head, rcu_callback_t function);
    void (*call_hurry)(rcu_head *head, rcu_callback_t function);
    int (*call_try)(rcu_head *head, rcu_callback_t function);
    unsigned long (*get_state)();
    unsigned long (*start_poll)();
    bool (*poll)(unsigned long cookie);
    void (*cond)(unsigned long cookie);
    unsigned long (*get_state_expedited)();
    unsigned long (*start_poll_expedited)();
    bool (*poll_expedited)(unsigned long cookie);
    void (*cond_expedited)(unsigned long cookie);
    void (*barrier)();
    void (*free_memory)(void *memory);
    void (*free_head)(HeapNode *node);
    int (*retire)(void *object, void (*function)(void *object));
};

extern const Flavour rtrcu_flavour, busted_flavour;

} // namespace lab::torture
