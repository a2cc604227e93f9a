// SPDX-License-Identifier: MIT OR Apache-2.0
// Reads a domain. The program goes on changing the words meanwhile, so each is checked against a word that shows
// whether it is still valid.
#include "inspect/look.h"

#include <algorithm>
#include <unordered_map>

namespace lab::inspect
{
namespace
{

constexpr uint32_t nesting_mask = 0x000fffff, online = 0x00100000;
constexpr uint64_t node_children = 0xffffffff;
constexpr unsigned stamp_shift = 34;
constexpr uint32_t slots = 32, most_leaves = 32768;
constexpr uint32_t thread_bits = 0x3fffffff; // the thread's bits of an invoker's word; a daemon may have set other bits
constexpr int most_tasks = 4096;

// The counters of a domain that are single words, each with the struct of the domain that contains it.
constexpr std::pair<const char *, const char *> counters[] = {
    {"domain.registry", "registry.registered"},
    {"domain.registry", "registry.registered_peak"},
    {"domain.registry", "registry.deadline_count"},
    {"domain.registry", "registry.anonymous"},
    {"domain.registry", "registry.fence_mode"},
    {"domain.registry", "registry.leaf_count"},
    {"domain.callbacks", "callbacks.barriers"},
    {"domain.callbacks", "callbacks.over_qmax"},
    {"domain.callbacks", "callbacks.blocked_at_qmax"},
    {"domain.callbacks", "callbacks.limit_raised"},
    {"domain.callbacks", "callbacks.deadline_stops"},
    {"domain.callbacks", "callbacks.budget_stops"},
    {"domain.callbacks", "callbacks.limit_stops"},
    {"domain.callbacks", "callbacks.lost_at_fork"},
    {"domain.callbacks", "callbacks.direct"},
    {"domain.callbacks", "callbacks.direct_refused"},
    {"domain.callbacks", "callbacks.frees_leaked"},
    {"domain.watch", "watch.stall_reports"},
    {"domain.watch", "watch.section_ns_max"},
    {"domain.watch", "watch.section_longest"},
    {"domain.drive", "drive.wakeups"},
    {"domain.drive", "drive.passes"},
    {"domain.drive", "drive.rt_refused"},
    {"domain.drive", "drive.boosts"},
    {"domain.drive", "drive.boost_ns"},
    {"domain.drive", "drive.boost_ns_max"},
    {"domain.drive", "drive.boost_refused"},
    {"domain.drive", "drive.boost_given_up"},
    {"domain.drive", "drive.krcud_given"},
    {"domain.drive", "drive.fence_refused"},
    {"domain.drive", "drive.threads_refused"},
};

// Adds fields, which are found by their names, to a batch of reads.
class Asker
{
  public:
    Asker(const Memory &memory, const Block &block) : block_(block), batch_(memory)
    {
    }
    const uint64_t &word(uint64_t base, const char *name, uint64_t index = 0)
    {
        const Field *field = block_.find(name);
        return batch_.word(block_.at(base, name, index), field != nullptr ? field->bytes : 8);
    }
    const std::vector<uint64_t> &words(uint64_t base, const char *name)
    {
        const Field *field = block_.find(name);
        return batch_.words(block_.at(base, name), field != nullptr && base != 0 ? field->count : 0);
    }
    void run()
    {
        batch_.run();
    }

  private:
    const Block &block_;
    Batch batch_;
};

// The words that are read for one slot of a leaf.
struct Slot {
    uint32_t leaf, slot;
    uint64_t record, callback, parked, turn;
    const uint64_t *self, *thread_id, *boosted, *slow_calls, *queued, *invoked, *free_queued, *free_done, *oldest,
        *waiting, *batch, *oldest_ready, *ready, *invoker, *function, *longest, *longest_function, *parked_count;
    const uint64_t *word = nullptr, *state = nullptr, *entered = nullptr, *entered_ns = nullptr, *self_again = nullptr,
                   *thread_id_again = nullptr;
    // For ThreadStats.
    const uint64_t *system_calls = nullptr, *lock_waits = nullptr, *slow_paths = nullptr, *callback_ns = nullptr,
                   *batch_ns_max = nullptr, *boosts_of = nullptr, *boosts = nullptr;
};

struct Leaf {
    uint64_t address, parked, callback, turn;
    const uint64_t *used, *registered, *registered_again, *deadline, *deadline_quiescent, *parked_part, *callback_part,
        *turn_part, *boundary[kinds], *node[kinds], *by_owner, *slept, *woken;
    // Histogram of the times from queueing the oldest callback of a batch to the begin of the batch.
    const std::vector<uint64_t> *waits;
};

class Looker
{
  public:
    Looker(const Memory &memory, const Block &block, uint64_t domain) : memory_(memory), block_(block), base_(domain)
    {
    }
    Domain look()
    {
        read_counters();
        read_leaves();
        read_slots();
        for (std::size_t i = 0; i < leaves_.size(); i++)
            read_tasks(i);
        domain_.at_ns = memory_.now_ns();
        return std::move(domain_);
    }

