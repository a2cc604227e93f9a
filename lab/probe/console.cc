// SPDX-License-Identifier: MIT OR Apache-2.0
// The console: its process, and the results that it shares.
#include "probe/console.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <system_error>

#include "machine/realtime.h"
#include "measure/clock.h"

namespace lab
{

Console::Console(const std::vector<int> &cpus, int64_t longest_run_ns)
    : responses_(static_cast<std::size_t>(longest_run_ns / key_period_ns) + 16), process_(fork())
{
    if (process_ < 0)
        throw std::system_error(errno, std::generic_category(), "fork");
    if (process_ == 0)
        run(cpus);
}

Console::~Console()
{
    end();
}

void Console::end()
{
    if (process_ <= 0)
        return;
    kill(process_, SIGKILL);
    while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR)
        ;
    process_ = -1;
}

void Console::run(const std::vector<int> &cpus)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGINT, SIG_IGN);
    pin_to_cpus(cpus);
    std::atomic_ref<int64_t> awaited(state_->awaited_since_ns);
    for (int64_t due = now_ns() + key_period_ns;;) {
        awaited.store(due);
        const timespec when = to_timespec(due);
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, nullptr);
        const int64_t end_cpu = thread_cpu_ns() + answer_cpu_ns;
        while (thread_cpu_ns() < end_cpu)
            ;
        const int64_t now = now_ns();
        awaited.store(0);
        responses_.push(static_cast<uint64_t>(now - due));
        // The next key press follows one period after the answer.
        due = std::max(due, now) + key_period_ns;
    }
}

ConsoleResult Console::stop()
{
    const int64_t awaited = std::atomic_ref<int64_t>(state_->awaited_since_ns).load();
    const int64_t waiting_ns = awaited == 0 ? 0 : now_ns() - awaited;
    end();
    ConsoleResult result{{}, 0, false};
    for (std::size_t i = 0; i < responses_.count(); i++)
        result.responses_ns.push_back(responses_[i]);
    for (const uint64_t response : result.responses_ns)
        result.longest_ns = std::max(result.longest_ns, response);
    if (waiting_ns > 0 && static_cast<uint64_t>(waiting_ns) > result.longest_ns) {
        result.longest_ns = static_cast<uint64_t>(waiting_ns);
        result.cut = true;
    }
    return result;
}

} // namespace lab
