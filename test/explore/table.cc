// SPDX-License-Identifier: MIT OR Apache-2.0
// The table of scenarios.
#include "table.h"

// clang-format off
#define SCENARIOS(X) \
    X(Publish) \
    X(Nested) \
    X(TwoReaders) \
    X(Handler) \
    X(Quiescent) \
    X(QuiescentTwo) \
    X(QuiescentNested) \
    X(QuiescentUnfenced) \
    X(QuiescentOffline) \
    X(QuiescentLeaves) \
    X(QuiescentWaits) \
    X(Deadline) \
    X(Register) \
    X(Idle) \
    X(IdleArmed) \
    X(IdleQuiescent) \
    X(IdleRead) \
    X(IdleOnline) \
    X(IdleOnlineWake) \
    X(IdleFlagged) \
    X(IdleKinds) \
    X(IdleTask) \
    X(IdleParked) \
    X(IdleRelist) \
    X(IdleListed) \
    X(IdleHandler) \
    X(IdleExit) \
    X(IdleDeadline) \
    X(IdleRefused) \
    X(RegisterTwo) \
    X(AloneCookie) \
    X(RegisterHandler) \
    X(Exit) \
    X(Reuse) \
    X(RegisterAgain) \
    X(Tree) \
    X(TreeLate) \
    X(Anonymous) \
    X(AnonymousHandler) \
    X(AnonymousSuccessive) \
    X(AnonymousPhases) \
    X(AnonymousStays) \
    X(GpLock) \
    X(ThreeWaiters) \
    X(LowPriority) \
    X(Cookie) \
    X(Reached) \
    X(Poll) \
    X(Expedited) \
    X(ExpeditedTwo) \
    X(ExpeditedNotified) \
    X(ExpeditedRequest) \
    X(ExpeditedAlone) \
    X(BothKinds) \
    X(Boost) \
    X(BoostExit) \
    X(Refused) \
    X(RefusedBoth) \
    X(RefusedNewcomer) \
    X(RefusedArmed) \
    X(FullFences) \
    X(SwitchPark) \
    X(RefusedKinds) \
    X(Call) \
    X(CallTwo) \
    X(CallStopped) \
    X(CallStoppedLeaves) \
    X(CallSignal) \
    X(CallExit) \
    X(Barrier) \
    X(BarrierTwo) \
    X(BarrierHurry) \
    X(Free) \
    X(FreeBarrier) \
    X(Retire) \
    X(RetireRefused) \
    X(RetireAlone) \
    X(RetireAgain) \
    X(QueueReleased) \
    X(Claimed) \
    X(Thrown) \
    X(OfflineCall) \
    X(OnlineStay) \
    X(OnlineWaited) \
    X(OnlineCall) \
    X(Inline) \
    X(Direct) \
    X(DirectLeave) \
    X(DirectTask) \
    X(Ltimer) \
    X(LtimerIdle) \
    X(DriverChanged) \
    X(ThreadAttributes) \
    X(DriverToSched) \
    X(DriverFromSched) \
    X(LimitsChanged) \
    X(BacklogLimit) \
    X(ShareChecked) \
    X(ThreadsRefused) \
    X(PollRefused) \
    X(PollExpeditedRefused) \
    X(DaemonRefused) \
    X(PollDriver) \
    X(Sched) \
    X(SchedTwo) \
    X(SchedLeave) \
    X(SchedReady) \
    X(SchedAgain) \
    X(TaskMove) \
    X(TaskMoveNode) \
    X(TaskSame) \
    X(TaskBoth) \
    X(TaskRead) \
    X(TaskAlternate) \
    X(TaskExit) \
    X(Asleep) \
    X(AsleepBarrier) \
    X(AsleepHandler) \
    X(AsleepExpedited) \
    X(TaskFreed) \
    X(TaskParkHandler) \
    X(TaskMoveHandler) \
    X(TaskNodeHandler) \
    X(TaskResumeHandler) \
    X(TaskTakenHandler) \
    X(TaskNewcomer) \
    X(Inner) \
    X(QuiescentInner) \
    X(LastSlot) \
    X(TaskKinds) \
    X(TaskFull) \
    X(TaskAnonymous) \
    X(TaskAgain) \
    X(TaskTaken) \
    X(TaskTakenNode) \
    X(TaskTakenPark) \
    X(TaskTakenAnonymous) \
    X(TaskBelow) \
    X(TaskBelowEnded) \
    X(TaskPolled) \
    X(ForkPromoted) \
    X(ForkParking) \
    X(ForkQueued) \
    X(ForkWaiter) \
    X(ForkBlocks) \
    X(ForkIdle) \
    X(ForkCalling) \
    X(ForkWoken) \
    X(FullCookie) \
    X(CallCookies) \
    X(Hurry) \
    X(BoostLimit) \
    X(BoostByCaller) \
    X(BoostLeaving) \
    X(BoostTwice) \
    X(FullAnonymous) \
    X(FullRestored) \
    X(Spin) \
    X(TaskHandler) \
    X(TaskHandlerAgain) \
    X(Help) \
    X(Adopted) \
    X(AdoptedFull) \
    X(AdoptedTwo) \
    X(AdoptedStale) \
    X(AdoptedStay) \
    X(AdoptedSleep) \
    X(AdoptedFullSleep) \
    X(AdoptedRegister) \
    X(AdoptedQsbr) \
    X(AdoptedRefused) \
    X(AdoptedCall) \
    X(AdoptedFree) \
    X(AdoptedFork) \
    X(AdoptedForkFree) \
    X(AdoptedWake) \
    X(AdoptedDefer) \
    X(AdoptedPause) \
    X(DeferredRings) \
    X(DeferredBarriers) \
    X(DeferredFork) \
    X(AdoptedOnline) \
    X(AdoptedRefusedBoth) \
    X(ServersMarkers) \
    X(ServersAdded) \
    X(ServersFreed) \
    X(ServersQueued) \
    X(ServersLate) \
    X(ServersCreated) \
    X(ServersRefused) \
    X(ReadyLevel) \
    X(ReadyEdge) \
    X(PriorityRaised) \
    X(PriorityCreated) \
    X(ReadyExit) \
    X(DomainPublish) \
    X(DomainSums) \
    X(DomainCrossed) \
    X(DomainTwo) \
    X(DomainWake) \
    X(DomainLate) \
    X(DomainPoll) \
    X(DomainGrow) \
    X(DomainFreed) \
    X(DomainCall) \
    X(DomainBarrier) \
    X(DomainFork) \
    X(TableLookup) \
    X(TableInsert) \
    X(TableRemove) \
    X(TableReplace) \
    X(TableShrink) \
    X(TableWalk) \
    X(TableWalkShrink) \
    X(TableRequest) \
    X(LpmInsert) \
    X(LpmRemove) \
    X(LpmInherit)
// clang-format on

namespace scenarios
{

#define DECLARE(name) extern const sim::Scenario k##name;
SCENARIOS(DECLARE)

} // namespace scenarios

namespace explore
{

const std::vector<const sim::Scenario *> &all_scenarios()
{
#define ADDRESS(name) &scenarios::k##name,
    static const std::vector<const sim::Scenario *> table = {SCENARIOS(ADDRESS)};
    return table;
}

} // namespace explore
