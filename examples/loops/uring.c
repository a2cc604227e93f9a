/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* io_uring: a quiescent-state thread goes offline around its own wait for completions.  A multishot poll watches the
 * ready descriptor.
 *
 * Exit status 77: the kernel refuses io_uring.
 */
#include <poll.h>
#include <unistd.h>

#include <liburing.h>

#include "setting.h"

#define REFUSED 77

enum { TIMER = 1, READY = 2 };

static struct io_uring ring;

static struct io_uring_sqe *request(void)
{
    struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);
    if (!sqe)
        exit(1);
    return sqe;
}

static void request_timer(void)
{
    static struct __kernel_timespec millisecond = {.tv_nsec = 1000000};
    struct io_uring_sqe *sqe = request();
    io_uring_prep_timeout(sqe, &millisecond, 0, 0);
    io_uring_sqe_set_data64(sqe, TIMER);
}

static void watch_ready(int number)
{
    struct io_uring_sqe *sqe = request();
    io_uring_prep_poll_multishot(sqe, number, POLLIN);
    io_uring_sqe_set_data64(sqe, READY);
}

/* The thread submits while it is online, and is offline only while it waits. */
static struct io_uring_cqe *wait_offline(void)
{
    struct io_uring_cqe *cqe = NULL;
    io_uring_submit(&ring);
    rcu_thread_offline();
    int error = io_uring_wait_cqe(&ring, &cqe);
    rcu_thread_online();
    return error ? NULL : cqe;
}

static void serve(const struct io_uring_cqe *cqe, int number)
{
    if (cqe->user_data == TIMER) {
        setting_serve(true);
        request_timer();
    } else {
        rcu_process_callbacks(0);
        if (!(cqe->flags & IORING_CQE_F_MORE)) /* the kernel has ended the multishot poll */
            watch_ready(number);
    }
    rcu_quiescent_state();
}

int main(void)
{
    if (io_uring_queue_init(8, &ring, 0) != 0)
        return REFUSED;

    pthread_t other = setting_begin(RTRCU_QSBR);
    int number = rtrcu_ready_fd();
    if (number < 0)
        return 1;
    request_timer();
    watch_ready(number);

    while (!setting_done()) { /* the timer wakes the loop even if a daemon frees the last settings */
        struct io_uring_cqe *cqe = wait_offline();
        if (!cqe)
            continue; /* a signal */
        serve(cqe, number);
        io_uring_cqe_seen(&ring, cqe);
    }

    io_uring_queue_exit(&ring); /* ends the multishot poll before its descriptor is closed */
    close(number);
    return setting_end(other);
}
