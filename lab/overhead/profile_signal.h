// SPDX-License-Identifier: MIT OR Apache-2.0
// The fallback profile: a timer on the CPU clock of each thread that requests one; its signal handler records the
// interrupted address.
#pragma once

#include <memory>

#include "overhead/profile.h"

namespace lab::overhead
{

// Opens the fallback profile.  A process can have only one at a time, because the signal handler finds it by a global
// variable.
std::unique_ptr<Profile> open_signal_profile(int64_t period_ns);

} // namespace lab::overhead
