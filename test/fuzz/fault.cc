// SPDX-License-Identifier: MIT OR Apache-2.0
// A seeded fault: an rtrcu_config_set() that rightly refuses "policy=krcud=", but still sets the policy.
#include <rtrcu/config.h>

#include <cstring>

extern "C" int __real_rtrcu_config_set(struct rtrcu_config *config, const char *name, const char *value);
extern "C" int __wrap_rtrcu_config_set(struct rtrcu_config *config, const char *name, const char *value);

int __wrap_rtrcu_config_set(struct rtrcu_config *config, const char *name, const char *value)
{
    const int error = __real_rtrcu_config_set(config, name, value);
    if (error && std::strcmp(name, "policy") == 0 && std::strncmp(value, "krcud=", 6) == 0)
        config->policy = RTRCU_POLICY_KRCUD;
    return error;
}
