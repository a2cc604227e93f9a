/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Helpers of programs that run on our libraries.  They are built with the installed liburcu headers and libraries, like
 * any program of the distribution, or with this library's replacement headers.
 * HEADER is the flavour's header; QUIESCES is 1 if readers must report quiescent states. */
#ifndef TEST_DROPIN_DROPIN_H
#define TEST_DROPIN_DROPIN_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rtrcu/detail/atomic.h>

#define EXPECT(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);                                    \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

/* Expect that this program runs on our library. */
static inline void expect_ours(void)
{
    char line[4096];
    bool ours = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    EXPECT(maps);
    while (fgets(line, sizeof(line), maps))
        ours = ours || strstr(line, "librtrcu");
    fclose(maps);
    EXPECT(ours);
}

#define ALIVE 0x5eed
#define DEAD 0xdead

/* Each read side is compiled three times: with liburcu's headers, inlined and by calls; and with this library's
 * replacement headers. */
struct side {
    void (*enter)(void);
    void (*leave)(void);
    void *(*load)(void **place);
    void (*quiescent)(void);
};
extern const struct side inlined, called, own;

#endif
