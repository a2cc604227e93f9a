// SPDX-License-Identifier: MIT OR Apache-2.0
// rtrcu-litmus: every order of every litmus test on the explorer's model, and the mutants, which must fail.
#include <cstring>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "litmus_test.h"
#include "machine/world.h"
#include "strategy/strategies.h"

// A tag's test is kTest in a namespace of its name.
#define DECLARE_TEST(tag)                                                                                              \
    namespace tag                                                                                                      \
    {                                                                                                                  \
    extern const Test kTest;                                                                                           \
    }

namespace litmus
{

DECLARE_TEST(O1);
DECLARE_TEST(O2);
DECLARE_TEST(O3);
DECLARE_TEST(O4);
DECLARE_TEST(O5);
DECLARE_TEST(O6);
DECLARE_TEST(O7);
DECLARE_TEST(O8);
DECLARE_TEST(O9);
DECLARE_TEST(O10);
DECLARE_TEST(O11);
DECLARE_TEST(O12);
DECLARE_TEST(O13);
DECLARE_TEST(O14);
DECLARE_TEST(O15);
DECLARE_TEST(O16);
DECLARE_TEST(O17);
DECLARE_TEST(O18);
DECLARE_TEST(O19);
DECLARE_TEST(O20);
DECLARE_TEST(O21);
DECLARE_TEST(O22);
DECLARE_TEST(O23);
DECLARE_TEST(O24);
DECLARE_TEST(O25);
DECLARE_TEST(O26);
DECLARE_TEST(O27);
extern const Test kRaceCheck, kRaceFence, kRaceBehind, kRaceSetup;

namespace
{

const Test *const all[] = {&O1::kTest,  &O2::kTest,   &O3::kTest,  &O4::kTest,  &O5::kTest,  &O6::kTest,  &O7::kTest,
                           &O8::kTest,  &O9::kTest,   &O10::kTest, &O11::kTest, &O12::kTest, &O13::kTest, &O14::kTest,
                           &O15::kTest, &O16::kTest,  &O17::kTest, &O18::kTest, &O19::kTest, &O20::kTest, &O21::kTest,
                           &O22::kTest, &O23::kTest,  &O24::kTest, &O25::kTest, &O26::kTest, &O27::kTest, &kRaceCheck,
                           &kRaceFence, &kRaceBehind, &kRaceSetup};
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
