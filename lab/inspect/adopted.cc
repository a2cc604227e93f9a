// SPDX-License-Identifier: MIT OR Apache-2.0
// The flavours of liburcu: domains whose reader words are in the program's memory.
#include <algorithm>

#include "inspect/look.h"

namespace lab::inspect
{
namespace
{

// The value of `inside_` for a flavour whose reader word counts nested sections.
constexpr uint64_t nesting = UINT32_MAX;
constexpr int most_flavours = 16, most_chunks = 4096, most_servers = 4096, most_rings = 65536;

class Flavour
{
  public:
    Flavour(const Memory &memory, const Block &block, uint64_t at) : memory_(memory), block_(block), at_(at)
    {
    }
    uint64_t next() const
    {
        return value(at_, "adopted.next");
    }
    Domain look()
    {
        domain_.name = memory_.text(value(at_, "adopted.name"), 32);
        inside_ = value(value(at_, "adopted.kind"), "kind.inside");
        read_grace_periods();
        read_counters();
        const Field *chunk = block_.find("adopted.chunk");
        uint64_t chunk_at = chunk != nullptr ? at_ + chunk->offset : 0;
        for (int count = 0; chunk_at != 0 && count < most_chunks; count++) {
            read_readers(chunk_at);
            chunk_at = value(chunk_at, "chunk.next");
        }
        read_servers();
        domain_.at_ns = memory_.now_ns();
        return std::move(domain_);
    }

  private:
    uint64_t value(uint64_t base, const char *name) const
    {
        const Field *field = block_.find(name);
        const uint64_t at = base != 0 ? block_.at(base, name) : 0;
        if (at == 0 || field == nullptr)
            return 0;
        return field->bytes == 4 ? memory_.value<uint32_t>(at).value_or(0) : memory_.value<uint64_t>(at).value_or(0);
    }
    const uint64_t &ask(Batch &batch, uint64_t base, const char *name) const
    {
        const Field *field = block_.find(name);
        return batch.word(base != 0 ? block_.at(base, name) : 0, field != nullptr ? field->bytes : 8);
    }

    void read_grace_periods()
    {
        Batch batch(memory_);
        const uint64_t &seq = ask(batch, at_, "adopted.seq"), &began = ask(batch, at_, "adopted.began_ns"),
                       &waiters = ask(batch, at_, "adopted.waiters"), &busy = ask(batch, at_, "adopted.busy"),
                       &completed = ask(batch, at_, "adopted.completed"),
                       &longest = ask(batch, at_, "adopted.longest_ns");
        batch.run();
        GracePeriods &gp = domain_.gp[normal];
        gp.running = seq % block_.seq_step != 0;
        gp.number = (seq - block_.seq_first) / block_.seq_step;
        gp.began_ns = static_cast<int64_t>(began);
        gp.waiters = waiters + (gp.running ? 1 : 0); // the thread that advances the grace period also waits for it
        gp.completed = completed;
        gp.busy = busy;
        gp.longest_ns = static_cast<int64_t>(longest);
    }

    void read_counters()
    {
        domain_.counters["watch.stall_reports"] = value(at_, "adopted.stalls");
        domain_.counters["callbacks.barriers"] = value(at_, "adopted.barriers");
        domain_.counters["drive.threads_refused"] = value(at_, "adopted.threads_refused");
        domain_.counters["callbacks.over_qmax"] = value(at_, "adopted.over_qmax");
        domain_.counters["callbacks.blocked_at_qmax"] = value(at_, "adopted.blocked");
        // A flavour that counts nested sections uses full fences if it has no light word (mb) or its light word is 0.
        const uint64_t light = value(at_, "adopted.light");
        const bool is_light = light != 0 && memory_.value<uint32_t>(light).value_or(0) != 0;
        domain_.counters["registry.fence_mode"] =
            block_.find("adopted.light") != nullptr && inside_ == nesting && !is_light;
    }