  private:
    // Returns a new Asker.  The values that it reads stay valid as long as this Looker exists.
    Asker &ask()
    {
        return askers_.emplace_back(memory_, block_);
    }
    uint64_t part(const char *name) const
    {
        return block_.at(base_, name);
    }
    uint64_t pointer(uint64_t address) const
    {
        return address != 0 ? memory_.value<uint64_t>(address).value_or(0) : 0;
    }

    void read_counters()
    {
        Asker &asker = ask();
        std::vector<const uint64_t *> values;
        for (const auto &[home, name] : counters)
            values.push_back(&asker.word(part(home), name));
        struct Machine {
            const uint64_t *seq, *began, *completed, *busy, *last, *longest, *anonymous, *slept, *by_caller, *sleeping,
                *sum, *at_once, *unfenced;
            const std::vector<uint64_t> *histogram;
        } machine[kinds];
        for (unsigned kind = 0; kind < kinds; kind++) {
            const uint64_t at = block_.at(part("domain.gp"), "gp.machine", kind);
            const uint64_t turning = block_.at(part("domain.drive"), "drive.turning", kind);
            machine[kind] = {&asker.word(at, "machine.seq"),
                             &asker.word(at, "machine.began_ns"),
                             &asker.word(at, "machine.completed"),
                             &asker.word(at, "machine.busy"),
                             &asker.word(at, "machine.ns_last"),
                             &asker.word(at, "machine.ns_max"),
                             &asker.word(at, "machine.anonymous"),
                             &asker.word(turning, "turning.slept"),
                             &asker.word(turning, "turning.by_caller"),
                             &asker.word(turning, "turning.sleeping"),
                             &asker.word(at, "machine.ns_sum"),
                             &asker.word(at, "machine.at_once"),
                             &asker.word(turning, "turning.unfenced"),
                             &asker.words(at, "machine.ns_histogram")};
        }
        asker.run();
        for (std::size_t i = 0; i < values.size(); i++)
            if (block_.find(counters[i].second) != nullptr)
                domain_.counters[counters[i].second] = *values[i];
        for (unsigned kind = 0; kind < kinds; kind++) {
            GracePeriods &gp = domain_.gp[kind];
            const Machine &from = machine[kind];
            seq_[kind] = *from.seq;
            gp.running = *from.seq % block_.seq_step != 0;
            gp.number = (*from.seq - block_.seq_first) / block_.seq_step;
            gp.began_ns = static_cast<int64_t>(*from.began);
            gp.completed = *from.completed;
            gp.busy = *from.busy;
            gp.at_once = *from.at_once;
            gp.unfenced = *from.unfenced;
            gp.last_ns = static_cast<int64_t>(*from.last);
            gp.longest_ns = static_cast<int64_t>(*from.longest);
            gp.anonymous = *from.anonymous != 0;
            gp.slept = *from.slept;
            gp.by_caller = *from.by_caller;
            gp.waiters = *from.sleeping;
            gp.sum_ns = *from.sum;
            gp.histogram = *from.histogram;
        }
    }

