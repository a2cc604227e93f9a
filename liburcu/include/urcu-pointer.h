/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* <urcu/pointer.h> under its older name: pointers that readers follow. */
#include <urcu/pointer.h>
