/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The environment, if it can be trusted.
 *
 * tested by: test/api/config.cc
 */
#include <sys/auxv.h>
#include <unistd.h>

#include "plat/plat.h"

char **plat_environment(void)
{
    return getauxval(AT_SECURE) ? NULL : environ;
}
