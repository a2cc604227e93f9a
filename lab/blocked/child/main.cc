// SPDX-License-Identifier: MIT OR Apache-2.0
// The child program of `rtrcu blocked`: does one request and prints its result.
//
// usage: rtrcu-blocked-child run|order|crowd REQUEST, with the request as JSON
#include <cstdio>
#include <stdexcept>
#include <string>

#include "blocked/child/parts.h"

using lab::blocked::Lists;

static nlohmann::json answer(const std::string &what, const nlohmann::json &request)
{
    if (what == "run")
        return lab::blocked::run(request);
    if (what == "order")
        return lab::blocked::check_order(request);
    if (what == "crowd")
        return lab::blocked::measure_crowd(request);
    throw std::runtime_error("no such request: " + what + "; allowed are run, order, crowd");
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fputs("usage: rtrcu-blocked-child run|order|crowd REQUEST\nIt is a part of `rtrcu blocked`.\n", stderr);
        return 2;
    }
    try {
        puts(answer(argv[1], nlohmann::json::parse(argv[2])).dump().c_str());
    } catch (const std::exception &failure) {
        puts(failure.what()); // the parent's error message
        return 1;
    }
    return 0;
}
