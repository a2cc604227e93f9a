// SPDX-License-Identifier: MIT OR Apache-2.0
// What every sub-command shares: common options, the exit codes, and how main() finds the commands.
//
// A sub-command is one file: a function that adds it to the application and says what to run when it was chosen.
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
constexpr int exit_interrupted = 130; // what was completed is reported

struct CommonOptions {
    bool quick = false;
    double seconds = 0; // 0: the command's own default
    uint64_t seed = 1;
    std::string json;
};
CLI::App *add_command(CLI::App &application, const char *name, const char *what);
CLI::App *add_command(CLI::App &application, const char *name, const char *what, CommonOptions &options);

// Set by Ctrl-C once catch_interrupt() was called; a second Ctrl-C ends the program at once.
void catch_interrupt();
bool interrupted();

// Prints the program's name and the message on standard error and returns the code.
int complain(int code, const std::string &message);

// Throws, with what to do, where a file cannot be written: before a run, and not behind it.
void need_writable(const std::string &file);

// The common arguments, which come first.
void add_arguments(const CommonOptions &options, Document &document);
// Writes the document when a file was named; what a command returns, unless that fails.
int finish(const CommonOptions &options, const Document &document, int code);

using Runner = std::function<int()>;
struct Registration {
    CLI::App *command;
    Runner run;
};

// A program of sub-commands: main() is this call.
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