    void read_leaves()
    {
        const uint64_t registry = part("domain.registry");
        const Field *array = block_.find("registry.leaf"), *nodes = block_.find("gp.leaf_node");
        uint64_t first = block_.at(registry, "registry.leaf");
        if (array != nullptr && array->count == 0)
            first = pointer(first);
        std::vector<uint64_t> addresses(std::min<uint64_t>(domain_.counter("registry.leaf_count"), most_leaves));
        if (addresses.empty() || !memory_.read(first, addresses.data(), addresses.size() * 8))
            return;
        uint64_t node = block_.at(part("domain.gp"), "gp.leaf_node");
        if (nodes != nullptr && nodes->count == 0)
            node = pointer(node);
        Asker &asker = ask();
        for (std::size_t i = 0; i < addresses.size(); i++) {
            Leaf leaf{};
            leaf.address = addresses[i];
            leaf.used = &asker.word(leaf.address, "leaf.used");
            leaf.registered = &asker.word(leaf.address, "leaf.registered");
            leaf.deadline = &asker.word(leaf.address, "leaf.deadline", 0);
            leaf.deadline_quiescent = &asker.word(leaf.address, "leaf.deadline", 1);
            leaf.slept = &asker.word(leaf.address, "leaf.slept");
            leaf.woken = &asker.word(leaf.address, "leaf.woken");
            leaf.parked_part = &asker.word(leaf.address, "leaf.parked");
            leaf.callback_part = &asker.word(leaf.address, "leaf.callback");
            leaf.turn_part = &asker.word(leaf.address, "leaf.turn");
            for (unsigned kind = 0; kind < kinds; kind++)
                leaf.node[kind] =
                    &asker.word(nodes != nullptr && node != 0 ? node + i * nodes->stride : 0, "node.word", kind);
            leaves_.push_back(leaf);
        }
        asker.run();
        for (Leaf &leaf : leaves_) {
            leaf.parked = *leaf.parked_part;
            leaf.callback = *leaf.callback_part;
            leaf.turn = *leaf.turn_part;
        }
    }

    // Adds a slot's words to the first pass.  This pass reads the library's own memory, which is never unmapped.
    void ask_for_slot(Asker &asker, uint32_t leaf_index, uint32_t index)
    {
        const Leaf &leaf = leaves_[leaf_index];
        Slot slot{};
        slot.leaf = leaf_index;
        slot.slot = index;
        slot.record = block_.at(leaf.address, "leaf.record", index);
        slot.callback = block_.at(leaf.callback, "callback.slot", index);
        slot.parked = block_.at(leaf.parked, "parked.slot", index);
        slot.turn = block_.at(leaf.turn, "turn.slot", index);
        slot.self = &asker.word(slot.record, "record.self");
        slot.thread_id = &asker.word(slot.record, "record.thread_id");
        slot.boosted = &asker.word(slot.record, "record.boost");
        slot.slow_calls = &asker.word(slot.record, "record.slow_calls");
        // Returned callbacks are counted before queued callbacks, so that their number does not exceed the other.
        slot.invoked = &asker.word(slot.callback, "slot.invoked");
        slot.free_done = &asker.word(slot.callback, "slot.free_done");
        slot.queued = &asker.word(slot.callback, "slot.queued");
        slot.free_queued = &asker.word(slot.callback, "slot.free_queued");
        slot.oldest = &asker.word(slot.callback, "slot.oldest_ns");
        slot.waiting = &asker.word(slot.callback, "slot.oldest_waiting_ns");
        slot.batch = &asker.word(slot.callback, "slot.batch_ns");
        slot.oldest_ready = &asker.word(slot.callback, "slot.oldest_ready_ns");
        slot.ready = &asker.word(slot.callback, "slot.ready");
        slot.invoker = &asker.word(slot.callback, "slot.invoker");
        slot.function = &asker.word(slot.callback, "slot.function");
        slot.longest = &asker.word(slot.callback, "slot.longest_ns");
        slot.longest_function = &asker.word(slot.callback, "slot.longest_function");
        slot.parked_count = &asker.word(slot.parked, "parked_slot.count");
        slots_.push_back(slot);
    }

