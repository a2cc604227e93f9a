// SPDX-License-Identifier: MIT OR Apache-2.0
// Finds the functions of the running program with libdw, and assigns them to kinds of work.
#include "overhead/symbols.h"

#include <cxxabi.h>
#include <elfutils/libdwfl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace lab::overhead
{
namespace
{

// Finds no separate debug file, so that libdwfl does not search disks and debuginfo servers.
int find_no_debuginfo(Dwfl_Module *, void **, const char *, Dwarf_Addr, const char *, const char *, GElf_Word, char **)
{
    return -1;
}

constexpr Dwfl_Callbacks callbacks = {dwfl_linux_proc_find_elf, find_no_debuginfo, nullptr, nullptr};

std::string demangled(const char *name)
{
    int status = 0;
    char *text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
    std::string result = status == 0 ? text : name;
    std::free(text);
    return result;
}

} // namespace

const char *work_name(Work work)
{
    static constexpr const char *names[work_kinds] = {"lookup", "update", "rcu", "traffic", "other"};
    return names[static_cast<std::size_t>(work)];
}

std::string short_name(const std::string &demangled)
{
    // Template arguments and parameter lists nest; the text outside them is the qualified name.
    std::string flat;
    int depth = 0;
    for (std::size_t i = 0; i < demangled.size(); i++) {
        if (demangled.compare(i, 21, "(anonymous namespace)") == 0) {
            i += 20 + (demangled.compare(i + 21, 2, "::") == 0 ? 2 : 0);
            continue;
        }
        char c = demangled[i];
        if (c == '<' || c == '(')
            depth++;
        if (depth == 0)
            flat += c;
        if (c == '>' || c == ')')
            depth--;
    }
    // A return type may stand before a template's name, a qualifier after a member's, and ".cold", " [clone ...]" or
    // the like after a clone's.
    flat = flat.substr(0, flat.find(" ["));
    if (flat.size() > 6 && flat.compare(flat.size() - 6, 6, " const") == 0)
        flat.resize(flat.size() - 6);
    flat = flat.substr(flat.find_last_of(' ') == std::string::npos ? 0 : flat.find_last_of(' ') + 1);
    flat = flat.substr(0, flat.find('.'));
    for (const char *prefix : {"lab::", "overhead::", "__"})
        if (flat.rfind(prefix, 0) == 0)
            flat.erase(0, std::strlen(prefix));
    return flat;
}

Work classify(const std::string &name, bool from_c)
{
    auto begins = [&](std::initializer_list<std::string_view> prefixes) {
        return std::any_of(prefixes.begin(), prefixes.end(),
                           [&](std::string_view prefix) { return name.rfind(prefix, 0) == 0; });
    };
    if (begins({"route_packet", "ReadWriteLock::read_"}))
        return Work::lookup;
    // sched_yield: the thread waits for a lock that an updater holds.  "[": an unnamed part of the C library, see
    // find().
    if (begins({"RouteCache::", "PrefixTable::", "reclaim_entry", "SpinLock::", "ReadWriteLock::", "sched_yield",
                "malloc", "free", "cfree", "libc_free", "[libc"}))
        return Work::update;
    // Reads of the clock count as RCU work, because the library reads it for the budgets of callbacks.
    if (begins({"retire_", "counted_reclaim", "GlobalQueue::", "probe_starts", "clock_gettime", "vdso_clock_gettime"}))
        return Work::rcu;
    if (begins({"forward", "PacketSource::", "keep_probing"}))
        return Work::traffic;
    // A C function of the program counts as the library's.  The tool chain adds other C functions, which take no time.
    if (from_c)
        return Work::rcu;
    return Work::other;
}

Symbols::Symbols() : modules_(dwfl_begin(&callbacks), dwfl_end)
{
    if (modules_ == nullptr)
        return;
    (void)dwfl_linux_proc_report(modules_.get(), getpid());
    (void)dwfl_report_end(modules_.get(), nullptr, nullptr);
    const auto own = reinterpret_cast<uint64_t>(&demangled);
    program_ = dwfl_addrmodule(modules_.get(), own);
    named_ = program_ != nullptr && dwfl_module_addrname(program_, own) != nullptr;
}

Function Symbols::find(uint64_t address) const
{
    Dwfl_Module *module = modules_ != nullptr ? dwfl_addrmodule(modules_.get(), address) : nullptr;
    if (module == nullptr)
        return {"[unknown]", Work::other};
    if (const char *symbol = dwfl_module_addrname(module, address)) {
        const bool mangled = std::strncmp(symbol, "_Z", 2) == 0;
        const std::string name = short_name(demangled(symbol));
        return {name, classify(name, module == program_ && !mangled)};
    }
    const std::string path = dwfl_module_info(module, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
    const std::string file = "[" + path.substr(path.rfind('/') + 1) + "]";
    // Of the C library's unnamed parts, only malloc and free take much time here.
    return {file, classify(file, false)};
}

} // namespace lab::overhead
