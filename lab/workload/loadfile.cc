// SPDX-License-Identifier: MIT OR Apache-2.0
// The parser of dbench's loadfile, and a generated substitute for the file.
#include "workload/loadfile.h"

#include <array>
#include <cctype>
#include <fmt/format.h>
#include <fstream>
#include <random>
#include <sstream>
#include <unordered_map>

namespace lab
{
namespace
{

constexpr std::string_view client_prefix = "/clients/client1";

class Parser
{
  public:
    explicit Parser(Loadfile &loadfile) : loadfile_(loadfile)
    {
    }
    bool line(std::string_view text, std::string &error);

  private:
    bool path_operation(std::string_view name, std::string_view arguments, std::string &error);
    bool create(std::string_view arguments, uint32_t path, std::string &error);
    bool take_path(std::string_view &arguments, std::string &path);
    bool intern(const std::string &path, uint32_t &index);

    Loadfile &loadfile_;
    std::unordered_map<std::string, uint32_t> known_;
};

std::string_view take_word(std::string_view &text)
{
    std::size_t begin = text.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) {
        text = {};
        return {};
    }
    std::size_t end = std::min(text.find_first_of(" \t\r", begin), text.size());
    std::string_view word = text.substr(begin, end - begin);
    text.remove_prefix(end);
    return word;
}

// Parses a quoted path; converts it to lower case and forward slashes.
bool Parser::take_path(std::string_view &arguments, std::string &path)
{
    std::size_t open = arguments.find('"');
    std::size_t close = open == std::string_view::npos ? open : arguments.find('"', open + 1);
    if (close == std::string_view::npos)
        return false;
    path.clear();
    for (char c : arguments.substr(open + 1, close - open - 1))
        path += c == '\\' ? '/' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    arguments.remove_prefix(close + 1);
    return true;
}

// Returns false if the path is above the client's own directory.
bool Parser::intern(const std::string &path, uint32_t &index)
{
    if (path.rfind(client_prefix, 0) != 0)
        return false;
    std::string inside = path.substr(client_prefix.size());
    if (!inside.empty() && inside.front() != '/')
        return false;
    if (!inside.empty())
        inside.erase(0, 1);
    auto [entry, fresh] = known_.emplace(inside, static_cast<uint32_t>(loadfile_.paths.size()));
    if (fresh)
        loadfile_.paths.push_back(inside);
    index = entry->second;
    return true;
}

// Parses NTCreateX PATH OPTIONS DISPOSITION HANDLE STATUS.  Dispositions: 1 open, 2 create, 3 open or create, 5
// overwrite or create.  Bit 0 of the options means a directory.
bool Parser::create(std::string_view arguments, uint32_t path, std::string &error)
{
    std::string options(take_word(arguments)), disposition(take_word(arguments));
    take_word(arguments);
    std::string_view status = take_word(arguments);
    if (status.empty()) {
        error = "NTCreateX needs a path, options, a disposition, a handle and a status";
        return false;
    }
    bool makes = disposition == "0x2" || disposition == "0x3" || disposition == "0x5";
    bool directory = (std::strtoul(options.c_str(), nullptr, 16) & 1) != 0;
    FileOp op = makes && status == "NT_STATUS_OK" ? FileOp::create : FileOp::lookup;
    loadfile_.operations.push_back({op, directory, path, path});
    return true;
}

bool Parser::path_operation(std::string_view name, std::string_view arguments, std::string &error)
{
    std::string text;
    uint32_t path = 0;
    if (!take_path(arguments, text)) {
        error = fmt::format("{} needs a quoted path", name);
        return false;
    }
    if (!intern(text, path)) {
        loadfile_.outside_clients++;
        return true;
    }
    if (name == "NTCreateX")
        return create(arguments, path, error);
    if (name == "Rename") {
        uint32_t second = 0;
        if (!take_path(arguments, text) || !intern(text, second)) {
            error = "Rename needs two quoted paths of one client";
            return false;
        }
        loadfile_.operations.push_back({FileOp::rename, false, path, second});
        return true;
    }
    FileOp op = name == "Unlink"       ? FileOp::remove
                : name == "Mkdir"      ? FileOp::make_directory
                : name == "Rmdir"      ? FileOp::remove
                : name == "Deltree"    ? FileOp::remove_tree
                : name == "FIND_FIRST" ? FileOp::list
                                       : FileOp::lookup;
    loadfile_.operations.push_back({op, name == "Mkdir", path, path});
    return true;
}

bool Parser::line(std::string_view text, std::string &error)
{
    static constexpr std::array<std::string_view, 8> on_paths = {
        "NTCreateX", "Mkdir", "Rmdir", "Unlink", "Rename", "Deltree", "FIND_FIRST", "QUERY_PATH_INFORMATION"};
    static constexpr std::array<std::string_view, 10> on_handles = {"Close",
                                                                    "ReadX",
                                                                    "WriteX",
                                                                    "Flush",
                                                                    "LockX",
                                                                    "UnlockX",
                                                                    "QUERY_FILE_INFORMATION",
                                                                    "QUERY_FS_INFORMATION",
                                                                    "SET_FILE_INFORMATION",
                                                                    "Sleep"};
    std::string_view rest = text;
    std::string_view name = take_word(rest);
    if (name.empty() || name.front() == '#')
        return true;
    for (std::string_view known : on_paths)
        if (name == known)
            return path_operation(name, rest, error);
    for (std::string_view known : on_handles) {
        if (name == known) {
            loadfile_.handle_operations++;
            return true;
        }
    }
    error = fmt::format("unknown operation '{}'", name);
    return false;
}

} // namespace

