/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Attributes of the library's threads: one set for each pair of a CPU list and a stack size ever configured.
 *
 * tested by: test/api/threads.cc
 */
#include <string.h>

#include "work/work.h"

static bool is_same_attr(const struct plat_thread_attr *one, const struct plat_thread_attr *other)
{
    return one->stack_bytes == other->stack_bytes && memcmp(&one->cpus, &other->cpus, sizeof(one->cpus)) == 0;
}

const struct plat_thread_attr *work_attr_for(struct work *work, const struct rtrcu_config *settings)
{
    struct plat_thread_attr wanted = work->process;
    struct plat_cpus cpus;
    if (settings->cpus[0] && plat_cpus_parse(settings->cpus, &cpus) == 0) { /* rtrcu_init() has checked the list */
        plat_cpus_cut(&cpus);
        wanted.cpus = cpus;
    }
    plat_thread_attr_set_stack(&wanted, (size_t)settings->stack_kb * 1024);

    if (is_same_attr(&wanted, &work->process))
        return &work->process;
    for (struct work_attr *attr = work->attrs; attr; attr = attr->older) {
        if (is_same_attr(&wanted, &attr->attr))
            return &attr->attr;
    }

    struct work_attr *attr = plat_mem_pages(sizeof(*attr));
    if (!attr)
        return NULL;

    attr->attr = wanted;
    attr->older = work->attrs;
    work->attrs = attr;
    return &attr->attr;
}
