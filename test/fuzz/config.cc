// SPDX-License-Identifier: MIT OR Apache-2.0
// Fuzzing of the configuration's parser, as RTRCU_<NAME> of the environment uses it: "name=value", a line each.
#include <rtrcu/rcu.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rtrcu_config config;
    rtrcu_config_init(&config);
    const std::string text(reinterpret_cast<const char *>(data), size);
    for (size_t begin = 0; begin < text.size();) {
        const size_t end = std::min(text.find('\n', begin), text.size());
        const std::string line = text.substr(begin, end - begin);
        const size_t equal = std::min(line.find('='), line.size());
        struct rtrcu_config before = config;
        const std::string name = line.substr(0, equal), value = line.substr(std::min(equal + 1, line.size()));
        if (rtrcu_config_set(&config, name.c_str(), value.c_str()) != 0) {
            // What is refused changes nothing, and says why.
            if (std::memcmp(&before, &config, sizeof(config)) != 0 || *rtrcu_config_error() == '\0')
                abort();
        }
        begin = end + 1;
    }
    return 0;
}
