/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The settings in force: one immutable copy, read by every room that needs one, and how settings are read and checked.
 *
 * Knows: the public struct.  Must not know: any room that follows a setting.
 * A change puts another copy into force.  Old copies are never freed: a reader of one may still look at it.
 */
#ifndef RTRCU_CONFIG_CONFIG_H
#define RTRCU_CONFIG_CONFIG_H

#include <rtrcu/config.h>

#include "base/base.h"

struct config {
    const struct rtrcu_config *in_force; /* atomic */
    struct rtrcu_config first;           /* what the environment said */
    struct config_page *pages;           /* of the later ones, newest first; under the lock of changes */
};

/* Value: why a setting was refused. */
struct config_message {
    char text[256];
};

/* ---- in force: config.c ---- */

/* Put what the environment says into force. */
void config_init(struct config *config);
/* The settings in force now; valid for ever. */
static inline const struct rtrcu_config *config_now(const struct config *config)
{
    return rtrcu_load_acquire(&config->in_force);
}
/* A copy of @settings that may be put into force; NULL: no memory.  One that says the same is taken again. */
const struct rtrcu_config *config_copy(struct config *config, const struct rtrcu_config *settings);
void config_change(struct config *config, const struct rtrcu_config *copy);

/* ---- reading and checking: fields.c ---- */

/* Does @config make sense?  0, or -EINVAL with the reason in @why. */
int config_check(const struct rtrcu_config *config, struct config_message *why);
/* Set the field @name of @config as the environment does.  0, or -EINVAL with the reason in @why. */
int config_set(struct rtrcu_config *config, const char *name, const char *text, struct config_message *why);
/* Defaults, then the environment, unless the program runs with more rights than whoever started it.  A bad value in the
 * environment is reported on standard error and left out. */
void config_from_environment(struct rtrcu_config *config);

#endif