bool parse_loadfile(std::string_view text, Loadfile &loadfile, std::string &error)
{
    Loadfile whole;
    Parser parser(whole);
    while (!text.empty()) {
        std::size_t end = std::min(text.find('\n'), text.size());
        whole.lines++;
        if (!parser.line(text.substr(0, end), error)) {
            error = fmt::format("line {}: {}", whole.lines, error);
            return false;
        }
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    if (whole.operations.empty()) {
        error = "the file has no operation on a path";
        return false;
    }
    loadfile = std::move(whole);
    return true;
}

bool read_loadfile(const std::string &file_name, Loadfile &loadfile, std::string &error)
{
    std::ifstream file(file_name, std::ios::binary);
    if (!file) {
        error =
            fmt::format("{}: cannot be read; install the dbench package or name a loadfile with --loadfile", file_name);
        return false;
    }
    std::stringstream text;
    text << file.rdbuf();
    if (!parse_loadfile(text.str(), loadfile, error)) {
        error = fmt::format("{}: {}", file_name, error);
        return false;
    }
    return true;
}

Loadfile generate_loadfile(uint64_t seed)
{
    // The mix of operations is that of the recorded stream: one operation in ten changes names.  Most others are opens
    // and queries, and a third of the opens and queries are for names that do not exist.
    Loadfile loadfile;
    std::mt19937_64 random(seed);
    loadfile.paths.emplace_back();
    constexpr unsigned directories = 8, files = 32;
    for (unsigned d = 0; d < directories; d++) {
        loadfile.paths.push_back(fmt::format("dir{}", d));
        loadfile.operations.push_back({FileOp::make_directory, true, d + 1, d + 1});
    }
    const auto first_file = static_cast<uint32_t>(loadfile.paths.size());
    for (unsigned f = 0; f < directories * files; f++)
        loadfile.paths.push_back(fmt::format("dir{}/file{:03}.dat", f % directories, f));
    for (unsigned i = 0; i < 20'000; i++) {
        uint32_t file = first_file + static_cast<uint32_t>(random() % (directories * files));
        unsigned kind = random() % 20;
        if (kind == 0)
            loadfile.operations.push_back({FileOp::create, false, file, file});
        else if (kind == 1)
            loadfile.operations.push_back({FileOp::remove, false, file, file});
        else if (kind < 5)
            loadfile.operations.push_back({FileOp::list, false, 1 + file % directories, 1 + file % directories});
        else
            loadfile.operations.push_back({FileOp::lookup, false, file, file});
    }
    loadfile.operations.push_back({FileOp::remove_tree, true, 0, 0});
    loadfile.lines = loadfile.operations.size();
    return loadfile;
}

} // namespace lab
