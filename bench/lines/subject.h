// SPDX-License-Identifier: MIT OR Apache-2.0
// What is counted, as a table of functions; each runs as the CPU that the machine says.
//
// The subjects are instrumented like the library, so this header and they hold no templates.
#pragma once

struct Subject {
    const char *name;
    const char *what;
    void (*begin)(); // once, before any of the others
    void (*enter)(); // the CPU's thread becomes a reader
    void (*leave)();
    void (*lock)();
    void (*unlock)();
    void (*synchronize)();
    void (*queue)(void *memory); // a callback, whose head lies in 64 bytes of the caller's
    void (*serve)();             // the driver's work: queued callbacks become ready, or are run
    void (*run)();               // the CPU's own ready callbacks, where these are its own to run
};

extern const Subject rtrcu_subject, flat_subject;
