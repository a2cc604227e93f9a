// SPDX-License-Identifier: MIT OR Apache-2.0
// Runs one piece of work in a process of its own, for a bounded time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace lab
{

// Forks, runs `work` in the child and waits until it ends, at most `allowed_ns`; then it is killed.  False with `error`
// when the child was ended, failed or hung; an exception's text is passed to the parent.  The caller has no other
// threads and
// has not used the library: the child begins afresh.  Results go through memory that both share.
bool run_in_child(const std::function<void()> &work, int64_t allowed_ns, std::string &error);

// Runs a program, its path first, with what it writes on standard output as `output`; bounded and ended in the same
// way.  Ctrl-C does not reach it.
bool run_program(const std::vector<std::string> &words, int64_t allowed_ns, std::string &output, std::string &error);

} // namespace lab
