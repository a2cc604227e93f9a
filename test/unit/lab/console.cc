// SPDX-License-Identifier: MIT OR Apache-2.0
// Tests of the console beside a flood of callbacks: its process, rows and verdicts, and a producer under backpressure.
#include <gtest/gtest.h>

#include "latency/console_rows.h"
#include "machine/realtime.h"
#include "measure/clock.h"
#include "verdicts.h"
#include "workload/reclaimer.h"

using namespace lab;
using namespace lab::latency;

namespace
{

const char *stalls = "stalls the console", *answers = "the console answers", *bounded = "stays within qmax";

ConsoleRow row_of(const char *policy, double longest_ms, double backlog)
{
    ConsoleRow row;
    row.policy = policy;
    row.longest_ms = longest_ms;
    row.longest_cut = false;
    row.backlog_max = backlog;
    row.backlog_cut = false;
    if (std::string(policy) != "unbounded" && std::string(policy) != "none")
        row.backlog_limit = 65'536;
    return row;
}

Outcome outcome_for(const ConsoleRow &row, const char *claim)
{
    return outcome_of(judge_console({row}, true), claim);
}

// A back-end that accepts two objects, until a test resets `waiting`.
unsigned waiting = 0;
const Peer small_peer = {
    .name = "small",
    .what = "pushes back at two",
    .retire = [](RetiredHead *, ReclaimFunction) { waiting++; },
    .try_retire =
        [](RetiredHead *, ReclaimFunction) {
            const bool room = waiting < 2;
            waiting += room;
            return room;
        },
};

} // namespace

TEST(Console, ConsoleAnswersUntilItIsStopped)
{
    Console console(cpus_allowed(), 10'000'000'000);
    const int64_t give_up = now_ns() + 20'000'000'000;
    while (now_ns() < give_up && !console.has_answered())
        pause_ns(1'000'000);
    const ConsoleResult result = console.stop();
    ASSERT_FALSE(result.responses_ns.empty());
    EXPECT_GE(result.responses_ns[0], static_cast<uint64_t>(Console::answer_cpu_ns));
    EXPECT_GE(result.longest_ns, result.responses_ns[0]);
}

TEST(Console, DaemonMayDelayTheConsoleBrieflyOnly)
{
    EXPECT_EQ(outcome_for(row_of("daemon", 40, 65'536), answers), Outcome::held);
    EXPECT_EQ(outcome_for(row_of("daemon", 101, 65'536), answers), Outcome::failed);
    EXPECT_EQ(outcome_of(judge_console({row_of("daemon", 101, 65'536)}, false), answers), Outcome::not_judged);
}

TEST(Console, BusyMachineHasNoVerdict)
{
    const ConsoleRow row = row_of("daemon", 101, 65'536);
    ConsoleRow floor = row_of("none", 5, 0);
    floor.answer_ms_p50 = console_quiet_ms + 0.01;
    EXPECT_EQ(outcome_of(judge_console({floor, row}, true), answers), Outcome::not_judged);
    floor.answer_ms_p50 = console_quiet_ms;
    EXPECT_EQ(outcome_of(judge_console({floor, row}, true), answers), Outcome::failed);
}

TEST(Console, AnswerCutOffByTheEndCountsOnlyIfAlreadyTooLate)
{
    ConsoleRow row = row_of("daemon", 40, 65'536);
    row.longest_cut = true;
    EXPECT_EQ(outcome_for(row, answers), Outcome::not_judged);
    row.longest_ms = 1'200;
    EXPECT_EQ(outcome_for(row, answers), Outcome::failed) << "the answer was later than the limit when the run ended";
}

TEST(Console, UnboundedPolicyWithoutAStallIsNotReproduced)
{
    EXPECT_EQ(outcome_for(row_of("unbounded", 950, 2'000'000), stalls), Outcome::held);
    EXPECT_EQ(outcome_for(row_of("unbounded", 100, 2'000'000), stalls), Outcome::not_reproduced);
}

TEST(Console, BacklogBeyondItsLimitFailsAlsoInAQuickRun)
{
    EXPECT_EQ(outcome_of(judge_console({row_of("inline", 40, 65'537)}, false), bounded), Outcome::failed);
    EXPECT_EQ(outcome_of(judge_console({row_of("inline", 40, 65'536)}, false), bounded), Outcome::held);
    ConsoleRow growing = row_of("inline", 40, 60'000);
    growing.backlog_cut = true;
    EXPECT_EQ(outcome_for(growing, bounded), Outcome::not_judged)
        << "below the limit, but still growing when the run ended";
}

TEST(Console, RowCountsServedAndDroppedPackets)
{
    VariantRecord record(10, 10);
    Totals &sum = record.sum();
    sum.wall_ns = 2'000'000'000;
    sum.operations = 6'000; // 5,000 packets served and 1,000 dropped
    sum.dropped = 1'000;
    sum.work_events_lost = 40; // events of 100 packets each
    sum.backlog_limit = 65'536;
    const Variant variant{"console", find_policy("daemon"), 0, true, 0, Part::console};
    const ConsoleRow row = make_console_row(variant, record, {{{1'000'000, 3'000'000}, 9'000'000, true}}, 100);
    EXPECT_EQ(row.offered_per_s, 5'000);
    EXPECT_EQ(row.served_per_s, 2'500);
    EXPECT_EQ(row.dropped_share, 0.5);
    EXPECT_EQ(row.pushed_back_share, 0.1);
    EXPECT_EQ(row.longest_ms, 9);
    EXPECT_EQ(row.longest_cut, true);
    EXPECT_EQ(row.answers, 2);
}

TEST(Reclaimer, RefusedObjectIsKeptAndRetiredLater)
{
    waiting = 0;
    Reclaimer reclaimer(small_peer, true);
    RetiredHead heads[3];
    for (RetiredHead &head : heads) {
        EXPECT_TRUE(reclaimer.accepts());
        reclaimer.retire(&head, [](RetiredHead *) {});
    }
    EXPECT_EQ(reclaimer.queued(), 2u) << "the third is refused, and the reclaimer keeps it";
    EXPECT_FALSE(reclaimer.accepts());
    waiting = 0;
    EXPECT_TRUE(reclaimer.accepts());
    EXPECT_EQ(reclaimer.queued(), 3u);
}
