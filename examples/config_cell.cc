// SPDX-License-Identifier: MIT OR Apache-2.0
// C++: a configuration in an atomic shared_ptr, and the same program with rtrcu::cell instead.
//
// Both classes have the same three operations.  What changes: a reader holds a snapshot for a block instead of a
// counted reference for any time, and needs no atomic operation for it; a change is one call.
#include <atomic>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <rtrcu/cell.hpp>
#include <rtrcu/rcu.h>

namespace
{

// A configuration; the readers check that all its fields belong to the same version.
struct Config {
    int version = 0;
    std::string host = "host-0";
    std::vector<int> ports{0};
};

bool is_whole(const Config &config)
{
    return config.host == "host-" + std::to_string(config.version) && config.ports.back() == config.version;
}

void change(Config &config)
{
    config.version++;
    config.host = "host-" + std::to_string(config.version);
    config.ports.push_back(config.version);
    if (config.ports.size() > 8)
        config.ports.erase(config.ports.begin());
}

class Before
{
    std::atomic<std::shared_ptr<const Config>> current_{std::make_shared<const Config>()};

  public:
    bool check() const
    {
        std::shared_ptr<const Config> now = current_.load();
        return is_whole(*now);
    }
    void change_one()
    {
        std::shared_ptr<const Config> old = current_.load();
        std::shared_ptr<const Config> next;
        do {
            auto copy = std::make_shared<Config>(*old);
            change(*copy);
            next = std::move(copy);
        } while (!current_.compare_exchange_weak(old, next));
    }
    int version() const
    {
        return current_.load()->version;
    }
};

class After
{
    rtrcu::cell<Config> current_{std::in_place};

  public:
    bool check() const
    {
        auto now = current_.read();
        return is_whole(*now);
    }
    void change_one()
    {
        current_.update(change);
    }
    int version() const
    {
        return current_.with([](const Config *config) { return config->version; });
    }
};

// Two threads change the configuration while two threads read it: no change is lost, and no reader sees a partial
// change.
template <typename Store> bool serve(const char *name)
{
    constexpr int changes = 2000;
    Store store;
    std::atomic<bool> stop{false};
    std::atomic<long> reads{0}, torn{0};
    auto read = [&] {
        do {
            torn += !store.check();
            reads++;
        } while (!stop);
    };
    auto write = [&] {
        for (int i = 0; i < changes; i++)
            store.change_one();
    };
    std::thread first(read), second(read), third(write), fourth(write);
    third.join();
    fourth.join();
    stop = true;
    first.join();
    second.join();
    std::printf("%s: version %d, %ld reads, %ld torn\n", name, store.version(), reads.load(), torn.load());
    return store.version() == 2 * changes && torn == 0;
}

} // namespace

int main()
{
    const bool good = serve<Before>("shared_ptr") & serve<After>("cell");
    rcu_barrier(); // wait until the replaced values are destroyed
    return good ? 0 : 1;
}
