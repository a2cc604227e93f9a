/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Trace points: places that a tracer may look at while the program runs, as USDT probes of the provider `rtrcu`.
 *
 * Each is one no-op instruction, and a note of the object that says where its arguments are.  Where <sys/sdt.h> was not
 * there when the library was built, in a private copy and in C++, there are none.  docs/probes.md says what each is.
 */
#ifndef RTRCU_BASE_TRACE_H
#define RTRCU_BASE_TRACE_H

#if defined(__has_include) && !defined(__cplusplus) && !defined(RTRCU_NOTE_TYPE)
#if __has_include(<sys/sdt.h>)
#define TRACE_HAS_SDT 1
#endif
#endif

#ifdef TRACE_HAS_SDT
#include <sys/sdt.h>
#define trace1(name, a) DTRACE_PROBE1(rtrcu, name, a)
#define trace2(name, a, b) DTRACE_PROBE2(rtrcu, name, a, b)
#define trace3(name, a, b, c) DTRACE_PROBE3(rtrcu, name, a, b, c)
#define trace4(name, a, b, c, d) DTRACE_PROBE4(rtrcu, name, a, b, c, d)
#else
/* The arguments are looked at by the compiler, and cost nothing. */
#define trace1(name, a)                                                                                                \
    do {                                                                                                               \
        (void)sizeof(a);                                                                                               \
    } while (0)
#define trace2(name, a, b)                                                                                             \
    do {                                                                                                               \
        trace1(name, a);                                                                                               \
        trace1(name, b);                                                                                               \
    } while (0)
#define trace3(name, a, b, c)                                                                                          \
    do {                                                                                                               \
        trace2(name, a, b);                                                                                            \
        trace1(name, c);                                                                                               \
    } while (0)
#define trace4(name, a, b, c, d)                                                                                       \
    do {                                                                                                               \
        trace3(name, a, b, c);                                                                                         \
        trace1(name, d);                                                                                               \
    } while (0)
#endif

#endif
