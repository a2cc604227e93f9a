// SPDX-License-Identifier: MIT OR Apache-2.0
// The processes of this machine that run the library, examined repeatedly.
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
    std::vector<Domain> domains; // empty if the process has not initialized the library yet
};

struct Process {
    int pid = 0;
    std::string name;
    std::vector<CopyLook> copies;
    std::string problem; // why the process could not be read, and the missing permission; empty: it was read
};

// Returns the contents of a file below /proc, newlines included; empty if the file does not exist.
std::string text_of_file(const std::string &path);
// Returns a thread's name in printable form; empty if the thread does not exist.
std::string name_of_thread(int pid, int thread);
// Maps thread ids in the process's PID namespace to ids in this namespace; empty if the two namespaces are the same.
std::map<int, int> outer_ids(int pid);

class Processes
{
  public:
    // `named`: the processes to show; empty: all processes that run the library.
    explicit Processes(std::vector<int> named) : named_(std::move(named))
    {
    }
    // Returns the processes to show, sorted by pid.  A named process that cannot be shown has a problem.
    std::vector<Process> look();
    // Returns the number of processes that were not named and may not be read.
    std::size_t refused() const
    {
        return refused_.size();
    }

  private:
    struct Known {
        uint64_t started;
        std::vector<std::pair<Copy, Block>> copies;
        unsigned looked_at;  // round in which the process's objects were last examined
        std::string problem; // the problem found in that round
        bool is_shown;       // show the process even if it was not named
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
