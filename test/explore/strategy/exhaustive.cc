// SPDX-License-Identifier: MIT OR Apache-2.0
// The exhaustive strategy: depth-first through every order, bounded by preemptions, without entering a known state
// again; and replay.
#include <unordered_map>

#include "strategy/strategies.h"

namespace explore
{

namespace
{

class Exhaustive : public sim::Strategy
{
  public:
    explicit Exhaustive(int preemptions) : preemptions_(preemptions)
    {
    }

    bool wants_state() const override
    {
        return true;
    }

    void begin() override
    {
        depth_ = 0;
        left_ = preemptions_;
    }

    int choose(const sim::Decision &decision) override
    {
        if (depth_ < path_.size()) {
            Node &node = path_[depth_++];
            left_ = node.left - cost(decision, node.choice);
            return node.choice;
        }
        auto [known, fresh] = states_.try_emplace(decision.state, left_);
        if (!fresh) {
            if (known->second >= left_)
                return -1;
            known->second = left_;
        }
        int count = static_cast<int>(decision.actions.size());
        // If the running thread can continue, only the first action may cost no preemption; see cost().
        uint64_t allowed = 0;
        for (int i = 0; i < count && i < 64; i++)
            allowed |= cost(decision, i) <= left_ ? UINT64_C(1) << i : 0;
        int first = __builtin_ctzll(allowed);
        path_.push_back({left_, first, allowed & (allowed - 1)});
        depth_++;
        left_ -= cost(decision, first);
        return first;
    }

    bool end(uint64_t) override
    {
        while (!path_.empty() && path_.back().rest == 0)
            path_.pop_back();
        if (path_.empty())
            return false;
        Node &node = path_.back();
        node.choice = __builtin_ctzll(node.rest);
        node.rest &= node.rest - 1;
        return true;
    }

    uint64_t states() const
    {
        return states_.size();
    }

  private:
    struct Node {
        int left; // preemptions left before this choice
        int choice;
        uint64_t rest; // choices still to try, one bit each
    };

    // The number of preemptions that a choice costs: 1 if it leaves a thread that could continue, otherwise 0.
    // Buffers, handlers of the running thread and events cost nothing.
    static int cost(const sim::Decision &decision, int choice)
    {
        const sim::Action &action = decision.actions[static_cast<size_t>(choice)], &current = decision.actions[0];
        bool runs = action.kind == sim::ActionKind::kRun || action.kind == sim::ActionKind::kSignal;
        return decision.current_runs && runs && action.thread != current.thread;
    }

    int preemptions_, left_ = 0;
    size_t depth_ = 0;
    std::vector<Node> path_;
    std::unordered_map<uint64_t, int> states_;
};

class Replay : public sim::Strategy
{
  public:
    explicit Replay(std::vector<uint8_t> choices) : choices_(std::move(choices))
    {
    }

    void begin() override
    {
        at_ = 0;
    }

    // After the end of the recording, take the first choice.
    int choose(const sim::Decision &decision) override
    {
        int choice = at_ < choices_.size() ? choices_[at_++] : 0;
        return choice < static_cast<int>(decision.actions.size()) ? choice : -1;
    }

    bool end(uint64_t) override
    {
        return false;
    }

  private:
    std::vector<uint8_t> choices_;
    size_t at_ = 0;
};

} // namespace

std::unique_ptr<sim::Strategy> make_exhaustive(int preemptions)
{
    return std::make_unique<Exhaustive>(preemptions);
}

std::unique_ptr<sim::Strategy> make_replay(std::vector<uint8_t> choices)
{
    return std::make_unique<Replay>(std::move(choices));
}

uint64_t distinct_states(const sim::Strategy &strategy)
{
    const auto *exhaustive = dynamic_cast<const Exhaustive *>(&strategy);
    return exhaustive ? exhaustive->states() : 0;
}

std::string encode_choices(const std::vector<uint8_t> &choices)
{
    std::string text;
    for (size_t i = 0, run; i < choices.size(); i += run) {
        for (run = 1; i + run < choices.size() && choices[i + run] == choices[i];)
            run++;
        text += static_cast<char>('a' + choices[i]);
        if (run > 1)
            text += std::to_string(run);
    }
    return text;
}

bool decode_choices(const std::string &text, std::vector<uint8_t> &choices)
{
    for (size_t i = 0; i < text.size();) {
        if (text[i] < 'a' || text[i] > 'z')
            return false;
        auto choice = static_cast<uint8_t>(text[i++] - 'a');
        size_t count = 0;
        bool counted = false;
        for (; i < text.size() && text[i] >= '0' && text[i] <= '9' && count < 100000; i++, counted = true)
            count = count * 10 + static_cast<size_t>(text[i] - '0');
        choices.insert(choices.end(), counted ? count : 1, choice);
    }
    return true;
}

} // namespace explore
