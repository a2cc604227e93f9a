// SPDX-License-Identifier: MIT OR Apache-2.0
// Reads the ELF symbol table of the running program and sorts functions into kinds of work.
#include "overhead/symbols.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <string_view>

namespace lab::overhead
{
namespace
{

using Image = std::vector<char>;

Image own_image()
{
    std::ifstream file("/proc/self/exe", std::ios::binary);
    return Image(std::istreambuf_iterator<char>(file), {});
}

// Where the program was loaded, to be added to the addresses of its file.
uint64_t load_address()
{
    uint64_t address = 0;
    dl_iterate_phdr(
        [](dl_phdr_info *info, std::size_t, void *result) {
            *static_cast<uint64_t *>(result) = info->dlpi_addr;
            return 1; // the first is the program
        },
        &address);
    return address;
}

// A part of the image as an array; nothing where the file is shorter than it says.
template <class T> std::vector<T> part(const Image &image, uint64_t offset, uint64_t bytes)
{
    if (offset > image.size() || bytes > image.size() - offset)
        return {};
    std::vector<T> items(bytes / sizeof(T));
    std::memcpy(items.data(), image.data() + offset, items.size() * sizeof(T));
    return items;
}

std::string text_at(const std::vector<char> &strings, std::size_t offset)
{
    if (offset >= strings.size())
        return {};
    return std::string(strings.data() + offset, strnlen(strings.data() + offset, strings.size() - offset));
}

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
    // Template arguments and parameter lists nest; what is left outside of them is the qualified name.
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
    // A template's name is preceded by its return type, a member's may be followed by its qualifier, and a clone's is
    // followed by ".cold", " [clone ...]" and the like.
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

Work classify(const std::string &name, const std::string &source)
{
    auto begins = [&](std::initializer_list<std::string_view> prefixes) {
        return std::any_of(prefixes.begin(), prefixes.end(),
                           [&](std::string_view prefix) { return name.rfind(prefix, 0) == 0; });
    };
    if (begins({"route_packet", "ReadWriteLock::read_"}))
        return Work::lookup;
    // Whoever yields waits for a lock that an updater holds.  "[": a part of the C library without a name, see find().
    if (begins({"RouteCache::", "PrefixTable::", "reclaim_entry", "SpinLock::", "ReadWriteLock::", "sched_yield",
                "malloc", "free", "cfree", "libc_free", "[libc"}))
        return Work::update;
    // Clocks are read for the budgets of callbacks.
    if (begins({"retire_", "counted_reclaim", "GlobalQueue::", "probe_starts", "clock_gettime"}))
        return Work::rcu;
    if (begins({"forward", "PacketSource::"}))
        return Work::traffic;
    // The library is C; so are the symbols that the tool chain adds, but nobody spends time in those.
    const bool from_c = source.size() > 2 && source.compare(source.size() - 2, 2, ".c") == 0;
    if (from_c || begins({"rtrcu_", "gp_", "drive_", "callback_", "section_", "reader_", "blocked_", "cbqueue_",
                          "plat_", "lock_", "watch_", "api_"}))
        return Work::rcu;
    return Work::other;
}

Symbols::Symbols()
{
    const Image image = own_image();
    const auto headers = part<ElfW(Ehdr)>(image, 0, sizeof(ElfW(Ehdr)));
    if (headers.empty() || std::memcmp(headers[0].e_ident, ELFMAG, SELFMAG) != 0)
        return;
    const auto sections = part<ElfW(Shdr)>(image, headers[0].e_shoff, headers[0].e_shnum * sizeof(ElfW(Shdr)));
    const uint64_t loaded = headers[0].e_type == ET_DYN ? load_address() : 0;
    for (const auto &section : sections) {
        if (section.sh_type != SHT_SYMTAB || section.sh_link >= sections.size())
            continue;
        const auto &strings_section = sections[section.sh_link];
        const auto strings = part<char>(image, strings_section.sh_offset, strings_section.sh_size);
        std::string source;
        for (const auto &entry : part<ElfW(Sym)>(image, section.sh_offset, section.sh_size)) {
            const unsigned char type = entry.st_info & 0xf, binding = entry.st_info >> 4;
            if (type == STT_FILE)
                source = text_at(strings, entry.st_name);
            if (type == STT_FUNC && entry.st_size != 0)
                symbols_.push_back({loaded + entry.st_value, loaded + entry.st_value + entry.st_size,
                                    text_at(strings, entry.st_name), binding == STB_LOCAL ? source : ""});
        }
    }
    std::sort(symbols_.begin(), symbols_.end(), [](const Symbol &a, const Symbol &b) { return a.begin < b.begin; });
}

const Symbols::Symbol *Symbols::symbol_at(uint64_t address) const
{
    auto after = std::upper_bound(symbols_.begin(), symbols_.end(), address,
                                  [](uint64_t value, const Symbol &symbol) { return value < symbol.begin; });
    if (after == symbols_.begin() || address >= (after - 1)->end)
        return nullptr;
    return &*(after - 1);
}

Function Symbols::find(uint64_t address) const
{
    if (const Symbol *symbol = symbol_at(address)) {
        // Functions of C are local to a file or have plain names; both are short already.
        std::string name = short_name(demangled(symbol->name.c_str()));
        return {name, classify(name, symbol->source)};
    }
    Dl_info info{};
    if (dladdr(reinterpret_cast<void *>(address), &info) == 0 || info.dli_fname == nullptr)
        return {"[unknown]", Work::other};
    if (info.dli_sname != nullptr) {
        std::string name = short_name(demangled(info.dli_sname));
        return {name, classify(name, "")};
    }
    const char *slash = std::strrchr(info.dli_fname, '/');
    std::string file = fmt::format("[{}]", slash != nullptr ? slash + 1 : info.dli_fname);
    // Of the C library's unnamed parts only malloc and free do much here.
    return {file, classify(file, "")};
}

} // namespace lab::overhead
