// SPDX-License-Identifier: MIT OR Apache-2.0
// Tasks: sections that are parked and continue on other threads, as those of fibers and coroutines do, or that stay on
// a
// list from begin to end, as those of futures do. Tasks run inside one another, and above sections of their carrier
// threads, which use both disciplines. Some carriers end while tasks that parked on them are still inside.
#include <memory>
#include <mutex>
#include <thread>

#include "torture/actors.h"
#include "torture/section.h"

namespace lab::torture
{
namespace
{

// A task, with the data that a fiber would keep on its stack.
struct Task {
    rcu_task task;
    rcu_task listing; // for a section that is listed until its end
    bool listed;
    bool fresh; // the task has not been parked in its present section yet
    uint32_t seat;
    uint32_t nesting; // 0: outside
    uint32_t steps;   // number of runs of the task until its section ends
    Element *element;
    HeapNode *node;
    unsigned long cookie;
};

// The tasks that are not mounted.  The queue's lock orders the carriers' accesses to tasks.
class RunQueue
{
  public:
    void give(Task *task)
    {
        std::lock_guard guard(lock_);
        tasks_.push_back(task);
    }
    Task *take(Random &random)
    {
        std::lock_guard guard(lock_);
        if (tasks_.empty())
            return nullptr;
        std::swap(random.pick(tasks_), tasks_.back());
        Task *task = tasks_.back();
        tasks_.pop_back();
        return task;
    }

  private:
    std::mutex lock_;
    std::vector<Task *> tasks_;
};

struct Fibers {
    RunQueue queue;
    std::vector<Task> tasks;
};

// One run of a task on the calling thread.
class Turn
{
  public:
    Turn(Context &context, ActorRecord &record, Random &random, Task &task)
        : context_(context), record_(record), random_(random), task_(task)
    {
    }

