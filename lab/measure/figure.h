// SPDX-License-Identifier: MIT OR Apache-2.0
// A figure of a result: a number that a run may have been too short, or the machine unable, to give.
#pragma once

#include <optional>

namespace lab
{

using Figure = std::optional<double>;

} // namespace lab
