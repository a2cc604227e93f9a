// SPDX-License-Identifier: MIT OR Apache-2.0
// The two workloads on the dentry cache: the dbench replay with lookups beside it, and the flood.
#include <charconv>
#include <optional>
#include <random>

#include "measure/callback_meter.h"
#include "workload/dbench.h"
#include "workload/workload.h"

namespace lab
{
namespace
{

void fill(Dcache &dcache, const Tree &tree)
{
    std::vector<const Dentry *> made(tree.entries.size());
    made[0] = dcache.root();
    for (std::size_t i = 1; i < tree.entries.size(); i++)
        made[i] = dcache.add(made[tree.entries[i].parent], tree.name(i), tree.entries[i].directory);
}

class DcacheWorkload : public Workload
{
  public:
    DcacheWorkload(const Peer &peer, const Inputs &inputs, uint64_t seed)
        : Workload(peer), dcache_(inputs.tree.entries.size() + 8192, reclaimer_),
          random_(static_cast<unsigned>(seed + 1))
    {
        fill(dcache_, inputs.tree);
        for (std::size_t i = 0; i < std::size(lookups_); i++)
            lookups_[i] = inputs.tree.path(1 + random_() % (inputs.tree.entries.size() - 1));
        driver_.emplace(dcache_, inputs.loadfile, section_, dbench_clients, seed);
    }
    void serve(unsigned operations) override
    {
        for (unsigned i = 0; i < operations; i++) {
            if ((i & 3) != 3)
                driver_->step();
            else
                look_up();
        }
    }
    uint64_t dump(const std::atomic<bool> &stop) override
    {
        return dcache_.dump(stop);
    }

  private:
    void look_up()
    {
        const std::string &path = lookups_[random_() % std::size(lookups_)];
        section_.lock();
        found_ += dcache_.walk(dcache_.root(), path) != nullptr;
        section_.unlock();
    }

    Dcache dcache_;
    std::minstd_rand random_;
    std::string lookups_[32768];
    std::optional<DbenchDriver> driver_;
    uint64_t found_ = 0;
};

class FloodWorkload : public Workload
{
  public:
    // The limit on the backlog of a back-end that has no limit itself.  Such a backlog takes some hundred megabytes.
    static constexpr uint64_t bound = 2'000'000;

    FloodWorkload(const Peer &peer, const Inputs &inputs, bool push_back)
        : Workload(peer, push_back), dcache_(inputs.tree.entries.size() + 65536, reclaimer_)
    {
        fill(dcache_, inputs.tree);
        directory_ = dcache_.add(dcache_.root(), "flood", true);
    }
    // Executes one operation: creates a name and removes it, or looks up two names if the burst is complete.
    void serve(unsigned operations) override
    {
        uint64_t allowed = allowed_.load(std::memory_order_acquire);
        for (unsigned i = 0; i < operations; i++) {
            char name[16] = {'f'};
            auto end = std::to_chars(name + 1, name + sizeof(name), count_++ & 0xfffff).ptr;
            std::string_view path(name, static_cast<std::size_t>(end - name));
            section_.lock();
            if (reclaimer_.queued() >= allowed) {
                found_ += dcache_.walk(directory_, path) != nullptr;
                found_ += dcache_.walk(dcache_.root(), path) != nullptr;
            } else if (!reclaimer_.accepts() || reclaimer_.queued() - callback_meter.invoked() >= bound) {
                dropped_++;
            } else {
                dcache_.create(directory_, path, false);
                dcache_.remove(directory_, path);
            }
            section_.unlock();
        }
    }
    void allow_removals(uint64_t count) override
    {
        allowed_.store(reclaimer_.queued() + count, std::memory_order_release);
    }
    uint64_t dump(const std::atomic<bool> &stop) override
    {
        return dcache_.dump(stop);
    }
    uint64_t dropped() const override
    {
        return dropped_;
    }

  private:
    Dcache dcache_;
    const Dentry *directory_;
    std::atomic<uint64_t> allowed_{0};
    uint64_t count_ = 0, found_ = 0, dropped_ = 0;
};

} // namespace

std::unique_ptr<Workload> make_dcache_workload(const Peer &peer, const Inputs &inputs, uint64_t seed)
{
    return std::make_unique<DcacheWorkload>(peer, inputs, seed);
}

std::unique_ptr<Workload> make_flood_workload(const Peer &peer, const Inputs &inputs, bool push_back)
{
    return std::make_unique<FloodWorkload>(peer, inputs, push_back);
}

} // namespace lab
