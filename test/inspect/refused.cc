/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of processes that cannot be inspected: other versions of the library, truncated blocks, missing permissions. */
#include <cerrno>
#include <fstream>
#include <functional>
#include <iterator>
#include <sys/stat.h>

#include <gtest/gtest.h>

#include "../support/sandbox.h"
#include "inspect/processes.h"
#include "subject.h"

namespace
{

using namespace lab::inspect;
using test::Subject;

/* ---- other versions ---- */

struct FabricatedEntry {
    char name[32];
    uint32_t offset, bytes, stride, count;
    char of_the_future[16];
};

struct FabricatedBlock {
    char magic[8] = {'r', 't', 'r', 'c', 'u', '-', 'i', 'n'};
    uint32_t version = 1, bytes = sizeof(FabricatedBlock), field_bytes = sizeof(FabricatedEntry), tables = 1;
    uint64_t table[8] = {}, domain = 0, seq_first = 0, seq_step = 4;
    char library[16] = "9.9.9";
    char of_the_future[32] = {};
};

std::optional<Block> read_block(const void *at)
{
    Copy copy;
    copy.object = "an-object";
    copy.block = reinterpret_cast<uint64_t>(at);
    return Block::read(ProcessMemory(getpid()), copy);
}

std::string refusal_of(const FabricatedBlock &block)
{
    try {
        (void)read_block(&block);
    } catch (const Refused &refused) {
        EXPECT_EQ(refused.code, ENOTSUP);
        return refused.what();
    }
    return "";
}

/* A table that is longer than the reader knows has further entries, and other names, at its end. */
TEST(InspectVersions, BlockOfALaterLibraryWithTheKnownFormatIsRead)
{
    const FabricatedEntry entries[] = {{"leaf.used", 24, 4, 4, 1, ""}, {"leaf.of_the_future", 800, 8, 8, 1, ""}};
    const uint64_t table[] = {reinterpret_cast<uint64_t>(entries), 2};
    FabricatedBlock block;
    block.table[0] = reinterpret_cast<uint64_t>(table);
    const auto read = read_block(&block);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->library, "9.9.9");
    ASSERT_NE(read->find("leaf.used"), nullptr);
    EXPECT_EQ(read->find("leaf.used")->offset, 24u);
    ASSERT_NE(read->find("leaf.of_the_future"), nullptr);
    EXPECT_EQ(read->find("leaf.of_the_future")->offset, 800u);
    EXPECT_EQ(read->find("leaf.registered"), nullptr);
    EXPECT_TRUE(look(ProcessMemory(getpid()), *read).empty()) << "the block has no domain";
}

TEST(InspectVersions, TruncatedBlockIsRefused)
{
    FabricatedBlock block;
    block.bytes = 64;
    EXPECT_NE(refusal_of(block).find("an-object has a block of 64 bytes, fewer than the minimum of 128"),
              std::string::npos);
    block = {};
    block.field_bytes = 16;
    EXPECT_NE(refusal_of(block).find("a table with entries of 16 bytes, fewer than the minimum of 48"),
              std::string::npos);
}

/* The loader may not have initialised the block yet, so it is ignored without a report. */
TEST(InspectVersions, UnreadableBlockCountsAsNotInitialised)
{
    FabricatedBlock block;
    block.table[0] = 8; /* an address that is not mapped */
    EXPECT_FALSE(read_block(&block));
    const uint64_t endless[] = {reinterpret_cast<uint64_t>(&block), UINT64_MAX};
    block.table[0] = reinterpret_cast<uint64_t>(endless);
    EXPECT_FALSE(read_block(&block));
    block = {};
    block.magic[7] = 'x';
    EXPECT_FALSE(read_block(&block));
    EXPECT_FALSE(read_block(reinterpret_cast<const void *>(8)));
}

/* A copy of a program, in which one word is changed, @at bytes after the start of the unique string @mark. */
class Patched
{
  public:
    Patched(const std::string &name, const std::string &mark, std::size_t at, uint32_t word)
        : path(testing::TempDir() + "/rtrcu-" + std::to_string(getpid()) + "-" + name)
    {
        static const char *const subjects[] = {SUBJECTS};
        std::ifstream from(subjects[1], std::ios::binary);
        std::string bytes((std::istreambuf_iterator<char>(from)), std::istreambuf_iterator<char>());
        const std::size_t place = bytes.find(mark);
        EXPECT_NE(place, std::string::npos);
        EXPECT_EQ(bytes.find(mark, place + 1), std::string::npos) << "the bytes occur once";
        bytes.replace(place + at, sizeof(word), reinterpret_cast<const char *>(&word), sizeof(word));
        std::ofstream(path, std::ios::binary) << bytes;
        chmod(path.c_str(), 0700);
    }
    ~Patched()
    {
        unlink(path.c_str());
    }
    const std::string path;
};

