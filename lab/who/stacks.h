// SPDX-License-Identifier: MIT OR Apache-2.0
// Names of code addresses, and stacks of threads of another process or of a core file, by elfutils' libdwfl.
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
    // Reads stacks of a running process.  Only the thread whose stack is read is stopped, while its stack is read.
    explicit Stacks(int pid);
    explicit Stacks(const std::string &core_file);
    ~Stacks();
    Stacks(const Stacks &) = delete;
    Stacks &operator=(const Stacks &) = delete;

    // Returns a stack, with the innermost call first: "function+0x12 (file.c:34)"; a single line with the reason if the
    // stack cannot be read.
    std::vector<std::string> of(int thread);
    // Returns the name of a code address; "" for 0.
    std::string name(uint64_t address);

  private:
    std::unique_ptr<Parts> parts_;
};

// The code of one program or library, read from its file.
class CodeFile
{
  public:
    explicit CodeFile(const std::string &file);
    ~CodeFile();
    CodeFile(const CodeFile &) = delete;
    CodeFile &operator=(const CodeFile &) = delete;

    // Returns the reason why the file cannot be read; empty if it can.
    const std::string &problem() const;
    // Returns "function+0x12 (file.c:34)" for an address in the file; empty if it belongs to no function.
    std::string name(uint64_t address) const;
    // Returns the address of a function; 0: the file has no function of that name.
    uint64_t address_of(const std::string &function) const;

  private:
    std::unique_ptr<Parts> parts_;
    uint64_t bias_ = 0; // added to the file's addresses to get libdwfl's
};

} // namespace lab::who
