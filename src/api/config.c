/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Public functions for settings: structs of older and newer programs, one field by name, the reason of a refusal.
 *
 * tested by: test/api/config.cc
 */
#include <stdlib.h>
#include <string.h>

#include "api/api.h"

int rtrcu_config_set(struct rtrcu_config *config, const char *name, const char *text)
{
    struct config_message why;
    api_init();
    int error = config_set(config, name, text, &why);
    api_message_keep(error ? &why : NULL);
    return error;
}

/* ---- structs of older and newer programs ---- */

/* Copy as much as the program's struct of @size bytes has room for; fields that the library does not know are
 * zeroed. */
static void give(struct rtrcu_config *config, uint32_t size, const struct rtrcu_config *whole)
{
    uint32_t known = size < sizeof(*whole) ? size : (uint32_t)sizeof(*whole);
    memcpy(config, whole, known);
    memset((char *)config + known, 0, size - known);

    if (size >= sizeof(config->size))
        config->size = known;
}

void rtrcu_config_init_sized(struct rtrcu_config *config, uint32_t size)
{
    struct rtrcu_config whole;
    config_from_environment(&whole);
    give(config, size, &whole);
}

void rtrcu_config_get_sized(struct rtrcu_config *config, uint32_t size)
{
    api_init();
    give(config, size, config_now(&rtrcu_domain.config));
}

/* ---- the reason of a refusal: stored per thread in allocated memory, because static thread-local storage would cost
 * memory in every thread of every program ---- */

void api_message_keep(const struct config_message *why)
{
    struct domain *domain = &rtrcu_domain;

    if (domain->message_error)
        return;

    struct config_message *kept = plat_thread_own(domain->message_key);

    /* An entry point preserves errno, which malloc() may change. */
    int saved = errno;
    if (!kept && why) {
        kept = malloc(sizeof(*kept));
        if (kept && plat_thread_exit_reserve(domain->message_key, kept) != 0) {
            free(kept);
            kept = NULL;
        }
    }
    errno = saved;

    if (kept && why)
        *kept = *why;
    else if (kept)
        kept->text[0] = '\0';
}

const char *rtrcu_config_error(void)
{
    const struct domain *domain = &rtrcu_domain;
    api_init();
    const struct config_message *kept = domain->message_error ? NULL : plat_thread_own(domain->message_key);
    return kept ? kept->text : "";
}
