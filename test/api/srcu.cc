/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of domains that a program defines, through the public interface. */
#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>

#include "../support/capture.h"
#include "../support/sync.h"
#include "child.h"
#include "forked.h"
#include "no_threads.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#include <rtrcu/srcu.h>
#pragma GCC diagnostic pop

namespace
{

/* Returns whether a waiter of the domain has announced itself. */
bool srcu_waits(const srcu_struct *domain)
{
    return (rtrcu_load_relaxed(domain->slot) & ~1u) == domain->key;
}

DEFINE_SRCU(defined);
DEFINE_STATIC_SRCU(defined_static);

class Srcu : public testing::Test
{
  protected:
    srcu_struct own_;
    void SetUp() override
    {
        init_srcu_struct(&own_);
    }
    void TearDown() override
    {
        EXPECT_EQ(cleanup_srcu_struct(&own_), 0);
    }
};

TEST(SrcuStatic, StaticallyDefinedDomainsWork)
{
    for (srcu_struct *domain : {&defined, &defined_static}) {
        int index = srcu_read_lock(domain);
        EXPECT_GE(index, 0);
        srcu_read_unlock(domain, index);
        synchronize_srcu(domain);
        synchronize_srcu_expedited(domain);
    }
}

TEST_F(Srcu, SynchronizeWaitsForEarlierSections)
{
    test::Worker updater;
    int index = srcu_read_lock(&own_);
    updater.start([this] { synchronize_srcu(&own_); });
    EXPECT_TRUE(test::eventually([this] { return srcu_waits(&own_); }));
    EXPECT_FALSE(updater.is_done());
    srcu_read_unlock(&own_, index);
    updater.wait();
}

TEST_F(Srcu, SectionDelaysNeitherOtherDomainsNorTheNativeDomain)
{
    int index = srcu_read_lock(&own_);
    synchronize_srcu(&defined);
    synchronize_rcu();
    srcu_read_unlock(&own_, index);
}

TEST_F(Srcu, SectionOfTheNativeDomainDelaysNoOtherDomain)
{
    rcu_read_lock();
    synchronize_srcu(&own_);
    rcu_read_unlock();
}

TEST_F(Srcu, SectionMayEndOnTheThreadThatGotItsIndex)
{
    int index = srcu_read_lock(&own_);
    unsigned long cookie = start_poll_synchronize_srcu(&own_);
    EXPECT_FALSE(poll_state_synchronize_srcu(&own_, cookie));
    std::thread([this, index] { srcu_read_unlock(&own_, index); }).join();
    EXPECT_TRUE(poll_state_synchronize_srcu(&own_, cookie));
}

TEST_F(Srcu, CookieIsReachedAfterAFullGracePeriod)
{
    unsigned long cookie = get_state_synchronize_srcu(&own_);
    EXPECT_FALSE(poll_state_synchronize_srcu(&own_, cookie));
    synchronize_srcu(&own_);
    EXPECT_TRUE(poll_state_synchronize_srcu(&own_, cookie));
}

TEST_F(Srcu, UnlockThatWakesAWaiterPreservesErrno)
{
    test::Worker updater;
    int index = srcu_read_lock(&own_);
    updater.start([this] { synchronize_srcu(&own_); });
    EXPECT_TRUE(test::eventually([this] { return srcu_waits(&own_); }));
    errno = 1234;
    srcu_read_unlock(&own_, index);
    EXPECT_EQ(errno, 1234);
    updater.wait();
}

TEST_F(Srcu, CleanupOfDomainInUseIsRefused)
{
    int index = srcu_read_lock(&own_);
    test::CapturedErrors errors;
    EXPECT_EQ(cleanup_srcu_struct(&own_), -EBUSY);
    EXPECT_TRUE(errors.contains("cleanup_srcu_struct(&own_): the domain is in use")) << errors.text();
    srcu_read_unlock(&own_, index);
    synchronize_srcu(&own_);
}

TEST_F(Srcu, SecondInitOfADomainIsRefused)
{
    int index = srcu_read_lock(&defined);
    test::CapturedErrors errors;
    EXPECT_EQ(init_srcu_struct(&defined), -EBUSY);
    EXPECT_TRUE(errors.contains("init_srcu_struct(&defined): the domain is initialised already and unchanged"))
        << errors.text();
    srcu_read_unlock(&defined, index);
    synchronize_srcu(&defined);
    EXPECT_EQ(cleanup_srcu_struct(&own_), 0);
    EXPECT_EQ(init_srcu_struct(&own_), 0);
}

TEST_F(Srcu, SecondCleanupOfADomainIsRefused)
{
    EXPECT_EQ(cleanup_srcu_struct(&own_), 0);
    test::CapturedErrors errors;
    EXPECT_EQ(cleanup_srcu_struct(&own_), -EINVAL);
    EXPECT_TRUE(errors.contains("is not initialised, or has been destroyed")) << errors.text();
    init_srcu_struct(&own_);
}

/* ---- callbacks ---- */

std::atomic<int> runs;

void count_run(rcu_head *)
{
    runs++;
}

TEST_F(Srcu, CallbackWaitsForEarlierSectionsOfItsDomain)
{
    rcu_head head;
    runs = 0;
    int index = srcu_read_lock(&own_);
    call_srcu(&own_, &head, count_run);
    rcu_head other;
    call_srcu(&defined, &other, count_run);
    srcu_barrier(&defined);
    EXPECT_EQ(runs, 1) << "a section of one domain delays no callback of another";
    srcu_read_unlock(&own_, index);
    srcu_barrier(&own_);
    EXPECT_EQ(runs, 2);
}

TEST_F(Srcu, BarrierWaitsForCallbacksOfAllThreads)
{
    constexpr int count = 1000;
    static rcu_head heads[2][count];
    runs = 0;
    auto queue = [this](rcu_head *own) {
        for (int i = 0; i < count; i++)
            call_srcu(&own_, own + i, count_run);
    };
    std::thread first(queue, heads[0]), second(queue, heads[1]);
    first.join();
    second.join();
    srcu_barrier(&own_);
    EXPECT_EQ(runs, 2 * count);
}

struct Requeued {
    rcu_head head;
    srcu_struct *domain;
    int left;
};

void queue_again(rcu_head *head)
{
    auto *requeued = reinterpret_cast<Requeued *>(head);
    runs++;
    if (requeued->left-- > 0)
        call_srcu(requeued->domain, head, queue_again);
}

TEST_F(Srcu, CallbackMayQueueItself)
{
    Requeued requeued = {{}, &own_, 3};
    runs = 0;
    call_srcu(&own_, &requeued.head, queue_again);
    for (int i = 0; i < 4; i++)
        srcu_barrier(&own_);
    EXPECT_EQ(runs, 4);
}

TEST_F(Srcu, StartedGracePeriodEndsWithoutFurtherCalls)
{
    unsigned long cookie = start_poll_synchronize_srcu(&own_);
    EXPECT_TRUE(test::eventually([&] { return poll_state_synchronize_srcu(&own_, cookie); }));
}

srcu_struct *handled;
int handled_index;
rcu_head handled_head;

void begin_in_handler(int)
{
    handled_index = srcu_read_lock(handled);
    call_srcu(handled, &handled_head, count_run);
}

TEST_F(Srcu, SignalHandlerMayReadAndQueue)
{
    handled = &own_;
    runs = 0;
    auto before = signal(SIGUSR1, begin_in_handler);
    raise(SIGUSR1);
    signal(SIGUSR1, before);
    srcu_read_unlock(&own_, handled_index);
    srcu_barrier(&own_);
    EXPECT_EQ(runs, 1);
}

struct Waiting {
    rcu_head head;
    srcu_struct *domain;
};

void wait_for_other(rcu_head *head)
{
    auto *waiting = reinterpret_cast<Waiting *>(head);
    rcu_head other;
    call_srcu(waiting->domain, &other, count_run);
    srcu_barrier(waiting->domain);
    synchronize_srcu(waiting->domain);
    runs++;
}

TEST_F(Srcu, CallbackMayWaitForCallbacksOfAnotherDomain)
{
    Waiting waiting = {{}, &defined};
    runs = 0;
    call_srcu(&own_, &waiting.head, wait_for_other);
    srcu_barrier(&own_);
    EXPECT_EQ(runs, 2);
}

/* ---- fork ---- */

using SrcuFork = ForkedTest;

TEST_F(SrcuFork, SectionsOfParentDoNotDelayChild)
{
    static srcu_struct domain;
    init_srcu_struct(&domain);
    static rcu_head in_parent, in_child;
    test::Worker other;
    int theirs = 0;
    other.run([&] { theirs = srcu_read_lock(&domain); });
    int index = srcu_read_lock(&domain);
    runs = 0;
    call_srcu(&domain, &in_parent, count_run);

    in_forked_child([&] {
        srcu_read_unlock(&domain, index);
        synchronize_srcu(&domain);
        call_srcu(&domain, &in_child, count_run);
        srcu_barrier(&domain);
        EXPECT_EQ(runs, 1) << "callbacks that the parent queued do not run in the child";
        call_srcu(&domain, &in_parent, count_run); /* the child does not count it as queued */
        srcu_barrier(&domain);
        int again = srcu_read_lock(&domain);
        srcu_read_unlock(&domain, again);
        EXPECT_EQ(cleanup_srcu_struct(&domain), 0);
    });

    EXPECT_EQ(runs, 0);
    srcu_read_unlock(&domain, index);
    other.run([&] { srcu_read_unlock(&domain, theirs); });
    srcu_barrier(&domain);
    EXPECT_EQ(runs, 1);
    EXPECT_EQ(cleanup_srcu_struct(&domain), 0);
}

srcu_struct *forked_domain;

void fork_in_callback(rcu_head *)
{
    in_forked_child([] {
        static rcu_head head;
        call_srcu(forked_domain, &head, count_run);
        EXPECT_FALSE(get_state_synchronize_srcu(forked_domain) == 0);
    });
    runs++;
}

TEST_F(SrcuFork, CallbackMayFork)
{
    static srcu_struct domain;
    static rcu_head head;
    init_srcu_struct(&domain);
    forked_domain = &domain;
    runs = 0;
    call_srcu(&domain, &head, fork_in_callback);
    srcu_barrier(&domain);
    EXPECT_EQ(runs, 1);
    EXPECT_EQ(cleanup_srcu_struct(&domain), 0);
}

/* ---- misuse, and a system that refuses ---- */

DEFINE_SRCU(misused);
rcu_head misused_head;

CHILD(unlocked_twice)
{
    int index = srcu_read_lock(&misused);
    srcu_read_unlock(&misused, index);
    srcu_read_unlock(&misused, index);
}

CHILD(wrong_index)
{
    srcu_read_unlock(&misused, -1);
    synchronize_srcu(&misused);
}

CHILD(waits_for_itself)
{
    (void)srcu_read_lock(&misused);
    synchronize_srcu(&misused);
}

CHILD(head_queued_twice)
{
    (void)srcu_down_read(&misused); /* the first callback cannot have begun */
    call_srcu(&misused, &misused_head, count_run);
    call_srcu(&defined, &misused_head, count_run);
}

CHILD(barrier_in_callback)
{
    call_srcu(&misused, &misused_head, [](rcu_head *) { srcu_barrier(&misused); });
    srcu_barrier(&misused);
}

TEST(SrcuMisuse, CheckedLibraryAbortsAtASecondUnlock)
{
    if (!TEST_DEBUG)
        GTEST_SKIP() << "undefined without checks";
    test::ChildResult result = test::run_child("unlocked_twice");
    EXPECT_TRUE(aborted(result, "ends no section: unlocked twice, or a wrong index"));
    EXPECT_TRUE(result.contains("srcu_read_unlock(misused, ")) << result.output;
}

TEST(SrcuMisuse, CheckedLibraryAbortsAtASecondCallSrcuOfAQueuedHead)
{
    if (!TEST_DEBUG)
        GTEST_SKIP() << "undefined without checks";
    test::ChildResult result = test::run_child("head_queued_twice");
    EXPECT_TRUE(aborted(result, "call_srcu(): head 0x"));
    EXPECT_TRUE(result.contains("is queued already and its callback has not begun")) << result.output;
}

TEST(SrcuMisuse, UnlockWithAWrongIndexIsReportedAndHasNoEffect)
{
    test::ChildResult result = test::run_child("wrong_index");
    bool well = TEST_DEBUG ? bool{aborted(result, "srcu_read_unlock(misused, -1)")}
                           : exited_well(result) && result.contains("-1 is no index that srcu_read_lock() returned");
    EXPECT_TRUE(well) << result.output;
}

/* A domain whose memory is used for something else before its end. */
CHILD(domain_on_stack)
{
    alignas(64) static char frame[sizeof(srcu_struct)];
    init_srcu_struct(reinterpret_cast<srcu_struct *>(frame));
    memset(frame, 0, sizeof(frame));
    call_srcu(&misused, &misused_head, count_run);
    srcu_barrier(&misused);
}

CHILD(call_after_end)
{
    static srcu_struct domain;
    init_srcu_struct(&domain);
    REQUIRE(cleanup_srcu_struct(&domain) == 0);
    call_srcu(&domain, &misused_head, count_run);
}

CHILD(barrier_of_copy)
{
    static srcu_struct copy;
    memcpy(&copy, &misused, sizeof(copy));
    srcu_barrier(&copy);
}

CHILD(wait_before_begin)
{
    static srcu_struct domain;
    synchronize_srcu(&domain);
}

/* Code with RTRCU_DEBUG checks the domain.  Other code would count the section at address 0. */
CHILD(section_before_begin)
{
    static srcu_struct domain;
    (void)srcu_read_lock(&domain);
}

CHILD(section_of_copy)
{
    static srcu_struct copy;
    memcpy(&copy, &misused, sizeof(copy));
    (void)srcu_down_read(&copy);
}

CHILD(section_ends_after_domain)
{
    static srcu_struct domain;
    init_srcu_struct(&domain);
    int index = srcu_read_lock(&domain);
    srcu_read_unlock(&domain, index);
    REQUIRE(cleanup_srcu_struct(&domain) == 0);
    srcu_read_unlock(&domain, index);
}

CHILD(callback_ends_thread)
{
    call_srcu(&misused, &misused_head, [](rcu_head *) { pthread_exit(nullptr); });
    srcu_barrier(&misused);
}

TEST(SrcuMisuse, OverwrittenDomainAbortsTheProgram)
{
    EXPECT_TRUE(aborted(test::run_child("domain_on_stack"), "has been overwritten: its memory was freed or used"));
}

TEST(SrcuMisuse, CallOnAnUninitialisedDomainAbortsTheProgram)
{
    EXPECT_TRUE(aborted(test::run_child("call_after_end"), "call_srcu(): the domain at 0x"));
    EXPECT_TRUE(aborted(test::run_child("barrier_of_copy"), "was copied or moved from other memory"));
    EXPECT_TRUE(aborted(test::run_child("wait_before_begin"),
                        "is not initialised, or has been destroyed; call init_srcu_struct()"));
}

TEST(SrcuMisuse, CheckedLibraryAbortsAtASectionOfAnUninitialisedDomain)
{
    if (!TEST_DEBUG)
        GTEST_SKIP() << "the section begins at address 0";
    EXPECT_TRUE(aborted(test::run_child("section_before_begin"), "srcu_read_lock(): the domain at 0x"));
    EXPECT_TRUE(aborted(test::run_child("section_of_copy"), "was copied or moved from other memory"));
    EXPECT_TRUE(aborted(test::run_child("section_ends_after_domain"), "srcu_read_unlock(): the domain at 0x"));
}

TEST(SrcuMisuse, CallbackThatEndsItsThreadAbortsTheProgram)
{
    EXPECT_TRUE(aborted(test::run_child("callback_ends_thread"), "has ended the thread that serves all domains"));
}

TEST(SrcuMisuse, CheckedLibraryAbortsAtAWaitInsideASectionOfTheSameDomain)
{
    if (!TEST_DEBUG)
        GTEST_SKIP() << "the stall report names the domain";
    test::ChildResult result = test::run_child("waits_for_itself");
    EXPECT_TRUE(aborted(result, "synchronize_srcu(misused) waits for itself: its section began at"));
}

TEST_F(Srcu, ThreadAfterDownReadMayWaitForUpReadOfAnotherThread)
{
    int index = srcu_down_read(&own_);
    std::thread other([&] {
        EXPECT_TRUE(test::eventually([this] { return srcu_waits(&own_); }));
        srcu_up_read(&own_, index);
    });
    synchronize_srcu(&own_);
    other.join();
}

TEST(SrcuMisuse, BarrierInsideACallbackAbortsTheProgram)
{
    test::ChildResult result = test::run_child("barrier_in_callback");
    EXPECT_TRUE(aborted(result, "srcu_barrier(misused) inside a callback of that domain would wait for itself"));
}

CHILD(no_worker)
{
    static rcu_head head;
    {
        test::NoThreads none;
        call_srcu(&misused, &head, count_run);
        unsigned long cookie = start_poll_synchronize_srcu(&misused);
        while (!poll_state_synchronize_srcu(&misused, cookie))
            ;
        srcu_barrier(&misused);
        REQUIRE(runs == 1);
        REQUIRE(test::threads_of_this_process() == 1);
    }
    call_srcu(&misused, &head, count_run);
    REQUIRE(test::eventually([] { /* a later call creates the worker */
                                  (void)start_poll_synchronize_srcu(&misused);
                                  return runs == 2;
    }));
}

TEST(SrcuRefused, CallersAdvanceGracePeriodsIfTheWorkerCannotBeCreated)
{
    if (TEST_ASAN || TEST_TSAN || TEST_EMULATED)
        GTEST_SKIP() << "sanitizers and emulators need address space of their own";
    test::ChildResult result = test::run_child("no_worker");
    EXPECT_TRUE(exited_well(result));
    EXPECT_TRUE(result.contains("the thread that serves domains cannot be created")) << result.output;
}

CHILD(late_section)
{
    static srcu_struct domain;
    init_srcu_struct(&domain);
    int index = srcu_read_lock(&domain);
    std::thread updater([] { synchronize_srcu(&domain); });
    (void)index;
    updater.join(); /* never returns: the report ends this process */
}

CHILD(ended_too_often)
{
    rtrcu_srcu_own_stripe(&misused)->unlocks[0]++; /* counts like a second srcu_read_unlock() in a release build */
    std::thread([] { synchronize_srcu(&misused); }).join();
}

TEST(SrcuStall, ReportNamesASurplusUnlock)
{
    test::ChildResult result =
        test::run_child_until("ended_too_often", "more sections have ended than begun", {"RTRCU_STALL_TIMEOUT_MS=100"});
    EXPECT_TRUE(result.contains("domain misused: a grace period has waited")) << result.output;
}

TEST(SrcuStall, ReportNamesTheDomain)
{
    /* Debug builds list the sections at the end of the report. */
    const char *last = TEST_DEBUG ? "a section of thread" : "for 1 section";
    test::ChildResult result = test::run_child_until("late_section", last, {"RTRCU_STALL_TIMEOUT_MS=100"});
    EXPECT_TRUE(result.contains("domain &domain: a grace period has waited")) << result.output;
    EXPECT_TRUE(result.contains("for 1 section")) << result.output;
}

} // namespace
