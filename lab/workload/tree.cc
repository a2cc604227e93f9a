// SPDX-License-Identifier: MIT OR Apache-2.0
// Walks a directory tree, or generates one.
#include "workload/tree.h"

#include <dirent.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <random>

#include "measure/clock.h"

namespace lab
{

uint32_t Tree::add(uint32_t parent, std::string_view name, bool directory)
{
    entries.push_back({parent, static_cast<uint32_t>(names.size()), static_cast<uint16_t>(name.size()), directory});
    names += name;
    return static_cast<uint32_t>(entries.size() - 1);
}

std::string Tree::path(std::size_t index) const
{
    std::string result;
    for (; index != 0; index = entries[index].parent) {
        std::string_view part = name(index);
        result.insert(0, result.empty() ? std::string(part) : std::string(part) + '/');
    }
    return result;
}

static bool is_directory(const std::string &path, const dirent &entry)
{
    if (entry.d_type != DT_UNKNOWN)
        return entry.d_type == DT_DIR;
    struct stat status {
    };
    return lstat((path + '/' + entry.d_name).c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

// Adds the entries of `directory`, whose path is root + the names above it.
static int read_directory(const std::string &path, uint32_t directory, std::size_t max_entries, Tree &tree)
{
    DIR *stream = opendir(path.c_str());
    if (stream == nullptr)
        return -errno;
    while (dirent *entry = readdir(stream)) {
        if (std::strcmp(entry->d_name, ".") == 0 || std::strcmp(entry->d_name, "..") == 0)
            continue;
        if (tree.entries.size() >= max_entries) {
            tree.truncated = true;
            break;
        }
        tree.add(directory, entry->d_name, is_directory(path, *entry));
    }
    closedir(stream);
    return 0;
}

bool read_tree(const std::string &root, std::size_t max_entries, int64_t max_ns, Tree &tree, std::string &error)
{
    tree = Tree{};
    tree.label = root;
    tree.add(0, "", true);
    const int64_t end = now_ns() + max_ns;
    for (std::size_t index = 0; index < tree.entries.size() && !tree.truncated; index++) {
        if (!tree.entries[index].directory)
            continue;
        std::string path = index == 0 ? root : root + '/' + tree.path(index);
        int result = read_directory(path, static_cast<uint32_t>(index), max_entries, tree);
        if (result != 0 && index == 0) {
            error = fmt::format("{}: {}; name a readable directory with --tree, or --tree generated", root,
                                std::strerror(-result));
            return false;
        }
        if (now_ns() > end)
            tree.truncated = true;
    }
    if (tree.entries.size() < 2) {
        error =
            fmt::format("{}: the directory is empty; name a larger directory with --tree, or --tree generated", root);
        return false;
    }
    return true;
}

Tree generate_tree(std::size_t entries, uint64_t seed)
{
    Tree tree;
    tree.synthetic = true;
    tree.label = fmt::format("generated tree (seed {})", seed);
    tree.add(0, "", true);
    std::mt19937_64 random(seed);
    // One entry in ten is a directory.  Each entry is placed in a random directory, so that depths and sizes vary as in
    // a real tree.
    std::vector<uint32_t> directories = {0};
    while (tree.entries.size() < std::max<std::size_t>(entries, 2)) {
        uint32_t parent = directories[random() % directories.size()];
        bool directory = random() % 10 == 0;
        std::string name =
            fmt::format("{}{:05}{}", directory ? "dir" : "file", tree.entries.size(), directory ? "" : ".c");
        uint32_t index = tree.add(parent, name, directory);
        if (directory)
            directories.push_back(index);
    }
    return tree;
}

} // namespace lab
