// SPDX-License-Identifier: MIT OR Apache-2.0
// A library whose transfers are counted, as a table of functions; each runs on the CPU that the machine has selected.
//
// The subjects are instrumented like the library, so this header and they hold no templates.
#pragma once

struct Subject {
    const char *name;
    const char *what;
    void (*begin)(); // called once, before the other functions
    void (*enter)(); // makes the CPU's thread a reader
    void (*leave)();
    void (*lock)();
    void (*unlock)();
    void (*synchronize)();
    void (*queue)(void *memory); // queues a callback, whose head is in 64 bytes of the caller
    void (*serve)();             // the driver's work: makes queued callbacks ready, or runs them
    void (*run)();               // runs the CPU's own ready callbacks, if the CPU itself runs them
};

extern const Subject rtrcu_subject, flat_subject;
