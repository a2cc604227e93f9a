// SPDX-License-Identifier: MIT OR Apache-2.0
// Addresses in messages have the form "from /usr/lib/librtrcu.so.0.2 0x1a2b", "at the program 0x1a2b", or, if the
// library
// knew the function, "at function+0x12 (/usr/lib/libplugin.so)".
#include "who/messages.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fmt/format.h>
#include <istream>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string_view>

#include "who/stacks.h"

namespace lab::who
{
namespace
{

constexpr const char *the_program = "the program";

// A code address in a line.  `address`: an offset from the begin of `function`, or in `file` if `function` is empty.
struct Place {
    std::string file, function; // "": code that belongs to no file
    uint64_t address;
};

// Returns the hexadecimal number whose digits begin at `at`; nothing if a letter or another character of a word follows
// them.
std::optional<uint64_t> hex_at(const std::string &line, std::size_t at)
{
    const char *begin = line.c_str() + at;
    char *end = nullptr;
    if (std::isxdigit(static_cast<unsigned char>(*begin)) == 0)
        return std::nullopt;
    const uint64_t value = std::strtoull(begin, &end, 16);
    return std::string_view(" ;:,()\r").find(*end) != std::string_view::npos || *end == '\0'
               ? std::optional<uint64_t>(value)
               : std::nullopt;
}

// Returns the place that the line describes at position `begin`; nothing if it describes none.
std::optional<Place> place_at(const std::string &line, std::size_t begin)
{
    const std::size_t plus = line.find("+0x", begin), open = line.find(" (", begin), close = line.rfind(')');
    if (plus < open && open < close && close != std::string::npos && line.find(' ', begin) == open)
        if (const auto offset = hex_at(line, plus + 3))
            return Place{line.substr(open + 2, close - open - 2), line.substr(begin, plus - begin), *offset};
    const std::size_t number = line.compare(begin, 2, "0x") == 0 ? begin : line.find(" 0x", begin);
    if (number == std::string::npos)
        return std::nullopt;
    const auto address = hex_at(line, number + (number == begin ? 2 : 3));
    return address ? std::optional<Place>({line.substr(begin, number - begin), "", *address}) : std::nullopt;
}

std::optional<Place> place_in(const std::string &line)
{
    const std::size_t message = line.find("rtrcu: ");
    if (message == std::string::npos)
        return std::nullopt;
    std::size_t first = std::string::npos;
    for (const std::string before : {" from ", " at ", " run ", " memory: "}) {
        const std::size_t found = line.find(before, message);
        if (found != std::string::npos)
            first = std::min(first, found + before.size());
    }
    return first == std::string::npos ? std::nullopt : place_at(line, first);
}

class Names
{
  public:
    Names(std::string program, NamedMessages &done) : program_(std::move(program)), done_(done)
    {
    }
    // Returns function, file and line of a place; empty if they are not known.
    std::string of(const Place &place)
    {
        const CodeFile *file = open(place.file);
        if (file == nullptr)
            return "";
        const uint64_t begin = place.function.empty() ? 0 : file->address_of(place.function);
        return begin == 0 && !place.function.empty() ? "" : file->name(begin + place.address);
    }

  private:
    // Returns true if `name` is "the program", or has the same last component as the file given by --program.
    bool is_the_program(const std::string &name) const
    {
        const std::size_t bare = program_.rfind('/') + 1;
        return name == the_program || (!program_.empty() && name.substr(name.rfind('/') + 1) == program_.substr(bare));
    }
    const CodeFile *open(const std::string &name)
    {
        std::unique_ptr<CodeFile> &file = files_[name];
        if (file)
            return file->problem().empty() ? file.get() : nullptr;
        const std::string &path = is_the_program(name) ? program_ : name;
        file = std::make_unique<CodeFile>(path);
        if (file->problem().empty())
            return file.get();
        if (name == the_program && path.empty())
            done_.problems.emplace_back("addresses in the program itself: pass its executable file by --program");
        else if (name.empty())
            done_.problems.emplace_back("addresses in no file: code that was generated while the program ran");
        else
            done_.problems.push_back(fmt::format(
                "addresses of {}: {}; copy the file that the program had loaded to this place", path, file->problem()));
        return nullptr;
    }

    std::string program_;
    NamedMessages &done_;
    std::map<std::string, std::unique_ptr<CodeFile>> files_;
};

} // namespace

NamedMessages name_messages(std::istream &log, std::ostream &out, const std::string &program)
{
    NamedMessages done;
    Names names(program, done);
    for (std::string line; std::getline(log, line);) {
        const auto place = place_in(line);
        const std::string name = place ? names.of(*place) : "";
        if (place)
            (name.empty() ? done.unnamed : done.named)++;
        out << line << (name.empty() ? "" : ": ") << name
            << std::endl; // flush each line: the log may be a pipe from a program that still runs
    }
    return done;
}

} // namespace lab::who
