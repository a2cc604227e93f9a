/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The seed of random tests, which print it; RTRCU_TEST_SEED replays it. */
#ifndef RTRCU_TEST_SUPPORT_SEED_H
#define RTRCU_TEST_SUPPORT_SEED_H

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>

namespace test
{

inline std::mt19937_64 seeded_random(const char *what)
{
    const char *given = getenv("RTRCU_TEST_SEED");
    uint64_t seed = given ? strtoull(given, nullptr, 10) : std::random_device{}();
    printf("%s: seed %llu (replay with RTRCU_TEST_SEED=%llu)\n", what, static_cast<unsigned long long>(seed),
           static_cast<unsigned long long>(seed));
    return std::mt19937_64(seed);
}

} // namespace test

#endif
