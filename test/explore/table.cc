// SPDX-License-Identifier: MIT OR Apache-2.0
// The table of scenarios.
#include "table.h"

namespace scenarios
{

extern const sim::Scenario kPublish, kNested, kTwoReaders, kHandler, kQuiescent, kQuiescentTwo, kQuiescentNested,
    kGivesUp, kWaits, kDeadline, kRegister, kRegisterHandler, kExit, kReuse, kReturn, kTree, kTreeLate, kShare, kCrowd,
    kCookie, kPoll, kExpedited, kExpeditedTwo, kExpeditedAsk, kExpeditedAlone, kBothKinds, kLend, kRefused,
    kRefusedBoth, kRefusedNewcomer, kRefusedArmed, kFullFences, kCall, kCallSignal, kCallExit, kBarrier, kBarrierTwo,
    kFree, kFreeBarrier, kInline, kDirect, kDirectLeave, kDirectTask, kLtimer, kDriverChanged, kDriverToSched,
    kDriverFromSched, kThreadsRefused, kDaemonRefused, kPollDriver, kSched, kSchedTwo, kTaskMove, kTaskMoveNode,
    kTaskSame, kTaskRead, kTaskTwo, kTaskExit, kAway, kAwayHandler;

} // namespace scenarios

namespace explore
{

namespace
{

const std::vector<const sim::Scenario *> table = {
    &scenarios::kPublish,
    &scenarios::kNested,
    &scenarios::kTwoReaders,
    &scenarios::kHandler,
    &scenarios::kQuiescent,
    &scenarios::kQuiescentTwo,
    &scenarios::kQuiescentNested,
    &scenarios::kGivesUp,
    &scenarios::kWaits,
    &scenarios::kDeadline,
    &scenarios::kRegister,
    &scenarios::kRegisterHandler,
    &scenarios::kExit,
    &scenarios::kReuse,
    &scenarios::kReturn,
    &scenarios::kTree,
    &scenarios::kTreeLate,
    &scenarios::kShare,
    &scenarios::kCrowd,
    &scenarios::kCookie,
    &scenarios::kPoll,
    &scenarios::kExpedited,
    &scenarios::kExpeditedTwo,
    &scenarios::kExpeditedAsk,
    &scenarios::kExpeditedAlone,
    &scenarios::kBothKinds,
    &scenarios::kLend,
    &scenarios::kRefused,
    &scenarios::kRefusedBoth,
    &scenarios::kRefusedNewcomer,
    &scenarios::kRefusedArmed,
    &scenarios::kFullFences,
    &scenarios::kCall,
    &scenarios::kCallSignal,
    &scenarios::kCallExit,
    &scenarios::kBarrier,
    &scenarios::kBarrierTwo,
    &scenarios::kFree,
    &scenarios::kFreeBarrier,
    &scenarios::kInline,
    &scenarios::kDirect,
    &scenarios::kDirectLeave,
    &scenarios::kDirectTask,
    &scenarios::kLtimer,
    &scenarios::kDriverChanged,
    &scenarios::kDriverToSched,
    &scenarios::kDriverFromSched,
    &scenarios::kThreadsRefused,
    &scenarios::kDaemonRefused,
    &scenarios::kPollDriver,
    &scenarios::kSched,
    &scenarios::kSchedTwo,
    &scenarios::kTaskMove,
    &scenarios::kTaskMoveNode,
    &scenarios::kTaskSame,
    &scenarios::kTaskRead,
    &scenarios::kTaskTwo,
    &scenarios::kTaskExit,
    &scenarios::kAway,
    &scenarios::kAwayHandler,
};

} // namespace

const std::vector<const sim::Scenario *> &all_scenarios()
{
    return table;
}

} // namespace explore
