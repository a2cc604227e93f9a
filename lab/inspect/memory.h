// SPDX-License-Identifier: MIT OR Apache-2.0
// The memory of another process, or of one that has left a core file: read in batches, piece by piece.
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

// Nothing of a process can be read: why, and what is needed.
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
    // What is not there stays as it is, and is not done.
    virtual void read(std::vector<Piece> &pieces) const = 0;
    bool read(uint64_t address, void *into, std::size_t bytes) const;
    // CLOCK_MONOTONIC as the program has it, 0: it has none any more.
    virtual int64_t now_ns() const
    {
        return 0;
    }
    // Up to `most` bytes, as they may be shown; shorter where it ends, or where the memory does.
    std::string text(uint64_t address, std::size_t most) const;
    template <class T> std::optional<T> value(uint64_t address) const
    {
        T value;
        return read(address, &value, sizeof(value)) ? std::optional<T>(value) : std::nullopt;
    }
};

// A mapping of a file or of nothing.
struct Mapping {
    uint64_t begin, end, offset;
    std::string file;
};

// A process that goes on meanwhile: nothing stops it.
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
// What a user must do who was refused `pid` with that errno.
std::string advice(int pid, int error);

// A core file; what it does not hold of files that were mapped is read from those.
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

// Words of up to eight bytes and arrays of such, asked for first and read together.
class Batch
{
  public:
    explicit Batch(const Memory &memory) : memory_(memory)
    {
    }
    const uint64_t &word(uint64_t address, std::size_t bytes);
    const std::vector<uint64_t> &words(uint64_t address, std::size_t count);
    // Afterwards what was asked for before has its values; 0 where there are none.
    void run();

  private:
    const Memory &memory_;
    std::deque<uint64_t> words_;
    std::deque<std::vector<uint64_t>> arrays_;
    std::vector<Piece> pieces_;
};

} // namespace lab::inspect
