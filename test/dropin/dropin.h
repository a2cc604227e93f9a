/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Programs built with the installed liburcu headers and libraries, as any program of the distribution is, or with this
 * library's own headers in their place, and run on ours.
 *
 * HEADER is the flavour's; QUIESCES is 1 where readers have to say when they are outside.
 */
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
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                                    \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

/* Is it our library that this program runs on? */
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

/* Each of these is compiled three times: with liburcu's headers, the read side inlined and by calls; and with this
 * library's own headers in their place. */
struct side {
    void (*enter)(void);
    void (*leave)(void);
    void *(*load)(void **place);
    void (*quiescent)(void);
};
extern const struct side inlined, called, own;

#endif
