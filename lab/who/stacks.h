// SPDX-License-Identifier: MIT OR Apache-2.0
// Names of code, and stacks of threads of another process or of a core file, by elfutils' libdwfl.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace lab::who
{

struct Parts;

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
    std::unique_ptr<Parts> parts_;
};

// The code of one program or library, as its file has it.
class CodeFile
{
  public:
    explicit CodeFile(const std::string &file);
    ~CodeFile();
    CodeFile(const CodeFile &) = delete;
    CodeFile &operator=(const CodeFile &) = delete;

    // Why the file cannot be read; "": it can.
    const std::string &problem() const;
    // "function+0x12 (file.c:34)" for an address that the file itself has; "": it has no function there.
    std::string name(uint64_t address) const;
    // The address of a function; 0: the file has no function of that name.
    uint64_t address_of(const std::string &function) const;

  private:
    std::unique_ptr<Parts> parts_;
    uint64_t bias_ = 0; // from the file's addresses to those of libdwfl
};

} // namespace lab::who
