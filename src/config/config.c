/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The copy in force, and changing it.
 *
 * tested by: test/api/config.cc
 */
#include "config/config.h"

void config_init(struct config *config)
{
    config_from_environment(&config->first);
    config->in_force = &config->first;
}

const struct rtrcu_config *config_copy(const struct rtrcu_config *settings)
{
    struct rtrcu_config *copy = plat_mem_pages(sizeof(*copy));
    if (copy)
        *copy = *settings;
    return copy;
}

void config_discard(const struct rtrcu_config *copy)
{
    if (copy)
        plat_mem_release((void *)(uintptr_t)copy, sizeof(*copy));
}

void config_change(struct config *config, const struct rtrcu_config *copy)
{
    rtrcu_store_release(&config->in_force, copy);
}
