// SPDX-License-Identifier: MIT OR Apache-2.0
// Names of the variants.
#include "blocked/exchange.h"

namespace lab::blocked
{

std::string name_of(Lists lists)
{
    return nlohmann::json(lists).get<std::string>();
}

} // namespace lab::blocked
