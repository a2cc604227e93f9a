/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Glue for libuv loops: the ready descriptor as a handle, and a loop whose quiescent-state thread is offline only in
 * its wait.
 *
 *   struct rtrcu_uv glue;
 *   rtrcu_uv_start(&glue, loop);          policy inline; 0 or a negative error
 *   while (running)                       a variable that a callback clears
 *       rtrcu_uv_run(&glue);              a quiescent-state thread; others call uv_run(loop, UV_RUN_DEFAULT) instead
 *   rtrcu_uv_stop(&glue);
 *   uv_run(loop, UV_RUN_DEFAULT);         libuv closes the handle
 *
 * Do not go offline in a uv_prepare_t and online in a uv_check_t: libuv runs I/O callbacks between the two.
 */
#ifndef RTRCU_LOOP_UV_H
#define RTRCU_LOOP_UV_H

#include <poll.h>
#include <unistd.h>

#include <uv.h>

#include <rtrcu/rcu.h>

#ifdef __cplusplus
extern "C" {
#endif

/* State of the glue, used by the loop's thread alone.  Its memory must not move until the handle is closed. */
struct rtrcu_uv {
    uv_poll_t ready;
    int number; /* the ready descriptor */
};

static inline void rtrcu_uv_on_ready(uv_poll_t *ready, int status, int events)
{
    (void)ready;
    (void)status;
    (void)events;
    (void)rcu_process_callbacks(0);
}

static inline void rtrcu_uv_on_closed(uv_handle_t *handle)
{
    struct rtrcu_uv *glue = (struct rtrcu_uv *)handle->data;
    close(glue->number);
}

/* Have @loop run the calling thread's callbacks when they are ready.  The handle does not keep the loop alive.  Returns
 * 0; or an error of rtrcu_ready_fd() or of libuv, with nothing started. */
static inline int rtrcu_uv_start(struct rtrcu_uv *glue, uv_loop_t *loop)
{
    glue->number = rtrcu_ready_fd();
    if (glue->number < 0)
        return glue->number;

    int error = uv_poll_init(loop, &glue->ready, glue->number);
    if (error) {
        close(glue->number);
        return error;
    }
    glue->ready.data = glue;
    (void)uv_poll_start(&glue->ready, UV_READABLE, rtrcu_uv_on_ready);
    uv_unref((uv_handle_t *)&glue->ready);
    return 0;
}

/* libuv 1.44.2, the first version whose uv_backend_timeout() is 0 while the backend lacks a descriptor that the loop
 * watches. */
#define RTRCU_UV_TELLS_CHANGES 0x012c02

/* One iteration, by an online quiescent-state thread: wait offline, unless the loop has something to run, then run the
 * callbacks of the events.  Returns the result of uv_run().  uv_stop() ends only this iteration, so end a loop
 * of iterations by a variable. */
static inline int rtrcu_uv_run(struct rtrcu_uv *glue)
{
    uv_loop_t *loop = glue->ready.loop;
    if (uv_version() < RTRCU_UV_TELLS_CHANGES && !uv_run(loop, UV_RUN_NOWAIT))
        return 0;

    struct pollfd backend;
    backend.fd = uv_backend_fd(loop);
    backend.events = POLLIN;
    uv_update_time(loop);
    int timeout_ms = uv_backend_timeout(loop);
    rcu_thread_offline();
    (void)poll(&backend, 1, timeout_ms);
    rcu_thread_online();
    return uv_run(loop, UV_RUN_NOWAIT);
}

/* Close the handle, and its descriptor when the loop runs next.  If the program has closed the handle already, by
 * uv_walk(), close the descriptor now. */
static inline void rtrcu_uv_stop(struct rtrcu_uv *glue)
{
    if (uv_is_closing((uv_handle_t *)&glue->ready)) {
        close(glue->number);
        return;
    }
    (void)uv_poll_stop(&glue->ready);
    uv_close((uv_handle_t *)&glue->ready, rtrcu_uv_on_closed);
}

#ifdef __cplusplus
}
#endif

#endif
