// SPDX-License-Identifier: MIT OR Apache-2.0
// rtrcu-litmus: every order of every litmus test on the explorer's model, and the mutants, which must fail.
#include <cstring>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "litmus_test.h"
#include "machine/world.h"
#include "strategy/strategies.h"

namespace litmus
{

extern const Test kO1, kO2, kO3, kO4, kO5, kO6, kO7, kO8, kO9, kO10, kO11, kO12, kO13, kO14, kO15, kO16, kO17, kO18,
    kO19, kO20, kO21, kO22, kO23, kO24, kO25, kO26, kO27, kRaceCheck, kRaceFence, kRaceBehind, kRaceSetup;

namespace
{

const Test *const all[] = {&kO1,  &kO2,  &kO3,  &kO4,        &kO5,        &kO6,         &kO7,       &kO8,
                           &kO9,  &kO10, &kO11, &kO12,       &kO13,       &kO14,        &kO15,      &kO16,
                           &kO17, &kO18, &kO19, &kO20,       &kO21,       &kO22,        &kO23,      &kO24,
                           &kO25, &kO26, &kO27, &kRaceCheck, &kRaceFence, &kRaceBehind, &kRaceSetup};
const char *const models[] = {"sc", "tso", "pso"};

const Test *current;

void setup()
{
    static const char *const names[] = {"first", "second", "third"};
    if (current->prepare)
        current->prepare();
    for (int i = 0; i < 3 && current->threads[i]; i++)
        sim::thread(names[i], current->threads[i]);
}

void finish()
{
    sim::expect(!current->forbidden(), "the forbidden outcome does not occur");
}

const sim::Scenario scenario = {"litmus", "", setup, finish, nullptr, 2000};

struct Result {
    bool shown = false;
    uint64_t schedules = 0, states = 0;
};

// Every order: preemptions are not bounded.
Result run(const Test &test, const char *model, bool broken)
{
    sim::World world({.model = strcmp(model, "sc") == 0    ? sim::Model::kSc
                               : strcmp(model, "tso") == 0 ? sim::Model::kTso
                                                           : sim::Model::kPso,
                      .races = test.races});
    auto strategy = explore::make_exhaustive(1000);
    Result result;
    current = &test;
    *test.broken = broken;
    do {
        sim::Outcome outcome = world.run(scenario, *strategy);
        result.schedules++;
        result.shown |= outcome.failed;
        if (outcome.failed)
            break;
    } while (strategy->end(0));
    result.states = explore::distinct_states(*strategy);
    return result;
}

// The number of things that are not as they must be.
int check(const Test &test)
{
    int wrong = 0;
    std::string line;
    for (const char *model : models) {
        Result result = run(test, model, false);
        line += fmt::format(" {} {:>4} states{}", model, result.states, result.shown ? " SHOWN" : "");
        wrong += result.shown;
    }
    const std::string first(test.shows, strcspn(test.shows, " "));
    bool due = false, alone = first != test.shows, named = false;
    for (const char *model : models) {
        due = first == model || (due && !alone);
        named |= due;
        bool shown = run(test, model, true).shown;
        if (shown != due) {
            line +=
                fmt::format("   broken: {} in {}, but it says {}", shown ? "shown" : "NOT shown", model, test.shows);
            wrong++;
        } else if (first == model) {
            line += fmt::format("   broken: shown in {}", test.shows);
        }
    }
    if (!named) {
        line += fmt::format("   there is no model {}", test.shows);
        wrong++;
    }
    fmt::print("{:<4}{}   {}\n", test.name, line, test.what);
    return wrong;
}

} // namespace

int run_all()
{
    int wrong = 0;
    fmt::print("every order on the explorer's own model: loads in program order, stores as sc, tso, pso say\n");
    for (const Test *test : all)
        wrong += check(*test);
    fmt::print("{}\n", wrong ? fmt::format("{} outcomes are not as they must be", wrong)
                             : "no forbidden outcome, and every mutant shows its own");
    return wrong ? 1 : 0;
}

} // namespace litmus

int main()
{
    return litmus::run_all();
}