    void read_slots()
    {
        Asker &first = ask(), &second = ask();
        for (uint32_t i = 0; i < leaves_.size(); i++) {
            leaves_[i].by_owner = &first.word(leaves_[i].callback, "callback.by_owner");
            leaves_[i].waits = &first.words(leaves_[i].callback, "callback.wait_us_log2");
            for (unsigned kind = 0; kind < kinds; kind++)
                leaves_[i].boundary[kind] = &first.word(leaves_[i].parked, "parked.boundary_position", kind);
            for (uint32_t slot = 0; slot < slots; slot++)
                ask_for_slot(first, i, slot); // an unused slot may hold callbacks of a thread that has exited
        }
        first.run();
        for (const Leaf &leaf : leaves_)
            add_counters(leaf);
        // Second pass: the threads' own memory, which is unmapped when they exit.  Its values are used only if the
        // thread is still registered afterwards.
        for (Slot &slot : slots_) {
            if ((*leaves_[slot.leaf].registered >> slot.slot & 1) == 0)
                continue;
            slot.word = &second.word(*slot.self, "thread.word");
            slot.state = &second.word(*slot.self, "thread.state");
            slot.entered = &second.word(*slot.self, "thread.entered");
            slot.entered_ns = &second.word(*slot.self, "thread.entered_ns");
            ask_for_stats(second, slot);
            slot.self_again = &second.word(slot.record, "record.self");
            slot.thread_id_again = &second.word(slot.record, "record.thread_id");
        }
        for (Leaf &leaf : leaves_)
            leaf.registered_again = &second.word(leaf.address, "leaf.registered");
        second.run();
        for (const Slot &slot : slots_)
            add_thread(slot);
    }

    // Adds a thread's statistics to a pass.  The longest batch is read before the sum of all batches, because the
    // thread updates the sum first.
    static void ask_for_stats(Asker &asker, Slot &slot)
    {
        slot.batch_ns_max = &asker.word(*slot.self, "thread.batch_ns_max");
        slot.callback_ns = &asker.word(*slot.self, "thread.callback_ns");
        slot.slow_paths = &asker.word(*slot.self, "thread.slow_paths");
        slot.system_calls = &asker.word(*slot.self, "thread.system_calls");
        slot.lock_waits = &asker.word(*slot.self, "thread.lock_waits");
        slot.boosts_of = &asker.word(slot.turn, "turn_slot.boosts_of");
        slot.boosts = &asker.word(slot.turn, "turn_slot.boosts");
    }

    void add_counters(const Leaf &leaf)
    {
        domain_.counters["callbacks.by_owner"] += *leaf.by_owner;
        domain_.counters["leaf.slept"] += *leaf.slept;
        domain_.counters["leaf.woken"] += *leaf.woken;
        domain_.waits.resize(leaf.waits->size());
        for (std::size_t i = 0; i < leaf.waits->size(); i++)
            domain_.waits[i] += (*leaf.waits)[i];
    }

    void add_thread(const Slot &slot)
    {
        const Leaf &leaf = leaves_[slot.leaf];
        const uint64_t bit = uint64_t(1) << slot.slot;
        Thread thread;
        thread.id = static_cast<int>(*slot.thread_id);
        // A new thread may have the slot and the address of a thread that has exited, but not the id of that thread.
        thread.is_registered = slot.word != nullptr && *slot.self == *slot.self_again &&
                               *slot.thread_id == *slot.thread_id_again && (*leaf.registered_again & bit);
        thread.queued = *slot.queued + *slot.free_queued;
        thread.invoked = *slot.invoked + *slot.free_done;
        domain_.queued += thread.queued;
        domain_.invoked += thread.invoked;
        domain_.slow_calls += *slot.slow_calls;
        if (*slot.longest > domain_.longest_ns) {
            domain_.longest_ns = *slot.longest;
            domain_.longest_function = *slot.longest_function;
        }
        if (!thread.is_registered && thread.pending() == 0)
            return;
        thread.slow_calls = *slot.slow_calls;
        thread.has_ready = *slot.ready != 0;
        thread.invoker = static_cast<int>(*slot.invoker & thread_bits);
        thread.function = *slot.invoker != 0 ? *slot.function : 0;
        thread.longest_ns = *slot.longest;
        thread.longest_function = *slot.longest_function;
        thread.parked = static_cast<uint32_t>(*slot.parked_count);
        thread.has_deadline = ((*leaf.deadline | *leaf.deadline_quiescent) & bit) != 0;
        if (thread.pending() != 0)
            for (const uint64_t *age : {slot.batch, slot.oldest_ready, slot.waiting, slot.oldest})
                if (thread.oldest_ns == 0)
                    thread.oldest_ns = static_cast<int64_t>(*age);
        if (thread.is_registered)
            add_word(thread, slot, bit);
        if (thread.is_registered && block_.find("thread.system_calls") != nullptr)
            thread.stats = {*slot.slow_paths,
                            *slot.system_calls,
                            *slot.callback_ns,
                            *slot.batch_ns_max,
                            *slot.boosts_of == *slot.thread_id ? *slot.boosts : 0,
                            *slot.lock_waits};
        domain_.threads.push_back(thread);
    }

