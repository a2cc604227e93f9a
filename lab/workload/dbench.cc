// SPDX-License-Identifier: MIT OR Apache-2.0
// The dbench replay.
#include "workload/dbench.h"

#include <fmt/format.h>

namespace lab
{

DbenchDriver::DbenchDriver(Dcache &dcache, const Loadfile &loadfile, Section section, unsigned clients, uint64_t seed)
    : dcache_(dcache), loadfile_(loadfile), section_(section), random_(static_cast<unsigned>(seed * 2654435761u + 1))
{
    dcache_.create(dcache_.root(), "clients", true);
    for (unsigned client = 0; client < clients; client++) {
        directory_.push_back(fmt::format("clients/client{}", client + 1));
        dcache_.create(dcache_.root(), directory_.back(), true);
        position_.push_back(0);
        fast_forward(client, loadfile_.operations.size() * client / clients);
    }
}

// Brings a client to its place in the stream by executing only operations that change names.
void DbenchDriver::fast_forward(unsigned client, std::size_t operations)
{
    for (std::size_t i = 0; i < operations; i++) {
        const FileOperation &operation = loadfile_.operations[i];
        if (operation.op != FileOp::lookup && operation.op != FileOp::list)
            apply(client, operation);
    }
    position_[client] = operations % loadfile_.operations.size();
}

const Dentry *DbenchDriver::home(unsigned client) const
{
    return dcache_.walk(dcache_.root(), directory_[client]);
}

bool DbenchDriver::apply(unsigned client, const FileOperation &operation)
{
    const std::string &path = loadfile_.paths[operation.path];
    section_.lock();
    const Dentry *from = home(client);
    bool done = false;
    if (path.empty() && operation.op != FileOp::lookup && operation.op != FileOp::list) {
        // The client's own directory is removed and created as a whole.
        done = operation.op == FileOp::remove_tree ? dcache_.remove_tree(dcache_.root(), directory_[client]) != 0
                                                   : dcache_.create(dcache_.root(), directory_[client], true);
    } else if (from != nullptr) {
        switch (operation.op) {
        case FileOp::create:
        case FileOp::make_directory:
            done = dcache_.create(from, path, operation.directory);
            break;
        case FileOp::lookup:
            done = dcache_.walk(from, path) != nullptr;
            break;
        case FileOp::list: {
            // The last component of the path is a pattern; the operation lists the directory that precedes it.
            std::size_t slash = path.rfind('/');
            const Dentry *where =
                slash == std::string::npos ? from : dcache_.walk(from, std::string_view(path).substr(0, slash));
            done = where != nullptr && dcache_.list(where, 64) != 0;
            break;
        }
        case FileOp::remove:
            done = dcache_.remove(from, path);
            break;
        case FileOp::rename:
            done = dcache_.rename(from, path, loadfile_.paths[operation.second_path]);
            break;
        case FileOp::remove_tree:
            done = dcache_.remove_tree(from, path) != 0;
            break;
        }
    }
    section_.unlock();
    return done;
}

bool DbenchDriver::step()
{
    auto client = static_cast<unsigned>(random_() % position_.size());
    const FileOperation &operation = loadfile_.operations[position_[client]];
    position_[client] = (position_[client] + 1) % loadfile_.operations.size();
    return apply(client, operation);
}

} // namespace lab
