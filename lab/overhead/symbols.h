// SPDX-License-Identifier: MIT OR Apache-2.0
// Names for code addresses of this process: from the program's symbol table, or else from the dynamic linker.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

struct Dwfl;
struct Dwfl_Module;

namespace lab::overhead
{

// The kind of work to which a function's time is assigned.
enum class Work : uint32_t {
    lookup,  // finding a route, including its locks
    update,  // misses, garbage collection, malloc and free
    rcu,     // the library, and the historical layers over it
    traffic, // generating packets, and the loop around the work
    other,
};
constexpr int work_kinds = 5;
const char *work_name(Work work);

struct Function {
    std::string name; // a short name: "RouteCache::miss"
    Work work;
};

class Symbols
{
  public:
    // Finds the symbols of the running program and its libraries.  In a stripped program named() is false, and names
    // are imprecise.
    Symbols();
    Function find(uint64_t address) const;
    bool named() const
    {
        return named_;
    }

  private:
    std::unique_ptr<Dwfl, void (*)(Dwfl *)> modules_;
    Dwfl_Module *program_ = nullptr;
    bool named_ = false;
};

// Returns a short name: "lab::RouteCache<lab::overhead::RcuSync>::miss(unsigned long, ...)" becomes "RouteCache::miss";
// suffixes of clones are removed too.
std::string short_name(const std::string &demangled);
// Returns the kind of work of a function, by its short name; `from_c`: it is a C function of the program.
Work classify(const std::string &name, bool from_c);

} // namespace lab::overhead
