/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of names from other processes, which may contain any bytes and are shown as one line of valid text. */
#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "inspect/printable.h"
#include "inspect/processes.h"
#include "subject.h"

namespace
{

using lab::inspect::printable;
using namespace std::string_literals;

TEST(Printable, ValidTextStaysAsItIs)
{
    for (const char *text :
         {"", "a-reader", "tab-free \\x41", "µs", "日本", "\xf0\x9f\x90\xa2", "\xc2\xa0", "\xf4\x8f\xbf\xbf"})
        EXPECT_EQ(printable(text), text);
}

TEST(Printable, ControlCharactersAreEscaped)
{
    EXPECT_EQ(printable("two\nlines"), "two\\x0alines");
    EXPECT_EQ(printable("\x1b[31mred"), "\\x1b[31mred");
    EXPECT_EQ(printable("\t\r\x7f"), "\\x09\\x0d\\x7f");
    EXPECT_EQ(printable("nul\0!"s), "nul\\x00!");
    EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b") << "one character that begins a control sequence";
}

TEST(Printable, InvalidBytesAreEscaped)
{
    EXPECT_EQ(printable("cut \xc3"), "cut \\xc3");
    EXPECT_EQ(printable("cut \xe6\x97!"), "cut \\xe6\\x97!");
    EXPECT_EQ(printable("\xa9 alone"), "\\xa9 alone");
    EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf") << "an overlong encoding";
    EXPECT_EQ(printable("\xe0\x80\xaf"), "\\xe0\\x80\\xaf");
    EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "half of a surrogate pair";
    EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "beyond the last character";
    EXPECT_EQ(printable("\xff"), "\\xff");
}

const lab::inspect::Process *process_of(const std::vector<lab::inspect::Process> &all, int pid)
{
    auto is_it = [pid](const lab::inspect::Process &process) { return process.pid == pid; };
    const auto found = std::find_if(all.begin(), all.end(), is_it);
    return found == all.end() ? nullptr : &*found;
}

/* A name has at most 15 bytes: the kernel cuts the second ü in two. */
TEST(Names, NamesOfProcessesThreadsAndTasksAreEscaped)
{
    test::Subject subject({NAMES, "fünfzehn-byteü", "a\x1b[2Jb", "task \xff"});
    lab::inspect::Processes processes({});
    const auto all = processes.look();
    const auto *process = process_of(all, subject.pid);
    ASSERT_NE(process, nullptr);
    EXPECT_EQ(process->name, "fünfzehn-byte\\xc3");
    ASSERT_EQ(process->copies.size(), 1u);
    ASSERT_EQ(process->copies[0].domains.size(), 1u);
    const auto &domain = process->copies[0].domains[0];
    auto is_reader = [](const lab::inspect::Thread &thread) { return thread.name == "a\\x1b[2Jb"; };
    EXPECT_EQ(std::count_if(domain.threads.begin(), domain.threads.end(), is_reader), 1);
    ASSERT_EQ(domain.tasks.size(), 1u);
    EXPECT_EQ(domain.tasks[0].name, "task \\xff");
}

/* A process may exit between the opening and the reading of its files; reading then fails. */
TEST(Names, NameFromAnUnreadableFileIsEmpty)
{
    EXPECT_EQ(lab::inspect::text_of_file("/proc/self/mem"), ""); // nothing is mapped at address 0
    EXPECT_EQ(lab::inspect::text_of_file("/proc/self/no such file"), "");
}

TEST(Names, LineBreakInANameDoesNotHideProcesses)
{
    for (const char *name : {"two\nlines", "\n", ") R 1\n"}) {
        test::Subject subject({NAMES, name, "a\nb", "c\nd"});
        lab::inspect::Processes processes({});
        const auto all = processes.look();
        const auto *process = process_of(all, subject.pid);
        ASSERT_NE(process, nullptr) << name;
        EXPECT_EQ(process->name, printable(name));
    }
}

} // namespace
