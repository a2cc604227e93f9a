// SPDX-License-Identifier: MIT OR Apache-2.0
// Domains that the program defines (<rtrcu/srcu.h>): their grace periods, open sections and callbacks.
#include "inspect/look.h"

namespace lab::inspect
{
namespace
{

constexpr int most_domains = 65536;
constexpr uint64_t line_bytes = 64; // the alignment of the parts of a domain, and the size of a stripe

uint64_t aligned(uint64_t at)
{
    return (at + line_bytes - 1) & ~(line_bytes - 1);
}

class OwnDomain
{
  public:
    OwnDomain(const Memory &memory, const Block &block, uint64_t at) : memory_(memory), block_(block), at_(at)
    {
    }
    uint64_t next() const
    {
        return value(at_, "srcu.next");
    }
    Domain look() const
    {
        Domain domain;
        domain.name = memory_.text(value(at_, "srcu.name"), 32);
        const uint64_t inner = aligned(block_.at(at_, "srcu.inner")), seq = value(inner, "inner.seq");
        GracePeriods &gp = domain.gp[normal];
        gp.running = seq % block_.seq_step != 0;
        gp.number = gp.completed = (seq - block_.seq_first) / block_.seq_step;
        gp.began_ns = static_cast<int64_t>(value(inner, "inner.began_ns"));
        gp.waiters = value(inner, "inner.callers");
        // Callbacks move through these lists in this order, so the last list that is not empty has the oldest callback.
        for (const char *since : {"inner.inbox_ns", "inner.waiting_ns", "inner.ready_ns"}) {
            const uint64_t oldest_ns = value(inner, since);
            domain.oldest_ns = oldest_ns != 0 ? static_cast<int64_t>(oldest_ns) : domain.oldest_ns;
        }
        domain.invoked = value(inner, "inner.invoked"); // read before `queued`, so that it does not exceed `queued`
        domain.queued = value(block_.at(inner, "inner.queue"), "queue.queued");
        domain.sections = sections();
        domain.at_ns = memory_.now_ns();
        return domain;
    }

  private:
    uint64_t value(uint64_t base, const char *name, uint64_t index = 0) const
    {
        const Field *field = block_.find(name);
        const uint64_t at = base != 0 ? block_.at(base, name, index) : 0;
        if (at == 0 || field == nullptr)
            return 0;
        return field->bytes == 4 ? memory_.value<uint32_t>(at).value_or(0) : memory_.value<uint64_t>(at).value_or(0);
    }
    uint64_t sum(uint64_t first, uint64_t stripes, const char *name) const
    {
        uint64_t sum = 0;
        for (uint64_t i = 0; i < stripes; i++)
            sum += value(first + i * line_bytes, name, 0) + value(first + i * line_bytes, name, 1);
        return sum;
    }
    // Returns the number of open sections.  Unlocks are read first, so that the difference is not negative.
    uint64_t sections() const
    {
        const uint64_t word = value(at_, "srcu.stripes"), own = aligned(block_.at(at_, "srcu.stripe"));
        const uint64_t array = word & ~(line_bytes - 1), count = array == own ? 0 : word % line_bytes + 1;
        const uint64_t ended = sum(own, 1, "stripe.unlocks") + sum(array, count, "stripe.unlocks");
        return sum(own, 1, "stripe.locks") + sum(array, count, "stripe.locks") - ended;
    }

    const Memory &memory_;
    const Block &block_;
    const uint64_t at_;
};

} // namespace

std::vector<Domain> look_at_own(const Memory &memory, const Block &block, uint64_t domain)
{
    std::vector<Domain> domains;
    const Field *home = block.find("domain.srcu"), *first = block.find("srcu.first");
    if (home == nullptr || first == nullptr)
        return domains;
    uint64_t at = memory.value<uint64_t>(domain + home->offset + first->offset).value_or(0);
    for (int count = 0; at != 0 && count < most_domains; count++) {
        const OwnDomain own(memory, block, at);
        domains.push_back(own.look());
        at = own.next();
    }
    return domains;
}

} // namespace lab::inspect
