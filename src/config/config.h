/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The settings in force, which are one immutable copy; parsing and checking of settings.
 *
 * Knows: the public struct.  Must not know: any room that obeys a setting.
 * A change puts another copy into force.  Old copies are never freed, since another thread may still read one.
 */
#ifndef RTRCU_CONFIG_CONFIG_H
#define RTRCU_CONFIG_CONFIG_H

#include <rtrcu/config.h>

#include "base/base.h"

struct config {
    const struct rtrcu_config *in_force; /* atomic */
    struct rtrcu_config first;           /* values from the environment */
    struct config_page *pages;           /* later copies, newest first; under the lock of changes */
};

/* Value: why a setting was refused. */
struct config_message {
    char text[256];
};

/* ---- in force: config.c ---- */

/* Put the settings of the environment into force. */
void config_init(struct config *config);
/* The settings in force now; valid for ever. */
static inline const struct rtrcu_config *config_now(const struct config *config)
{
    return rtrcu_load_acquire(&config->in_force);
}
/* A copy of @settings that may be put into force; NULL: no memory.  An equal copy is reused. */
const struct rtrcu_config *config_copy(struct config *config, const struct rtrcu_config *settings);
void config_change(struct config *config, const struct rtrcu_config *copy);

/* ---- reading and checking: fields.c ---- */

/* Is @config consistent?  Returns 0, or -EINVAL with the reason in @why. */
int config_check(const struct rtrcu_config *config, struct config_message *why);
/* Set the field @name of @config from @text, as an environment variable would.  Returns 0, or -EINVAL with the reason
 * in @why. */
int config_set(struct rtrcu_config *config, const char *name, const char *text, struct config_message *why);
/* Fill in the defaults, then the values in the environment, unless the program runs with more rights than the user who
 * started it.  A bad value in the environment is reported on standard error and ignored. */
void config_from_environment(struct rtrcu_config *config);

#endif
