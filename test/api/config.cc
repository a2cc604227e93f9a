/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of configuration: values, the environment, structs of older and newer programs, changes while threads run. */
#include <algorithm>
#include <atomic>
#include <climits>
#include <clocale>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/auxv.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "../support/capture.h"
#include "../support/sync.h"
#include "child.h"

namespace
{

struct Field {
    const char *name;
    std::vector<const char *> good, bad;
    const char *allowed; /* text that the error message must contain */
};

const Field table[] = {
    {"policy", {"daemon", "inline", "krcud", "throttle", "unbounded"}, {"demon", "", "0", "Daemon"}, "daemon, inline"},
    {"driver", {"kthread", "ltimer", "sched", "poll"}, {"thread", "kthread "}, "kthread, ltimer, sched, poll"},
    {"backpressure", {"expedite", "block", "help"}, {"none"}, "expedite, block, help"},
    {"exp_worker", {"kthread", "workqueue", "kthread-only"}, {"x", "only"}, "kthread, workqueue, kthread-only"},
    {"blocked_lists", {"percpu", "node"}, {"x"}, "percpu, node"},
    {"membarrier", {"auto", "on", "off"}, {"yes"}, "auto, on, off"},
    {"krcud_when", {"rt", "always"}, {"never"}, "rt, always"},
    {"boost", {"0", "1"}, {"2", "-1", "yes"}, "0 to 1"},
    {"normal", {"0", "1"}, {"2"}, "0 to 1"},
    {"expedited", {"0", "1"}, {"2"}, "0 to 1"},
    {"adaptive", {"0", "1"}, {"2"}, "0 to 1"},
    {"kthread_prio", {"0", "1", "98"}, {"99", "-1"}, "0 to 98"},
    {"krcud_nice", {"-20", "0", "19"}, {"-21", "20"}, "-20 to 19"},
    {"krcud_rtprio", {"auto", "0", "98"}, {"99", "-1", "Auto"}, "auto, 0 to 98"},
    {"gp_rtprio", {"auto", "0", "98"}, {"99", "-1", ""}, "auto, 0 to 98"},
    {"rt_share", {"1", "25", "100"}, {"0", "101"}, "1 to 100"},
    {"bhlimit", {"0", "256"}, {"-1"}, "0 to"},
    {"maxbatch", {"1"}, {"0"}, "1 to"},
    {"plugticks", {"0"}, {"-1"}, "0 to"},
    {"blimit", {"1"}, {"0"}, "1 to"},
    {"qhimark", {"1"}, {"0", "1x", "99999999999999999999"}, "1 to"},
    {"qlowmark", {"0"}, {"-1"}, "0 to"},
    {"qmax", {"1"}, {"0"}, "1 to"},
    {"budget_ns", {"1000"}, {"999"}, "1000 to"},
    {"tick_us", {"50", "1000000"}, {"49", "1000001", " "}, "50 to 1000000"},
    {"spin_us", {"0", "1000"}, {"1001"}, "0 to 1000"},
    {"idle_scans", {"0", "1", "1000000000"}, {"-1", "1000000001"}, "0 to 1000000000"},
    {"boost_delay_us", {"0"}, {"-1"}, "0 to"},
    {"stall_timeout_ms", {"0"}, {"-1"}, "0 to"},
    {"fork_wait_us", {"0", "60000000"}, {"-1", "60000001"}, "0 to 60000000"},
    {"stack_kb", {"256", "1048576"}, {"255", "1048577"}, "256 to 1048576"},
    {"qmax_process", {"0", "1000000000000"}, {"-1", "1000000000001"}, "0 to 1000000000000"},
    {"cpus", {"process", "0", "0-1000", "0,0,0"}, {"", "x", "1023", "1-", "0-1024"}, "process, CPUs of this machine"},
};

/* Compile a locale into a new directory, and return its path; "" if this machine cannot. */
std::string make_locale(const std::string &name, const std::string &charset)
{
    char path[] = "/tmp/rtrcu-test-locale-XXXXXX";
    if (!mkdtemp(path))
        return "";
    std::string target = std::string(path) + "/" + name + "." + charset;
    std::string command = "localedef -i " + name + " -f " + charset + " --no-archive " + target + " 2>&1";
    FILE *output = popen(command.c_str(), "r");
    return output && pclose(output) == 0 ? path : "";
}

struct rtrcu_config fresh()
{
    struct rtrcu_config config;
    memset(&config, 0x55, sizeof(config));
    rtrcu_config_init(&config);
    return config;
}

TEST(Config, EveryFieldAcceptsItsValuesAndErrorsListThem)
{
    for (const Field &field : table) {
        for (const char *good : field.good) {
            struct rtrcu_config config = fresh();
            EXPECT_EQ(rtrcu_config_set(&config, field.name, good), 0) << field.name << "=" << good;
        }
        for (const char *bad : field.bad) {
            struct rtrcu_config config = fresh(), before = config;
            EXPECT_EQ(rtrcu_config_set(&config, field.name, bad), -EINVAL) << field.name << "=" << bad;
            std::string why = rtrcu_config_error();
            EXPECT_NE(why.find(field.name), std::string::npos) << why;
            EXPECT_NE(why.find(bad), std::string::npos) << why;
            EXPECT_NE(why.find(field.allowed), std::string::npos) << why;
            EXPECT_EQ(memcmp(&config, &before, sizeof(config)), 0) << "the struct is unchanged";
        }
    }
}

/* A shorter value leaves nothing of the longer one that it replaces. */
TEST(Config, NewCpuListReplacesThePreviousList)
{
    struct rtrcu_config config = fresh();
    ASSERT_EQ(rtrcu_config_set(&config, "cpus", "0-1000"), 0);
    ASSERT_EQ(rtrcu_config_set(&config, "cpus", "1"), 0);
    EXPECT_STREQ(config.cpus, "1");
    ASSERT_EQ(rtrcu_config_set(&config, "cpus", "process"), 0);
    EXPECT_STREQ(config.cpus, "");
}

TEST(Config, UnknownNameIsRefused)
{
    struct rtrcu_config config = fresh();
    EXPECT_EQ(rtrcu_config_set(&config, "polcy", "daemon"), -EINVAL);
    EXPECT_NE(std::string(rtrcu_config_error()).find("polcy"), std::string::npos);
}

TEST(Config, ConfiguringTheDefaultsSucceeds)
{
    struct rtrcu_config config = fresh(), got;
    EXPECT_EQ(config.size, sizeof(config));
    EXPECT_EQ(config.policy, RTRCU_POLICY_DAEMON);
    EXPECT_EQ(config.driver, RTRCU_DRIVER_KTHREAD);
    EXPECT_EQ(rtrcu_configure(&config), 0) << rtrcu_config_error();
    EXPECT_STREQ(rtrcu_config_error(), "");
    rtrcu_config_get(&got);
    EXPECT_EQ(memcmp(&config, &got, sizeof(got)), 0);
}

TEST(Config, BadValueChangesNothing)
{
    struct rtrcu_config before, config, after;
    rtrcu_config_get(&before);
    config = before;
    config.qmax = 777;
    config.policy = 99;
    {
        test::CapturedErrors errors;
        EXPECT_EQ(rtrcu_configure(&config), -EINVAL);
        EXPECT_TRUE(errors.contains("policy")) << errors.text();
        EXPECT_TRUE(errors.contains("99")) << errors.text();
        EXPECT_TRUE(errors.contains("daemon, inline")) << errors.text();
    }
    rtrcu_config_get(&after);
    EXPECT_EQ(memcmp(&before, &after, sizeof(after)), 0);
    EXPECT_EQ(rtrcu_configure(&before), 0);
    EXPECT_STREQ(rtrcu_config_error(), "") << "the old message is cleared";
}

TEST(Config, ContradictorySettingsAreRefused)
{
    test::CapturedErrors errors;
    for (const char *policy : {"daemon", "krcud"}) {
        struct rtrcu_config config = fresh();
        ASSERT_EQ(rtrcu_config_set(&config, "driver", "sched"), 0);
        ASSERT_EQ(rtrcu_config_set(&config, "policy", policy), 0);
        EXPECT_EQ(rtrcu_configure(&config), -EINVAL);
        EXPECT_NE(std::string(rtrcu_config_error()).find("sched"), std::string::npos) << rtrcu_config_error();
    }
    struct rtrcu_config config = fresh();
    config.qlowmark = config.qhimark + 1;
    EXPECT_EQ(rtrcu_configure(&config), -EINVAL);
    EXPECT_NE(std::string(rtrcu_config_error()).find("qlowmark"), std::string::npos);
}

TEST(Config, FieldsBeyondAnOlderProgramsStructKeepTheirValues)
{
    struct rtrcu_config before, config, after;
    rtrcu_config_get(&before);
    config = before;
    config.size = offsetof(struct rtrcu_config, stall_timeout_ms);
    config.qmax = 4321;
    config.stall_timeout_ms = -7; /* beyond the program's struct, so the value does not matter */
    EXPECT_EQ(rtrcu_configure(&config), 0) << rtrcu_config_error();
    rtrcu_config_get(&after);
    EXPECT_EQ(after.qmax, 4321);
    EXPECT_EQ(after.stall_timeout_ms, before.stall_timeout_ms);
    EXPECT_EQ(after.size, sizeof(after));
    EXPECT_EQ(rtrcu_configure(&before), 0);
}

/* A program that was compiled when the struct ended before stall_timeout_ms. */
struct OlderProgram {
    char config[offsetof(struct rtrcu_config, stall_timeout_ms)];
    unsigned char behind[sizeof(struct rtrcu_config)];

