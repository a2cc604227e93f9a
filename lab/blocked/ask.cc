// SPDX-License-Identifier: MIT OR Apache-2.0
// Finds the child program and reads its answers.
#include "blocked/ask.h"

#include <exception>
#include <filesystem>
#include <fmt/format.h>

#include "machine/child.h"

namespace lab::blocked
{
namespace
{

constexpr int64_t to_start_and_end_ns = 30'000'000'000;

template <class Request, class Result>
bool ask_for(const std::string &program, const char *what, const Request &request, int64_t allowed_ns, Result &result,
             std::string &error)
{
    std::string answer;
    if (!run_program({program, what, to_text(request)}, allowed_ns, answer, error)) {
        while (!answer.empty() && answer.back() == '\n')
            answer.pop_back();
        if (!answer.empty())
            error = answer; // the child's own error message
        return false;
    }
    try {
        result = from_text<Result>(answer);
    } catch (const std::exception &failure) {
        error = fmt::format("{} sent an answer that cannot be read: {}", program, failure.what());
        return false;
    }
    return true;
}

} // namespace

std::string find_child_program()
{
    std::error_code failure;
    const auto folder = std::filesystem::read_symlink("/proc/self/exe", failure).parent_path();
    for (const auto &place : {folder / "rtrcu-blocked-child", folder / "../libexec/rtrcu/rtrcu-blocked-child"})
        if (std::filesystem::exists(place, failure))
            return place;
    return {};
}

bool ask(const std::string &program, const RunRequest &request, RunResult &result, std::string &error)
{
    const int64_t phases = request.throughput_ns + request.metered_ns + request.without_gp_ns + request.undisturbed_ns;
    return ask_for(program, "run", request, phases + to_start_and_end_ns, result, error);
}

bool ask(const std::string &program, const OrderRequest &request, OrderResult &result, std::string &error)
{
    constexpr int64_t a_round_ns = 50'000'000;
    return ask_for(program, "order", request, request.rounds * a_round_ns + to_start_and_end_ns, result, error);
}

bool ask(const std::string &program, const CrowdRequest &request, CrowdResult &result, std::string &error)
{
    return ask_for(program, "crowd", request, to_start_and_end_ns, result, error);
}

} // namespace lab::blocked
