// SPDX-License-Identifier: MIT OR Apache-2.0
// Names for code addresses of this process: the program's own symbol table first, then what the dynamic linker knows.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

struct Dwfl;
struct Dwfl_Module;

namespace lab::overhead
{

// What a function's time is counted as.
enum class Work : uint32_t {
    lookup,  // finding a route, with the locks that this takes
    update,  // misses, garbage collection, malloc and free
    rcu,     // the library, and the historical layers over it
    traffic, // making up packets, and the loop around it all
    other,
};
constexpr int work_kinds = 5;
const char *work_name(Work work);

struct Function {
    std::string name; // short: "RouteCache::miss"
    Work work;
};

class Symbols
{
  public:
    // Of the running program and its libraries.  Where the program was stripped, names are coarse; named() says so.
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

// "lab::RouteCache<lab::overhead::RcuSync>::miss(unsigned long, ...)" -> "RouteCache::miss"; suffixes of clones go too.
std::string short_name(const std::string &demangled);
// From the short name, and whether it is one of the program's C functions.
Work classify(const std::string &name, bool from_c);

} // namespace lab::overhead
