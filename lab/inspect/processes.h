// SPDX-License-Identifier: MIT OR Apache-2.0
// The processes of this machine that run the library, looked at again and again.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "inspect/look.h"

namespace lab::inspect
{

struct CopyLook {
    Copy copy;
    std::string library;         // its version
    std::vector<Domain> domains; // none: it has not begun yet
};

struct Process {
    int pid = 0;
    std::string name;
    std::vector<CopyLook> copies;
    std::string problem; // why it could not be read, and what is needed
};

// All of a file below /proc: where a name stands in it, the name may have line breaks.  "" where there is none.
std::string text_of_file(const std::string &path);
// As it may be shown; "" where there is none.
std::string name_of_thread(int pid, int thread);
// The thread ids of a process in a PID namespace of its own, as this one numbers them; empty where they are the same.
std::map<int, int> outer_ids(int pid);

class Processes
{
  public:
    // `named` alone; all that there are, where none is.
    explicit Processes(std::vector<int> named) : named_(std::move(named))
    {
    }
    // Those that run the library, by their numbers; named ones in any case, with their problem.
    std::vector<Process> look();
    // That were not named, and may not be looked at.
    std::size_t refused() const
    {
        return refused_.size();
    }

  private:
    struct Known {
        uint64_t started;
        std::vector<std::pair<Copy, Block>> copies;
        unsigned looked_at;  // round in which its objects were asked for last
        std::string problem; // that was found then
        bool is_shown;       // though it was not named
    };
    static void read_block(const Memory &memory, const Copy &copy, Known &known);
    void find(int pid, uint64_t started);
    bool look_at(int pid, Process &process);

    std::vector<int> named_;
    std::map<int, Known> known_;
    std::set<int> refused_;
    unsigned round_ = 0;
};

} // namespace lab::inspect
