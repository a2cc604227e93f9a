// SPDX-License-Identifier: MIT OR Apache-2.0
// Names for code addresses of this process: the program's own symbol table first, then what the dynamic linker knows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

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
    // Reads the symbol table of the running program.  Where that was stripped, names are coarse; named() says so.
    Symbols();
    Function find(uint64_t address) const;
    bool named() const
    {
        return !symbols_.empty();
    }

  private:
    struct Symbol {
        uint64_t begin, end; // run-time addresses
        std::string name;    // as in the table
        std::string source;  // the file a local symbol comes from, as the table says
    };
    const Symbol *symbol_at(uint64_t address) const;
    std::vector<Symbol> symbols_; // by begin
};

// "lab::RouteCache<lab::overhead::RcuSync>::miss(unsigned long, ...)" -> "RouteCache::miss"; suffixes of clones go too.
std::string short_name(const std::string &demangled);
// From the short name and, for local symbols, the source file.
Work classify(const std::string &name, const std::string &source);

} // namespace lab::overhead
