// SPDX-License-Identifier: MIT OR Apache-2.0
// Fuzzing of the configuration's parser, as used for RTRCU_<NAME> of the environment: "name=value", one per line.
#include <rtrcu/rcu.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "check.h"

namespace
{

bool same(const struct rtrcu_config &a, const struct rtrcu_config &b)
{
    return std::memcmp(&a, &b, sizeof(a)) == 0;
}

// Returns whether @value is a number up to its last character, or a word.
bool is_value(const std::string &value)
{
    const char *text = value.c_str(), *digits = text + std::strspn(text, " \t\n\v\f\r+-");
    return digits[std::strspn(digits, "0123456789")] == '\0' ||
           text[std::strspn(text, "abcdefghijklmnopqrstuvwxyz")] == '\0' || // a word, or a list of CPUs
           text[std::strspn(text, "0123456789,-")] == '\0';
}

void check_line(struct rtrcu_config &config, const std::string &name, const std::string &value)
{
    const struct rtrcu_config before = config;
    if (rtrcu_config_set(&config, name.c_str(), value.c_str()) != 0) {
        check(same(before, config), "what is refused changes nothing");
        const std::string error = rtrcu_config_error(), allowed = "\": allowed are ";
        check(error.ends_with("see docs/configuration.md") ||
                  (error.starts_with(name.c_str()) && error.find(allowed) < error.size() - allowed.size()),
              "what is refused says why");
        return;
    }
    check(is_value(value), "an accepted value is a number or a word, up to its end");
    struct rtrcu_config again = before;
    check(rtrcu_config_set(&again, name.c_str(), value.c_str()) == 0 && same(again, config),
          "the same text gives the same configuration");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rtrcu_config config;
    rtrcu_config_init(&config);
    const std::string text(reinterpret_cast<const char *>(data), size);
    for (size_t begin = 0; begin < text.size();) {
        const size_t end = std::min(text.find('\n', begin), text.size());
        const std::string line = text.substr(begin, end - begin);
        const size_t equal = std::min(line.find('='), line.size());
        check_line(config, line.substr(0, equal), line.substr(std::min(equal + 1, line.size())));
        begin = end + 1;
    }
    return 0;
}
