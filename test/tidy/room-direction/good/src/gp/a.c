/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
#include <rtrcu/rcu.h>
#include <string.h>

#include "gp/gp.h"
#include "gp/tree.h"
#include "reader/reader.h"
#include "tree.h"
