// SPDX-License-Identifier: MIT OR Apache-2.0
// Stacks of threads of another process or of a core file, by elfutils' libdwfl.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace lab::who
{

class Stacks
{
  public:
    // A thread of the process is stopped while its stack is read, no other, and none longer.
    explicit Stacks(int pid);
    explicit Stacks(const std::string &core_file);
    ~Stacks();
    Stacks(const Stacks &) = delete;
    Stacks &operator=(const Stacks &) = delete;

    // Innermost first: "function+0x12 (file.c:34)"; one line that says why, where it cannot be had.
    std::vector<std::string> of(int thread);
    // Of code; "" for 0.
    std::string name(uint64_t address);

  private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

} // namespace lab::who
