// SPDX-License-Identifier: MIT OR Apache-2.0
// The child program of `rtrcu blocked`: does one request and prints its result.
//
// usage: rtrcu-blocked-child run|order|crowd REQUEST, with the request as JSON
#include <cstdio>
#include <stdexcept>
#include <string>

#include "blocked/child/parts.h"

static std::string answer(const std::string &what, const std::string &request)
{
    using namespace lab::blocked;
    if (what == "run")
        return to_text(run(from_text<RunRequest>(request)));
    if (what == "order")
        return to_text(check_order(from_text<OrderRequest>(request)));
    if (what == "crowd")
        return to_text(measure_crowd(from_text<CrowdRequest>(request)));
    throw std::runtime_error("no such request: " + what + "; allowed are run, order, crowd");
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fputs("usage: rtrcu-blocked-child run|order|crowd REQUEST\n`rtrcu blocked` runs this program.\n", stderr);
        return 2;
    }
    try {
        puts(answer(argv[1], argv[2]).c_str());
    } catch (const std::exception &failure) {
        puts(failure.what()); // the parent's error message
        return 1;
    }
    return 0;
}
