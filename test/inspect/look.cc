/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of the inspection of other processes: the block is found however the program is linked, and its values are
 * right. */
#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "inspect/look.h"
#include "subject.h"

namespace
{

using namespace lab::inspect;
using test::Subject;

std::vector<Domain> look_into(int pid)
{
    ProcessMemory memory(pid);
    const std::vector<Copy> copies = find_copies(memory, mappings_of(pid));
    if (copies.size() != 1)
        return {};
    const auto block = Block::read(memory, copies[0]);
    return block ? look(memory, *block) : std::vector<Domain>();
}

const Thread *thread_of(const Domain &domain, int id)
{
    for (const Thread &thread : domain.threads)
        if (thread.id == id && thread.is_registered)
            return &thread;
    return nullptr;
}

/* Inspect until the updater waits; after that nothing changes. */
Domain look_when_it_waits(const Subject &subject)
{
    for (int i = 0; i < 1000; i++) {
        const std::vector<Domain> domains = look_into(subject.pid);
        if (domains.size() != 1)
            return {};
        const Thread *reader = thread_of(domains[0], subject.threads.at("a-reader"));
        if (reader && reader->is_waited_for[normal] && domains[0].pending() == 7 && domains[0].gp[normal].waiters)
            return domains[0];
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return {};
}

class Inspect : public testing::TestWithParam<const char *>
{
};

TEST_P(Inspect, TopShowsHoldouts)
{
    Subject subject({GetParam()});
    ASSERT_TRUE(subject.is_ready);
    const Domain domain = look_when_it_waits(subject);
    ASSERT_FALSE(domain.threads.empty()) << "the updater does not wait";
    const GracePeriods &gp = domain.gp[normal];
    EXPECT_TRUE(gp.running);
    EXPECT_FALSE(domain.gp[expedited].running);
    EXPECT_LE(gp.began_ns, domain.at_ns);
    EXPECT_GT(gp.began_ns, domain.at_ns - 60'000'000'000);
    EXPECT_GE(gp.completed, subject.facts["completed"]);
    EXPECT_EQ(domain.gp[expedited].completed, subject.facts["expedited"]);

    const Thread *reader = thread_of(domain, subject.threads["a-reader"]);
    ASSERT_NE(reader, nullptr);
    EXPECT_EQ(reader->nesting, 2u);
    EXPECT_TRUE(reader->is_inside());
    EXPECT_FALSE(reader->is_quiescent_state);
    const Thread *loop = thread_of(domain, subject.threads["a-loop"]);
    ASSERT_NE(loop, nullptr);
    EXPECT_TRUE(loop->is_quiescent_state);
    EXPECT_TRUE(loop->is_waited_for[normal]);
    const Thread *updater = thread_of(domain, subject.threads["an-updater"]);
    ASSERT_NE(updater, nullptr);
    EXPECT_FALSE(updater->is_inside());
    EXPECT_EQ(updater->pending(), 7u);
    EXPECT_GT(updater->oldest_ns, 0);
    EXPECT_EQ(domain.inside(), 2u);
    EXPECT_EQ(domain.waited_for(), 2u);

    ASSERT_EQ(domain.tasks.size(), 2u);
    for (const char *name : {"first-task", "second-task"})
        EXPECT_TRUE(std::any_of(domain.tasks.begin(), domain.tasks.end(), [&](const Task &task) {
            return task.name == name && task.is_waited_for[normal];
        })) << name;
    EXPECT_EQ(subject.end(), 0);
}

TEST_P(Inspect, CountsGracePeriodsByDuration)
{
    Subject subject({GetParam()});
    const Domain domain = look_when_it_waits(subject);
    ASSERT_FALSE(domain.threads.empty());
    uint64_t counted = 0;
    for (uint64_t count : domain.gp[normal].histogram)
        counted += count;
    EXPECT_LE(counted, domain.gp[normal].completed) << "grace periods without readers have no duration";
    EXPECT_GT(counted, 0u);
    EXPECT_GT(quantile_ns(domain.gp[normal].histogram, 0.5), 0);
    EXPECT_LE(quantile_ns(domain.gp[normal].histogram, 0.99), 2.0 * static_cast<double>(domain.gp[normal].longest_ns));
    EXPECT_GE(domain.gp[normal].sum_ns, static_cast<uint64_t>(domain.gp[normal].longest_ns));
}

TEST_P(Inspect, ShowsStatisticsOfAThreadAsTheThreadReadsThem)
{
    Subject subject({GetParam()});
    const Domain domain = look_when_it_waits(subject);
    const Thread *reader = thread_of(domain, subject.threads["a-reader"]);
    ASSERT_NE(reader, nullptr) << "the updater does not wait";
    ASSERT_TRUE(reader->stats);
    EXPECT_GT(subject.facts["thread_slow_paths"], 0u) << "the section registered the thread";
    EXPECT_EQ(reader->stats->slow_paths, subject.facts["thread_slow_paths"]);
    EXPECT_EQ(reader->stats->system_calls, subject.facts["thread_system_calls"]);
    EXPECT_EQ(reader->stats->lock_waits, subject.facts["thread_lock_waits"]);
    EXPECT_EQ(reader->stats->callback_ns, 0u) << "it queued no callbacks";
    EXPECT_EQ(subject.end(), 0);
}

TEST_P(Inspect, ShowsTimeInCallbacksOfTheirOwner)
{
    uint64_t callback_ns = 0;
    for (int i = 0; i < 10 && callback_ns == 0; i++) { /* a daemon may take the callback first */
        Subject subject({"/usr/bin/env", "RTRCU_POLICY=inline", GetParam()});
        const std::vector<Domain> domains = look_into(subject.pid);
        ASSERT_EQ(domains.size(), 1u);
        const Thread *main = thread_of(domains[0], subject.pid);
        ASSERT_NE(main, nullptr);
        ASSERT_TRUE(main->stats);
        EXPECT_EQ(main->stats->callback_ns, subject.facts["main_callback_ns"]);
        EXPECT_EQ(main->stats->batch_ns_max, subject.facts["main_batch_ns_max"]);
        callback_ns = main->stats->callback_ns;
        EXPECT_EQ(subject.end(), 0);
    }
    EXPECT_GE(callback_ns, 30'000'000u) << "the callback sleeps for 30 ms";
}

INSTANTIATE_TEST_SUITE_P(Every, Inspect, testing::Values(SUBJECTS));

/* In code built with RTRCU_DEBUG, an inspection shows how long each reader has been inside. */
TEST(InspectSections, SectionsAreMeasuredInDebugBuildsOfPrograms)
{
    Subject subject({MEASURED});
    const Domain domain = look_when_it_waits(subject);
    const Thread *reader = thread_of(domain, subject.threads["a-reader"]);
    ASSERT_NE(reader, nullptr) << "the updater does not wait";
    EXPECT_NE(reader->entered, 0u);
    EXPECT_GT(domain.inside_ns(*reader), 0);
    EXPECT_GE(domain.inside_ns(*reader), domain.at_ns - domain.gp[normal].began_ns)
        << "the grace period waits for the section";
    ASSERT_TRUE(domain.longest_section());
    EXPECT_EQ(domain.longest_section()->ns, domain.inside_ns(*reader)) << "the reader's section is the longest";
    EXPECT_EQ(domain.longest_section()->began_at, reader->entered);
    EXPECT_EQ(domain.inside_ns(*thread_of(domain, subject.threads["a-loop"])), 0)
        << "the thread is inside by its discipline, and not in a section";
    EXPECT_EQ(subject.end(), 0);
}

TEST(InspectBusy, CountersRiseWhileTheProgramRuns)
{
    Subject subject({SUBJECT, "rounds"});
    std::vector<Domain> before = look_into(subject.pid);
    ASSERT_EQ(before.size(), 1u);
    for (int i = 0; i < 200; i++) {
        const std::vector<Domain> now = look_into(subject.pid);
        ASSERT_EQ(now.size(), 1u);
        EXPECT_GE(now[0].invoked, before[0].invoked);
        EXPECT_GE(now[0].queued, now[0].invoked);
        /* One callback waits at a time, but the program continues between the reading of two numbers. */
        EXPECT_LE(before[0].queued, now[0].invoked + 1);
        EXPECT_GE(now[0].gp[normal].completed, before[0].gp[normal].completed);
        before = now;
    }
    EXPECT_GT(before[0].invoked, subject.facts["invoked"]);
    EXPECT_EQ(subject.end(), 0);
}

TEST(InspectWithoutLibrary, NoCopyOfTheLibraryIsFoundInAProcessWithoutIt)
{
    Subject subject({"/bin/sh", "-c", "echo ready; read end"});
    ASSERT_TRUE(subject.is_ready);
    EXPECT_TRUE(find_copies(ProcessMemory(subject.pid), mappings_of(subject.pid)).empty());
}

/* The names of the page's table: the texts in backquotes, with a dot, in the first cell of a row. */
std::set<std::string> names_of_page()
{
    std::set<std::string> names;
    std::ifstream page(PAGE);
    std::string line;
    bool here = false;
    while (std::getline(page, line)) {
        if (line.rfind("## ", 0) == 0)
            here = line == "## Names of fields";
        if (!here || line.rfind("| `", 0) != 0)
            continue;
        const std::string cell = line.substr(2, line.find(" | ", 2) - 2);
        for (std::size_t at = 0; (at = cell.find('`', at)) != std::string::npos;) {
            const std::size_t end = cell.find('`', at + 1);
            names.insert(cell.substr(at + 1, end - at - 1));
            at = end + 1;
        }
    }
    return names;
}

TEST(InspectPage, PageListsEveryNameOfTheInspectedBlock)
{
    Subject subject({SUBJECT});
    ProcessMemory memory(subject.pid);
    const std::vector<Copy> copies = find_copies(memory, mappings_of(subject.pid));
    ASSERT_EQ(copies.size(), 1u);
    EXPECT_FALSE(copies[0].is_private);
    const auto block = Block::read(memory, copies[0]);
    ASSERT_TRUE(block);
    const std::set<std::string> page = names_of_page();
    for (const auto &[name, field] : block->fields()) {
        EXPECT_TRUE(page.count(name)) << name << " is in the block and not on the page";
        EXPECT_GT(field.bytes, 0u) << name;
    }
    for (const std::string &name : page)
        EXPECT_NE(block->find(name), nullptr) << name << " is on the page and not in the block";
}

/* Each flavour is shown as a domain, with its readers, whose words are in the program. */
TEST(InspectAdopted, ShowsReadersAndHoldoutsOfAFlavour)
{
    Subject subject({ADOPTED});
    const int reader = subject.threads.at("reader"), loop = subject.threads.at("loop");
    std::vector<Domain> domains;
    auto waits = [&](const char *name, int id) {
        for (const Domain &domain : domains)
            if (domain.name == name)
                return thread_of(domain, id) != nullptr && thread_of(domain, id)->is_waited_for[normal];
        return false;
    };
    for (int i = 0; i < 100000 && !(waits("nested", reader) && waits("online", loop)); i++)
        domains = look_into(subject.pid); /* until both updaters wait */
    ASSERT_EQ(domains.size(), 3u);
    EXPECT_EQ(domains[0].name, "native");
    const bool in_order = domains[1].name == "nested";
    const Domain &nested = domains[in_order ? 1 : 2], &online = domains[in_order ? 2 : 1];
    ASSERT_EQ(nested.name, "nested");
    ASSERT_EQ(online.name, "online");
    ASSERT_TRUE(waits("nested", reader));
    ASSERT_TRUE(waits("online", loop));
    for (const Domain *domain : {&nested, &online}) {
        EXPECT_TRUE(domain->gp[normal].running);
        EXPECT_GT(domain->gp[normal].waiters, 0u);
        EXPECT_GT(domain->gp[normal].began_ns, 0);
        EXPECT_LE(domain->gp[normal].began_ns, domain->at_ns);
        EXPECT_EQ(domain->waited_for(), 1u);
        EXPECT_EQ(thread_of(*domain, domain == &nested ? loop : reader), nullptr)
            << "the thread is registered only with the other flavour";
    }
    EXPECT_EQ(thread_of(nested, reader)->nesting, 3u);
    EXPECT_FALSE(thread_of(nested, reader)->is_quiescent_state);
    EXPECT_TRUE(thread_of(online, loop)->is_quiescent_state);
    EXPECT_EQ(nested.queued, 7u) << "a deferred function counts too";
    EXPECT_EQ(nested.invoked, 3u) << "the freed server ran two, one of them a barrier's";
    EXPECT_EQ(online.queued, 0u);
    EXPECT_GT(nested.oldest_age_ns(), 0) << "the age of the oldest callback";
    EXPECT_EQ(online.oldest_age_ns(), 0);
    EXPECT_EQ(nested.pending(), 4u);
    const auto server = std::find_if(nested.threads.begin(), nested.threads.end(),
                                     [](const auto &thread) { return thread.pending() != 0; });
    ASSERT_NE(server, nested.threads.end()) << "the server's thread has the callbacks";
    EXPECT_EQ(server->pending(), 3u);
    EXPECT_EQ(nested.counter("registry.fence_mode"), 1u);
    EXPECT_EQ(online.counter("registry.fence_mode"), 0u);
    EXPECT_EQ(subject.end(), 0);
}

TEST(InspectOwn, DomainsOfTheProgramAreShown)
{
    Subject subject({OWN});
    ASSERT_TRUE(subject.is_ready);
    std::vector<Domain> domains;
    auto named = [&](const char *name) {
        return std::find_if(domains.begin(), domains.end(), [&](const Domain &domain) { return domain.name == name; });
    };
    for (int i = 0; i < 1000; i++) { /* until the updater waits */
        domains = look_into(subject.pid);
        if (named("busy_domain") != domains.end() && named("busy_domain")->gp[normal].waiters == 1)
            break;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }

    const auto busy = named("busy_domain"), idle = named("idle_domain");
    ASSERT_NE(busy, domains.end());
    ASSERT_NE(idle, domains.end());
    EXPECT_TRUE(busy->gp[normal].running);
    EXPECT_GT(busy->gp[normal].began_ns, 0);
    EXPECT_EQ(busy->gp[normal].waiters, 1u);
    EXPECT_EQ(busy->inside(), 2u);
    EXPECT_EQ(busy->pending(), 3u);
    EXPECT_EQ(busy->invoked, 2u) << "one of the two is the barrier's";
    EXPECT_GT(busy->oldest_age_ns(), 0);
    EXPECT_EQ(idle->oldest_age_ns(), 0);
    EXPECT_FALSE(idle->gp[normal].running);
    EXPECT_EQ(idle->inside(), 0u);
    EXPECT_EQ(idle->queued, 0u);
    EXPECT_EQ(subject.end(), 0);
}

TEST(InspectHistogram, BucketsAreAdjacentAndQuantilesAreInTheirBucket)
{
    EXPECT_EQ(bucket_begin_ns(0), 0);
    EXPECT_EQ(bucket_begin_ns(4), 4);
    EXPECT_EQ(bucket_begin_ns(8), 8);
    EXPECT_EQ(bucket_begin_ns(9), 10);
    EXPECT_EQ(bucket_begin_ns(12), 16);
    std::vector<uint64_t> histogram(160);
    histogram[40] = 100; /* 2,048 .. 2,559 ns */
    EXPECT_GE(quantile_ns(histogram, 0.5), bucket_begin_ns(40));
    EXPECT_LE(quantile_ns(histogram, 0.5), bucket_begin_ns(41));
    EXPECT_EQ(quantile_ns(std::vector<uint64_t>(160), 0.5), 0);
}

} // namespace
