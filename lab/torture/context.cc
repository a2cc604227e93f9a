// SPDX-License-Identifier: MIT OR Apache-2.0
// Creates, pauses and ends actors.
#include "torture/context.h"

#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>

#include "measure/clock.h"

namespace lab::torture
{

Context::Context(const Scenario &wanted, uint64_t seed_of_run, SharedResult &result, int64_t patience)
    : scenario(wanted), seed(seed_of_run), shared(result), patience_ns(patience),
      flavour(wanted.busted ? busted_flavour
              : wanted.srcu ? srcu_flavour
                            : rtrcu_flavour),
      kinds_are_mixed(wanted.config.count("normal") + wanted.config.count("expedited") > 0),
      findings(result, wanted.name, seed_of_run), pipeline(*this), heap(*this), pool(*this), table(*this)
{
}

static ActorRecord &next_record(Context &context)
{
    uint32_t number = context.shared.actors.fetch_add(1);
    if (number >= actors_max)
        throw std::runtime_error(fmt::format("a scenario has at most {} actors", actors_max));
    return context.shared.actor[number];
}

Actor::Actor(Context &of, const std::string &name, uint64_t number)
    : context(of), index(number), random(of.seed, name, number), record(next_record(of))
{
    std::string text = fmt::format("{}/{}", name, number);
    strncpy(record.name.data(), text.c_str(), record.name.size() - 1);
}

bool Actor::keep_going()
{
    record.beats.fetch_add(1, std::memory_order_relaxed);
    if (should_pause()) {
        While paused(*this, Doing::paused);
        context.stuttering.wait(1);
    }
    return !context.stopping.load(std::memory_order_relaxed);
}

void Actor::rest(int64_t at_most_us)
{
    While resting(*this, Doing::resting);
    pause_ns(random.between(0, at_most_us * 1000));
}

Cast::~Cast()
{
    for (std::thread &thread : threads_)
        if (thread.joinable())
            thread.detach(); // reached only after a failure, which will end the process
}

void Cast::add(const std::string &name, uint64_t index, Body body)
{
    actors_.push_back(std::make_unique<Actor>(context_, name, index));
    bodies_.push_back(std::move(body));
}

void Cast::start()
{
    for (std::size_t i = 0; i < actors_.size(); i++) {
        threads_.emplace_back([&actor = *actors_[i], &body = bodies_[i]] {
            pthread_setname_np(pthread_self(), std::string(actor.record.name.data()).substr(0, 15).c_str());
            actor.record.thread_id.store(gettid());
            body(actor);
            actor.set(Doing::finished);
        });
    }
}

void Cast::join()
{
    for (std::thread &thread : threads_)
        thread.join();
}

bool wait_until(Actor &actor, const std::function<bool()> &holds)
{
    int64_t end = now_ns() + actor.context.patience_ns, nap_ns = 1000;
    uint32_t gaps = actor.context.gaps.load();
    while (!holds()) {
        if (actor.context.gaps.load() != gaps) { // the process was stopped meanwhile: restart the patience
            gaps = actor.context.gaps.load();
            end = now_ns() + actor.context.patience_ns;
        }
        if (now_ns() > end)
            return false;
        actor.record.beats.fetch_add(1, std::memory_order_relaxed);
        if (actor.context.stopping
                .load()) // driver sched needs calls of the library, and the other actors may have ended
            rcu_process_callbacks(0);
        pause_ns(nap_ns);
        nap_ns = std::min<int64_t>(nap_ns * 2, 200'000);
    }
    return true;
}

} // namespace lab::torture
