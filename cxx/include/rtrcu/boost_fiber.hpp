// SPDX-License-Identifier: MIT OR Apache-2.0
// Boost.Fiber: a scheduling algorithm whose fibers may be suspended inside a read-side critical section.
#ifndef RTRCU_BOOST_FIBER_HPP
#define RTRCU_BOOST_FIBER_HPP

#include <utility>

#include <boost/fiber/algo/round_robin.hpp>
#include <boost/fiber/context.hpp>
#include <boost/fiber/properties.hpp>

#include <rtrcu/guard.hpp>

namespace rtrcu
{

// The task of a fiber, stored in the fiber's properties, which live as long as the fiber.
class fiber_task : public boost::fibers::fiber_properties
{
  public:
    explicit fiber_task(boost::fibers::context *context) : fiber_properties(context), state("fiber")
    {
    }
    task state;
};

// Wraps an algorithm that does not use properties itself (round_robin, shared_work, work_stealing):
//
//     boost::fibers::use_scheduling_algorithm<rtrcu::fiber_algorithm<boost::fibers::algo::shared_work>>();
//
// Boost calls pick_next() in the context of the fiber that is being suspended, on the thread that runs the next fiber.
// pick_next() parks the task of the suspended fiber, and resumes the task of the next fiber.
template <typename Algorithm = boost::fibers::algo::round_robin> class fiber_algorithm : public Algorithm
{
  public:
    using Algorithm::Algorithm;

    boost::fibers::context *pick_next() noexcept override
    {
        if (fiber_task *leaving = task_of(boost::fibers::context::active()))
            leaving->state.park();
        boost::fibers::context *next = Algorithm::pick_next();
        fiber_task *coming = task_of(next ? next : boost::fibers::context::active());
        if (coming)
            coming->state.resume();
        return next;
    }

    // A fiber launched by launch::dispatch runs immediately, without a call of pick_next().  Boost passes its launcher
    // to awakened(), in the context of the launched fiber.  The launcher's task is still mounted then, so park it here.
    void awakened(boost::fibers::context *context) noexcept override
    {
        boost::fibers::context *active = boost::fibers::context::active();
        bool has_run = context->get_properties() || context->is_context(boost::fibers::type::main_context);
        if (context != active && has_run && !task_of(context)->state.is_parked()) {
            task_of(context)->state.park();
            if (fiber_task *launched = task_of(active))
                launched->state.resume();
        }
        Algorithm::awakened(context);
    }

  private:
    // The task of a fiber; null for the dispatcher, which never holds a section.
    static fiber_task *task_of(boost::fibers::context *context) noexcept
    {
        if (!context || context->is_context(boost::fibers::type::dispatcher_context))
            return nullptr;
        if (!context->get_properties())
            context->set_properties(new fiber_task(context));
        return static_cast<fiber_task *>(context->get_properties());
    }
};

} // namespace rtrcu

#endif
