// SPDX-License-Identifier: MIT OR Apache-2.0
// The class of `rtrcu latency`: options, plan, processes, results.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "command/experiment.h"
#include "latency/child.h"
#include "latency/console_rows.h"
#include "latency/fifo_rows.h"
#include "latency/interrupting.h"
#include "latency/plan.h"
#include "latency/rows.h"
#include "latency/table1.h"
#include "latency/why.h"
#include "workload/inputs.h"

namespace lab::latency
{

// The time that a variant's round needs in addition to its measurement: to start and end threads, and to warm up.
constexpr double turn_overhead_s = 0.03;
// The number of events of work in each arrival of Table 1.  The loop serves each event in a separate iteration.
constexpr unsigned table1_events = 3;
// The work of each arrival in the workload console, as a multiple of the time between arrivals; a value above 1
// saturates the loop.
constexpr double console_load = 1.25;
// A full console round is longer than a second.  So the round contains the 50 ms of each second that the kernel
// reserves for ordinary threads if real-time threads never sleep.
constexpr double console_round_s = 1.2, console_quick_s = 0.25;
// The number of rounds of the workload fifo, and the time that a round needs in addition to its measurement.
constexpr unsigned fifo_rounds = 7, fifo_quick_rounds = 2;
constexpr double fifo_overhead_s = 0.1;

class Latency : public Experiment
{
  public:
    void declare(Options &options) override;
    void prepare() override;
    void print_plan() const override;
    bool measure() override;
    bool measured() const override
    {
        return std::any_of(processes_.begin(), processes_.end(), has_rounds) ||
               std::any_of(fifo_.begin(), fifo_.end(), [](const Fifo &one) { return !one.rounds.empty(); });
    }
    std::vector<std::string> left_out() const override;
    void print_results() override;
    Verdicts judge(bool times) override;
    void fill(Document &document) override;

  private:
    using Process = std::unique_ptr<VariantProcess>;
    static bool has_rounds(const Process &process)
    {
        return process->record().sum().rounds != 0;
    }
    static bool is_row(const Process &process)
    {
        return has_rounds(process) && process->variant().part == Part::rows;
    }

    // Returns n if the variant takes part in every n-th round.  Variants of Table 1, whose spread is judged, take part
    // in every round.
    unsigned every_of(const Variant &variant) const
    {
        switch (variant.part) {
        case Part::table1:
            return 1;
        case Part::console:
            return console_every_;
        case Part::rows:
            break;
        }
        return every_;
    }
    double console_seconds() const
    {
        return common.quick ? console_quick_s : console_round_s;
    }

    // experiment.cc
    void plan_time();
    void plan_fifo();
    void print_loop_plan() const;
    double plan_console(double seconds);
    // run.cc
    void measure_interrupts();
    bool start_processes();
    void calibrate();
    bool run_rounds();
    double seconds_of_turn(const Variant &variant) const;
    LoopParameters parameters_of(std::size_t process, double seconds) const;
    void run_turn(std::size_t process, const LoopParameters &parameters);
    bool run_fifo_rounds();
    // results.cc
    std::vector<Row> make_rows() const;
    std::vector<Table1Row> make_table1() const;
    std::vector<ConsoleRow> make_console() const;
    std::vector<FifoRow> make_fifo() const;
    std::vector<LateSummary> make_summaries() const;
    Samples inline_shares() const;
    void print_rows() const;
    void print_table1() const;
    void print_interrupting() const;
    void print_console() const;
    void print_fifo() const;
    void print_why() const;
    void print_densities() const;

    PlanOptions wanted_;
    InputOptions input_options_;
    std::vector<std::string> set_;
    bool other_ = false, raised_threshold_ = false, let_sleep_ = false, why_ = false;
    double work_us_ = 40, probe_us_ = 200, reader_ms_ = 10, late_us_ = late_default_us;

    Inputs inputs_;
    std::vector<std::string> notes_;
    std::vector<Variant> plan_;
    ChildOptions child_;
    LoopParameters loop_;
    std::vector<uint64_t> interrupts_; // duration of an interrupt, measured before and after the experiment
    Rounds rounds_{"measuring"};
    unsigned every_ = 1, console_every_ = 1;
    double unit_s_ = 0; // measured time of a variant with weight 1
    std::vector<Process> processes_;
    std::vector<unsigned> operations_an_event_;       // of each process
    std::vector<std::vector<ConsoleResult>> console_; // [process][round]
    std::vector<InterruptingRow> interrupting_;
    std::string interrupting_error_;
    // A variant of the workload fifo.
    struct Fifo {
        const FifoVariant *variant;
        std::vector<FifoRound> rounds;
        std::string error;
    };
    std::vector<Fifo> fifo_; // empty: the workload is not requested
    Rounds fifo_rounds_{"measuring the FIFO updater"};
    int64_t fifo_ns_ = 0; // length of a round
};

} // namespace lab::latency
