// SPDX-License-Identifier: MIT OR Apache-2.0
// A message has the file and the address in it: "from /usr/lib/librtrcu.so.0.1 0x1a2b", or "at the program 0x1a2b".
#include "who/messages.h"

#include <istream>
#include <map>
#include <memory>
#include <ostream>
#include <regex>

#include "who/stacks.h"

namespace lab::who
{
namespace
{

class Names
{
  public:
    explicit Names(std::string program) : program_(std::move(program))
    {
    }
    // "" where there is none.
    std::string of(const std::string &file, uint64_t address)
    {
        const std::string &path = file == "the program" ? program_ : file;
        if (path.empty())
            return "";
        std::unique_ptr<Stacks> &open = files_[path];
        if (!open)
            open = Stacks::of_file(path);
        return open->name_in_file(address);
    }

  private:
    std::string program_;
    std::map<std::string, std::unique_ptr<Stacks>> files_;
};

} // namespace

std::size_t name_messages(std::istream &in, std::ostream &out, const std::string &program)
{
    static const std::regex place("^rtrcu: .*(?:from|at|in|run) (the program|/.*) 0x([0-9a-f]+)");
    Names names(program);
    std::size_t found = 0;
    std::smatch match;
    for (std::string line; std::getline(in, line);) {
        std::string name;
        if (std::regex_search(line, match, place))
            name = names.of(match[1], std::stoull(match[2], nullptr, 16));
        found += !name.empty();
        out << line << (name.empty() ? "" : ": ") << name << '\n';
    }
    return found;
}

} // namespace lab::who
