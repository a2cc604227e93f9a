// SPDX-License-Identifier: MIT OR Apache-2.0
// Finds the real inputs on this machine, or generates substitutes, which are marked as generated.
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
        tree; // empty: the default, which is generated if it is missing; "generated"; or a path, which must exist
    std::string loadfile;
    std::string geoip;
    std::size_t max_tree_entries = 200'000;
    int64_t max_tree_ns = 5'000'000'000;
    uint64_t seed = 1;
};

// Loads the inputs.  Returns false with a message if a named input cannot be read.  `notes` describes the inputs.
bool load_inputs(const InputOptions &options, Inputs &inputs, std::vector<std::string> &notes, std::string &error);

} // namespace lab
