// SPDX-License-Identifier: MIT OR Apache-2.0
// Loads the inputs of the workloads.
#include "workload/inputs.h"

#include <fmt/format.h>

namespace lab
{

// Runs `read` on the default file if no input was named, and falls back to `generate`.  A named input must be
// readable.
template <class Read, class Generate>
static bool load(const std::string &named, const char *by_default, Read read, Generate generate,
                 std::vector<std::string> &notes, std::string &error)
{
    std::string reason = "requested";
    if (named != "generated") {
        if (read(named.empty() ? by_default : named))
            return true;
        if (!named.empty())
            return false;
        reason = error;
    }
    generate();
    notes.push_back(fmt::format("note: generated input ({})", reason));
    error.clear();
    return true;
}

static bool load_tree(const InputOptions &options, Inputs &inputs, std::vector<std::string> &notes, std::string &error)
{
    auto read = [&](const std::string &root) {
        return read_tree(root, options.max_tree_entries, options.max_tree_ns, inputs.tree, error);
    };
    auto generate = [&] { inputs.tree = generate_tree(options.max_tree_entries / 2, options.seed); };
    if (!load(options.tree, default_tree, read, generate, notes, error))
        return false;
    notes.push_back(fmt::format("directory tree: {}, {} entries{}", inputs.tree.label, inputs.tree.entries.size(),
                                inputs.tree.truncated ? " (stopped at the bound)" : ""));
    return true;
}

bool load_inputs(const InputOptions &options, Inputs &inputs, std::vector<std::string> &notes, std::string &error)
{
    if (!load_tree(options, inputs, notes, error))
        return false;

    auto read_stream = [&](const std::string &file) {
        inputs.loadfile_label = file;
        return read_loadfile(file, inputs.loadfile, error);
    };
    auto generate_stream = [&] {
        inputs.loadfile = generate_loadfile(options.seed);
        inputs.loadfile_label = fmt::format("generated stream (seed {})", options.seed);
        inputs.loadfile_synthetic = true;
    };
    if (!load(options.loadfile, default_loadfile, read_stream, generate_stream, notes, error))
        return false;
    notes.push_back(fmt::format("dbench stream: {}, {} operations on {} paths ({} on open handles left out)",
                                inputs.loadfile_label, inputs.loadfile.operations.size(), inputs.loadfile.paths.size(),
                                inputs.loadfile.handle_operations));

    std::vector<Prefix> prefixes;
    auto read_prefixes = [&](const std::string &file) {
        inputs.prefixes_label = file;
        return read_geoip(file, prefixes, error);
    };
    auto generate = [&] {
        prefixes = generate_prefixes(200'000, options.seed);
        inputs.prefixes_label = fmt::format("generated prefixes (seed {})", options.seed);
        inputs.prefixes_synthetic = true;
    };
    if (!load(options.geoip, default_geoip, read_prefixes, generate, notes, error))
        return false;
    inputs.prefixes = PrefixTable(std::move(prefixes));
    notes.push_back(fmt::format("prefixes: {}, {} of them", inputs.prefixes_label, inputs.prefixes.prefixes().size()));
    return true;
}

} // namespace lab
