// SPDX-License-Identifier: MIT OR Apache-2.0
// The table of scenarios.
#include "table.h"

namespace scenarios
{

extern const sim::Scenario kPublish, kNested, kTwoReaders, kHandler, kQuiescent, kQuiescentTwo, kWaits, kDeadline,
    kRegister, kRegisterHandler, kExit, kReuse, kReturn, kTree, kTreeLate, kShare, kCrowd, kCookie, kPoll, kExpedited,
    kExpeditedTwo, kLend, kRefused, kRefusedBoth, kRefusedNewcomer, kRefusedArmed, kFullFences, kCall, kCallSignal,
    kCallExit, kBarrier, kBarrierTwo, kFree, kInline, kTaskMove, kTaskMoveNode, kTaskSame, kTaskRead, kTaskExit;

} // namespace scenarios

namespace explore
{

const std::vector<const sim::Scenario *> &all_scenarios()
{
    static const std::vector<const sim::Scenario *> table = {
        &scenarios::kPublish,
        &scenarios::kNested,
        &scenarios::kTwoReaders,
        &scenarios::kHandler,
        &scenarios::kQuiescent,
        &scenarios::kQuiescentTwo,
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
        &scenarios::kInline,
        &scenarios::kTaskMove,
        &scenarios::kTaskMoveNode,
        &scenarios::kTaskSame,
        &scenarios::kTaskRead,
        &scenarios::kTaskExit,
    };
    return table;
}

} // namespace explore
