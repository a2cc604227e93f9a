// SPDX-License-Identifier: MIT OR Apache-2.0
// Asks the child program, one process a request, in bounded time.
#pragma once

#include <string>

#include "blocked/plan.h"

namespace lab::blocked
{

// Beside this program, else where it was installed, also if the installation was moved; empty if there is none.
std::string find_child_program();

// False with `error`.
bool ask(const std::string &program, const RunRequest &request, RunResult &result, std::string &error);
bool ask(const std::string &program, const OrderRequest &request, OrderResult &result, std::string &error);
bool ask(const std::string &program, const CrowdRequest &request, CrowdResult &result, std::string &error);

} // namespace lab::blocked
