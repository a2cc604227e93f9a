// SPDX-License-Identifier: MIT OR Apache-2.0
// The memory of another process, or of a core file, read in batches of pieces.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace lab::inspect
{

// An error whose text is the reason why a process cannot be read, and the permission that is missing.
struct Refused : std::runtime_error {
    Refused(int error, const std::string &what) : std::runtime_error(what), code(error)
    {
    }
    int code; // an errno
};

struct Piece {
    uint64_t address;
    void *into;
    std::size_t bytes;
    bool done = false;
};

class Memory
{
  public:
    virtual ~Memory() = default;
    // Reads all pieces, and sets `done` of each piece that it has read.  A piece whose memory is not mapped stays
    // unchanged.
    virtual void read(std::vector<Piece> &pieces) const = 0;
    bool read(uint64_t address, void *into, std::size_t bytes) const;
    // CLOCK_MONOTONIC as the program sees it; 0 in a core file.
    virtual int64_t now_ns() const
    {
        return 0;
    }
    // Returns the string at `address` in printable form.  It ends at a NUL byte, at unmapped memory, or after `most`
    // bytes.
    std::string text(uint64_t address, std::size_t most) const;
    template <class T> std::optional<T> value(uint64_t address) const
    {
        T value;
        return read(address, &value, sizeof(value)) ? std::optional<T>(value) : std::nullopt;
    }
};

// A range of a process's addresses: a mapping of a file, or anonymous memory.
struct Mapping {
    uint64_t begin, end, offset;
    std::string file;
};

// The memory of a process, which keeps running while its memory is read.
class ProcessMemory : public Memory
{
  public:
    explicit ProcessMemory(int pid) : pid_(pid)
    {
    }
    using Memory::read;
    void read(std::vector<Piece> &pieces) const override;
    int64_t now_ns() const override;

  private:
    int pid_;
};

// Throws Refused.
std::vector<Mapping> mappings_of(int pid);
// Returns a message about a failed attempt to read process `pid`, with advice.  `error`: the errno of the attempt.
std::string advice(int pid, int error);

// The memory in a core file.  Pieces of mapped files that the core file does not contain are read from those files.
class CoreMemory : public Memory
{
  public:
    explicit CoreMemory(const std::string &file); // throws Refused
    ~CoreMemory() override;
    using Memory::read;
    void read(std::vector<Piece> &pieces) const override;
    const std::vector<Mapping> &mappings() const;
    int pid() const;
    const std::string &program() const;

  private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

// A set of requests to read words of up to eight bytes, and arrays of words; run() reads all of them together.
class Batch
{
  public:
    explicit Batch(const Memory &memory) : memory_(memory)
    {
    }
    const uint64_t &word(uint64_t address, std::size_t bytes);
    const std::vector<uint64_t> &words(uint64_t address, std::size_t count);
    // Reads everything requested so far.  A value that cannot be read is 0.
    void run();

  private:
    const Memory &memory_;
    std::deque<uint64_t> words_;
    std::deque<std::vector<uint64_t>> arrays_;
    std::vector<Piece> pieces_;
};

} // namespace lab::inspect
