// SPDX-License-Identifier: MIT OR Apache-2.0
// rtrcu-litmus: every order of every litmus test on the explorer's model, and the mutants, which must fail.
#include <cstring>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "litmus_test.h"
#include "machine/world.h"
#include "strategy/strategies.h"

// Every tag's test is kTest in a namespace of its name.
#define TAGS(X)                                                                                                        \
    X(O1)                                                                                                              \
    X(O2) X(O3) X(O4) X(O5) X(O6) X(O7) X(O8) X(O9) X(O10) X(O11) X(O12) X(O13) X(O14) X(O15) X(O16) X(O17) X(O18)     \
        X(O19) X(O20) X(O21) X(O22) X(O23) X(O24) X(O25) X(O26) X(O27)
#define DECLARE_TEST(tag)                                                                                              \
    namespace tag                                                                                                      \
    {                                                                                                                  \
    extern const Test kTest;                                                                                           \
    }
#define ADDRESS_OF_TEST(tag) &tag::kTest,

namespace litmus
{

TAGS(DECLARE_TEST)
extern const Test kRaceCheck, kRaceFence, kRaceBehind, kRaceSetup;

namespace
{

const Test *const all[] = {TAGS(ADDRESS_OF_TEST) & kRaceCheck, &kRaceFence, &kRaceBehind, &kRaceSetup};
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
