/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
#include "reader/reader.h"

struct gp_machine {
    unsigned long seq;
    struct reader_leaf leaf;
};
