/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of the choice of a server: the thread's own, its CPU's, or the default one. */
#include <cerrno>
#include <sys/resource.h>

#include "../../support/variant.h"
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

TEST_F(Choice, ServersOfAllCpusAreCreatedAndFreed)
{
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_MEMB);
    ASSERT_EQ(count(adopted), 1);
    for (int i = 0; i < 2; i++) {
        ASSERT_EQ(urcu_servers_create_all(adopted, 0), 0);
        EXPECT_EQ(count(adopted), 1 + plat_cpus_configured());
        EXPECT_TRUE(urcu_has_cpu_servers(adopted));
    }
    urcu_servers_free_all(adopted);
    EXPECT_EQ(count(adopted), 1);
    EXPECT_FALSE(urcu_has_cpu_servers(adopted));
}

TEST_F(Choice, ServersOfCpusAreCounted)
{
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_MEMB);
    EXPECT_EQ(urcu_server_set_cpu(adopted, 0, nullptr), 0);
    EXPECT_FALSE(urcu_has_cpu_servers(adopted));
    EXPECT_EQ(urcu_server_set_cpu(adopted, 0, &adopted->ordinary), 0);
    EXPECT_TRUE(urcu_has_cpu_servers(adopted));
    EXPECT_EQ(urcu_server_set_cpu(adopted, 0, nullptr), 0);
    EXPECT_FALSE(urcu_has_cpu_servers(adopted));
}

TEST_F(Choice, CpuHasAtMostOneServer)
{
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_MEMB);
    EXPECT_EQ(urcu_server_set_cpu(adopted, plat_cpus_configured(), &adopted->ordinary), -EINVAL);
    EXPECT_EQ(urcu_server_set_cpu(adopted, plat_cpus_configured() - 1, &adopted->ordinary), 0);
    EXPECT_EQ(urcu_server_set_cpu(adopted, plat_cpus_configured() - 1, &adopted->ordinary), -EEXIST);
    EXPECT_EQ(urcu_server_set_cpu(adopted, plat_cpus_configured() - 1, nullptr), 0);
    EXPECT_FALSE(urcu_has_cpu_servers(adopted));
}

/* urcu_servers_free_all() frees only servers of CPUs.  A server that the program has removed from its CPU stays until
 * the program frees it. */
TEST_F(Choice, ServerRemovedFromItsCpuIsNotFreedWithTheOthers)
{
    if (plat_cpus_configured() < 2)
        GTEST_SKIP() << "there is one CPU";
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_MEMB);
    ASSERT_EQ(urcu_servers_create_all(adopted, 0), 0);
    adopt_server *taken = urcu_server_of_cpu(adopted, 0);
    ASSERT_EQ(urcu_server_set_cpu(adopted, 0, nullptr), 0);
    urcu_servers_free_all(adopted);
    EXPECT_EQ(count(adopted), 2);
    EXPECT_FALSE(urcu_has_cpu_servers(adopted));
    urcu_server_free(adopted, taken);
    EXPECT_EQ(count(adopted), 1);
}

uint64_t queued_to_cpus(const rtrcu_adopted *adopted)
{
    uint64_t queued = 0;
    for (int cpu = 0; cpu < plat_cpus_configured(); cpu++)
        queued += cbqueue_enqueued(&adopted->of_cpu[cpu]->queue);
    return queued;
}

void nothing(rcu_head *)
{
}

/* A CPU's server is freed after a grace period, which waits only for registered threads inside a section. */
TEST_F(Choice, ServerOfTheCpuIsUsedOnlyInsideASection)
{
    static rcu_head heads[4];
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_MEMB);
    ASSERT_EQ(urcu_servers_create_all(adopted, 0), 0);
    test::Worker caller;
    caller.run([&] {
        urcu_call(adopted, &heads[0], nothing);
        rtrcu_store_relaxed(&block()->word, generation_); /* inside, but not registered */
        urcu_call(adopted, &heads[1], nothing);
        rtrcu_store_relaxed(&block()->word, 0);
        ASSERT_TRUE(urcu_register(adopted));
        urcu_call(adopted, &heads[2], nothing);
        EXPECT_EQ(queued_to_cpus(adopted), 0u);
        rtrcu_store_relaxed(&block()->word, generation_);
        EXPECT_NE(urcu_server_in_use(adopted), &adopted->ordinary);
        urcu_call(adopted, &heads[3], nothing);
        EXPECT_EQ(queued_to_cpus(adopted), 1u);
        rtrcu_store_relaxed(&block()->word, 0);
        urcu_unregister(adopted);
    });
    EXPECT_EQ(cbqueue_enqueued(&adopted->ordinary.queue), 3u);
    urcu_barrier(adopted);
    urcu_servers_free_all(adopted);
    end_ordinary(adopted);
}

