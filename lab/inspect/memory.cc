// SPDX-License-Identifier: MIT OR Apache-2.0
// Reads another process with process_vm_readv(2), and gives advice if the kernel refuses.
#include "inspect/memory.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>
#include <fstream>
#include <sstream>
#include <sys/uio.h>
#include <unistd.h>

#include "inspect/printable.h"

namespace lab::inspect
{

bool Memory::read(uint64_t address, void *into, std::size_t bytes) const
{
    std::vector<Piece> pieces{{address, into, bytes}};
    read(pieces);
    return pieces[0].done;
}

std::string Memory::text(uint64_t address, std::size_t most) const
{
    std::string text;
    while (address != 0 && text.size() < most) {
        char part[64];
        // Read at most to the end of the page: the next page may not be mapped.
        const std::size_t bytes = std::min({sizeof(part), most - text.size(), 4096 - std::size_t(address % 4096)});
        if (!read(address, part, bytes))
            break;
        const std::size_t length = strnlen(part, bytes);
        text.append(part, length);
        if (length < bytes)
            break;
        address += bytes;
    }
    return printable(text);
}

void ProcessMemory::read(std::vector<Piece> &pieces) const
{
    std::vector<iovec> here, there;
    for (std::size_t at = 0; at < pieces.size();) {
        const std::size_t count = std::min<std::size_t>(pieces.size() - at, IOV_MAX);
        here.clear();
        there.clear();
        for (std::size_t i = at; i < at + count; i++) {
            here.push_back({pieces[i].into, pieces[i].bytes});
            there.push_back({reinterpret_cast<void *>(pieces[i].address), pieces[i].bytes});
        }
        ssize_t got = process_vm_readv(pid_, here.data(), count, there.data(), count, 0);
        if (got < 0 && errno != EFAULT)
            throw Refused(errno, advice(pid_, errno));
        // The kernel stops at the first piece that is not mapped; the next call continues with the piece after that
        // one.
        std::size_t i = at;
        for (; i < at + count && got >= static_cast<ssize_t>(pieces[i].bytes); i++) {
            got -= static_cast<ssize_t>(pieces[i].bytes);
            pieces[i].done = true;
        }
        at = i == at + count ? i : i + 1;
    }
}

// Returns CLOCK_MONOTONIC as the process reads it: its time namespace may add an offset.
int64_t ProcessMemory::now_ns() const
{
    auto offset_of = [](const std::string &name) {
        std::ifstream file("/proc/" + name + "/timens_offsets");
        std::string clock;
        int64_t seconds = 0, ns = 0;
        while (file >> clock >> seconds >> ns)
            if (clock == "monotonic")
                return seconds * 1'000'000'000 + ns;
        return int64_t(0);
    };
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    static const int64_t own = offset_of("self");
    return static_cast<int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec + offset_of(std::to_string(pid_)) - own;
}

std::vector<Mapping> mappings_of(int pid)
{
    errno = 0;
    std::ifstream file("/proc/" + std::to_string(pid) + "/maps");
    std::vector<Mapping> mappings;
    std::string line;
    while (std::getline(file, line)) {
        Mapping mapping;
        char dash, permissions[8];
        unsigned long long begin, end, offset;
        int name_at = 0;
        if (sscanf(line.c_str(), "%llx%c%llx %7s %llx %*s %*s %n", &begin, &dash, &end, permissions, &offset,
                   &name_at) < 5)
            continue;
        mapping.begin = begin;
        mapping.end = end;
        mapping.offset = offset;
        mapping.file = name_at > 0 && static_cast<std::size_t>(name_at) < line.size() ? line.substr(name_at) : "";
        if (permissions[0] == 'r')
            mappings.push_back(mapping);
    }
    // Without an error, an empty list means a kernel thread or a zombie, which has no memory.
    if (!mappings.empty())
        return mappings;
    const int error = errno != 0 ? errno : ESRCH;
    throw Refused(error, advice(pid, error));
}

static std::string first_line(const std::string &name)
{
    std::ifstream file(name);
    std::string line;
    std::getline(file, line);
    return line;
}

static bool is_own(int pid)
{
    std::ifstream file("/proc/" + std::to_string(pid) + "/status");
    std::string line;
    while (std::getline(file, line)) {
        unsigned int real = 0, effective = 0;
        if (sscanf(line.c_str(), "Uid: %u %u", &real, &effective) == 2)
            return real == getuid() && effective == getuid();
    }
    return false;
}

std::string advice(int pid, int error)
{
    const std::string who = "process " + std::to_string(pid);
    if (error == ENOENT || error == ESRCH)
        return access(("/proc/" + std::to_string(pid)).c_str(), F_OK) == 0
                   ? who + " has no memory: it has exited, or is a kernel thread"
                   : "there is no " + who + " in this PID namespace; name a process in a container by its number in" +
                         " this namespace, or run this inside the container";
    if (error == ENOSYS)
        return "this kernel has no process_vm_readv(), or a seccomp filter forbids it here";
    if (error != EPERM && error != EACCES)
        return who + " cannot be read: " + std::strerror(error);
    const std::string scope = first_line("/proc/sys/kernel/yama/ptrace_scope");
    if (is_own(pid) && !scope.empty() && scope != "0")
        return who + " may not be read: kernel.yama.ptrace_scope is " + scope +
               (scope == "3" ? ", which forbids it to all users until the next boot"
                             : "; run this as root or with CAP_SYS_PTRACE, or set it to 0");
    if (is_own(pid))
        return who + " may not be read though you own it: it has privileges, or has called" +
               " prctl(PR_SET_DUMPABLE, 0), or a seccomp filter or its user namespace forbids it; run this as root" +
               " or with CAP_SYS_PTRACE in its user namespace";
    return who + " belongs to another user: run this as that user, as root or with CAP_SYS_PTRACE";
}

const uint64_t &Batch::word(uint64_t address, std::size_t bytes)
{
    words_.push_back(0);
    pieces_.push_back({address, &words_.back(), std::min<std::size_t>(bytes, 8)});
    return words_.back();
}

const std::vector<uint64_t> &Batch::words(uint64_t address, std::size_t count)
{
    arrays_.emplace_back(count, 0);
    if (count != 0)
        pieces_.push_back({address, arrays_.back().data(), count * 8});
    return arrays_.back();
}

void Batch::run()
{
    memory_.read(pieces_);
    pieces_.clear();
}

} // namespace lab::inspect
