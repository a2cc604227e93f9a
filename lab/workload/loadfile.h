// SPDX-License-Identifier: MIT OR Apache-2.0
// Reads a dbench loadfile: the recorded operations of one file-server client.
//
// A line is an operation, its arguments, and the status that the recorded server returned:
//     NTCreateX "\clients\client1\~dmtmp\WORD\HANDOUT.DOC" 0x40 0x2 10005 NT_STATUS_OK
// Only operations that name a path use a dentry cache; operations on open handles are counted and left out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lab
{

enum class FileOp : uint8_t { create, make_directory, lookup, list, remove, rename, remove_tree };

struct FileOperation {
    FileOp op;
    bool directory;       // create: the new entry is a directory
    uint32_t path;        // index into Loadfile::paths
    uint32_t second_path; // rename: index of the new name; list: equal to `path`
};

struct Loadfile {
    // Paths without the client's prefix, so that they are equal for all clients: "~dmtmp/word/handout.doc"; "" is the
    // client's own directory.  Components are separated by '/', in lower case because the recorded server ignores case.
    std::vector<std::string> paths;
    std::vector<FileOperation> operations;
    std::size_t lines = 0;
    std::size_t handle_operations = 0;
    std::size_t outside_clients = 0; // path operations above the client's directory, which are left out
};

// Parses the text of a loadfile.  Lines that are unknown and not empty are errors: then it returns false, `error` names
// the line, and `loadfile` is unchanged.
bool parse_loadfile(std::string_view text, Loadfile &loadfile, std::string &error);

// Read and parse a file.
bool read_loadfile(const std::string &file_name, Loadfile &loadfile, std::string &error);

// Generates a small stream with the same mix of operations, for machines without the recorded stream.
Loadfile generate_loadfile(uint64_t seed);

} // namespace lab