TEST_F(Choice, ServerOfTheThreadPrecedesTheServerOfItsCpu)
{
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_MEMB);
    ASSERT_EQ(urcu_servers_create_all(adopted, 0), 0);
    adopt_server *own = urcu_server_create(adopted, 0, -1);
    ASSERT_NE(own, nullptr);
    ASSERT_TRUE(urcu_server_set_thread(adopted, own));
    EXPECT_EQ(urcu_server_in_use(adopted), own);
    ASSERT_TRUE(urcu_server_set_thread(adopted, nullptr));
    EXPECT_GE(urcu_server_in_use(adopted)->cpu, 0) << "the thread uses the server of its current CPU";
    urcu_server_free(adopted, own);
    urcu_servers_free_all(adopted);
}

TEST_F(Choice, ServerHasTheRequestedCpuAndKind)
{
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_MEMB);
    ASSERT_EQ(urcu_servers_create_all(adopted, 1), 0);
    for (int cpu = 0; cpu < plat_cpus_configured(); cpu++) {
        EXPECT_EQ(urcu_server_of_cpu(adopted, cpu)->cpu, cpu);
        EXPECT_EQ(urcu_server_of_cpu(adopted, cpu)->real_time, 1u);
    }
    urcu_servers_free_all(adopted);
}

TEST_F(Choice, MissingMemoryForAServerIsReported)
{
    if (TEST_ASAN || TEST_TSAN || TEST_EMULATED)
        GTEST_SKIP() << "memory cannot be limited";
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_MEMB);
    rlimit before, none;
    getrlimit(RLIMIT_AS, &before);
    none = before;
    none.rlim_cur = 1;
    setrlimit(RLIMIT_AS, &none);
    int error = urcu_servers_create_all(adopted, 0);
    setrlimit(RLIMIT_AS, &before);
    EXPECT_EQ(error, -ENOMEM);
    EXPECT_EQ(count(adopted), 1);
    EXPECT_FALSE(urcu_has_cpu_servers(adopted));
}

/* A thread that found a server inside its read-side section may queue to it until the section ends. */
TEST_F(Choice, ServersAreFreedAfterAGracePeriod)
{
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_MEMB);
    ASSERT_EQ(urcu_servers_create_all(adopted, 0), 0);
    test::Worker reader, freer;
    reader.run([&] {
        ASSERT_TRUE(urcu_register(adopted));
        rtrcu_store_relaxed(&block()->word, generation_); /* inside */
    });
    freer.start([&] { urcu_servers_free_all(adopted); });
    EXPECT_TRUE(test::eventually([&] { return freer.is_done() || seq_is_running(rtrcu_load_acquire(&adopted->seq)); }));
    EXPECT_FALSE(freer.is_done());
    EXPECT_EQ(count(adopted), 1 + plat_cpus_configured());
    reader.run([&] { urcu_unregister(adopted); });
    freer.wait();
    EXPECT_EQ(count(adopted), 1);
}

/* The thread that frees servers is offline while it waits. */
TEST_F(Choice, OnlineThreadIsOnlineAfterFreeingServers)
{
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_QSBR);
    ASSERT_EQ(urcu_servers_create_all(adopted, 0), 0);
    adopt_server *one = urcu_server_create(adopted, 0, -1);
    ASSERT_TRUE(urcu_register(adopted));
    urcu_servers_free_all(adopted);
    EXPECT_NE(urcu_self(adopted)->word, 0u);
    rtrcu_adopt_server_free(adopted, one);
    EXPECT_NE(urcu_self(adopted)->word, 0u);
    urcu_unregister(adopted);
    EXPECT_EQ(count(adopted), 1);
}

} // namespace
