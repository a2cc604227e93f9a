// SPDX-License-Identifier: MIT OR Apache-2.0
// `rtrcu top` over the whole terminal: a list of domains, and one of them in depth.
#pragma once

#include <string>

#include "inspect/processes.h"

namespace lab::top
{

// Until the user ends it.  Throws where standard output is no terminal, or one that is not known.
void run_screen(inspect::Processes &processes, double interval_seconds, const std::string &sort);

} // namespace lab::top
