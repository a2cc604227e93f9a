// SPDX-License-Identifier: MIT OR Apache-2.0
// The strategies: which of the things that may happen next does.
//
//   random      weights of threads and buffers are drawn anew for each schedule, so that some schedules let stores
//               linger and others starve a thread
//   few         one to four switches at random steps; between them a thread runs on
//   pct         every thread and every buffer has a priority; at d random steps the running one falls to the bottom.
//               Finds a fault of depth d with a probability that is known beforehand (Burckhardt et al., 2010)
//   exhaustive  every order with at most so many preemptions; a state that was reached before with as many preemptions
//               to spend is not entered again
//   replay      the recorded choices
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "machine/strategy.h"

namespace explore
{

std::unique_ptr<sim::Strategy> make_random(uint64_t seed);
std::unique_ptr<sim::Strategy> make_few(uint64_t seed);
std::unique_ptr<sim::Strategy> make_pct(uint64_t seed, int depth);
std::unique_ptr<sim::Strategy> make_exhaustive(int preemptions);
std::unique_ptr<sim::Strategy> make_replay(std::vector<uint8_t> choices);

// The number of distinct states that the strategy has seen; 0 if it does not count them.
uint64_t distinct_states(const sim::Strategy &strategy);

// Choices as text: a letter for each run of equal choices, followed by the length of the run if it is above 1.
std::string encode_choices(const std::vector<uint8_t> &choices);
// Returns false if the text encodes no choices.
bool decode_choices(const std::string &text, std::vector<uint8_t> &choices);

} // namespace explore
