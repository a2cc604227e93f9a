/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The glue for libuv loops of <rtrcu/loop/uv.h>, in the ways in which programs end their loops. */
#include <fcntl.h>
#include <unistd.h>

#include <uv.h>

#include <rtrcu/loop/uv.h>

#include "configured.h"

namespace
{

/* A quiescent-state thread with a loop, which a handle without events keeps alive. */
class Uv : public test::Configured
{
  protected:
    uv_loop_t loop_ = {};
    uv_async_t alive_ = {};
    uv_timer_t late_ = {};
    struct rtrcu_uv glue_ = {};
    bool waited_ = false;

    void SetUp() override
    {
        test::Configured::SetUp();
        configure([](struct rtrcu_config *config) { config->policy = RTRCU_POLICY_INLINE; });
        ASSERT_EQ(rtrcu_register_thread(RTRCU_QSBR), 0);
        ASSERT_EQ(uv_loop_init(&loop_), 0);
        ASSERT_EQ(uv_async_init(&loop_, &alive_, nullptr), 0);
        ASSERT_EQ(uv_timer_init(&loop_, &late_), 0);
        late_.data = &waited_;
        ASSERT_EQ(rtrcu_uv_start(&glue_, &loop_), 0);
    }

    /* Start a timer of 10 s that sets `waited_`. It ends uv_run() if the loop waits although it has work. */
    void start_timeout()
    {
        uv_timer_start(
            &late_, [](uv_timer_t *timer) { *static_cast<bool *>(timer->data) = true; }, 10000, 0);
    }

    void close_loop()
    {
        auto close_one = [](uv_handle_t *handle, void *) {
            if (!uv_is_closing(handle))
                uv_close(handle, nullptr);
        };
        uv_walk(&loop_, close_one, nullptr);
        uv_run(&loop_, UV_RUN_DEFAULT);
        EXPECT_EQ(uv_loop_close(&loop_), 0);
        EXPECT_EQ(rtrcu_unregister_thread(), 0);
    }
};

TEST_F(Uv, IterationDoesNotWaitAfterACallbackHasEndedTheLoop)
{
    bool running = true;
    uv_timer_t timer;
    timer.data = &running;
    uv_timer_init(&loop_, &timer);
    uv_timer_start(
        &timer, [](uv_timer_t *ended) { *static_cast<bool *>(ended->data) = false; }, 0, 0);
    start_timeout();

    while (running)
        rtrcu_uv_run(&glue_);

    EXPECT_FALSE(waited_);
    rtrcu_uv_stop(&glue_);
    close_loop();
}

struct Pipe {
    int end[2];
    uv_poll_t readable;
    bool seen = false;
};

TEST_F(Uv, DescriptorThatACallbackAddsIsWatched)
{
    Pipe pipe;
    ASSERT_EQ(::pipe(pipe.end), 0);
    ASSERT_EQ(write(pipe.end[1], "x", 1), 1);
    uv_poll_init(&loop_, &pipe.readable, pipe.end[0]);
    uv_timer_t timer;
    timer.data = pipe.readable.data = &pipe;
    uv_timer_init(&loop_, &timer);

    auto add = [](uv_timer_t *begun) {
        uv_poll_start(&static_cast<Pipe *>(begun->data)->readable, UV_READABLE,
                      [](uv_poll_t *handle, int, int) { static_cast<Pipe *>(handle->data)->seen = true; });
    };
    uv_timer_start(&timer, add, 0, 0);
    start_timeout();
    while (!pipe.seen && !waited_)
        rtrcu_uv_run(&glue_);

    EXPECT_TRUE(pipe.seen);
    rtrcu_uv_stop(&glue_);
    close_loop();
    close(pipe.end[0]);
    close(pipe.end[1]);
}

TEST_F(Uv, StopsAfterTheProgramHasClosedAllHandles)
{
    close_loop();
    rtrcu_uv_stop(&glue_);
    EXPECT_EQ(fcntl(glue_.number, F_GETFD), -1);
}

} // namespace