    OlderProgram()
    {
        memset(this, 0x55, sizeof(*this));
    }
    struct rtrcu_config *get()
    {
        return reinterpret_cast<struct rtrcu_config *>(config);
    }
    uint32_t size()
    {
        uint32_t size;
        memcpy(&size, config, sizeof(size));
        return size;
    }
    bool untouched()
    {
        return std::all_of(std::begin(behind), std::end(behind), [](unsigned char byte) { return byte == 0x55; });
    }
};

TEST(Config, ShorterStructOfAnOlderProgramIsNotOverrun)
{
    OlderProgram init, get;
    rtrcu_config_init_sized(init.get(), sizeof(init.config));
    EXPECT_EQ(init.size(), sizeof(init.config));
    EXPECT_TRUE(init.untouched());
    rtrcu_config_get_sized(get.get(), sizeof(get.config));
    EXPECT_EQ(get.size(), sizeof(get.config));
    EXPECT_TRUE(get.untouched());
    EXPECT_EQ(rtrcu_config_set(get.get(), "stall_timeout_ms", "5"), -EINVAL);
    EXPECT_NE(std::string(rtrcu_config_error()).find("stall_timeout_ms is no field of a struct of"), std::string::npos);
    EXPECT_TRUE(get.untouched());
    EXPECT_EQ(rtrcu_config_set(get.get(), "qmax", "4321"), 0);
    EXPECT_STREQ(rtrcu_config_error(), "");
    EXPECT_EQ(rtrcu_configure(get.get()), 0) << rtrcu_config_error();
    rtrcu_config_get_sized(get.get(), sizeof(get.config));
    EXPECT_EQ(get.get()->qmax, 4321);
    EXPECT_EQ(rtrcu_configure(init.get()), 0);
}

TEST(Config, NewerProgramGetsTheLibrarysStructSize)
{
    struct {
        struct rtrcu_config known;
        int64_t unknown[4];
    } newer;
    memset(&newer, 0x55, sizeof(newer));
    rtrcu_config_init_sized(&newer.known, sizeof(newer));
    EXPECT_EQ(newer.known.size, sizeof(newer.known));
    EXPECT_EQ(newer.unknown[0], 0);
    EXPECT_EQ(newer.unknown[3], 0);
}

TEST(Config, ErrorMessageIsPerThread)
{
    struct rtrcu_config config = fresh();
    EXPECT_EQ(rtrcu_config_set(&config, "polcy", "daemon"), -EINVAL);
    std::thread([] {
        EXPECT_STREQ(rtrcu_config_error(), "");
        struct rtrcu_config other = fresh();
        EXPECT_EQ(rtrcu_config_set(&other, "drivr", "poll"), -EINVAL);
        EXPECT_NE(std::string(rtrcu_config_error()).find("drivr"), std::string::npos);
    }).join();
    EXPECT_NE(std::string(rtrcu_config_error()).find("polcy"), std::string::npos);
}

TEST(Config, LongerStructOfANewerProgramIsUsedUpToTheKnownFields)
{
    struct {
        struct rtrcu_config known;
        int64_t unknown[4];
    } newer = {fresh(), {1, 2, 3, 4}};
    newer.known.size = sizeof(newer);
    newer.known.qmax = 1234;
    EXPECT_EQ(rtrcu_configure(&newer.known), 0) << rtrcu_config_error();
    struct rtrcu_config got;
    rtrcu_config_get(&got);
    EXPECT_EQ(got.qmax, 1234);
    EXPECT_EQ(got.size, sizeof(got));
}

TEST(Config, InvalidStructSizeIsRefused)
{
    test::CapturedErrors errors;
    struct rtrcu_config config = fresh();
    config.size = 3;
    EXPECT_EQ(rtrcu_configure(&config), -EINVAL);
    EXPECT_TRUE(errors.contains("size 3")) << errors.text();
}

TEST(Stats, StructsOfOlderAndNewerProgramsAreFilled)
{
    struct {
        struct rtrcu_stats known;
        uint64_t unknown[4];
    } newer;
    memset(&newer, 0x77, sizeof(newer));
    newer.known.size = sizeof(newer);
    EXPECT_EQ(rtrcu_stats(&newer.known), 0);
    EXPECT_EQ(newer.known.size, sizeof(newer.known)) << "the size is that of the library's struct";
    EXPECT_EQ(newer.unknown[0], UINT64_C(0x7777777777777777));
    struct rtrcu_stats older;
    memset(&older, 0x77, sizeof(older));
    older.size = offsetof(struct rtrcu_stats, gp_busy);
    EXPECT_EQ(rtrcu_stats(&older), 0);
    EXPECT_EQ(older.size, offsetof(struct rtrcu_stats, gp_busy));
    EXPECT_EQ(older.gp_busy, UINT64_C(0x7777777777777777)) << "nothing is written beyond the caller's struct";
    for (uint32_t bad : {0u, 9u, 12u}) {
        older.size = bad;
        EXPECT_EQ(rtrcu_stats(&older), -EINVAL) << bad;
    }
}

/* ---- the environment ---- */

CHILD(print_config)
{
    struct rtrcu_config config;
    rtrcu_config_get(&config);
    printf("policy %d qmax %d tick_us %lld membarrier %d full_fences %u\n", config.policy, config.qmax,
           static_cast<long long>(config.tick_us), config.membarrier, test::stats().full_fences);
}

TEST(Environment, VariablesSetEveryKindOfField)
{
    test::ChildResult result = test::run_child(
        "print_config", {"RTRCU_POLICY=inline", "RTRCU_QMAX=99", "RTRCU_TICK_US=500", "RTRCU_MEMBARRIER=off"});
    EXPECT_TRUE(exited_well(result));
    EXPECT_EQ(result.output, "policy 1 qmax 99 tick_us 500 membarrier 2 full_fences 1\n");
}

TEST(Environment, BadValueIsReportedAndIgnored)
{
    test::ChildResult result =
        test::run_child("print_config", {"RTRCU_POLICY=fast", "RTRCU_QMAX=99", "RTRCU_TICK_US=7"});
    EXPECT_TRUE(exited_well(result));
    EXPECT_TRUE(result.contains("policy 0 qmax 99 tick_us 1000")) << result.output;
    EXPECT_TRUE(result.contains("policy \"fast\": allowed are daemon, inline")) << result.output;
    EXPECT_TRUE(result.contains("tick_us \"7\": allowed are 50 to 1000000")) << result.output;
}

TEST(Environment, UnknownNameIsReported)
{
    test::ChildResult result = test::run_child("print_config", {"RTRCU_POLICEY=inline", "RTRCUX=1"});
    EXPECT_TRUE(exited_well(result));
    EXPECT_TRUE(result.contains("RTRCU_POLICEY")) << result.output;
    EXPECT_FALSE(result.contains("RTRCUX")) << result.output;
}

TEST(Environment, ContradictorySettingsFallBackToDefaults)
{
    test::ChildResult result = test::run_child("print_config", {"RTRCU_DRIVER=sched", "RTRCU_POLICY=krcud"});
    EXPECT_TRUE(exited_well(result));
    EXPECT_TRUE(result.contains("sched")) << result.output;
    EXPECT_TRUE(result.contains("policy 0 ")) << result.output;
}

/* Prints the configuration in a Turkish locale, in which the capital of i is not I. */
CHILD(print_config_in_turkish)
{
    REQUIRE(setlocale(LC_ALL, "tr_TR.ISO-8859-9") || setlocale(LC_ALL, "tr_TR.UTF-8"));
    struct rtrcu_config config;
    rtrcu_config_init(&config);
    printf("policy %d tick_us %lld\n", config.policy, static_cast<long long>(config.tick_us));
}

TEST(Environment, NamesDoNotDependOnTheLocale)
{
    std::string locales = make_locale("tr_TR", "ISO-8859-9");
    if (locales.empty())
        GTEST_SKIP() << "a Turkish locale cannot be compiled here";
    test::ChildResult result =
        test::run_child("print_config_in_turkish", {"RTRCU_POLICY=inline", "RTRCU_TICK_US=500", "LOCPATH=" + locales});
    EXPECT_TRUE(exited_well(result));
    EXPECT_EQ(result.output, "policy 1 tick_us 500\n");
    std::filesystem::remove_all(locales);
}

/* ---- programs with more rights than the user that starts them ---- */

CHILD(print_secure)
{
    struct rtrcu_config config;
    rtrcu_config_init(&config);
    printf("secure %lu policy %d qmax %d\n", getauxval(AT_SECURE), config.policy, config.qmax);
}

/* Execute a copy of this program that runs with another group.  Exits with a failure if the file system or the user's
 * groups do not allow it. */
CHILD(become_set_group_id)
{
    char path[] = "/tmp/rtrcu-test-XXXXXX";
    int copy = mkstemp(path), self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    struct stat status;
    REQUIRE(copy >= 0 && self >= 0 && fstat(self, &status) == 0);
    for (off_t at = 0; at < status.st_size;)
        REQUIRE(sendfile(copy, self, &at, static_cast<size_t>(status.st_size - at)) > 0);
    gid_t groups[64], other = geteuid() == 0 ? 65534 : getegid();
    int count = getgroups(64, groups);
    for (int i = 0; i < count && other == getegid(); i++)
        other = groups[i];
    bool able = fchown(copy, static_cast<uid_t>(-1), other) == 0 && fchmod(copy, 02755) == 0;
    close(copy);
    char option[] = "--child=print_secure", *arguments[] = {path, option, nullptr};
    pid_t pid = able ? fork() : -1;
    if (pid == 0) {
        execve(path, arguments, environ);
        _exit(127);
    }
    int ended = -1;
    if (pid > 0)
        waitpid(pid, &ended, 0);
    unlink(path);
    REQUIRE(!able || ended == 0);
    if (!able)
        printf("secure 0: a copy with another group cannot be made here\n");
}

TEST(Environment, SetIdProgramIgnoresTheEnvironment)
{
    if (TEST_EMULATED)
        GTEST_SKIP() << "the kernel runs the emulator, not the copy";
    test::ChildResult result = test::run_child("become_set_group_id", {"RTRCU_POLICY=inline", "RTRCU_QMAX=99"});
    EXPECT_TRUE(exited_well(result));
    if (result.contains("secure 0"))
        GTEST_SKIP() << result.output;
    EXPECT_EQ(result.output, "secure 1 policy 0 qmax 65536\n");
}

CHILD(program_over_environment)
{
    struct rtrcu_config config;
    rtrcu_config_init(&config);
    REQUIRE(config.qmax == 99);
    config.qmax = 100;
    REQUIRE(rtrcu_configure(&config) == 0);
    rtrcu_config_get(&config);
    REQUIRE(config.qmax == 100);
}

TEST(Environment, VariablesAreReadFromTheInitialEnvironment)
{
    EXPECT_TRUE(exited_well(test::run_child("program_over_environment", {"RTRCU_QMAX=99"})));
}

/* ---- changes while threads run ---- */

struct Counted {
    rcu_head head;
    std::atomic<long> *runs;
};

void count(rcu_head *head)
{
    Counted *counted = reinterpret_cast<Counted *>(head);
    counted->runs->fetch_add(1);
    delete counted;
}

/* The race detector reports a field that is changed while a thread reads it. */
TEST(Config, SettingsCanChangeWhileDriverAndDaemonsRun)
{
    struct rtrcu_config saved;
    rtrcu_config_get(&saved);
    std::atomic<bool> stop{false};
    std::atomic<long> runs{0}, queued{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; t++) {
        threads.emplace_back([&] {
            while (!stop) {
                rcu_read_lock();
                call_rcu(&(new Counted{{}, &runs})->head, count);
                queued++;
                rcu_read_unlock();
                rcu_process_callbacks(0);
                if (queued % 64 == 0)
                    synchronize_rcu();
            }
        });
    }
    for (int i = 0; i < 200 || queued < 1000; i++) {
        struct rtrcu_config config = saved;
        config.policy = i % 5;
        config.qmax = 100 + i % 200;
        config.tick_us = 100 + i % 200;
        config.spin_us = i % 20;
        config.membarrier = i % 20 == 19 ? RTRCU_MEMBARRIER_OFF : RTRCU_MEMBARRIER_AUTO;
        ASSERT_EQ(rtrcu_configure(&config), 0) << rtrcu_config_error();
    }
    stop = true;
    for (auto &thread : threads)
        thread.join();
    ASSERT_EQ(rtrcu_configure(&saved), 0);
    rcu_barrier();
    EXPECT_EQ(runs, queued);
}

/* A change holds up grace periods for a moment, and a thread that begins to wait then must not wait for ever.  There is
 * only one waiter, since a second waiter would wake it. */
CHILD(change_settings_while_a_thread_waits)
{
    struct rtrcu_config config;
    rtrcu_config_get(&config);
    constexpr long enough = 20000;
    std::atomic<long> waited{0};
    std::thread waiter([&] {
        for (; waited < enough; waited++)
            synchronize_rcu();
    });
    /* Changes continue until the waiter has finished, or has made no progress for so many changes that it must hang. */
    for (long seen = -1, still = 0; waited < enough; still = waited == seen ? still + 1 : 0, seen = waited) {
        config.membarrier = RTRCU_MEMBARRIER_AUTO;
        REQUIRE(rtrcu_configure(&config) == 0);
        if (still > 2000) {
            REQUIRE(test::eventually([&] { return waited != seen; }));
            still = 0;
        }
    }
    waiter.join();
}

TEST(Config, WaiterIsStillWokenAfterAChangeOfSettings)
{
    EXPECT_TRUE(exited_well(test::run_child("change_settings_while_a_thread_waits")));
}

bool sleeps(pid_t thread)
{
    std::ifstream stat("/proc/self/task/" + std::to_string(thread) + "/stat");
    std::string text;
    std::getline(stat, text);
    size_t name_ends = text.rfind(") ");
    return name_ends != std::string::npos && text.compare(name_ends + 2, 1, "S") == 0;
}

/* A change of the driver may wait for the gp lock.  A registration meanwhile waits neither for the change nor for the
 * lock. */
CHILD(register_while_the_driver_changes)
{
    std::atomic<pid_t> updater{0}, changer{0};
    std::atomic<bool> over{false};
    rcu_read_lock();
    std::thread waits([&] {
        updater = gettid();
        synchronize_rcu();
    });
    REQUIRE(test::eventually([&] { return updater && sleeps(updater); }));
    std::thread changes([&] {
        struct rtrcu_config config;
        rtrcu_config_get(&config);
        config.driver = RTRCU_DRIVER_POLL;
        changer = gettid();
        (void)rtrcu_configure(&config);
        over = true;
    });
    REQUIRE(test::eventually([&] { return over || (changer && sleeps(changer)); }));
    std::thread([] { REQUIRE(rcu_register_thread() == 0); }).join();
    rcu_read_unlock();
    waits.join();
    changes.join();
}

TEST(Config, ThreadCanRegisterDuringADriverChange)
{
    EXPECT_TRUE(exited_well(test::run_child("register_while_the_driver_changes")));
}

TEST(Config, ChangeOfARunningDriverIsRefused)
{
    struct rtrcu_config saved, config;
    ASSERT_EQ(rcu_register_thread(), 0); /* creates the driver */
    rtrcu_config_get(&saved);
    config = saved;
    config.driver = saved.driver == RTRCU_DRIVER_KTHREAD ? RTRCU_DRIVER_LTIMER : RTRCU_DRIVER_KTHREAD;
    test::CapturedErrors errors;
    EXPECT_EQ(rtrcu_configure(&config), -EINVAL);
    EXPECT_TRUE(errors.contains("driver")) << errors.text();
}

TEST(Config, FencesCanBeSwitchedBothWays)
{
    struct rtrcu_config saved, config;
    rtrcu_config_get(&saved);
    uint32_t before = test::stats().full_fences;
    test::Worker reader;
    reader.run([] { rcu_read_lock(); });
    for (int i = 0; i < 3; i++) {
        config = saved;
        config.membarrier = RTRCU_MEMBARRIER_OFF;
        ASSERT_EQ(rtrcu_configure(&config), 0);
        EXPECT_EQ(test::stats().full_fences, 1u);
        unsigned long cookie = start_poll_synchronize_rcu();
        EXPECT_FALSE(poll_state_synchronize_rcu(cookie));
        reader.run([] { rcu_read_unlock(); });
        cond_synchronize_rcu(cookie);
        reader.run([] { rcu_read_lock(); });
        ASSERT_EQ(rtrcu_configure(&saved), 0);
        EXPECT_EQ(test::stats().full_fences, before);
        reader.run([] { rcu_read_unlock(); });
        synchronize_rcu();
        reader.run([] { rcu_read_lock(); });
    }
    reader.run([] { rcu_read_unlock(); });
}

} // namespace
