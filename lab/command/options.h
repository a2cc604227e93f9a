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
    // An option that may be repeated.  If `allowed` is not empty, the option accepts only the values in `allowed`.
    void texts(const char *name, std::vector<std::string> &values, const char *what,
               const std::vector<std::string> &allowed = {});
    // An option whose value is a list, separated by commas.
    void list(const char *name, std::vector<std::string> &values, const char *what);
    void seed(const char *name, uint64_t &value, const char *what);
    // Declares the arguments that are not options; the user must give at least one.
    void files(const char *name, std::vector<std::string> &values, const char *what);
    // Declares that all words after the known options are another program's command line.
    void program(std::vector<std::string> &words);
    void number(const char *name, double &value, const char *what, double least, double most);
    void count(const char *name, unsigned &value, const char *what, unsigned least, unsigned most);
    // An option that --help does not show: the program passes it to a child process.
    void hidden(const char *name, int &value);
    // Makes the two options exclude each other.
    void either(const char *name, const char *other);
    // Replaces the description of a common option.
    void describe(const char *name, const char *what);

  private:
    CLI::App &command_;
};

// Parses texts of the form NAME=VALUE, the values of --set.  Throws a Refusal if a text has another form.
std::vector<std::pair<std::string, std::string>> parse_settings(const std::vector<std::string> &texts);

} // namespace lab
