/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The older name of <urcu/flavor.h>, which declares a flavour as liburcu-cds sees it. */
#include <urcu/flavor.h>
