// SPDX-License-Identifier: MIT OR Apache-2.0
// Asks the child program, one process for each request, in bounded time.
#pragma once

#include <string>

#include "blocked/plan.h"

namespace lab::blocked
{

// The child program's path: beside this program, or where it was installed, even if the installation was moved.  Empty
// if it is not found.
std::string find_child_program();

// Runs the child program for one request.  Returns false and sets `error` if it fails.
bool ask(const std::string &program, const RunRequest &request, RunResult &result, std::string &error);
bool ask(const std::string &program, const OrderRequest &request, OrderResult &result, std::string &error);
bool ask(const std::string &program, const CrowdRequest &request, CrowdResult &result, std::string &error);

} // namespace lab::blocked