    void add_word(Thread &thread, const Slot &slot, uint64_t bit)
    {
        const Leaf &leaf = leaves_[slot.leaf];
        thread.nesting = *slot.word & nesting_mask;
        thread.is_quiescent_state = (*slot.word & online) != 0;
        thread.is_boosted = *slot.boosted != 0;
        thread.entered = thread.nesting != 0 ? *slot.entered : 0;
        thread.entered_ns = thread.nesting != 0 ? static_cast<int64_t>(*slot.entered_ns) : 0;
        for (unsigned kind = 0; kind < kinds; kind++)
            thread.is_waited_for[kind] = node_is_current(leaf, kind) && (*leaf.node[kind] & node_children & bit) != 0;
    }

    // Returns true if a grace period was running and the leaf's node word is stamped with its number.
    bool node_is_current(const Leaf &leaf, unsigned kind) const
    {
        const uint64_t stamp = (seq_[kind] / block_.seq_step) << stamp_shift;
        return domain_.gp[kind].running && *leaf.node[kind] >> stamp_shift == stamp >> stamp_shift;
    }

    // Reads the tasks of a list that may change meanwhile.  Returns false if a backward link does not point to the
    // previous entry.
    bool walk(uint64_t head, std::vector<Task> &tasks, const Leaf *leaf, int thread) const
    {
        const Field *link = block_.find("task.link"), *next_field = block_.find("link.next"),
                    *prev_field = block_.find("link.prev");
        uint64_t previous = head, at = head != 0 && next_field != nullptr ? pointer(head + next_field->offset) : 0;
        if (link == nullptr || prev_field == nullptr)
            return true;
        for (int count = 0; at != head && at != 0 && count < most_tasks; count++) {
            const uint64_t task = at - link->offset;
            if (pointer(at + prev_field->offset) != previous)
                return false;
            Task found;
            found.address = task;
            found.name = memory_.text(pointer(block_.at(task, "task.name")), 48);
            found.thread = thread;
            const auto position = static_cast<int64_t>(pointer(block_.at(task, "task.position")));
            for (unsigned kind = 0; kind < kinds && leaf != nullptr; kind++)
                found.is_waited_for[kind] =
                    domain_.gp[kind].running && position >= static_cast<int64_t>(*leaf->boundary[kind]);
            tasks.push_back(found);
            previous = at;
            at = pointer(at + next_field->offset);
        }
        return true;
    }

    void read_list(uint64_t head, const Leaf *leaf, int thread)
    {
        std::vector<Task> tasks;
        for (int attempt = 0; attempt < 8; attempt++) {
            tasks.clear();
            if (walk(head, tasks, leaf, thread))
                break;
        }
        for (const Task &task : tasks)
            add(task);
    }

    // Adds a task, or replaces the entry that an earlier list gave it.
    void add(const Task &task)
    {
        const auto [place, is_new] = place_.emplace(task.address, domain_.tasks.size());
        if (is_new)
            domain_.tasks.push_back(task);
        else
            domain_.tasks[place->second] = task;
    }

    // Reads the tasks of a leaf.  A scan moves tasks from the lists of threads to the leaf's list and never back, so
    // the leaf's list is read last, even if its count was 0: a task that left a thread's list is found there.
    void read_tasks(std::size_t index)
    {
        const Leaf &leaf = leaves_[index];
        for (const Slot &slot : slots_)
            if (slot.leaf == index && *slot.parked_count != 0)
                read_list(block_.at(slot.parked, "parked_slot.tasks"), nullptr, static_cast<int>(*slot.thread_id));
        read_list(block_.at(leaf.parked, "parked.tasks"), &leaf, 0);
    }

