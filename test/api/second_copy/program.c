/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A program that loads the plugins named by its arguments; with USE_LIBRARY it uses the shared library itself.  The
 * argument "unload" unloads the plugin named before it; then a thread that used the plugin exits, and the process
 * forks. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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

struct use {
    int (*work)(void);
    pthread_barrier_t used, unloaded;
    int failed;
};

static void *use_and_outlive(void *argument)
{
    struct use *use = argument;
    use->failed = use->work();
    pthread_barrier_wait(&use->used);
    pthread_barrier_wait(&use->unloaded);
    return NULL;
}

static int unload(void *plugin, int (*work)(void))
{
    struct use use = {.work = work};
    pthread_t thread;
    pthread_barrier_init(&use.used, NULL, 2);
    pthread_barrier_init(&use.unloaded, NULL, 2);
    pthread_create(&thread, NULL, use_and_outlive, &use);
    pthread_barrier_wait(&use.used);
    dlclose(plugin);
    pthread_barrier_wait(&use.unloaded);
    pthread_join(thread, NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    int status = 1;
    waitpid(child, &status, 0);
    return use.failed | status;
}

int main(int argc, char **argv)
{
    void *plugin = NULL;
    int (*work)(void) = NULL;
    int failed = own_work();
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "unload") == 0) {
            failed |= unload(plugin, work);
            continue;
        }
        plugin = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
        if (!plugin) {
            fprintf(stderr, "%s\n", dlerror());
            return 2;
        }
        work = (int (*)(void))dlsym(plugin, "plugin_work");
        failed |= work ? work() : 1;
    }
    return failed;
}
