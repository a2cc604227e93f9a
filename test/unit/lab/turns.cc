// SPDX-License-Identifier: MIT OR Apache-2.0
// Tests of rounds and turns of an experiment, which a time limit ends.
#include <gtest/gtest.h>

#include <memory>

#include "command/experiment.h"
#include "measure/clock.h"
#include "overhead/round.h"

using namespace lab;

namespace
{

struct Played {
    unsigned runs = 0;
    std::string error;
    Rounds rounds{"testing", 2};

    bool play_turns(double seconds_each)
    {
        return play(rounds, {{"first", seconds_each, &error, [this](unsigned) { runs++; }},
                             {"second", seconds_each, &error, [this](unsigned) { runs++; }}});
    }
};

} // namespace

TEST(Turns, AllRoundsRunWithoutALimit)
{
    Played played;
    EXPECT_TRUE(played.play_turns(1000));
    EXPECT_EQ(played.runs, 4u);
    EXPECT_EQ(played.rounds.skipped, 0u);
}

TEST(Turns, RoundsDoNotBeginIfTheyWouldEndAfterTheLimit)
{
    Played played;
    played.rounds.end_ns = now_ns() + 500'000'000'000;
    EXPECT_TRUE(played.play_turns(1000));
    EXPECT_EQ(played.runs, 0u);
    EXPECT_EQ(played.rounds.skipped, 4u);
}

TEST(Turns, RoundsRunIfTheyEndBeforeTheLimit)
{
    Played played;
    played.rounds.end_ns = now_ns() + 1'000'000'000'000;
    EXPECT_TRUE(played.play_turns(1));
    EXPECT_EQ(played.runs, 4u);
    EXPECT_EQ(played.rounds.skipped, 0u);
}

TEST(OverheadRound, RoundEndsAtTheLimit)
{
    const auto result = std::make_unique<overhead::RoundResult>();
    overhead::RoundOptions options;
    options.cpus = {0, 1};
    options.measure_ns = 3'600'000'000'000;
    options.end_ns = now_ns() + 100'000'000;
    std::string error;
    const PrefixTable prefixes(generate_prefixes(100, 1));
    EXPECT_FALSE(
        overhead::run_round_in_child(*overhead::find_engine("base"), {64, 64, 64}, prefixes, options, *result, error));
    EXPECT_NE(error.find("did not finish within"), std::string::npos) << error;
}