    std::unordered_map<uint64_t, std::size_t> place_; // by a task's address: its entry in domain_.tasks
    const Memory &memory_;
    const Block &block_;
    uint64_t base_;
    std::deque<Asker> askers_;
    Domain domain_;
    uint64_t seq_[kinds] = {};
    std::vector<Leaf> leaves_;
    std::vector<Slot> slots_;
};

} // namespace

std::vector<Domain> look(const Memory &memory, const Block &block)
{
    std::vector<Domain> domains;
    uint64_t at = memory.value<uint64_t>(block.first_domain).value_or(0);
    for (int count = 0; at != 0 && count < 64; count++) {
        const Field *begun = block.find("domain.initialized");
        if (begun != nullptr && memory.value<uint32_t>(at + begun->offset).value_or(0) != 0) {
            Domain domain = Looker(memory, block, at).look();
            const Field *name = block.find("domain.name");
            domain.name = name != nullptr ? memory.text(memory.value<uint64_t>(at + name->offset).value_or(0), 32) : "";
            if (domain.name.empty())
                domain.name = domains.empty() ? "native" : "domain " + std::to_string(count);
            domains.push_back(std::move(domain));
            for (Domain &adopted : look_at_adopted(memory, block, at))
                domains.push_back(std::move(adopted));
            for (Domain &own : look_at_own(memory, block, at))
                domains.push_back(std::move(own));
        }
        const Field *next = block.find("domain.next");
        at = next != nullptr ? memory.value<uint64_t>(at + next->offset).value_or(0) : 0;
    }
    return domains;
}

uint64_t Domain::counter(const std::string &counter_name) const
{
    const auto found = counters.find(counter_name);
    return found == counters.end() ? 0 : found->second;
}

std::size_t Domain::ready() const
{
    return static_cast<std::size_t>(
        std::count_if(threads.begin(), threads.end(), [](const Thread &thread) { return thread.has_ready; }));
}

std::size_t Domain::inside() const
{
    const auto known =
        std::count_if(threads.begin(), threads.end(), [](const Thread &thread) { return thread.is_inside(); });
    return sections + static_cast<std::size_t>(known);
}

std::size_t Domain::waited_for() const
{
    auto is_holdout = [](const Thread &thread) {
        return thread.is_waited_for[normal] || thread.is_waited_for[expedited];
    };
    return static_cast<std::size_t>(std::count_if(threads.begin(), threads.end(), is_holdout));
}

int64_t Domain::oldest_age_ns() const
{
    int64_t age = oldest_ns != 0 ? at_ns - oldest_ns : 0;
    for (const Thread &thread : threads)
        if (thread.oldest_ns != 0)
            age = std::max(age, at_ns - thread.oldest_ns);
    return age;
}

int64_t Domain::inside_ns(const Thread &thread) const
{
    return thread.entered_ns != 0 ? std::max<int64_t>(at_ns - thread.entered_ns, 0) : 0;
}

std::optional<Domain::Section> Domain::longest_section() const
{
    Section longest{static_cast<int64_t>(counter("watch.section_ns_max")), counter("watch.section_longest")};
    for (const Thread &thread : threads)
        if (inside_ns(thread) > longest.ns)
            longest = {inside_ns(thread), thread.entered};
    return longest.ns != 0 ? std::optional<Section>(longest) : std::nullopt;
}

double bucket_begin_ns(std::size_t bucket)
{
    if (bucket < 4)
        return static_cast<double>(bucket);
    return static_cast<double>((4 + bucket % 4) << (bucket / 4 - 1));
}

double quantile_ns(const std::vector<uint64_t> &histogram, double quantile)
{
    uint64_t all = 0, below = 0;
    for (uint64_t count : histogram)
        all += count;
    const double wanted = quantile * static_cast<double>(all);
    for (std::size_t i = 0; i < histogram.size(); i++) {
        if (histogram[i] != 0 && static_cast<double>(below + histogram[i]) >= wanted) {
            const double share = (wanted - static_cast<double>(below)) / static_cast<double>(histogram[i]);
            const double begin = bucket_begin_ns(i), end = bucket_begin_ns(i + 1);
            return begin + (end - begin) * std::clamp(share, 0.0, 1.0);
        }
        below += histogram[i];
    }
    return 0;
}

std::vector<uint64_t> since(const std::vector<uint64_t> &before, const std::vector<uint64_t> &now)
{
    if (before.size() != now.size() || before == now)
        return now;
    std::vector<uint64_t> difference(now.size());
    for (std::size_t i = 0; i < now.size(); i++)
        difference[i] = now[i] - std::min(before[i], now[i]);
    return difference;
}

} // namespace lab::inspect
