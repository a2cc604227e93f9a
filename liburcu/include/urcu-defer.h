/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Callbacks without a head, by the header's older name.
 */
#include <urcu/defer.h>
