// SPDX-License-Identifier: MIT OR Apache-2.0
// `rtrcu dropin PROGRAM…`: runs a program that was built for liburcu on the libraries that replace it.
#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <memory>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "command/command.h"
#include "command/options.h"
#include "inspect/printable.h"

namespace lab
{
namespace
{

namespace fs = std::filesystem;

struct DropinOptions {
    bool counters = false;
    bool anyway = false;
    std::vector<std::string> words;
};

constexpr const char *libraries_of_flavours[] = {"liburcu.so.8", "liburcu-memb.so.8", "liburcu-mb.so.8",
                                                 "liburcu-qsbr.so.8", "liburcu-bp.so.8"};

// Returns the folder of the drop-in libraries, which is beside this program or where they were installed; empty if none
// of these folders contains them.
fs::path libraries()
{
    const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
    std::vector<fs::path> places = {here / "../liburcu", here / "../lib/rtrcu", here / "../lib64/rtrcu"};
    std::error_code none;
    for (const auto &entry : fs::directory_iterator(here / "../lib", none))
        places.push_back(entry.path() / "rtrcu");
    for (const fs::path &place : places) {
        if (fs::exists(place / "liburcu.so.8"))
            return fs::canonical(place);
    }
    return {};
}

fs::path find_program(const std::string &name)
{
    if (name.find('/') != std::string::npos)
        return name;
    std::string path = getenv("PATH") ? getenv("PATH") : "/usr/bin:/bin";
    for (size_t at = 0; at <= path.size();) {
        size_t end = std::min(path.find(':', at), path.size());
        fs::path candidate = fs::path(path.substr(at, end - at)) / name;
        if (access(candidate.c_str(), X_OK) == 0)
            return candidate;
        at = end + 1;
    }
    return {};
}

// Returns the loader that the program's ELF header names; empty for a script or a statically linked program.
std::string loader_of(const fs::path &program)
{
    std::ifstream file(program, std::ios::binary);
    Elf64_Ehdr header{};
    file.read(reinterpret_cast<char *>(&header), sizeof(header));
    if (!file || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64)
        return {};
    for (int i = 0; i < header.e_phnum; i++) {
        Elf64_Phdr segment{};
        file.seekg(static_cast<std::streamoff>(header.e_phoff) + i * static_cast<int>(sizeof(segment)));
        file.read(reinterpret_cast<char *>(&segment), sizeof(segment));
        if (!file || segment.p_type != PT_INTERP || segment.p_filesz > PATH_MAX)
            continue;
        std::string loader(segment.p_filesz, 0);
        file.seekg(static_cast<std::streamoff>(segment.p_offset));
        file.read(loader.data(), static_cast<std::streamsize>(loader.size()));
        return file ? loader.c_str() : "";
    }
    return {};
}

std::string quoted(std::string text)
{
    for (size_t at = 0; (at = text.find('\'', at)) != std::string::npos; at += 4)
        text.replace(at, 1, "'\\''");
    return "'" + text + "'";
}

// Returns the path of each library that the loader would load for the program in the present environment, by name; an
// empty path if the loader does not find the library.  Runs the loader, but no code of the program.
std::map<std::string, fs::path> loaded_by(const fs::path &program, const std::string &loader)
{
    std::map<std::string, fs::path> libraries;
    std::array<char, PATH_MAX> line{};
    FILE *answer =
        popen(fmt::format("{} --list {} 2>/dev/null", quoted(loader), quoted(program.string())).c_str(), "r");
    while (answer && fgets(line.data(), line.size(), answer)) {
        const std::string text = line.data();
        const size_t name = text.find_first_not_of(" \t"), arrow = text.find(" => ");
        if (name == std::string::npos || arrow == std::string::npos)
            continue;
        const size_t path = arrow + strlen(" => "), address = text.rfind(" (0x");
        libraries[text.substr(name, arrow - name)] =
            address == std::string::npos ? "" : text.substr(path, address - path);
    }
    if (answer)
        pclose(answer);
    return libraries;
}

bool has_capabilities(const fs::path &program)
{
    return getxattr(program.c_str(), "security.capability", nullptr, 0) > 0;
}

// Returns the reason why `program` would not use the libraries in `folder`, although LD_LIBRARY_PATH names the folder
// first; empty if it would use them.
std::string objection(const fs::path &program, const fs::path &folder)
{
    struct stat status {
    };
    if (stat(program.c_str(), &status) == 0 && (status.st_mode & (S_ISUID | S_ISGID)))
        return "the loader ignores LD_LIBRARY_PATH for a set-user-ID or set-group-ID program; install the drop-in "
               "libraries instead";
    if (has_capabilities(program))
        return "the loader ignores LD_LIBRARY_PATH for a program with file capabilities (getcap); install the drop-in "
               "libraries instead";
    const std::string loader = loader_of(program);
    if (loader.empty())
        return "the program is a script or is linked statically, so the loader, which would load these libraries, does "
               "not run";
    const std::map<std::string, fs::path> loaded = loaded_by(program, loader);
    if (loaded.count("liburcu-signal.so.8"))
        return "the program needs liburcu-signal, which no drop-in library replaces";
    bool found = false;
    for (const char *name : libraries_of_flavours) {
        const auto library = loaded.find(name);
        if (library == loaded.end())
            continue;
        found = true;
        std::error_code none;
        if (!fs::equivalent(library->second, folder / name, none))
            return fmt::format("the loader would take {} for {}: a DT_RPATH or a path in the program goes before "
                               "LD_LIBRARY_PATH (readelf -d)",
                               library->second.string(), name);
    }
    return found ? ""
                 : "the program needs none of liburcu's shared libraries (liburcu.so.8, -memb, -mb, -qsbr, -bp): it "
                   "does not "
                   "use them, contains a copy, or loads them later with a plugin (--anyway runs the program)";
}

void prepend_folder(const fs::path &folder)
{
    const char *before = getenv("LD_LIBRARY_PATH");
    setenv("LD_LIBRARY_PATH", (folder.string() + (before && *before ? ":" : "") + (before ? before : "")).c_str(), 1);
}

int run(const DropinOptions &options)
{
    std::vector<std::string> words = options.words;
    if (words.empty())
        return complain(exit_usage, "dropin: the program to run is missing");
    fs::path folder = libraries(), program = find_program(words[0]);
    if (folder.empty())
        return complain(exit_check_failed, "dropin: the drop-in libraries were not found beside this program");
    if (program.empty() || access(program.c_str(), X_OK) != 0)
        return complain(exit_usage,
                        fmt::format("dropin: {}: the program does not exist, or you may not run it", words[0]));
    prepend_folder(folder);
    const std::string why = objection(program, folder);
    if (!why.empty() && !options.anyway)
        return complain(exit_usage, fmt::format("dropin: {}: {}", words[0], why));
    if (options.counters)
        setenv("DROPIN_COUNTERS", "1", 1);
    fmt::print(stderr, "rtrcu: runs {} with LD_LIBRARY_PATH={}\n", inspect::printable(program.string()),
               inspect::printable(folder.string()));
    if (!why.empty())
        fmt::print(stderr, "rtrcu: the program may not use the drop-in libraries: {}\n", inspect::printable(why));
    std::vector<char *> arguments;
    for (std::string &word : words)
        arguments.push_back(word.data());
    arguments.push_back(nullptr);
    execv(program.c_str(), arguments.data());
    return complain(exit_check_failed, fmt::format("dropin: {}: {}", program.string(), strerror(errno)));
}

} // namespace

Registration add_dropin(CLI::App &application)
{
    auto options = std::make_shared<DropinOptions>();
    CLI::App *command = add_command(application, "dropin", "run a program that was built for liburcu on this library");
    Options given(*command);
    given.flag("--counters", options->counters, "print the statistics of each flavour when the program ends");
    given.flag("--anyway", options->anyway, "run the program even if it may not load the drop-in libraries itself");
    given.program(options->words);
    return {command, [options] { return run(*options); }};
}

} // namespace lab
