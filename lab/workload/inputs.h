// SPDX-License-Identifier: MIT OR Apache-2.0
// Finds the real inputs on this machine, or generates stand-ins that say so.
#pragma once

#include <string>
#include <vector>

#include "workload/workload.h"

namespace lab
{

constexpr const char *default_tree = "/usr";
constexpr const char *default_loadfile = "/usr/share/dbench/client.txt";
constexpr const char *default_geoip = "/usr/share/tor/geoip";

struct InputOptions {
    std::string
        tree; // empty: the default, generated where that is missing; "generated"; or a path, which must be there
    std::string loadfile;
    std::string geoip;
    std::size_t max_tree_entries = 200'000;
    int64_t max_tree_ns = 5'000'000'000;
    uint64_t seed = 1;
};

// False with a message where something that was asked for by name cannot be read.  `notes` says what was found.
bool load_inputs(const InputOptions &options, Inputs &inputs, std::vector<std::string> &notes, std::string &error);

} // namespace lab
