// SPDX-License-Identifier: MIT OR Apache-2.0
// Fuzzing of rtrcu_stats() with every struct size that a program may have: in "c8s544b" letters mean work, and numbers
// sizes.
#include <rtrcu/rcu.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>

#include "check.h"

namespace
{

constexpr std::size_t full_size = sizeof(struct rtrcu_stats), word = sizeof(uint64_t);
using Words = std::array<uint64_t, full_size / word>;

constexpr int most_steps = 64; // of one input
uint64_t queued;               // callbacks of all inputs so far

constexpr std::size_t now_only[] = {offsetof(struct rtrcu_stats, size),
                                    offsetof(struct rtrcu_stats, gp_ns_last),
                                    offsetof(struct rtrcu_stats, threads_registered),
                                    offsetof(struct rtrcu_stats, threads_deadline),
                                    offsetof(struct rtrcu_stats, callbacks_backlog),
                                    offsetof(struct rtrcu_stats, callback_oldest_ns),
                                    offsetof(struct rtrcu_stats, callback_longest),
                                    offsetof(struct rtrcu_stats, section_longest)};

// Returns whether the word at offset @at is a total, which only grows.
bool is_total(std::size_t at)
{
    return std::find(std::begin(now_only), std::end(now_only), at) == std::end(now_only);
}

Words words_of(const struct rtrcu_stats &stats)
{
    Words words;
    std::memcpy(words.data(), &stats, full_size);
    return words;
}

struct rtrcu_stats read_all()
{
    static Words seen;
    struct rtrcu_stats stats;
    stats.size = full_size;
    check(rtrcu_stats(&stats) == 0 && stats.size == full_size, "the program's own size is taken");
    check(stats.callbacks_queued == queued, "callbacks are counted when they are queued");
    check(stats.callbacks_invoked <= stats.callbacks_queued &&
              stats.callbacks_backlog == stats.callbacks_queued - stats.callbacks_invoked,
          "callbacks are invoked or wait");
    check(stats.threads_registered <= stats.threads_peak, "no more threads than at the peak");
    const Words words = words_of(stats);
    for (std::size_t i = 0; i < words.size(); i++)
        check(words[i] >= seen[i] || !is_total(i * word), "a total only grows");
    seen = words;
    return stats;
}

// Memory of exactly the size that the program claims, so that a sanitizer detects writes beyond it.
void read_with(uint64_t size)
{
    constexpr unsigned char mark = 0x77;
    const std::size_t room = std::clamp<uint64_t>(size, sizeof(uint32_t), 2 * full_size);
    const std::unique_ptr<unsigned char[]> memory(new unsigned char[room]);
    std::memset(memory.get(), mark, room);
    auto *stats = reinterpret_cast<struct rtrcu_stats *>(memory.get());
    const auto claimed = static_cast<uint32_t>(size);
    std::memcpy(memory.get(), &claimed, sizeof(claimed));

    const Words before = words_of(read_all());
    const int error = rtrcu_stats(stats);
    const Words after = words_of(read_all());
    check((error == -EINVAL) == (size == 0 || size % word != 0) && (error == 0 || error == -EINVAL),
          "a size is refused where it is no multiple of 8");
    uint32_t filled;
    std::memcpy(&filled, memory.get(), sizeof(filled));
    check(filled == (error ? size : std::min(size, full_size)), "the size says what was filled in");
    const std::size_t end = error ? sizeof(filled) : filled;
    check(std::all_of(memory.get() + end, memory.get() + room, [](unsigned char byte) { return byte == mark; }),
          "nothing is written beyond it");
    for (std::size_t at = word; !error && at < end; at += word) {
        uint64_t value;
        std::memcpy(&value, memory.get() + at, word);
        check(!is_total(at) || (before[at / word] <= value && value <= after[at / word]),
              "a part of the counters is what all of them are before or after");
    }
}

void queue_callback()
{
    queued++;
    call_rcu(new rcu_head, [](struct rcu_head *head) { delete head; });
}

void work(char letter)
{
    const struct rtrcu_stats before = read_all();
    switch (letter) {
    case 'c':
        queue_callback();
        return;
    case 's':
        synchronize_rcu();
        check(read_all().gp_completed > before.gp_completed, "a grace period that was waited for is counted");
        return;
    case 'e':
        synchronize_rcu_expedited();
        check(read_all().exp_completed > before.exp_completed, "an expedited grace period is counted");
        return;
    case 'l':
        rcu_read_lock();
        read_with(full_size);
        rcu_read_unlock();
        return;
    case 'b':
        rcu_barrier();
        check(read_all().callbacks_backlog == 0, "nothing waits after a barrier");
        return;
    default:
        return;
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const std::string text(reinterpret_cast<const char *>(data), size);
    std::size_t at = 0;
    for (int step = 0; step < most_steps && at < text.size(); step++) {
        uint64_t number = 0;
        const std::size_t begin = at;
        for (; at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])); at++)
            number = (number * 10 + static_cast<uint64_t>(text[at] - '0')) % (UINT32_MAX + 1ull);
        if (at > begin)
            read_with(number);
        else
            work(text[at++]);
    }
    return 0;
}
