// SPDX-License-Identifier: MIT OR Apache-2.0
// Processes that load the machine from outside this process's group.
#include "expedited/outside.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>

namespace lab::expedited
{
namespace
{

constexpr unsigned hogs_a_cpu = 2;

void compute()
{
    for (;;)
        asm volatile("" ::: "memory");
}

// Writes a temporary file and syncs it to the disk, repeatedly.
void write_out()
{
    static std::array<char, 1 << 16> block;
    FILE *file = tmpfile();
    if (file == nullptr)
        return;
    for (;;) {
        rewind(file);
        for (int i = 0; i < 64; i++)
            if (fwrite(block.data(), 1, block.size(), file) != block.size())
                return;
        fflush(file);
        fsync(fileno(file));
    }
}

} // namespace

OutsideLoad::OutsideLoad(unsigned cpus)
{
    for (unsigned i = 0; i < cpus * hogs_a_cpu; i++)
        start(compute);
    start(write_out);
}

OutsideLoad::~OutsideLoad()
{
    for (const pid_t process : processes_)
        kill(process, SIGKILL);
    for (const pid_t process : processes_)
        waitpid(process, nullptr, 0);
}

// Starts a process that ends when this process ends, for any reason.
void OutsideLoad::start(void (*work)())
{
    const pid_t parent = getpid(), process = fork();
    if (process > 0)
        processes_.push_back(process);
    if (process != 0)
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setsid();
    if (getppid() == parent)
        work();
    _exit(0);
}

} // namespace lab::expedited
