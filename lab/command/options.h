// SPDX-License-Identifier: MIT OR Apache-2.0
// The options of a sub-command, declared without the parser's header.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace CLI
{
class App;
}

namespace lab
{

class Options
{
  public:
    explicit Options(CLI::App &command) : command_(command)
    {
    }
    void flag(const char *name, bool &value, const char *what);
    void text(const char *name, std::string &value, const char *what);
    // May be repeated; one of `allowed`, where any are named.
    void texts(const char *name, std::vector<std::string> &values, const char *what,
               const std::vector<std::string> &allowed = {});
    // Separated by commas.
    void list(const char *name, std::vector<std::string> &values, const char *what);
    void seed(const char *name, uint64_t &value, const char *what);
    // What is not an option; at least one.
    void files(const char *name, std::vector<std::string> &values, const char *what);
    // Another program's command line: what stands behind the options known here.
    void program(std::vector<std::string> &words);
    void number(const char *name, double &value, const char *what, double least, double most);
    void count(const char *name, unsigned &value, const char *what, unsigned least, unsigned most);
    // Not shown by --help: what the program tells a process of its own.
    void hidden(const char *name, int &value);
    // Of two options only one may be given.
    void either(const char *name, const char *other);
    // Another description for a common option.
    void describe(const char *name, const char *what);

  private:
    CLI::App &command_;
};

// NAME=VALUE, for --set.  Throws a Refusal.
std::vector<std::pair<std::string, std::string>> parse_settings(const std::vector<std::string> &texts);

} // namespace lab
