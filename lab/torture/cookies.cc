// SPDX-License-Identifier: MIT OR Apache-2.0
// Actors that take cookies with get_state and start_poll and check what poll and cond return for them, in every
// order.
#include "torture/actors.h"
#include "torture/section.h"

#include "measure/clock.h"

namespace lab::torture
{
namespace
{

class CookieTaker
{
  public:
    explicit CookieTaker(Actor &actor) : actor_(actor), flavour_(actor.context.flavour)
    {
    }

    void step()
    {
        switch (actor_.random.below(5)) {
        case 0:
            return check_order();
        case 1:
            return check_in_section();
        case 2:
            return check_after_wait();
        default:
            return check_kept();
        }
    }

    void finish()
    {
        While polling(actor_, Doing::polling);
        for (unsigned long cookie : kept_) {
            if (!wait_until(actor_, [&] { return flavour_.poll(cookie); }))
                complain(cookie, "taken by start_poll, it did not become complete in time");
        }
    }

  private:
    void complain(unsigned long cookie, const char *what)
    {
        actor_.context.findings.report(Check::cookie, "{}: cookie {}: {}; a new cookie is {}",
                                       actor_.record.name.data(), cookie, what, flavour_.get_state());
    }

    void check_order()
    {
        const unsigned long first = flavour_.get_state(), second = flavour_.get_state();
        if (static_cast<long>(second - first) < 0)
            complain(second, "is lower than a cookie that was taken earlier");
        if (flavour_.poll(second) && !flavour_.poll(first))
            complain(first, "is not complete, but a later cookie is");
    }

    void check_in_section()
    {
        rcu_read_lock();
        const unsigned long cookie = actor_.random.one_in(2) ? flavour_.get_state() : flavour_.start_poll();
        spin_ns(actor_.random.between(0, 20'000));
        if (flavour_.poll(cookie))
            complain(cookie, "is complete inside the section in which it was taken");
        rcu_read_unlock();
    }

    void check_after_wait()
    {
        const unsigned long cookie = actor_.random.one_in(2) ? flavour_.get_state() : flavour_.start_poll();
        wait_in_way(actor_, Way::sync);
        if (!actor_.context.kinds_are_mixed && !flavour_.poll(cookie))
            complain(cookie, "is not complete after synchronize_rcu()");
        flavour_.cond(cookie);
    }

    // Checks that each of several cookies becomes complete, and stays complete.
    void check_kept()
    {
        if (kept_.size() < 32) {
            kept_.push_back(flavour_.start_poll());
            return;
        }
        unsigned long &cookie = actor_.random.pick(kept_);
        While polling(actor_, Doing::polling);
        if (!wait_until(actor_, [&] { return flavour_.poll(cookie); }))
            complain(cookie, "taken by start_poll, it did not become complete in time");
        if (!flavour_.poll(cookie))
            complain(cookie, "was complete and is no longer complete");
        cookie = flavour_.start_poll();
    }

    Actor &actor_;
    const Flavour &flavour_;
    std::vector<unsigned long> kept_;
};

void take_cookies(Actor &actor)
{
    CookieTaker taker(actor);
    while (actor.keep_going()) {
        taker.step();
        if (actor.random.one_in(4))
            actor.rest(200);
    }
    taker.finish();
}

} // namespace

void add_cookie_takers(Cast &cast, const Scenario &scenario)
{
    for (int64_t i = 0; i < scenario.cookies; i++)
        cast.add("cookies", static_cast<uint64_t>(i), take_cookies);
}

} // namespace lab::torture
