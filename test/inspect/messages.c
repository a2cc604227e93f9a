/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Program with a refused setting, which the library reports with a stack. */
#include <rtrcu/rcu.h>

__attribute__((noinline)) static int configure_wrongly(void)
{
    struct rtrcu_config config;
    rtrcu_config_get(&config);
    config.qhimark = -5;
    return rtrcu_configure(&config);
}

int main(void)
{
    return configure_wrongly() == 0;
}
