/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A flavour as liburcu-cds sees it, by the header's older name.
 */
#include <urcu/flavor.h>
