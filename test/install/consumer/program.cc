// SPDX-License-Identifier: MIT OR Apache-2.0
// The smallest whole use in C++: a reader thread, a replacement, a callback, a barrier.
#include <rtrcu/rcu.h>

#include <cstdio>
#include <thread>

namespace
{
struct Route {
    rcu_head rcu;
    int port;
};

Route *current_route;
int freed;

void route_free(rcu_head *head)
{
    freed++;
    delete reinterpret_cast<Route *>(head); // the head is the first member
}
} // namespace

int main()
{
    auto *old = new Route{{}, 0};
    auto *next = new Route{{}, 0};
    rcu_assign_pointer(current_route, old);

    int port = -1;
    std::thread reader([&port] {
        rcu_read_lock();
        port = rcu_dereference(current_route)->port;
        rcu_read_unlock();
    });
    rcu_assign_pointer(current_route, next);
    call_rcu(&old->rcu, route_free);
    rcu_barrier();
    reader.join();
    std::printf("freed %d\n", freed + port);
    delete next;
    return freed == 1 ? 0 : 1;
}
