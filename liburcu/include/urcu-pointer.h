/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The older name of <urcu/pointer.h>, which declares pointers that readers follow. */
#include <urcu/pointer.h>
