// SPDX-License-Identifier: MIT OR Apache-2.0
// Asio: it has no hook around its sleep, so the thread is preemptible; the ready descriptor is one more thing to wait
// for.
#include <chrono>

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/steady_timer.hpp>

#include "setting.h"

namespace
{

void wait_ready(asio::posix::stream_descriptor &ready)
{
    ready.async_wait(asio::posix::stream_descriptor::wait_read, [&ready](const asio::error_code &error) {
        if (error)
            return;
        rcu_process_callbacks(0);
        wait_ready(ready); // works edge-triggered too: if callbacks are left, the library signals the descriptor again
    });
}

void wait_timer(asio::steady_timer &timer)
{
    timer.expires_after(std::chrono::milliseconds(1));
    timer.async_wait([&timer](const asio::error_code &error) {
        if (error)
            return;
        setting_serve(false);
        wait_timer(timer);
    });
}

} // namespace

int main()
{
    const pthread_t other = setting_begin(0);
    const int number = rtrcu_ready_fd();
    if (number < 0)
        return 1;
    {
        asio::io_context io;
        asio::posix::stream_descriptor ready(
            io, number); // its destructor removes the descriptor from the epoll set, then closes it
        asio::steady_timer timer(io);
        wait_ready(ready);
        wait_timer(timer);
        while (!setting_done())
            io.run_one();
    }
    return setting_end(other);
}
