/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Fixture of the tests of urcu/: flavours with data of their own, and a block for each thread. */
#ifndef RTRCU_TEST_UNIT_ADOPT_WORLD_H
#define RTRCU_TEST_UNIT_ADOPT_WORLD_H

#include <csignal>

#include <gtest/gtest.h>

#include "../../support/internals.h"
#include "../../support/sync.h"

class AdoptWorld : public testing::Test
{
    static inline thread_local rtrcu_adopted_reader block_;
    static inline thread_local rtrcu_adopted_reader *own_;
    static inline thread_local adopt_ring *ring_;

    test::World world_;
    std::unique_ptr<callback, test::Freer> callbacks_ = test::zeroed<callback>();
    std::unique_ptr<struct domain_drive, test::Freer> drive_ = test::zeroed<struct domain_drive>();
    struct watch watch_ = {};
    config room_ = {};

    static rtrcu_adopted_reader *own()
    {
        return own_;
    }
    static void be(rtrcu_adopted_reader *own)
    {
        own_ = own;
        was_blocked = signals_are_blocked();
    }

  protected:
    rtrcu_config &config_ = room_.first;
    struct urcu all_ = {};
    uint64_t generation_ = 1;
    uint32_t sleeper_ = 0, light_ = 0;
    static inline bool was_blocked; /* at the last call of be() */

    /* The calling thread's block. */
    static rtrcu_adopted_reader *block()
    {
        return &block_;
    }

    void SetUp() override
    {
        ring_ = nullptr; /* from the previous test */
        rtrcu_config_init(&config_);
        room_.in_force = &config_;
        callback_init(callbacks_.get(), &room_, world_.gp());
        watch_init(&watch_, &room_, world_.gp(), callbacks_.get());
        api_drive_init(drive_.get(), &room_, world_.gp(), callbacks_.get(), &watch_);
        urcu_init(&all_, &room_, world_.registry(), &watch_, &drive_->work);
    }
    rtrcu_adopted *adopt(uint32_t kind)
    {
        bool own_blocks = kind == RTRCU_ADOPT_BP;
        const rtrcu_adopt_flavour flavour = {
            kind, "crafted", &generation_, &sleeper_, &light_, own_blocks ? own : block, own_blocks ? be : nullptr,
            ring};
        return urcu_flavour(&all_, &flavour);
    }
    /* The location of the calling thread's ring. */
    static adopt_ring **ring()
    {
        return &ring_;
    }
    /* End the default server's thread, which would otherwise outlive the test. */
    static void end_ordinary(rtrcu_adopted *adopted)
    {
        adopt_server *server = &adopted->ordinary;
        rtrcu_exchange(&server->stop, 1);
        (void)urcu_server_urge(server);
        EXPECT_TRUE(test::eventually([&] { return rtrcu_load_acquire(&server->ended) != 0; }));
        plat_thread_join(&server->thread);
    }
    static bool signals_are_blocked()
    {
        sigset_t now;
        pthread_sigmask(SIG_BLOCK, nullptr, &now);
        return sigismember(&now, SIGUSR1) == 1;
    }
};

#endif
