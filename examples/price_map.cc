// SPDX-License-Identifier: MIT OR Apache-2.0
// C++: an ordinary std::unordered_map that many threads read without a lock, replaced as a whole by one writer.
//
// The writer does not wait and needs no callback: it keeps each old map with the cookie of the grace period that it
// needs, and at its next change destroys the maps whose cookie has passed.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include <rtrcu/guard.hpp>
#include <rtrcu/rcu.h>

namespace
{
// A map of prices; the readers check that all prices of a map were set by the same update.
using Prices = std::unordered_map<std::string, int>;

class PriceMap
{
    Prices *now_ = new Prices;
    struct Old {
        unsigned long cookie;
        std::unique_ptr<Prices> map;
    };
    std::deque<Old> old_; // used only by the writer

  public:
    std::size_t waiting_max = 0;

    ~PriceMap()
    {
        if (!old_.empty())
            cond_synchronize_rcu(old_.back().cookie); // the grace periods of the earlier cookies have ended then too
        delete now_;
    }
    // Returns the current map, in a section; the map may be used until the section ends.
    const Prices &read() const
    {
        return *rcu_dereference(now_);
    }
    void set_all(int price)
    {
        auto fresh = std::make_unique<Prices>(*now_);
        for (auto &[name, value] : *fresh)
            value = price;
        publish(std::move(fresh));
    }
    void publish(std::unique_ptr<Prices> fresh)
    {
        Prices *before = now_;
        rcu_assign_pointer(now_, fresh.release());
        old_.push_back({start_poll_synchronize_rcu(), std::unique_ptr<Prices>(before)});
        waiting_max = std::max(waiting_max, old_.size());
        while (!old_.empty() && poll_state_synchronize_rcu(old_.front().cookie))
            old_.pop_front();
    }
};
} // namespace

int main()
{
    constexpr int updates = 1000;
    const std::vector<std::string> names = {"copper", "nickel", "tin", "zinc"};
    PriceMap prices;
    auto first = std::make_unique<Prices>();
    for (const std::string &name : names)
        (*first)[name] = 0;
    prices.publish(std::move(first));

    std::atomic<bool> stop{false};
    std::atomic<long> reads{0}, mistakes{0};
    std::vector<std::thread> readers;
    for (int i = 0; i < 2; i++)
        readers.emplace_back([&] {
            int last = 0;
            while (!stop) {
                rtrcu::guard section;
                const Prices &map = prices.read();
                int price = map.at(names.front());
                for (const std::string &name : names)
                    mistakes += map.at(name) != price;
                mistakes += price < last; // a map that is read later must not have older prices
                last = price;
                ++reads;
            }
        });
    for (int price = 1; price <= updates; price++) {
        prices.set_all(price);
        std::this_thread::sleep_for(std::chrono::microseconds(200)); // spaces the updates
    }
    while (reads < 1000) // the readers may have run little so far
        std::this_thread::yield();
    stop = true;
    for (std::thread &reader : readers)
        reader.join();
    std::printf("%d updates, %ld reads, %ld mistakes, at most %zu old maps waiting\n", updates, reads.load(),
                mistakes.load(), prices.waiting_max);
    return mistakes == 0 ? 0 : 1;
}
