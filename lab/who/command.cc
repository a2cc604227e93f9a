// SPDX-License-Identifier: MIT OR Apache-2.0
// `rtrcu who`: a stall report on demand, for a process or a core file; and names for the addresses in messages.
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <memory>

#include "command/command.h"
#include "inspect/processes.h"
#include "machine/machine.h"
#include "report/document.h"
#include "top/view.h"
#include "who/messages.h"
#include "who/stacks.h"

namespace lab
{
namespace
{

using inspect::Domain;
using inspect::expedited;
using inspect::Kind;
using inspect::normal;
using inspect::Task;
using inspect::Thread;

struct WhoOptions {
    std::string target, json, messages, program;
    bool all = false, no_stacks = false;
};

// The process or core file to report on, with its stacks.
struct Target {
    inspect::Process process;
    bool is_core = false;
    std::unique_ptr<who::Stacks> stacks;
};

struct WhoRow : Fields {
    Text domain{*this, "domain"}, row{*this, "row"}, name{*this, "name"};
    Whole thread{*this, "thread"}, nesting{*this, "nesting"};
    Flag waited_for{*this, "waited_for"}, waited_for_expedited{*this, "waited_for_expedited"};
    Number waited_ms{*this, "waited_ms"};
    Text waits_in{*this, "waits_in"};
    Number inside_ms{*this, "inside_ms"};
    Texts stack{*this, "stack"};
};

bool is_number(const std::string &text)
{
    return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

Target look_at_process(int pid)
{
    Target target;
    inspect::Processes processes({pid});
    target.process = processes.look().at(0);
    if (target.process.copies.empty())
        throw inspect::Refused(EPERM, target.process.problem);
    return target;
}

Target look_at_core(const std::string &file)
{
    Target target;
    target.is_core = true;
    const inspect::CoreMemory memory(file);
    target.process.pid = memory.pid();
    target.process.name = memory.program();
    for (const inspect::Copy &copy : inspect::find_copies(memory, memory.mappings()))
        if (const auto block = inspect::Block::read(memory, copy))
            target.process.copies.push_back({copy, block->library, inspect::look(memory, *block)});
    if (target.process.copies.empty())
        throw inspect::Refused(ENOENT, file + " has no copy of the library: its program does not run the library, or"
                                              " files that the program had mapped do not exist here");
    return target;
}

// Returns a thread's state, and the kernel function in which it sleeps: "asleep in futex_wait_queue".
std::string waits_in(int pid, int thread)
{
    const std::string folder = "/proc/" + std::to_string(pid) + "/task/" + std::to_string(thread);
    const std::string stat = inspect::text_of_file(folder + "/stat"), where = inspect::text_of_file(folder + "/wchan");
    const std::size_t name_end = stat.rfind(')');
    const char state = name_end != std::string::npos && name_end + 2 < stat.size() ? stat[name_end + 2] : '?';
    const std::string in = where.empty() || where == "0" ? "" : " in " + where;
    switch (state) {
    case 'R':
        return "running, or ready to run";
    case 'S':
        return "asleep" + in;
    case 'D':
        return "in uninterruptible sleep" + in;
    case 'T':
        return "stopped by a signal";
    case 't':
        return "stopped by a debugger";
    default:
        return "in an unknown state";
    }
}

class Report
{
  public:
    Report(Target &target, const WhoOptions &options) : target_(target), options_(options)
    {
    }
    void run()
    {
        if (!target_.process.problem.empty())
            fmt::print("{}\n", target_.process.problem);
        for (const inspect::CopyLook &copy : target_.process.copies)
            for (const Domain &domain : copy.domains)
                say_domain(copy, domain);
    }
    const std::vector<WhoRow> &rows() const
    {
        return rows_;
    }

  private:
    std::string age(const Domain &domain, Kind kind) const
    {
        return target_.is_core ? "" : " for " + top::duration(static_cast<double>(age_ns(domain, kind)));
    }
    static std::string ago(const Domain &domain, const Thread &thread)
    {
        const int64_t ns = domain.inside_ns(thread);
        return ns != 0 ? " " + top::duration(static_cast<double>(ns)) + " ago" : "";
    }
    static int64_t age_ns(const Domain &domain, Kind kind)
    {
        return std::max<int64_t>(domain.at_ns - domain.gp[kind].began_ns, 1);
    }

    void say_domain(const inspect::CopyLook &copy, const Domain &domain)
    {
        fmt::print("{} {}, domain {} (library {} in {})\n", target_.process.pid, target_.process.name, domain.name,
                   copy.library, copy.copy.object);
        for (Kind kind : {normal, expedited}) {
            const inspect::GracePeriods &gp = domain.gp[kind];
            if (gp.running)
                fmt::print("  {} grace period {} has been under way{}; {} wait for its end\n",
                           inspect::kind_names[kind], gp.number, age(domain, kind),
                           gp.waiters == 0 ? "none" : std::to_string(gp.waiters));
        }
        if (!domain.gp[normal].running && !domain.gp[expedited].running)
            fmt::print("  no grace period is under way\n");
        if (domain.pending() != 0)
            fmt::print("  {} callbacks are pending{}\n", domain.pending(),
                       target_.is_core
                           ? ""
                           : ", the oldest for " + top::duration(static_cast<double>(domain.oldest_age_ns())));
        if (domain.longest_ns != 0)
            fmt::print("  the longest callback ran for {}: {}\n", top::duration(static_cast<double>(domain.longest_ns)),
                       stacks().name(domain.longest_function));
        if (const auto section = domain.longest_section())
            fmt::print("  the longest section has taken {}, and began at {}\n",
                       top::duration(static_cast<double>(section->ns)), stacks().name(section->began_at));
        for (const Thread &thread : domain.threads)
            if (is_holdout(thread) || (options_.all && thread.is_registered && thread.is_inside()))
                say_thread(domain, thread);
        for (const Task &task : domain.tasks)
            if (is_holdout(task) || options_.all)
                say_task(domain, task);
        if (domain.gp[normal].anonymous || domain.gp[expedited].anonymous)
            fmt::print("  holdout: {} readers without a record\n", domain.counter("registry.anonymous"));
        if (domain.sections != 0)
            fmt::print("  {} sections are open; their threads are not recorded\n", domain.sections);
        say_invokers(domain);
    }

    template <class Reader> static bool is_holdout(const Reader &reader)
    {
        return reader.is_waited_for[normal] || reader.is_waited_for[expedited];
    }

    void note(const Domain &domain, const char *what, const std::string &name, const bool *is_waited_for, WhoRow &row)
    {
        row.domain = domain.name;
        row.row = what;
        row.name = name;
        row.waited_for = is_waited_for[normal];
        row.waited_for_expedited = is_waited_for[expedited];
        const Kind kind = is_waited_for[normal] ? normal : expedited;
        if (!target_.is_core && is_waited_for[kind])
            row.waited_ms = static_cast<double>(age_ns(domain, kind)) / 1e6;
        rows_.push_back(row);
    }

    void say_thread(const Domain &domain, const Thread &thread)
    {
        WhoRow row;
        row.thread = static_cast<uint64_t>(thread.id);
        row.nesting = thread.nesting;
        const Kind kind = thread.is_waited_for[normal] ? normal : expedited;
        fmt::print("  {}: thread {} \"{}\", {}{}{}\n", is_holdout(thread) ? "holdout" : "inside", thread.id,
                   thread.name,
                   thread.is_quiescent_state ? "online, has not called rcu_quiescent_state()"
                                             : fmt::format("inside a section, nesting {}", thread.nesting),
                   is_holdout(thread) ? age(domain, kind) + (target_.is_core ? "" : " or longer") : "",
                   thread.is_boosted ? ", is boosted" : "");
        if (!target_.is_core) {
            row.waits_in = waits_in(target_.process.pid, thread.id);
            fmt::print("      {}\n", static_cast<const std::string &>(row.waits_in));
        }
        if (thread.entered != 0)
            fmt::print("      its section began{} at {}\n", ago(domain, thread), stacks().name(thread.entered));
        if (domain.inside_ns(thread) != 0)
            row.inside_ms = static_cast<double>(domain.inside_ns(thread)) / 1e6;
        if (!options_.no_stacks)
            row.stack = stacks().of(thread.id);
        for (const std::string &line : row.stack)
            fmt::print("      {}\n", line);
        note(domain, "thread", thread.name, thread.is_waited_for.data(), row);
    }

    void say_task(const Domain &domain, const Task &task)
    {
        WhoRow row;
        const Kind kind = task.is_waited_for[normal] ? normal : expedited;
        fmt::print("  {}: task \"{}\", parked inside a section{}\n", is_holdout(task) ? "holdout" : "parked", task.name,
                   is_holdout(task) && !target_.is_core ? age(domain, kind) + " or longer" : "");
        note(domain, "task", task.name, task.is_waited_for.data(), row);
    }

    void say_invokers(const Domain &domain)
    {
        for (const Thread &thread : domain.threads)
            if (thread.invoker != 0 && thread.pending() != 0)
                fmt::print("  thread {} invokes {} pending callbacks of thread {}; current or last callback: {}\n",
                           thread.invoker, thread.pending(), thread.id, stacks().name(thread.function));
    }

    who::Stacks &stacks()
    {
        if (!target_.stacks)
            target_.stacks = target_.is_core ? std::make_unique<who::Stacks>(options_.target)
                                             : std::make_unique<who::Stacks>(target_.process.pid);
        return *target_.stacks;
    }

    Target &target_;
    const WhoOptions &options_;
    std::vector<WhoRow> rows_;
};

// Copies a log to standard output, and adds names to its code addresses.  Returns exit_check_failed if an address has
// no name.
int run_messages(const WhoOptions &options)
{
    std::ifstream file;
    if (options.messages != "-") {
        file.open(options.messages);
        file.peek(); // open() succeeds for a folder, but reading a folder fails
        if (file.bad() || !file.is_open())
            return complain(exit_usage,
                            fmt::format("who: {} cannot be read ({}); name a file with the program's standard error "
                                        "output, or - for standard input",
                                        options.messages, std::strerror(errno)));
    }
    if (!options.program.empty()) {
        const std::string problem = who::CodeFile(options.program).problem();
        if (!problem.empty())
            return complain(exit_usage,
                            fmt::format("who: {} cannot be read as a program ({}); name the program's executable file",
                                        options.program, problem));
    }
    const who::NamedMessages done =
        who::name_messages(options.messages == "-" ? std::cin : file, std::cout, options.program);
    for (const std::string &problem : done.problems)
        complain(exit_check_failed, "who: no names for " + problem);
    if (done.named + done.unnamed == 0)
        complain(exit_ok, "who: no message in " + options.messages + " has an address");
    return done.unnamed != 0 ? exit_check_failed : exit_ok;
}

int run(const WhoOptions &options)
{
    if (!options.messages.empty())
        return run_messages(options);
    if (options.target.empty())
        return complain(exit_usage,
                        "who: nothing to inspect; pass the id of a process, a core file, or --messages with a log");
    Target target =
        is_number(options.target) ? look_at_process(std::stoi(options.target)) : look_at_core(options.target);
    need_writable(options.json);
    Report report(target, options);
    report.run();
    if (options.json.empty())
        return exit_ok;
    Document document("who", read_machine());
    std::string error;
    document.argument("target", options.target);
    document.rows(report.rows());
    return document.write(options.json, error) ? exit_ok : complain(exit_usage, error);
}

} // namespace

Registration add_who(CLI::App &application)
{
    auto options = std::make_shared<WhoOptions>();
    CLI::App *command =
        add_command(application, "who", "show which readers a grace period waits for, with their stacks");
    CLI::Option *target =
        command->add_option("target", options->target, "the id of a process, or the name of a core file");
    command->add_flag("--all", options->all, "show all threads inside a section, not only holdouts");
    command->add_flag("--no-stacks", options->no_stacks, "read no stacks, so that no thread is stopped");
    command->add_option("--json", options->json, "also write the readers to FILE as JSON");
    CLI::Option *messages =
        command->add_option("--messages", options->messages,
                            "copy a log (- is standard input) and add function, file and line to its addresses");
    for (CLI::Option *other :
         {target, command->get_option("--all"), command->get_option("--no-stacks"), command->get_option("--json")})
        messages->excludes(other);
    command->add_option("--program", options->program, "the executable file of the program that wrote the messages")
        ->needs(messages);
    return {command, [options] { return run(*options); }};
}

} // namespace lab
