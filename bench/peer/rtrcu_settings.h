// SPDX-License-Identifier: MIT OR Apache-2.0
// The settings of every row of this library: the library's own names and values.
#pragma once

#include <string>

#include <rtrcu/rcu.h>

#include "harness/work.h"

namespace bench
{

inline bool rtrcu_set_up(const Settings &settings, std::string &error)
{
    rtrcu_config config;
    rtrcu_config_init(&config);
    for (const auto &[name, value] : settings) {
        if (rtrcu_config_set(&config, name.c_str(), value.c_str()) != 0) {
            error = rtrcu_config_error();
            return false;
        }
    }
    if (rtrcu_configure(&config) == 0)
        return true;
    error = rtrcu_config_error();
    return false;
}

} // namespace bench
