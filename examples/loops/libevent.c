/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* libevent: it has no hook around its sleep, so the thread is preemptible, and outside sections no grace period waits
 * for it.
 */
#include <unistd.h>

#include <event2/event.h>

#include "setting.h"

static void on_timer(evutil_socket_t number, short what, void *unused)
{
    (void)number;
    (void)what;
    (void)unused;
    setting_serve(false);
}

static void on_ready(evutil_socket_t number, short what, void *unused)
{
    (void)number;
    (void)what;
    (void)unused;
    rcu_process_callbacks(0);
}

int main(void)
{
    pthread_t other = setting_begin(0);
    int number = rtrcu_ready_fd();
    struct event_base *base = event_base_new();
    if (number < 0 || !base)
        return 1;

    struct timeval period = {.tv_usec = 1000};
    struct event *timer = event_new(base, -1, EV_PERSIST, on_timer, NULL);
    struct event *ready = event_new(base, number, EV_READ | EV_PERSIST, on_ready, NULL);
    if (!timer || !ready || event_add(timer, &period) || event_add(ready, NULL))
        return 1;
    while (!setting_done())
        event_base_loop(base, EVLOOP_ONCE);

    event_free(timer);
    event_free(ready); /* removes the event from the loop, before its descriptor is closed */
    event_base_free(base);
    close(number);
    return setting_end(other);
}
