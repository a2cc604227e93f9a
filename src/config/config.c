/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The copy in force, and its replacement.
 *
 * tested by: test/api/config.cc
 */
#include <string.h>

#include "config/config.h"

void config_init(struct config *config)
{
    config_from_environment(&config->first);
    config->in_force = &config->first;
}

/* A page of copies; copies are never freed. */
#define PAGE_BYTES 4096
#define PAGE_COPIES ((PAGE_BYTES - 2 * sizeof(void *)) / sizeof(struct rtrcu_config))

struct config_page {
    struct config_page *older;
    uint32_t count;
    struct rtrcu_config copy[PAGE_COPIES];
};

static const struct rtrcu_config *find(const struct config *config, const struct rtrcu_config *settings)
{
    for (const struct config_page *page = config->pages; page; page = page->older) {
        for (uint32_t i = 0; i < page->count; i++) {
            if (memcmp(&page->copy[i], settings, sizeof(*settings)) == 0)
                return &page->copy[i];
        }
    }
    return NULL;
}

const struct rtrcu_config *config_copy(struct config *config, const struct rtrcu_config *settings)
{
    const struct rtrcu_config *known = find(config, settings);
    struct config_page *page = config->pages;

    if (known)
        return known;

    if (!page || page->count == PAGE_COPIES) {
        page = plat_mem_pages(sizeof(*page));
        if (!page)
            return NULL;
        page->older = config->pages;
        config->pages = page;
    }

    page->copy[page->count] = *settings;
    return &page->copy[page->count++];
}

void config_change(struct config *config, const struct rtrcu_config *copy)
{
    rtrcu_store_release(&config->in_force, copy);
}
