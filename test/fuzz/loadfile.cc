// SPDX-License-Identifier: MIT OR Apache-2.0
// Fuzzing of the dbench loadfile parser: its result, written as a loadfile, must parse to the same result.
#include "workload/loadfile.h"

#include <algorithm>
#include <set>

#include "check.h"

namespace
{

using lab::FileOp;
using lab::FileOperation;
using lab::Loadfile;

bool same(const Loadfile &a, const Loadfile &b)
{
    auto equal = [](const FileOperation &x, const FileOperation &y) {
        return x.op == y.op && x.directory == y.directory && x.path == y.path && x.second_path == y.second_path;
    };
    return a.paths == b.paths && a.lines == b.lines && a.handle_operations == b.handle_operations &&
           a.outside_clients == b.outside_clients &&
           std::equal(a.operations.begin(), a.operations.end(), b.operations.begin(), b.operations.end(), equal);
}

std::string line_of(const Loadfile &loadfile, const FileOperation &operation)
{
    auto quoted = [&](uint32_t path) { return "\"\\CLIENTS\\Client1\\" + loadfile.paths.at(path) + '"'; };
    const std::string path = quoted(operation.path), options = operation.directory ? " 0x1" : " 0x40";
    switch (operation.op) {
    case FileOp::create:
        return "NTCreateX " + path + options + " 0x2 1 NT_STATUS_OK\n";
    case FileOp::make_directory:
        return "Mkdir " + path + " NT_STATUS_OK\n";
    case FileOp::lookup:
        return "NTCreateX " + path + options + " 0x1 1 NT_STATUS_OK\n";
    case FileOp::list:
        return "FIND_FIRST " + path + " 260 1366 0 NT_STATUS_OK\n";
    case FileOp::remove:
        return "Unlink " + path + " 0x6 NT_STATUS_OK\n";
    case FileOp::rename:
        return "Rename " + path + ' ' + quoted(operation.second_path) + " NT_STATUS_OK\n";
    case FileOp::remove_tree:
        return "Deltree " + path + " NT_STATUS_OK\n";
    }
    check(false, "an operation is one of those that are known");
    return {};
}

void check_refused(const std::string &text, const std::string &error)
{
    static const std::string nothing = "the file has no operation on a path";
    if (error == nothing)
        return;
    unsigned long number = 0;
    int length = 0;
    check(std::sscanf(error.c_str(), "line %lu: %n", &number, &length) == 1, "what is refused names the line");
    check(error.size() > static_cast<std::size_t>(length), "what is refused says why");
    // The lines before this one are accepted, and with it they are refused.
    std::size_t begin = 0;
    for (unsigned long line = 1; line < number; line++)
        begin = text.find('\n', begin) + 1;
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    Loadfile loadfile;
    std::string before, with;
    check(lab::parse_loadfile(text.substr(0, begin), loadfile, before) || before == nothing,
          "the lines before the one that is named are right");
    check(!lab::parse_loadfile(text.substr(0, end), loadfile, with) && with == error,
          "the line that is named is wrong");
}

std::string fold(std::string text)
{
    for (char &c : text)
        c = c == '\\' ? '/' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return text;
}

void check_accepted(const std::string &text, const Loadfile &loadfile)
{
    const std::set<std::string> names(loadfile.paths.begin(), loadfile.paths.end());
    check(names.size() == loadfile.paths.size(), "a path stands there once");
    const std::string folded = fold(text);
    for (const std::string &path : loadfile.paths)
        check(folded.find("\"/clients/client1/" + path + '"') != std::string::npos ||
                  (path.empty() && folded.find("\"/clients/client1\"") != std::string::npos),
              "a path is one of the client's, folded and with forward separators");
    const auto newlines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    check(loadfile.lines == newlines + (text.back() == '\n' ? 0 : 1), "every line is counted");
    check(loadfile.operations.size() + loadfile.handle_operations + loadfile.outside_clients <= loadfile.lines,
          "a line is one operation at most");

    Loadfile again, expected = loadfile;
    std::string written, error;
    for (const FileOperation &operation : loadfile.operations)
        written += line_of(loadfile, operation);
    check(lab::parse_loadfile(written, again, error), "an accepted loadfile can be written and read again");
    expected.lines = loadfile.operations.size();
    expected.handle_operations = expected.outside_clients = 0;
    check(same(again, expected), "what was taken reads as the same again");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const std::string text(reinterpret_cast<const char *>(data), size);
    Loadfile before;
    before.paths = {"before"};
    before.operations = {{FileOp::lookup, false, 0, 0}};
    Loadfile loadfile = before;
    std::string error;
    if (lab::parse_loadfile(text, loadfile, error)) {
        check_accepted(text, loadfile);
        return 0;
    }
    check(same(loadfile, before), "a refused file changes nothing");
    check_refused(text, error);
    return 0;
}
