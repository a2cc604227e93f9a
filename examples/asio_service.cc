// SPDX-License-Identifier: MIT OR Apache-2.0
// Asio: requests are coroutines on a pool of threads.  Each keeps one routing table while it waits, and a task replaces
// the table continuously.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <map>
#include <string>
#include <utility>

#include <asio/awaitable.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/steady_timer.hpp>
#include <asio/thread_pool.hpp>
#include <asio/use_awaitable.hpp>

#include <rtrcu/cell.hpp>
#include <rtrcu/coroutine.hpp>
#include <rtrcu/rcu.h>

namespace
{

using namespace std::chrono_literals;

// A routing table; both entries have the number of the table's version.
struct Table {
    std::map<std::string, int> port_of{{"front", 0}, {"back", 0}};
};

struct Service {
    rtrcu::cell<Table> table{std::in_place};
    std::atomic<int> answered{0}, wrong{0};
};

asio::awaitable<void> wait_for_the_peer()
{
    asio::steady_timer timer(co_await asio::this_coro::executor, 200us);
    co_await timer.async_wait(asio::use_awaitable);
}

asio::awaitable<void> request(Service &service)
{
    rtrcu::section section("request"); // the section's name in stall reports
    const Table *table = service.table.read(section);
    const int front = table->port_of.at("front");
    co_await section.across(wait_for_the_peer());
    const int back = table->port_of.at("back"); // the same table, even if it was replaced, or the thread changed
    service.wrong += front != back;
    service.answered++;
}

asio::awaitable<void> client(Service &service, int requests)
{
    for (int i = 0; i < requests; i++)
        co_await request(service);
}

asio::awaitable<void> reload(Service &service, int times)
{
    for (int i = 0; i < times; i++) {
        service.table.update([](Table &copy) {
            for (auto &[name, port] : copy.port_of)
                port++;
        });
        co_await wait_for_the_peer();
    }
}

} // namespace

int main()
{
    constexpr int clients = 16, requests = 20;
    Service service;
    asio::thread_pool pool(3);
    for (int i = 0; i < clients; i++)
        asio::co_spawn(pool, client(service, requests), asio::detached);
    asio::co_spawn(pool, reload(service, 100), asio::detached);
    pool.join();
    rcu_barrier();
    std::printf("%d requests answered, %d from two different tables\n", service.answered.load(), service.wrong.load());
    return service.answered == clients * requests && service.wrong == 0 ? 0 : 1;
}
