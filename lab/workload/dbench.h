// SPDX-License-Identifier: MIT OR Apache-2.0
// Replays a loadfile on a dentry cache with many interleaved clients, each in a directory of its own.
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
    // Makes clients/client1 ... in the cache.  Clients start at places spread over the stream, each with the files that
    // it would have there.
    DbenchDriver(Dcache &dcache, const Loadfile &loadfile, Section section, unsigned clients, uint64_t seed);

    // The next operation of a client chosen at random.  True if it succeeded.
    bool step();
    // One operation of the stream for a given client.
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
