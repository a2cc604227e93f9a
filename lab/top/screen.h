// SPDX-License-Identifier: MIT OR Apache-2.0
// `rtrcu top` on the whole terminal: a list of domains, and the details of one of them.
#pragma once

#include <string>

#include "inspect/processes.h"

namespace lab::top
{

// Runs until the user quits.  Throws if standard output is not a terminal, or of an unknown type.
void run_screen(inspect::Processes &processes, double interval_seconds, const std::string &sort);

} // namespace lab::top
