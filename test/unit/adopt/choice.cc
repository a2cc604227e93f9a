/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A server for every CPU, and for none.
 */
#include "world.h"

namespace
{

using Choice = AdoptWorld;

int count(const rtrcu_adopted *adopted)
{
    int servers = 0;
    for (const adopt_server *server = adopted->servers; server; server = server->next)
        servers++;
    return servers;
}

TEST_F(Choice, AServerForEveryCpuComesAndGoes)
{
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_MEMB);
    ASSERT_EQ(count(adopted), 1);
    for (int i = 0; i < 2; i++) {
        ASSERT_EQ(adopt_servers_create_all(adopted, 0), 0);
        EXPECT_EQ(count(adopted), 1 + plat_cpus_configured());
        EXPECT_TRUE(adopt_has_cpu_servers(adopted));
    }
    adopt_servers_free_all(adopted);
    EXPECT_EQ(count(adopted), 1);
    EXPECT_FALSE(adopt_has_cpu_servers(adopted));
}

TEST_F(Choice, ACpuThatHasNoneLosesNone)
{
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_MEMB);
    EXPECT_EQ(adopt_server_set_cpu(adopted, 0, nullptr), 0);
    EXPECT_FALSE(adopt_has_cpu_servers(adopted));
    EXPECT_EQ(adopt_server_set_cpu(adopted, 0, &adopted->ordinary), 0);
    EXPECT_TRUE(adopt_has_cpu_servers(adopted));
    EXPECT_EQ(adopt_server_set_cpu(adopted, 0, nullptr), 0);
    EXPECT_FALSE(adopt_has_cpu_servers(adopted));
}

TEST_F(Choice, ACpuHasOneServerAtMost)
{
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_MEMB);
    EXPECT_EQ(adopt_server_set_cpu(adopted, plat_cpus_configured(), &adopted->ordinary), -EINVAL);
    EXPECT_EQ(adopt_server_set_cpu(adopted, plat_cpus_configured() - 1, &adopted->ordinary), 0);
    EXPECT_EQ(adopt_server_set_cpu(adopted, plat_cpus_configured() - 1, &adopted->ordinary), -EEXIST);
    EXPECT_EQ(adopt_server_set_cpu(adopted, plat_cpus_configured() - 1, nullptr), 0);
    EXPECT_FALSE(adopt_has_cpu_servers(adopted));
}

/* A server that a program takes from its CPU is its own to free. */
TEST_F(Choice, ACpuWithoutOneIsPassedOver)
{
    if (plat_cpus_configured() < 2)
        GTEST_SKIP() << "needs two CPUs";
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_MEMB);
    ASSERT_EQ(adopt_servers_create_all(adopted, 0), 0);
    adopt_server *taken = adopt_server_of_cpu(adopted, 0);
    ASSERT_EQ(adopt_server_set_cpu(adopted, 0, nullptr), 0);
    adopt_servers_free_all(adopted);
    EXPECT_EQ(count(adopted), 2);
    EXPECT_FALSE(adopt_has_cpu_servers(adopted));
    adopt_server_free(adopted, taken);
    EXPECT_EQ(count(adopted), 1);
}

/* It is freed behind a grace period, which does not wait for whoever is outside. */
TEST_F(Choice, ACpusServerIsFoundInsideAlone)
{
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_MEMB);
    EXPECT_EQ(adopt_server_in_use(adopted, true), &adopted->ordinary);
    ASSERT_EQ(adopt_servers_create_all(adopted, 0), 0);
    EXPECT_EQ(adopt_server_in_use(adopted, false), &adopted->ordinary);
    EXPECT_NE(adopt_server_in_use(adopted, true), &adopted->ordinary);
    adopt_servers_free_all(adopted);
}

/* Whoever found one of them inside its section may queue to it until that ends. */
TEST_F(Choice, ServersGoBehindAGracePeriod)
{
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_MEMB);
    ASSERT_EQ(adopt_servers_create_all(adopted, 0), 0);
    test::Worker reader, freer;
    reader.run([&] {
        ASSERT_TRUE(adopt_register(adopted));
        rtrcu_store_relaxed(&block()->word, generation_); /* inside */
    });
    freer.start([&] { adopt_servers_free_all(adopted); });
    EXPECT_TRUE(test::eventually([&] { return freer.is_done() || seq_is_running(rtrcu_load_acquire(&adopted->seq)); }));
    EXPECT_FALSE(freer.is_done());
    EXPECT_EQ(count(adopted), 1 + plat_cpus_configured());
    reader.run([&] { adopt_unregister(adopted); });
    freer.wait();
    EXPECT_EQ(count(adopted), 1);
}

/* What frees servers waits, and is outside meanwhile. */
TEST_F(Choice, WhoWasOnlineIsOnlineBehindTheirEnd)
{
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_QSBR);
    ASSERT_EQ(adopt_servers_create_all(adopted, 0), 0);
    adopt_server *one = adopt_server_create(adopted, 0, -1);
    ASSERT_TRUE(adopt_register(adopted));
    adopt_servers_free_all(adopted);
    EXPECT_NE(adopt_self(adopted)->word, 0u);
    rtrcu_adopt_server_free(adopted, one);
    EXPECT_NE(adopt_self(adopted)->word, 0u);
    adopt_unregister(adopted);
    EXPECT_EQ(count(adopted), 1);
}

} // namespace
