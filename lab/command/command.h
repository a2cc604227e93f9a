// SPDX-License-Identifier: MIT OR Apache-2.0
// Common to all sub-commands: options, exit codes, and how main() finds the commands.
//
// A sub-command is one file with a function that adds it to the application and sets the function to run when it is
// chosen.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace CLI
{
class App;
}

namespace lab
{

class Document;

constexpr int exit_ok = 0;
constexpr int exit_check_failed = 1;
constexpr int exit_usage = 2;
constexpr int exit_interrupted = 130; // after Ctrl-C; the completed results are reported

struct CommonOptions {
    bool quick = false;
    double seconds = 0; // 0: the command's own default
    uint64_t seed = 1;
    std::string json;
};
CLI::App *add_command(CLI::App &application, const char *name, const char *what);
CLI::App *add_command(CLI::App &application, const char *name, const char *what, CommonOptions &options);

// catch_interrupt() makes the first Ctrl-C set interrupted(), and a second Ctrl-C end the program immediately.
void catch_interrupt();
bool interrupted();

// Prints the program's name and the message on standard error, and returns `code`.
int complain(int code, const std::string &message);

// Throws, with advice, if the file cannot be written.  Called before a run, so that its results are not lost.
void need_writable(const std::string &file);

// Adds the common arguments, which come first in a document.
void add_arguments(const CommonOptions &options, Document &document);
// Writes the document if a file was named.  Returns `code`, or another exit code if writing fails.
int finish(const CommonOptions &options, const Document &document, int code);

using Runner = std::function<int()>;
struct Registration {
    CLI::App *command;
    Runner run;
};

// The main() of a program with sub-commands.
using Adder = Registration (*)(CLI::App &application);
int run_command(const char *what, const char *version, const std::vector<Adder> &adders, int argc, char **argv);

Registration add_blocked(CLI::App &application);
Registration add_dropin(CLI::App &application);
Registration add_env(CLI::App &application);
Registration add_expedited(CLI::App &application);
Registration add_latency(CLI::App &application);
Registration add_overhead(CLI::App &application);
Registration add_report(CLI::App &application);
Registration add_top(CLI::App &application);
Registration add_torture(CLI::App &application);
Registration add_who(CLI::App &application);

} // namespace lab
