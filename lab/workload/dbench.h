// SPDX-License-Identifier: MIT OR Apache-2.0
// Replays a loadfile on a dentry cache, with many interleaved clients, each in a directory of its own.
#pragma once

#include <random>
#include <vector>

#include "workload/dcache.h"
#include "workload/loadfile.h"

namespace lab
{

constexpr unsigned dbench_clients = 32;

class DbenchDriver
{
  public:
    // Creates clients/client1 and so on in the cache.  Clients start at different places of the stream, each with the
    // files that exist at that place.
    DbenchDriver(Dcache &dcache, const Loadfile &loadfile, Section section, unsigned clients, uint64_t seed);

    // Executes the next operation of a random client.  Returns true if it succeeded.
    bool step();
    // Executes an operation of the stream for `client`.  Returns true if it succeeded.
    bool apply(unsigned client, const FileOperation &operation);

  private:
    const Dentry *home(unsigned client) const;
    void fast_forward(unsigned client, std::size_t operations);

    Dcache &dcache_;
    const Loadfile &loadfile_;
    Section section_;
    std::minstd_rand random_;
    std::vector<std::size_t> position_;
    std::vector<std::string> directory_;
};

} // namespace lab
