// SPDX-License-Identifier: MIT OR Apache-2.0
// Finds the processes that run the library by their notes, even if they start, load or replace it later.
#include "inspect/processes.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <unistd.h>

#include "inspect/printable.h"

namespace lab::inspect
{
namespace
{

// A process's objects are examined again after this many rounds: the process may have loaded the library meanwhile, or
// executed another program.
constexpr unsigned rounds_between = 8;

std::string proc(int pid, const std::string &file)
{
    return "/proc/" + std::to_string(pid) + "/" + file;
}

// Returns a process's start time in kernel ticks; the time and the pid together identify the process uniquely.  Returns
// 0 if the process does not exist.
uint64_t start_of(int pid)
{
    const std::string stat = text_of_file(proc(pid, "stat"));
    const std::size_t behind = stat.rfind(')');
    if (behind == std::string::npos)
        return 0;
    std::istringstream words(stat.substr(behind + 1));
    std::string word;
    for (int i = 0; i < 20 && words >> word; i++)
        ;
    return word.empty() ? 0 : std::strtoull(word.c_str(), nullptr, 10);
}

std::vector<int> all_processes()
{
    std::vector<int> pids;
    std::error_code failure;
    for (const auto &entry : std::filesystem::directory_iterator("/proc", failure)) {
        const std::string name = entry.path().filename();
        if (std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isdigit(c) != 0; }))
            pids.push_back(std::atoi(name.c_str()));
    }
    std::sort(pids.begin(), pids.end());
    return pids;
}

} // namespace

std::string text_of_file(const std::string &path)
{
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf(); // if the process has ended, the read fails without an exception
    return text.str();
}

std::string name_of_thread(int pid, int thread)
{
    std::string name = text_of_file(proc(pid, "task/" + std::to_string(thread) + "/comm"));
    if (!name.empty())
        name.pop_back(); // the newline at the end of the file
    return printable(name);
}

std::map<int, int> outer_ids(int pid)
{
    std::map<int, int> ids;
    std::error_code failure;
    // Advancing to the next entry fails if the process has ended.
    std::filesystem::directory_iterator entry(proc(pid, "task"), failure), end;
    for (; !failure && entry != end; entry.increment(failure)) {
        std::ifstream file(entry->path() / "status");
        std::string line;
        while (std::getline(file, line)) {
            if (line.rfind("NSpid:", 0) != 0)
                continue;
            std::istringstream words(line.substr(6));
            int outer = 0, inner = 0, depth = 0;
            for (int id = 0; words >> id; depth++)
                (depth == 0 ? outer : inner) = id;
            if (depth < 2)
                return {};
            ids[inner] = outer;
        }
    }
    return ids;
}

// Reads the block of a copy.  If the block has an unknown version, sets `known.problem`; the process's other copies are
// still shown.
void Processes::read_block(const Memory &memory, const Copy &copy, Known &known)
{
    try {
        auto block = Block::read(memory, copy);
        if (block)
            known.copies.emplace_back(copy, std::move(*block));
        else
            known.looked_at = 0; // the process is still loading the library: examine it again in the next round
    } catch (const Refused &why) {
        if (why.code != ENOTSUP)
            throw;
        known.problem = why.what();
        known.is_shown = true;
    }
}

void Processes::find(int pid, uint64_t started)
{
    Known &known = known_[pid];
    known = {started, {}, round_, "", false};
    try {
        ProcessMemory memory(pid);
        for (const Copy &copy : find_copies(memory, mappings_of(pid)))
            read_block(memory, copy, known);
        refused_.erase(pid);
    } catch (const Refused &why) {
        known.problem = why.what();
        if (named_.empty() && (why.code == EPERM || why.code == EACCES))
            refused_.insert(pid);
    }
}

// Reads a process into `process`.  Returns true if the process is to be shown.
bool Processes::look_at(int pid, Process &process)
{
    const uint64_t started = start_of(pid);
    const auto at = known_.find(pid);
    const bool is_new = at == known_.end() || at->second.started != started;
    if (started == 0) {
        process.problem = advice(pid, ESRCH);
        known_.erase(pid);
        refused_.erase(pid);
        return false;
    }
    if (is_new || round_ - at->second.looked_at >= rounds_between || at->second.looked_at == 0)
        find(pid, started);
    const Known &known = known_[pid];
    process.problem = known.problem;
    if (known.copies.empty())
        return known.is_shown;
    try {
        ProcessMemory memory(pid);
        const std::map<int, int> ids = outer_ids(pid);
        for (const auto &[copy, block] : known.copies) {
            process.copies.push_back({copy, block.library, inspect::look(memory, block)});
            for (Domain &domain : process.copies.back().domains)
                for (Thread &thread : domain.threads) {
                    const auto outer = ids.find(thread.id);
                    thread.id = outer == ids.end() ? thread.id : outer->second;
                    thread.name = name_of_thread(pid, thread.id);
                }
        }
    } catch (const Refused &why) {
        process.problem = why.what();
        known_.erase(pid);
        return false;
    }
    return true;
}

std::vector<Process> Processes::look()
{
    std::vector<Process> processes;
    const std::vector<int> pids = named_.empty() ? all_processes() : named_;
    round_++;
    for (auto at = known_.begin(); at != known_.end();)
        at = std::find(pids.begin(), pids.end(), at->first) == pids.end() ? known_.erase(at) : std::next(at);
    for (auto at = refused_.begin(); at != refused_.end();)
        at = std::find(pids.begin(), pids.end(), *at) == pids.end() ? refused_.erase(at) : std::next(at);
    for (int pid : pids) {
        Process process;
        process.pid = pid;
        process.name = name_of_thread(pid, pid);
        const bool shown = look_at(pid, process);
        if (!shown && !named_.empty() && process.problem.empty())
            process.problem =
                "process " + std::to_string(pid) +
                (known_[pid].looked_at == 0 ? " has not finished loading the library; try again"
                                            : " does not run the library, or runs a version without inspection");
        if (shown || !named_.empty())
            processes.push_back(std::move(process));
    }
    return processes;
}

} // namespace lab::inspect