std::string problem_of(int pid)
{
    const std::vector<Process> found = Processes({pid}).look();
    return found.size() == 1 ? found[0].problem : "one process was named";
}

TEST(InspectVersions, OtherVersionsAreRefusedWithAdvice)
{
    using namespace std::string_literals;
    const std::string block = "rtrcu-in\1\0\0\0\x80\0\0\0"s;
    const std::string note = "\6\0\0\0\x10\0\0\0\x69\x72\0\0rtrcu\0\0\0\1\0\0\0"s;
    struct Case {
        const char *name;
        std::string behind;
        std::size_t at;
        uint32_t word;
        const char *said;
    } const cases[] = {
        {"newer", block, 8, 2, "has a block of version 2, this program reads version 1; use the rtrcu of"},
        {"older", block, 8, 0, "has a block of version 0, this program reads version 1; use the rtrcu of"},
        {"short", block, 12, 64, "has a block of 64 bytes, fewer than the minimum of 128"},
        {"newer-note", note, 20, 2, "has a note of version 2, this program reads version 1; use the rtrcu of"},
        {"short-note", note, 4, 8, "has a note of 8 bytes, fewer than the minimum of 16"},
    };
    for (const Case &one : cases) {
        const Patched program(one.name, one.behind, one.at, one.word);
        Subject subject({program.path});
        ASSERT_TRUE(subject.is_ready) << one.name;
        const std::string problem = problem_of(subject.pid);
        EXPECT_NE(problem.find(one.said), std::string::npos) << one.name << ": " << problem;
        EXPECT_NE(problem.find(one.name), std::string::npos) << "the object's name: " << problem;
        EXPECT_EQ(subject.end(), 0);
    }
}

/* ---- refused ---- */

/* Run @body in a child process, and return its result. */
int in_a_child(const std::function<int()> &body)
{
    const int pid = fork();
    if (pid == 0)
        _exit(body());
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

constexpr int as_wanted = 0, otherwise = 1, not_here = 77;

int says(int pid, const std::string &what)
{
    const std::string problem = problem_of(pid);
    if (problem.find(what) != std::string::npos)
        return as_wanted;
    fprintf(stderr, "not \"%s\" but: %s\n", what.c_str(), problem.c_str());
    return otherwise;
}

TEST(InspectRefused, SeccompFilterIsReported)
{
    Subject subject({SUBJECT});
    for (const auto &refusal : {std::pair(ENOSYS, "a seccomp filter forbids it here"),
                                std::pair(EPERM, "though you own it: it has privileges, or")}) {
        const int pid = subject.pid;
        const int code = in_a_child([&, error = refusal.first, what = refusal.second] {
            return test::refuse({{SYS_process_vm_readv, error}}) ? says(pid, what) : not_here;
        });
        if (code == not_here)
            GTEST_SKIP() << "system calls cannot be filtered here";
        EXPECT_EQ(code, as_wanted);
    }
}

TEST(InspectRefused, ProcessesOfOtherUsersAreReported)
{
    if (geteuid() != 0)
        GTEST_SKIP() << "only root can become another user";
    Subject subject({SUBJECT});
    const int pid = subject.pid;
    constexpr unsigned nobody = 65534;
    EXPECT_EQ(in_a_child([&] {
                  return setgid(nobody) == 0 && setuid(nobody) == 0 ? says(pid, "belongs to another user") : not_here;
              }),
              as_wanted);
    /* A process that has changed its user is not dumpable, and neither is its child. */
    EXPECT_EQ(in_a_child([&] {
                  int end[2];
                  if (pipe(end) != 0 || setgid(nobody) != 0 || setuid(nobody) != 0)
                      return not_here;
                  const int child = fork();
                  if (child == 0) {
                      char byte;
                      close(end[1]);
                      _exit(read(end[0], &byte, 1) == 0 ? 0 : 1);
                  }
                  const int code = says(child, "may not be read");
                  close(end[1]);
                  waitpid(child, nullptr, 0);
                  return code;
              }),
              as_wanted);
}

TEST(InspectRefused, MissingPermissionIsReported)
{
    const int nobody = 999999999;
    try {
        (void)mappings_of(nobody);
        FAIL() << "there is no such process";
    } catch (const Refused &refused) {
        EXPECT_NE(std::string(refused.what()).find("no process 999999999"), std::string::npos) << refused.what();
    }
    EXPECT_NE(advice(getpid(), EPERM).find("CAP_SYS_PTRACE"), std::string::npos);
    EXPECT_NE(advice(getpid(), ENOSYS).find("process_vm_readv"), std::string::npos);
}

} // namespace
