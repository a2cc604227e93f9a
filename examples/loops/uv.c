/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* libuv, by <rtrcu/loop/uv.h>.  With the argument `quiescent` a quiescent-state thread waits for the loop's backend
 * descriptor itself, offline, and then runs the loop without waiting; else the thread is preemptible, and libuv waits.
 *
 * Going offline in a uv_prepare_t and online in a uv_check_t would be wrong: libuv runs I/O callbacks between the two.
 */
#include <string.h>

#include <uv.h>

#include <rtrcu/loop/uv.h>

#include "setting.h"

static bool quiescent;

static void on_timer(uv_timer_t *timer)
{
    setting_serve(quiescent);
    if (setting_done()) /* checked by the timer, since a daemon may free the last settings */
        uv_timer_stop(timer);
}

int main(int count, char **arguments)
{
    quiescent = count > 1 && strcmp(arguments[1], "quiescent") == 0;
    pthread_t other = setting_begin(quiescent ? RTRCU_QSBR : 0);

    uv_loop_t loop;
    uv_timer_t timer;
    struct rtrcu_uv glue;
    if (uv_loop_init(&loop) || uv_timer_init(&loop, &timer) || rtrcu_uv_start(&glue, &loop))
        return 1;
    uv_timer_start(&timer, on_timer, 1, 1);

    if (quiescent)
        while (rtrcu_uv_run(&glue)) /* ends when on_timer() has stopped the timer */
            ;
    else
        uv_run(&loop, UV_RUN_DEFAULT);

    rtrcu_uv_stop(&glue);
    uv_close((uv_handle_t *)&timer, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    uv_loop_close(&loop);
    return setting_end(other);
}
