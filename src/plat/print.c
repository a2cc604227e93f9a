/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Messages to standard error: a message that cannot be written is lost, without any other effect on the program.
 *
 * The kernel sends SIGPIPE to a thread that writes to a pipe or socket without a peer, SIGXFSZ where a file has reached
 * RLIMIT_FSIZE, and SIGTTOU where a terminal stops writers in the background.  The thread blocks the three around the
 * write.  A blocked SIGTTOU stops no thread.  The other two are sent to the writing thread alone, which removes them
 * from its pending signals.
 */
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "plat/plat.h"
#include "plat/syscall.h"

/* Does standard error have room, and a reader?  Files have both.  A terminal has room while one byte fits, so a longer
 * message may wait until the terminal's buffer has been read. */
static bool has_room(void)
{
    struct pollfd error = {.fd = 2, .events = POLLOUT};
    struct timespec at_once = {0};
    long ready = plat_syscall(SYS_ppoll, (long)&error, 1, (long)&at_once, 0, 8, 0);
    return ready == 1 && (error.revents & (POLLOUT | POLLERR | POLLNVAL)) == POLLOUT;
}

/* Value: the calling thread's signals before a write: its mask, and those of the three that were pending. */
struct quiet {
    sigset_t blocked, pending;
};

/* Block the three signals.  False: they cannot be blocked, and the caller must not write. */
static bool quiet_begin(struct quiet *quiet)
{
    sigset_t own;
    sigemptyset(&own);
    sigaddset(&own, SIGPIPE);
    sigaddset(&own, SIGXFSZ);
    sigaddset(&own, SIGTTOU);
    if (plat_syscall(SYS_rt_sigprocmask, SIG_BLOCK, (long)&own, (long)&quiet->blocked, 8, 0, 0) != 0)
        return false;

    /* A signal that was not blocked was not pending either. */
    sigemptyset(&quiet->pending);
    if (sigismember(&quiet->blocked, SIGPIPE) || sigismember(&quiet->blocked, SIGXFSZ))
        plat_syscall(SYS_rt_sigpending, (long)&quiet->pending, 8, 0, 0, 0, 0);
    return true;
}

/* Remove the signal that the write has raised, and restore the mask.  @written: the result of the write.  A signal that
 * was pending before stays pending: a second instance would be merged with it. */
static void quiet_end(const struct quiet *quiet, long written)
{
    int sent = written == -EPIPE ? SIGPIPE : written == -EFBIG ? SIGXFSZ : 0;
    if (sent && !sigismember(&quiet->pending, sent)) {
        struct timespec at_once = {0};
        sigset_t own;
        sigemptyset(&own);
        sigaddset(&own, sent);
        plat_syscall(SYS_rt_sigtimedwait, (long)&own, 0, (long)&at_once, 8, 0, 0);
    }
    plat_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&quiet->blocked, 0, 8, 0, 0);
}

/* Write to standard error with the three signals blocked.  Returns the number of bytes written, or -errno. */
static long write_quietly(const char *text, size_t length)
{
    struct quiet quiet;
    if (!quiet_begin(&quiet))
        return -EPERM;

    long written = plat_syscall(SYS_write, 2, (long)text, (long)length, 0, 0, 0);
    quiet_end(&quiet, written);
    return written;
}

static void print_list(const char *format, va_list arguments)
{
    char text[1024];
    int length = vsnprintf(text, sizeof(text), format, arguments);
    if (length > (int)sizeof(text) - 1)
        length = (int)sizeof(text) - 1;

    if (length > 0 && has_room())
        (void)write_quietly(text, (size_t)length);
}

void plat_write(const char *text)
{
    size_t left = strlen(text);
    while (left > 0) { /* ends when all is written, or the file takes no more */
        long written = write_quietly(text, left);
        if (written == -EINTR)
            continue;

        if (written <= 0)
            return;

        text += written;
        left -= (size_t)written;
    }
}

void plat_print(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_list(format, arguments);
    va_end(arguments);
}

void plat_die(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_list(format, arguments);
    va_end(arguments);
    abort();
}
