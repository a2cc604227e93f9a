/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* <urcu/flavor.h> under its older name: a flavour as liburcu-cds sees it. */
#include <urcu/flavor.h>
