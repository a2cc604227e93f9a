// SPDX-License-Identifier: MIT OR Apache-2.0
// The process of a variant: it configures the library anew and runs rounds on command.
//
// The parent stays a single ordinary thread that never uses the library, so that a forked child inherits no state of
// the library.
#pragma once

#include <memory>
#include <string>

#include "latency/plan.h"
#include "machine/child.h"
#include "probe/loop.h"
#include "probe/record.h"
#include "workload/workload.h"

namespace lab::latency
{

struct ChildOptions {
    int loop_cpu = 0;
    std::vector<int> other_cpus; // CPUs of the threads other than the loop, unless all threads run on one CPU
    PeerSettings settings;       // added to the settings of the policy
    RouteParameters route;
    uint64_t seed = 1;
    bool keep_awake = true;
    int64_t reader_section_ns = 10'000'000;
    int64_t thread_period_ns = 1'000'000;
    int64_t late_from_ns = 0; // causes are recorded for samples later than this; 0: for no sample
};

class VariantProcess
{
  public:
    VariantProcess(const Variant &variant, const Inputs &inputs, const ChildOptions &options, std::size_t samples,
                   std::size_t milliseconds);
    // Each call waits for the child for a bounded time.  Returns false and sets error() if the child failed, hung or
    // died.
    bool start();
    bool calibrate();
    bool round(const LoopParameters &parameters);

    const Variant &variant() const
    {
        return variant_;
    }
    const VariantRecord &record() const
    {
        return *record_;
    }
    // The reason why the child cannot continue; empty if it can.
    std::string error;

  private:
    struct Command {
        enum Kind : uint32_t { start, calibrate, round } kind;
        LoopParameters parameters;
    };
    bool ask(const Command &command, int64_t allowed_ns);
    void obey(const Command &command);
    std::vector<int> other_cpus() const;
    PeerSettings settings() const;
    std::unique_ptr<Workload> make_workload(const Peer &peer) const;
    void set_up();
    void run_calibration();
    void run_round(LoopParameters parameters);

    const Variant variant_;
    const Inputs &inputs_;
    const ChildOptions options_;
    std::unique_ptr<VariantRecord> record_;
    Server<Command, char> process_{[this](const Command &command) {
        obey(command);
        return '!';
    }};

    // Used in the child only.
    std::unique_ptr<Workload> workload_;
    std::unique_ptr<DeadlineLoop> loop_;
};

} // namespace lab::latency
