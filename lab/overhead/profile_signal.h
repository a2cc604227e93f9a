// SPDX-License-Identifier: MIT OR Apache-2.0
// The fallback profile: a timer on the CPU clock of each thread that asks for one, and a signal that notes where it
// was.
#pragma once

#include <memory>

#include "overhead/profile.h"

namespace lab::overhead
{

// One at a time in a process: a signal handler has nothing else to find it by.
std::unique_ptr<Profile> open_signal_profile(int64_t period_ns);

} // namespace lab::overhead
