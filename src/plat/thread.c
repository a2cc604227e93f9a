/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads of our own, names and ids, and the hook at thread exit.
 *
 * tested by: test/unit/plat/plat.cc
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plat/plat.h"
#include "plat/syscall.h"

void plat_signals_block(sigset_t *saved)
{
    sigset_t all;
    sigfillset(&all);
    plat_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)saved, 8, 0, 0);
}

void plat_signals_restore(const sigset_t *saved)
{
    plat_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)saved, 0, 8, 0, 0);
}

int plat_thread_create(struct plat_thread *thread, const char *name, void *(*body)(void *), void *argument)
{
    pthread_t handle;
    sigset_t saved;
    plat_signals_block(&saved); /* the new thread inherits the mask: no handler of the program runs on it */
    int error = pthread_create(&handle, NULL, body, argument);
    plat_signals_restore(&saved);
    if (error)
        return -error;
    pthread_setname_np(handle, name);
    thread->handle = handle;
    return 0;
}

int plat_thread_detach(const struct plat_thread *thread)
{
    return -pthread_detach(thread->handle);
}

int plat_thread_id(void)
{
    return (int)plat_syscall(SYS_gettid, 0, 0, 0, 0, 0, 0);
}

int plat_process_id(void)
{
    return (int)plat_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

/* Read a small file of a thread under /proc; the text ends with a NUL, and is empty on failure. */
static void read_task_file(int thread_id, const char *which, char *text, size_t size)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/task/%d/%s", thread_id, which);
    text[0] = '\0';
    long file = plat_syscall(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
    if (file < 0)
        return;
    long length = plat_syscall(SYS_read, file, (long)text, (long)size - 1, 0, 0, 0);
    plat_syscall(SYS_close, file, 0, 0, 0, 0, 0);
    text[length > 0 ? length : 0] = '\0';
}

void plat_thread_name(int thread_id, char *name, size_t size)
{
    read_task_file(thread_id, "comm", name, size);
    name[strcspn(name, "\n")] = '\0';
}

void plat_thread_look(int thread_id, struct plat_thread_look *look)
{
    char text[256];
    *look = (struct plat_thread_look){.state = '?', .call = -1};
    read_task_file(thread_id, "stat", text, sizeof(text));
    const char *behind_name = strrchr(text, ')');
    if (behind_name && behind_name[1] == ' ')
        look->state = behind_name[2];
    read_task_file(thread_id, "syscall", text, sizeof(text));
    if (text[0] < '0' || text[0] > '9')
        return; /* "running", or the kernel does not tell */
    look->call = strtol(text, NULL, 10);
    const char *last = strrchr(text, ' ');
    look->address = last ? (uintptr_t)strtoull(last + 1, NULL, 16) : 0;
}

void plat_symbol(uintptr_t address, char *text, size_t size)
{
    Dl_info info;
    if (dladdr((void *)address, &info) && info.dli_fname) {
        uintptr_t base = (uintptr_t)(info.dli_sname ? info.dli_saddr : info.dli_fbase);
        snprintf(text, size, "%s+0x%lx (%s)", info.dli_sname ? info.dli_sname : "", (unsigned long)(address - base),
                 info.dli_fname);
    } else {
        snprintf(text, size, "0x%lx", (unsigned long)address);
    }
}

int plat_thread_exit_prepare(unsigned int *key, void (*destructor)(void *))
{
    return -pthread_key_create(key, destructor);
}

/* The C library keeps the values of the first 32 keys in the thread itself, so this does not allocate for them. */
int plat_thread_exit_arm(unsigned int key, void *value)
{
    return -pthread_setspecific(key, value);
}
