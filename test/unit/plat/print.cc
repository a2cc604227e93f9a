/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of messages, also to a standard error that refuses writes: the message is lost, and the program continues with
 * its signals unchanged. */
#include <csignal>
#include <fcntl.h>
#include <string>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "../../support/capture.h"
#include "../../support/internals.h"
#include "../../support/variant.h"

namespace
{

TEST(Print, MessageLongerThanTheBufferIsTruncated)
{
    test::CapturedErrors errors;
    plat_print("number %d, text %s\n", 7, "here");
    EXPECT_EQ(errors.text(), "number 7, text here\n");
    std::string longer(5000, 'x');
    plat_print("%s", longer.c_str());
    EXPECT_EQ(errors.text().size(), 20 + 1023u);
}

TEST(PrintDeathTest, DiePrintsTheReasonAndAborts)
{
    EXPECT_EXIT(plat_die("reason %d\n", 9), testing::KilledBySignal(SIGABRT), "reason 9");
}

/* ---- functions that make standard error refuse every write ---- */

void use_pipe_without_reader()
{
    int ends[2];
    if (pipe(ends) != 0)
        _exit(90);
    close(ends[0]);
    dup2(ends[1], 2);
}

void use_socket_without_peer()
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        _exit(91);
    close(ends[1]);
    dup2(ends[0], 2);
}

void use_socket_that_was_shut_down()
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        _exit(92);
    shutdown(ends[1], SHUT_RD);
    dup2(ends[0], 2);
}

void use_file_at_its_limit()
{
    const struct rlimit none = {0, 0};
    int file = open("/tmp", O_TMPFILE | O_RDWR, 0600);
    if (file < 0 || setrlimit(RLIMIT_FSIZE, &none) != 0)
        _exit(93);
    dup2(file, 2);
}

void use_full_device()
{
    dup2(open("/dev/full", O_WRONLY), 2);
}

void use_nothing()
{
    close(2);
}

struct Refusal {
    const char *name;
    void (*use)();
    int signal; /* the signal that the kernel sends to a writer */
};

const Refusal refusals[] = {
    {"PipeWithoutReader", use_pipe_without_reader, SIGPIPE},
    {"SocketWithoutPeer", use_socket_without_peer, SIGPIPE},
    {"SocketThatWasShutDown", use_socket_that_was_shut_down, SIGPIPE},
    {"FileAtItsLimit", use_file_at_its_limit, SIGXFSZ},
    {"FullDevice", use_full_device, SIGPIPE},
    {"Nothing", use_nothing, SIGPIPE},
};

/* Runs @body in a child process; returns its exit status, or the negative number of the signal that ended it. */
template <typename Body> int outcome_of(Body body)
{
    pid_t pid = fork();
    if (pid == 0) {
        signal(SIGPIPE, SIG_DFL);
        signal(SIGXFSZ, SIG_DFL);
        body();
        _exit(0);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

void write_both_ways()
{
    plat_print("lost\n");
    plat_write("lost\n");
}

bool is_pending(int signal)
{
    sigset_t pending;
    sigpending(&pending);
    return sigismember(&pending, signal) == 1;
}

void block(int signal)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal);
    sigprocmask(SIG_BLOCK, &set, nullptr);
}

class Refused : public testing::TestWithParam<Refusal>
{
};

TEST_P(Refused, LostMessageDoesNotEndTheProgram)
{
    EXPECT_EQ(outcome_of([] {
                  GetParam().use();
                  write_both_ways();
              }),
              0);
}

TEST_P(Refused, LostMessageCallsNoHandler)
{
    EXPECT_EQ(outcome_of([] {
                  signal(GetParam().signal, [](int) { _exit(1); });
                  GetParam().use();
                  write_both_ways();
              }),
              0);
}

TEST_P(Refused, LostMessageRestoresSignalsAndMask)
{
    EXPECT_EQ(outcome_of([] {
                  sigset_t before, after;
                  block(GetParam().signal);
                  block(SIGUSR1);
                  sigprocmask(SIG_BLOCK, nullptr, &before);
                  GetParam().use();
                  write_both_ways();
                  sigprocmask(SIG_BLOCK, nullptr, &after);
                  for (int each = 1; each < NSIG; each++) {
                      if (sigismember(&before, each) != sigismember(&after, each))
                          _exit(1);
                  }
                  if (is_pending(GetParam().signal))
                      _exit(2);
              }),
              0);
}

TEST_P(Refused, LostMessageKeepsEarlierPendingSignals)
{
    EXPECT_EQ(outcome_of([] {
                  block(GetParam().signal);
                  raise(GetParam().signal);
                  GetParam().use();
                  write_both_ways();
                  if (!is_pending(GetParam().signal))
                      _exit(1);
              }),
              0);
}

INSTANTIATE_TEST_SUITE_P(Kinds, Refused, testing::ValuesIn(refusals),
                         [](const auto &kind) { return std::string(kind.param.name); });

/* Prints a message from the background of a terminal that stops background writers (stty tostop). */
void write_from_the_background()
{
    int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    struct termios modes = {};
    if (setsid() < 0 || terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0)
        _exit(95);
    int file = open(ptsname(terminal), O_RDWR); /* becomes the controlling terminal of the session */
    if (file < 0 || tcgetattr(file, &modes) != 0)
        _exit(96);
    modes.c_lflag |= TOSTOP;
    if (tcsetattr(file, TCSANOW, &modes) != 0)
        _exit(97);

    pid_t pid = fork();
    if (pid == 0) {
        setpgid(0, 0);
        dup2(file, 2);
        write_both_ways();
        _exit(0);
    }
    int status = 0;
    waitpid(pid, &status, WUNTRACED);
    bool stopped = WIFSTOPPED(status);
    kill(pid, SIGKILL);
    _exit(stopped ? 1 : 0);
}

TEST(Print, TerminalDoesNotStopABackgroundWriter)
{
    if (TEST_EMULATED)
        GTEST_SKIP() << "the emulator blocks signals of its own";
    EXPECT_EQ(outcome_of(write_from_the_background), 0);
}

} // namespace
