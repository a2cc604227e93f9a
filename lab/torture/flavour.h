// SPDX-License-Identifier: MIT OR Apache-2.0
// The table of functions with which writers wait: the library's, those of a domain that the program defines, and wrong
// ones that do not wait, which the checks must detect.
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
    int (*enter)() = nullptr; // the flavour's own read-side section; nullptr: rcu_read_lock() of the native domain
    void (*leave)(int index) = nullptr;
};

extern const Flavour rtrcu_flavour, busted_flavour, srcu_flavour;

} // namespace lab::torture
