// SPDX-License-Identifier: MIT OR Apache-2.0
// Finds objects, attaches to a thread, unwinds its stack, and detaches, by libdwfl.
#include "who/stacks.h"

#include <cstdlib>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inspect/printable.h"

namespace lab::who
{
namespace
{

constexpr std::size_t most_frames = 64;
char *debug_path = nullptr;

const Dwfl_Callbacks of_process = {dwfl_linux_proc_find_elf, dwfl_standard_find_debuginfo, nullptr, &debug_path};
const Dwfl_Callbacks of_core = {dwfl_build_id_find_elf, dwfl_standard_find_debuginfo, nullptr, &debug_path};
const Dwfl_Callbacks of_file = {nullptr, dwfl_standard_find_debuginfo, dwfl_offline_section_address, &debug_path};

} // namespace

struct Parts {
    explicit Parts(const Dwfl_Callbacks *callbacks) : dwfl(dwfl_begin(callbacks))
    {
    }
    ~Parts()
    {
        if (dwfl != nullptr)
            dwfl_end(dwfl);
        if (elf != nullptr)
            elf_end(elf);
        if (file >= 0)
            close(file);
    }
    Parts(const Parts &) = delete;
    Parts &operator=(const Parts &) = delete;
    void failed()
    {
        const char *why = dwfl_errmsg(-1);
        problem = why != nullptr ? why : "unknown";
    }
    Dwfl *dwfl;
    Elf *elf = nullptr;
    Dwfl_Module *module = nullptr; // the module of the file given to CodeFile
    int file = -1;
    std::string problem;
};

Stacks::Stacks(int pid) : parts_(std::make_unique<Parts>(&of_process))
{
    Dwfl *dwfl = parts_->dwfl;
    if (dwfl == nullptr || dwfl_linux_proc_report(dwfl, pid) != 0 || dwfl_report_end(dwfl, nullptr, nullptr) != 0 ||
        dwfl_linux_proc_attach(dwfl, pid, false) != 0)
        parts_->failed();
}

Stacks::Stacks(const std::string &core_file) : parts_(std::make_unique<Parts>(&of_core))
{
    Parts &parts = *parts_;
    elf_version(EV_CURRENT);
    parts.file = open(core_file.c_str(), O_RDONLY | O_CLOEXEC);
    parts.elf = parts.file >= 0 ? elf_begin(parts.file, ELF_C_READ_MMAP, nullptr) : nullptr;
    if (parts.dwfl == nullptr || parts.elf == nullptr || dwfl_core_file_report(parts.dwfl, parts.elf, nullptr) < 0 ||
        dwfl_report_end(parts.dwfl, nullptr, nullptr) != 0 || dwfl_core_file_attach(parts.dwfl, parts.elf) < 0)
        parts.failed();
}

Stacks::~Stacks() = default;

static std::string last_part(const char *path)
{
    const std::string whole = path != nullptr ? path : "?";
    return inspect::printable(whole.substr(whole.rfind('/') + 1));
}

// Returns "file.c:34", or the name of the object.
static std::string place_of(Dwfl_Module *module, uint64_t address)
{
    int line = 0;
    Dwfl_Line *source = dwfl_module_getsrc(module, address);
    const char *file = source != nullptr ? dwfl_lineinfo(source, nullptr, &line, nullptr, nullptr, nullptr) : nullptr;
    if (file != nullptr)
        return fmt::format("{}:{}", last_part(file), line);
    return last_part(dwfl_module_info(module, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr));
}

// Returns "function+0x12"; empty if the address belongs to no function.
static std::string function_of(Dwfl_Module *module, uint64_t address)
{
    GElf_Off offset = 0;
    GElf_Sym symbol{};
    const char *function = dwfl_module_addrinfo(module, address, &offset, &symbol, nullptr, nullptr, nullptr);
    return function != nullptr ? fmt::format("{}+{:#x}", inspect::printable(function), offset) : "";
}

std::string Stacks::name(uint64_t address)
{
    if (address == 0)
        return "";
    Dwfl_Module *module = parts_->dwfl != nullptr ? dwfl_addrmodule(parts_->dwfl, address) : nullptr;
    if (module == nullptr)
        return fmt::format("{:#x}", address);
    const std::string function = function_of(module, address);
    return fmt::format("{} ({})", function.empty() ? fmt::format("{:#x}", address) : function,
                       place_of(module, address));
}

std::vector<std::string> Stacks::of(int thread)
{
    if (!parts_->problem.empty())
        return {"no stack: " + parts_->problem};
    std::vector<uint64_t> addresses;
    auto note = [](Dwfl_Frame *frame, void *into) {
        auto &found = *static_cast<std::vector<uint64_t> *>(into);
        Dwarf_Addr address;
        bool is_activation = false;
        if (!dwfl_frame_pc(frame, &address, &is_activation))
            return static_cast<int>(DWARF_CB_ABORT);
        // a return address is the address of the instruction after the call, so look up the byte before it
        found.push_back(is_activation ? address : address - 1);
        return static_cast<int>(found.size() < most_frames ? DWARF_CB_OK : DWARF_CB_ABORT);
    };
    if (dwfl_getthread_frames(parts_->dwfl, thread, note, &addresses) != 0 && addresses.empty())
        return {fmt::format("no stack: {}", dwfl_errmsg(-1))};
    std::vector<std::string> lines;
    for (uint64_t address : addresses)
        lines.push_back(name(address));
    return lines;
}

// Opens regular files only: a log may name a FIFO, whose open() would block.
CodeFile::CodeFile(const std::string &file) : parts_(std::make_unique<Parts>(&of_file))
{
    struct stat status {
    };
    if (stat(file.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
        parts_->problem = "not a regular file";
        return;
    }
    Dwfl *dwfl = parts_->dwfl;
    GElf_Addr bias = 0;
    parts_->module = dwfl != nullptr ? dwfl_report_offline(dwfl, "", file.c_str(), -1) : nullptr;
    if (parts_->module == nullptr || dwfl_report_end(dwfl, nullptr, nullptr) != 0 ||
        dwfl_module_getelf(parts_->module, &bias) == nullptr)
        parts_->failed();
    bias_ = bias;
}

CodeFile::~CodeFile() = default;

const std::string &CodeFile::problem() const
{
    return parts_->problem;
}

std::string CodeFile::name(uint64_t address) const
{
    const std::string function = function_of(parts_->module, address + bias_);
    return function.empty() ? "" : fmt::format("{} ({})", function, place_of(parts_->module, address + bias_));
}

uint64_t CodeFile::address_of(const std::string &function) const
{
    const int count = dwfl_module_getsymtab(parts_->module);
    for (int i = 1; i < count; i++) {
        GElf_Sym symbol{};
        GElf_Addr address = 0;
        const char *name = dwfl_module_getsym_info(parts_->module, i, &symbol, &address, nullptr, nullptr, nullptr);
        if (name != nullptr && function == name && GELF_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_value != 0)
            return address - bias_;
    }
    return 0;
}

} // namespace lab::who
