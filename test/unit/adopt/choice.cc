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