    // `ending`: end the task's section and begin no other section.  `inside` is called while the task is mounted.
    template <typename Inside> void run(bool ending, Inside inside)
    {
        record_.beats.fetch_add(1, std::memory_order_relaxed);
        if (task_.listed) {
            poll(ending, inside);
            return;
        }
        rcu_task_resume(&task_.task);
        inside();
        if (task_.nesting == 0 && !ending)
            begin();
        if (task_.nesting != 0) {
            if (random_.one_in(4))
                spin_ns(random_.between(0, 5'000));
            vary_nesting();
            if (task_.steps-- == 0 || ending)
                end();
        }
        if (ending || (task_.nesting == 0 && random_.one_in(64))) {
            rcu_task_exit(&task_.task);
            rcu_task_init(&task_.task, "torture");
            return;
        }
        if (task_.nesting == 1 && random_.one_in(task_.fresh ? 3 : 32)) {
            rcu_task_list(&task_.listing);
            task_.listed = true;
        }
        if (task_.nesting != 0)
            record_.parks.fetch_add(1, std::memory_order_relaxed);
        rcu_task_park(&task_.task);
        task_.fresh = false;
    }

  private:
    // Runs a task whose section is listed, and so belongs to no thread.  The task is not mounted; each section that the
    // run begins ends in the run.
    template <typename Inside> void poll(bool ending, Inside inside)
    {
        rcu_read_lock();
        inside();
        rcu_read_unlock();
        if (task_.steps-- != 0 && !ending)
            return;
        end();
        if (ending)
            rcu_task_exit(&task_.task);
    }

    void begin()
    {
        rcu_read_lock();
        task_.nesting = 1;
        task_.fresh = true;
        task_.steps = static_cast<uint32_t>(random_.below(random_.one_in(8) ? 20 : 4));
        task_.element = context_.pipeline.read();
        task_.node = context_.heap.read(random_.below(4096));
        task_.cookie = context_.flavour.get_state();
        if (task_.seat < seats_max)
            task_.node->entered[task_.seat]++;
    }

    void vary_nesting()
    {
        if (random_.one_in(4) && task_.nesting < 6) {
            rcu_read_lock();
            task_.nesting++;
        } else if (random_.one_in(4) && task_.nesting > 1) {
            rcu_read_unlock();
            task_.nesting--;
        }
    }

    void end()
    {
        const uint32_t age = task_.element->age.load();
        record_.pipe[std::min<std::size_t>(age, pipe_length)].fetch_add(1, std::memory_order_relaxed);
        Findings &findings = context_.findings;
        if (age > 1)
            findings.report(Check::age, "a task that was parked saw age {}, on {}", age, record_.name.data());
        if (task_.element->ready.load() != 1)
            findings.report(Check::mark, "a task that was parked saw a reused element at age {}", age);
        if (!Heap::is_sound(*task_.node))
            findings.report(Check::canary, "a task that was parked saw canary {:#x}", task_.node->canary);
        if (context_.flavour.poll(task_.cookie))
            findings.report(
                Check::cookie,
                "a task took cookie {} in its section, and the cookie was complete before the section ended",
                task_.cookie);
        if (task_.seat < seats_max)
            task_.node->left[task_.seat]++;
        const Element *element = task_.element;
        if (task_.listed)
            rcu_task_unlist(&task_.listing);
        for (; task_.nesting > 0; task_.nesting--) {
            if (!task_.listed)
                rcu_read_unlock();
        }
        task_.listed = false;
        if (element->age.load(std::memory_order_relaxed) > 1)
            record_.near_misses.fetch_add(1, std::memory_order_relaxed);
        record_.reads.fetch_add(1, std::memory_order_relaxed);
    }

    Context &context_;
    ActorRecord &record_;
    Random &random_;
    Task &task_;
};

// Runs one task.  At random, the thread is inside a section of its own, and other tasks run while this task is mounted.
void run_one(Context &context, ActorRecord &record, Random &random, Fibers &fibers, int depth = 0)
{
    Task *task = fibers.queue.take(random);
    if (!task)
        return;
    const bool beneath = random.one_in(8);
    if (beneath)
        rcu_read_lock();
    Turn(context, record, random, *task).run(false, [&] {
        if (depth < 2 && random.one_in(8))
            run_one(context, record, random, fibers, depth + 1);
    });
    if (beneath)
        rcu_read_unlock();
    fibers.queue.give(task);
}

// Runs tasks on a new thread for a while.  The thread exits while tasks that it parked remain.
void carry_shortly(Context &context, ActorRecord &record, Fibers &fibers, uint64_t seed)
{
    Random random(seed, "short carrier", 0);
    if (random.one_in(4))
        rtrcu_register_thread(RTRCU_QSBR);
    for (int i = 0; i < 20; i++) {
        run_one(context, record, random, fibers);
        rcu_quiescent_state();
    }
}

// Runs every task to its end.  Called when no other thread runs tasks any more.
void bring_to_end(Actor &actor, Fibers &fibers)
{
    while (Task *task = fibers.queue.take(actor.random))
        Turn(actor.context, actor.record, actor.random, *task).run(true, [] {});
}

void carry(Actor &actor, Fibers &fibers)
{
    const bool qsbr = actor.index % 3 == 2;
    rtrcu_register_thread(qsbr ? RTRCU_QSBR : 0);
    actor.set(Doing::reading);
    {
        ReadsInHandler handler(actor, true);
        while (!actor.context.stopping.load(std::memory_order_relaxed)) {
            run_one(actor.context, actor.record, actor.random, fibers);
            rcu_quiescent_state();
            if (actor.should_pause() || actor.random.one_in(256)) {
                rcu_thread_offline();
                actor.keep_going();
                rcu_thread_online();
            }
            if (actor.random.one_in(512)) {
                const uint64_t seed = actor.random.below(~UINT64_C(0));
                rcu_thread_offline();
                std::thread([&] { carry_shortly(actor.context, actor.record, fibers, seed); }).join();
                actor.context.shared.carriers_ended.fetch_add(1, std::memory_order_relaxed);
                rcu_thread_online();
            }
        }
        bring_to_end(actor, fibers);
    }
    rcu_unregister_thread();
}

} // namespace

void add_tasks(Cast &cast, Context &context)
{
    const Scenario &scenario = context.scenario;
    if (scenario.tasks == 0)
        return;
    auto fibers = std::make_shared<Fibers>();
    cast.keep(fibers);
    fibers->tasks = std::vector<Task>(static_cast<std::size_t>(scenario.tasks));
    for (Task &task : fibers->tasks) {
        rcu_task_init(&task.task, "torture");
        rcu_task_init(&task.listing, "torture, listed");
        task.seat = context.heap.take_seat();
        fibers->queue.give(&task);
    }
    for (int64_t i = 0; i < scenario.carriers; i++)
        cast.add("carrier", static_cast<uint64_t>(i), [fibers](Actor &actor) { carry(actor, *fibers); });
}

} // namespace lab::torture
