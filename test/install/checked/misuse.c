/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Misuse that only the checked library detects.  usage: misuse none|wait|twice|unloaded [PLUGIN] */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rtrcu/rcu.h>

static int freed;

static void count(struct rcu_head *head)
{
    (void)head;
    freed++;
}

static void wait_inside(void)
{
    rcu_read_lock();
    synchronize_rcu();
    rcu_read_unlock();
}

static void queue_twice(void)
{
    static struct rcu_head head;
    rcu_read_lock(); /* the first callback cannot begin */
    call_rcu(&head, count);
    call_rcu(&head, count);
    rcu_read_unlock();
}

static void unload_queued(const char *path)
{
    void *plugin = dlopen(path, RTLD_NOW);
    void (*queue)(void) = plugin ? (void (*)(void))dlsym(plugin, "queue") : NULL;
    if (!queue) {
        fprintf(stderr, "%s\n", dlerror());
        exit(2);
    }
    rcu_read_lock();
    queue();
    dlclose(plugin);
    rcu_read_unlock();
    rcu_barrier();
}

int main(int argc, char **argv)
{
    static struct rcu_head head;
    const char *misuse = argc > 1 ? argv[1] : "none";

    if (!strcmp(misuse, "wait"))
        wait_inside();
    else if (!strcmp(misuse, "twice"))
        queue_twice();
    else if (!strcmp(misuse, "unloaded") && argc > 2)
        unload_queued(argv[2]);

    call_rcu(&head, count);
    rcu_barrier();
    printf("freed %d\n", freed);
    return 0;
}