    void read_readers(uint64_t chunk)
    {
        struct Record {
            uint64_t at;
            const uint64_t *reader, *thread_id, *owes, *word, *reader_again;
        };
        std::vector<Record> records;
        const Field *field = block_.find("chunk.record");
        Batch first(memory_), second(memory_);
        for (uint32_t i = 0; field != nullptr && i < field->count; i++) {
            const uint64_t at = block_.at(chunk, "chunk.record", i);
            records.push_back({at, &ask(first, at, "adopt_record.reader"), &ask(first, at, "adopt_record.thread_id"),
                               &ask(first, at, "adopt_record.owes"), nullptr, nullptr});
        }
        first.run();
        for (Record &record : records) {
            if (*record.reader == 0)
                continue;
            record.word = &ask(second, *record.reader, "adopted_reader.word");
            record.reader_again = &ask(second, record.at, "adopt_record.reader");
        }
        second.run();
        for (const Record &record : records)
            if (record.word != nullptr && *record.reader == *record.reader_again)
                add_thread(static_cast<int>(*record.thread_id), *record.word, *record.owes != 0);
    }

    void add_thread(int id, uint64_t word, bool owes)
    {
        Thread thread;
        thread.id = id;
        thread.is_registered = true;
        if (inside_ == nesting)
            thread.nesting = static_cast<uint32_t>(word & nesting);
        else
            thread.is_quiescent_state = (word & inside_) != 0;
        thread.is_waited_for[normal] = owes && domain_.gp[normal].running;
        domain_.counters["registry.registered"]++;
        domain_.threads.push_back(thread);
    }

    // Adds a server's callbacks to the thread that invokes them, or to the domain if that thread is not a reader.
    void read_server(uint64_t server)
    {
        // `invoked` is read before `queued`, so that it does not exceed `queued`.
        const uint64_t invoked = value(server, "server.invoked");
        const uint64_t queued = value(block_.at(server, "server.queue"), "queue.queued");
        const uint64_t batch_ns = value(server, "server.batch_ns");
        const uint64_t oldest_ns = batch_ns != 0 ? batch_ns : value(server, "server.inbox_ns");
        const int id = static_cast<int>(value(server, "server.thread_id"));
        domain_.invoked += invoked;
        domain_.queued += queued;

        const auto found = std::find_if(domain_.threads.begin(), domain_.threads.end(),
                                        [id](const Thread &thread) { return thread.id == id; });
        if (queued == invoked)
            return;
        if (found == domain_.threads.end()) {
            if (domain_.oldest_ns == 0 || static_cast<int64_t>(oldest_ns) < domain_.oldest_ns)
                domain_.oldest_ns = static_cast<int64_t>(oldest_ns);
            return;
        }
        found->queued = queued;
        found->invoked = invoked;
        found->oldest_ns = static_cast<int64_t>(oldest_ns);
        found->invoker = value(server, "server.serving") != 0 ? id : 0;
        found->function = value(server, "server.function");
    }

    void read_servers()
    {
        uint64_t server = value(at_, "adopted.servers");
        domain_.queued = domain_.invoked = value(at_, "adopted.invoked_by_gone");
        for (int count = 0; server != 0 && count < most_servers; count++) {
            read_server(server);
            server = value(server, "server.next");
        }
        uint64_t ring = value(at_, "adopted.rings");
        for (int count = 0; ring != 0 && count < most_rings; count++) {
            domain_.invoked += value(ring, "ring.taken");
            domain_.queued += value(ring, "ring.pushed");
            ring = value(ring, "ring.next");
        }
    }

    const Memory &memory_;
    const Block &block_;
    const uint64_t at_;
    uint64_t inside_ = 0;
    Domain domain_;
};

} // namespace

std::vector<Domain> look_at_adopted(const Memory &memory, const Block &block, uint64_t domain)
{
    std::vector<Domain> domains;
    const Field *home = block.find("domain.adopt"), *first = block.find("adopt.first");
    if (home == nullptr || first == nullptr)
        return domains;
    uint64_t at = memory.value<uint64_t>(domain + home->offset + first->offset).value_or(0);
    for (int count = 0; at != 0 && count < most_flavours; count++) {
        Flavour flavour(memory, block, at);
        domains.push_back(flavour.look());
        at = flavour.next();
    }
    return domains;
}

} // namespace lab::inspect
