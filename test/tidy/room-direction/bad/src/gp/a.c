/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
#include "gp/gp.h"
#include "serve/serve.h"
#include "reader/registry.h"
#include "kitchen/kitchen.h"
