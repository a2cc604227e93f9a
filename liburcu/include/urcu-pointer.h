/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Pointers that readers follow, by the header's older name.
 */
#include <urcu/pointer.h>
