/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* GLib: a quiescent-state thread whose main context polls by a function that is offline while it sleeps.
 */
#include <unistd.h>

#include <glib-unix.h>
#include <glib.h>

#include "setting.h"

/* Sources are dispatched outside this function, so the thread is online in all of them. */
static gint poll_offline(GPollFD *wanted, guint count, gint timeout)
{
    if (timeout == 0) {
        rcu_quiescent_state();
        return g_poll(wanted, count, 0);
    }
    rcu_thread_offline();
    gint result = g_poll(wanted, count, timeout);
    rcu_thread_online();
    return result;
}

static gboolean on_timer(gpointer unused)
{
    (void)unused;
    setting_serve(true);
    return G_SOURCE_CONTINUE;
}

static gboolean on_ready(gint number, GIOCondition condition, gpointer unused)
{
    (void)number;
    (void)condition;
    (void)unused;
    rcu_process_callbacks(0);
    return G_SOURCE_CONTINUE;
}

int main(void)
{
    pthread_t other = setting_begin(RTRCU_QSBR);
    int number = rtrcu_ready_fd();
    if (number < 0)
        return 1;

    g_main_context_set_poll_func(g_main_context_default(), poll_offline);
    guint timer = g_timeout_add(1, on_timer, NULL), ready = g_unix_fd_add(number, G_IO_IN, on_ready, NULL);
    while (!setting_done())
        g_main_context_iteration(NULL, TRUE);

    g_source_remove(timer);
    g_source_remove(ready); /* remove the source before its descriptor is closed */
    close(number);
    return setting_end(other);
}
