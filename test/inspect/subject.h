/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The program that the tests inspect, with the facts that it prints about itself. */
#ifndef RTRCU_TEST_INSPECT_SUBJECT_H
#define RTRCU_TEST_INSPECT_SUBJECT_H

#include <cstdio>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace test
{

/* Runs until end() is called or the object is destroyed. */
class Subject
{
  public:
    Subject(const std::vector<std::string> &command)
    {
        int in[2], out[2];
        if (pipe(in) != 0 || pipe(out) != 0)
            abort();
        pid = fork();
        if (pid == 0) {
            dup2(in[0], 0);
            dup2(out[1], 1);
            for (int end : {in[0], in[1], out[0], out[1]})
                close(end);
            std::vector<char *> words;
            for (const std::string &word : command)
                words.push_back(const_cast<char *>(word.c_str()));
            words.push_back(nullptr);
            execv(words[0], words.data());
            _exit(127);
        }
        close(in[0]);
        close(out[1]);
        input_ = in[1];
        output_ = fdopen(out[0], "r");
        listen();
    }
    ~Subject()
    {
        end();
        fclose(output_);
    }
    /* Ends the program; returns its exit code. */
    int end()
    {
        int status = 0;
        if (pid == 0)
            return ended_;
        close(input_);
        waitpid(pid, &status, 0);
        pid = 0;
        return ended_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    }
    int pid = 0;
    bool is_ready = false;
    std::map<std::string, uint64_t> facts;
    std::map<std::string, int> threads;

  private:
    void listen()
    {
        char line[256];
        while (!is_ready && fgets(line, sizeof(line), output_)) {
            std::istringstream words(line);
            std::string first, second;
            uint64_t value = 0;
            words >> first >> second;
            if (first == "thread" && words >> value)
                threads[second] = static_cast<int>(value);
            else if (first == "ready")
                is_ready = true;
            else
                facts[first] = std::stoull(second);
        }
    }
    int input_ = -1, ended_ = 0;
    FILE *output_ = nullptr;
};

} // namespace test

#endif
