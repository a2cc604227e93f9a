// SPDX-License-Identifier: MIT OR Apache-2.0
// The variant's process: what it sets up, what it obeys, and how the parent watches it.
#include "latency/child.h"

#include <malloc.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fmt/format.h>
#include <optional>
#include <system_error>

#include "machine/realtime.h"
#include "measure/clock.h"
#include "measure/quantile.h"
#include "probe/companion.h"

namespace lab
{

// A round's companions need this long to be at their places before the first probe is due.
constexpr int64_t head_start_ns = 3'000'000;
// A real-time thread that has not slept for so long is stuck: the kernel ends it.
constexpr int stuck_ms = 1000;

VariantProcess::VariantProcess(const Variant &variant, const Inputs &inputs, const ChildOptions &options,
                               std::size_t samples, std::size_t milliseconds)
    : variant_(variant), inputs_(inputs), options_(options),
      record_(std::make_unique<VariantRecord>(samples, milliseconds))
{
}

VariantProcess::~VariantProcess()
{
    if (pid_ <= 0)
        return;
    close(socket_);
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
}

bool VariantProcess::start()
{
    int sockets[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0)
        throw std::system_error(errno, std::generic_category(), "socketpair");
    fflush(nullptr);
    pid_ = fork();
    if (pid_ < 0)
        throw std::system_error(errno, std::generic_category(), "fork");
    socket_ = sockets[pid_ == 0 ? 1 : 0];
    close(sockets[pid_ == 0 ? 0 : 1]);
    if (pid_ == 0)
        run_child();
    return ask({Command::start, {}}, 20'000'000'000);
}

bool VariantProcess::calibrate()
{
    return ask({Command::calibrate, {}}, 10'000'000'000);
}

bool VariantProcess::round(const LoopParameters &parameters)
{
    return ask({Command::round, parameters}, parameters.warm_up_ns + parameters.measure_ns + 10'000'000'000);
}

static std::string describe_end(int status)
{
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
        return fmt::format(
            "the loop ran for {} ms without sleeping and was ended: the work does not fit; lower --work-us", stuck_ms);
    if (WIFSIGNALED(status))
        return fmt::format("the process was ended by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
    return fmt::format("the process ended with status {}", WEXITSTATUS(status));
}

bool VariantProcess::ask(const Command &command, int64_t allowed_ns)
{
    if (!usable())
        return false;
    bool ok = false;
    pollfd readable{socket_, POLLIN, 0};
    const int64_t end = now_ns() + allowed_ns;
    int ready = -1;
    if (send(socket_, &command, sizeof(command), MSG_NOSIGNAL) == sizeof(command)) {
        do
            ready = poll(&readable, 1, static_cast<int>(std::max<int64_t>(end - now_ns(), 0) / 1'000'000));
        while (ready < 0 && errno == EINTR);
    }
    if (ready > 0 && recv(socket_, &ok, sizeof(ok), 0) == sizeof(ok)) {
        if (!ok)
            error_ = record_->sum().error;
        return ok;
    }
    // The watchdog: whoever does not answer is ended, and the run goes on without it.
    if (ready == 0)
        error_ = fmt::format("no answer within {:.0f} s", static_cast<double>(allowed_ns) / 1e9);
    int status = 0;
    if (ready == 0)
        kill(pid_, SIGKILL);
    if (waitpid(pid_, &status, 0) == pid_ && error_.empty())
        error_ = describe_end(status);
    close(socket_);
    pid_ = -1;
    return false;
}

void VariantProcess::run_child()
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGINT, SIG_IGN); // the parent decides when to stop
    limit_realtime_ms(stuck_ms);
    // Freed memory stays with the process and grown memory grows by much: brk() and mmap() are not what is measured.
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    mallopt(M_TOP_PAD, 64 << 20);
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    Command command{};
    while (recv(socket_, &command, sizeof(command), 0) == sizeof(command)) {
        bool ok = obey(command);
        if (send(socket_, &ok, sizeof(ok), MSG_NOSIGNAL) != sizeof(ok))
            break;
    }
    _exit(0);
}

bool VariantProcess::obey(const Command &command)
{
    std::string error;
    try {
        switch (command.kind) {
        case Command::start:
            if (set_up(error))
                return true;
            break;
        case Command::calibrate:
            run_calibration();
            return true;
        case Command::round:
            if (run_round(command.parameters))
                return true;
            error = realtime_refusal();
            break;
        }
    } catch (const std::exception &exception) {
        error = exception.what();
    }
    Totals &sum = record_->sum();
    snprintf(sum.error, sizeof(sum.error), "%s", error.empty() ? "failed" : error.c_str());
    return false;
}

static void fault_in_heap()
{
    // As much as a flood keeps waiting, in objects of the size that it uses, so that later ones find mapped memory.
    std::vector<void *> objects(100'000);
    for (void *&object : objects)
        object = std::memset(std::malloc(96), 0, 96);
    for (void *object : objects)
        std::free(object);
}

bool VariantProcess::set_up(std::string &error)
{
    const Peer &peer = *variant_.policy->peer;
    PeerSettings settings = variant_.policy->settings;
    if (&peer == &rtrcu_peer || &peer == &rtrcu_direct_peer)
        settings.insert(settings.end(), options_.settings.begin(), options_.settings.end());
    if (!peer.start(settings, error))
        return false;
    peer.thread_begin(ThreadRole::deadline_loop);
    peer.online();
    if (variant_.workload == "dcache")
        workload_ = make_dcache_workload(peer, inputs_, options_.seed);
    else if (variant_.workload == "route")
        workload_ = make_route_workload(peer, inputs_, options_.route, options_.seed);
    else
        workload_ = make_flood_workload(peer, inputs_, options_.seed);
    peer.offline();
    fault_in_heap();
    record_->loop.touch();
    record_->thread.touch();
    record_->backlog.touch();
    record_->batches.touch();
    record_->callbacks_a_gp.touch();
    (void)cycles_per_ns();
    loop_ = std::make_unique<DeadlineLoop>(peer, *workload_, *record_);
    // From here on this thread is the loop; what the back-end made before may run anywhere.
    pin_to_cpus({options_.loop_cpu});
    return true;
}

// Time of one operation with nothing in the way: the median of many short tries, so that neither a warm cache nor a
// disturbed moment decides.
void VariantProcess::run_calibration()
{
    constexpr unsigned operations = 200, tries = 301;
    const Peer &peer = *variant_.policy->peer;
    std::vector<uint64_t> each;
    if (variant_.fifo)
        (void)enter_fifo(loop_priority);
    workload_->allow_removals(operations * tries);
    peer.online();
    for (unsigned i = 0; i < tries; i++) {
        int64_t begin = now_ns();
        workload_->serve(operations);
        each.push_back(static_cast<uint64_t>(now_ns() - begin));
    }
    peer.offline();
    if (variant_.fifo)
        enter_other();
    if (peer.between_rounds != nullptr)
        peer.between_rounds();
    uint64_t median = Samples(std::move(each)).quantile_of_few(0.5).value_or(operations);
    record_->sum().work_ns_per_operation = static_cast<double>(median) / operations;
}

// What a round adds to the counters: the age in microseconds that 99 % of the batches did not exceed.
static uint32_t age_p99(const PeerCounters &before, const PeerCounters &after)
{
    uint64_t all = 0, seen = 0;
    for (std::size_t i = 0; i < after.ages.size(); i++)
        all += after.ages[i] - before.ages[i];
    for (std::size_t i = 0; i + 1 < after.ages.size() && all != 0; i++) {
        seen += after.ages[i] - before.ages[i];
        if (static_cast<double>(seen) >= 0.99 * static_cast<double>(all))
            return UINT32_C(2) << i;
    }
    return 0;
}

static void note_invocations(VariantRecord &record, std::size_t first, const PeerCounters &before,
                             const PeerCounters &after)
{
    uint32_t backlog_max = 0;
    for (std::size_t i = first; i < record.backlog.count(); i++)
        backlog_max = std::max(backlog_max, record.backlog[i].backlog);
    const uint32_t p99_us = age_p99(before, after);
    if (p99_us != 0)
        record.invocations.push({backlog_max, p99_us});
}

bool VariantProcess::run_round(LoopParameters parameters)
{
    const Peer &peer = *variant_.policy->peer;
    parameters.cpu = options_.loop_cpu;
    parameters.fifo = variant_.fifo;
    const int64_t begin_ns = now_ns() + head_start_ns;
    const int64_t measure_ns = begin_ns + parameters.warm_up_ns;
    const PeerCounters before = peer.counters();
    const std::size_t backlog_before = record_->backlog.count();
    bool ran = false;
    {
        std::optional<KeepAwake> awake;
        if (options_.keep_awake)
            awake.emplace(options_.loop_cpu);
        ThreadProbe control(options_.loop_cpu, variant_.fifo, measure_ns, measure_ns + parameters.measure_ns,
                            options_.thread_period_ns, record_->thread);
        std::optional<LongReader> reader;
        if (peer.single_reader)
            workload_->allow_removals(INT64_MAX);
        else
            reader.emplace(peer, *workload_, variant_.burst, options_.reader_section_ns, options_.other_cpus);
        ran = loop_->run(parameters, begin_ns);
        record_->sum().bursts += reader ? reader->bursts() : 0;
    }
    if (peer.between_rounds != nullptr)
        peer.between_rounds();
    const PeerCounters after = peer.counters();
    note_invocations(*record_, backlog_before, before, after);
    Totals &sum = record_->sum();
    sum.grace_periods += after.grace_periods - before.grace_periods;
    sum.deadline_stops += after.deadline_stops - before.deadline_stops;
    sum.budget_stops += after.budget_stops - before.budget_stops;
    sum.over_qmax += after.over_qmax - before.over_qmax;
    sum.limit_raised += after.limit_raised - before.limit_raised;
    return ran;
}

} // namespace lab
