/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A program that loads the plugins named by its arguments; with USE_LIBRARY it uses the shared library itself.
 */
#include <dlfcn.h>
#include <stdio.h>

#ifdef USE_LIBRARY
#include <rtrcu/rcu.h>
static int own_work(void)
{
    rcu_read_lock();
    rcu_read_unlock();
    synchronize_rcu();
    return 0;
}
#else
static int own_work(void)
{
    return 0;
}
#endif

int main(int argc, char **argv)
{
    int failed = own_work();
    for (int i = 1; i < argc; i++) {
        void *plugin = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
        if (!plugin) {
            fprintf(stderr, "%s\n", dlerror());
            return 2;
        }
        int (*work)(void) = (int (*)(void))dlsym(plugin, "plugin_work");
        failed |= work ? work() : 1;
    }
    return failed;
}
