// SPDX-License-Identifier: MIT OR Apache-2.0
// rtrcu-race-check: runs every order of each program of race_check.cc on the explorer's machine.
#include <fmt/core.h>

#include "machine/world.h"
#include "race_check.h"
#include "scenario.h"
#include "strategy/strategies.h"

namespace
{

const race::Program *current;

void setup()
{
    if (current->prepare)
        current->prepare();
    sim::thread("first", current->threads[0]);
    sim::thread("second", current->threads[1]);
}

const sim::Scenario scenario = {"race", "", setup, nullptr, nullptr, 2000};

// Returns whether the program fails in any order of its steps.  The number of preemptions is not bounded.
bool fails(const race::Program &program, sim::Model model, bool broken)
{
    sim::World world({.model = model, .races = true});
    auto strategy = explore::make_exhaustive(1000);
    current = &program;
    *program.broken = broken;
    do {
        if (world.run(scenario, *strategy).failed)
            return true;
    } while (strategy->end(0));
    return false;
}

} // namespace

int main()
{
    int wrong = 0;
    for (const race::Program *program : {&race::kUpdate, &race::kFence, &race::kBehind, &race::kSetup}) {
        for (sim::Model model : {sim::Model::kSc, sim::Model::kTso, sim::Model::kPso}) {
            const bool held = !fails(*program, model, false), found = fails(*program, model, true);
            fmt::print("{} {} {}\n", held ? "holds" : "FAILS", found ? "found" : "MISSED", program->what);
            wrong += !held || !found;
        }
    }
    return wrong ? 1 : 0;
}
