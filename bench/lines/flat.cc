// SPDX-License-Identifier: MIT OR Apache-2.0
// For comparison: the design that is common in user space, with one list of readers under one lock, and one queue of
// callbacks for all threads.
//
// A reader copies the global count into its own word.  A grace period raises the count twice, and waits each time until
// every word on the list is 0 or has the new count.  The list's links are not modelled.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <rtrcu/detail/atomic.h>
#include <rtrcu/detail/fence.h>

extern "C" {
#include "plat/plat.h"
}

#include "subject.h"

namespace
{

constexpr uint32_t kReaders = 8192;

struct Reader {
    uint64_t word; // 0: outside
} __attribute__((aligned(64)));

struct Head {
    struct Head *next;
};

struct {
    uint64_t count __attribute__((aligned(64)));
    uint32_t lock __attribute__((aligned(64)));
    struct Head *tail __attribute__((aligned(64)));
    struct Head first;
    uint32_t readers __attribute__((aligned(64)));
    struct Reader *reader[kReaders];
} flat;

// Indexed by the machine's number of the CPU.
struct Reader words[kReaders];

struct Reader *self()
{
    return &words[plat_thread_id().number];
}

void begin()
{
    flat.count = 1;
    flat.tail = &flat.first;
}

void enter()
{
    flat.reader[flat.readers++] = self();
}

// Moves the last reader to the place of the removed one.
void leave()
{
    for (uint32_t i = 0; i < flat.readers; i++) {
        if (flat.reader[i] == self())
            flat.reader[i] = flat.reader[--flat.readers];
    }
}

void lock()
{
    rtrcu_store_relaxed(&self()->word, rtrcu_load_relaxed(&flat.count));
    rtrcu_fence_light();
}

void unlock()
{
    rtrcu_store_release(&self()->word, 0);
}

void wait_for(const struct Reader *reader, uint64_t count)
{
    for (;;) {
        uint64_t word = rtrcu_load_acquire(&reader->word);
        if (word == 0 || word == count)
            return;
        rtrcu_cpu_relax();
    }
}

void synchronize()
{
    while (rtrcu_exchange(&flat.lock, 1))
        rtrcu_cpu_relax();
    (void)plat_fence_heavy();
    for (int phase = 0; phase < 2; phase++) {
        uint64_t count = rtrcu_load_relaxed(&flat.count) + 1;
        rtrcu_store_relaxed(&flat.count, count);
        rtrcu_fence_full();
        for (uint32_t i = 0; i < flat.readers; i++)
            wait_for(flat.reader[i], count);
    }
    (void)plat_fence_heavy();
    rtrcu_store_release(&flat.lock, 0);
}

void queue(void *memory)
{
    struct Head *head = (struct Head *)memory;
    rtrcu_store_relaxed(&head->next, (struct Head *)nullptr);
    struct Head *before = rtrcu_exchange(&flat.tail, head);
    rtrcu_store_release(&before->next, head);
}

// One worker serves all threads: it waits for a grace period, then each callback writes to its object.
void serve()
{
    struct Head *at = rtrcu_exchange(&flat.first.next, (struct Head *)nullptr);
    struct Head *last = rtrcu_exchange(&flat.tail, &flat.first);
    synchronize();
    while (at) {
        struct Head *next = at == last ? nullptr : rtrcu_load_acquire(&at->next);
        at->next = nullptr;
        at = next;
    }
}

void run()
{
}

} // namespace

const Subject flat_subject = {
    "flat", "one list under one lock, one queue", begin, enter, leave, lock, unlock, synchronize, queue, serve, run};
