// SPDX-License-Identifier: MIT OR Apache-2.0
// The `rtrcu` program: only chooses a sub-command.
#include <rtrcu/rcu.h>

#include "command/command.h"

int main(int argc, char **argv)
{
    return lab::run_command("rtrcu: experiments, proofs and observation of the rtrcu library", rtrcu_version(),
                            {lab::add_latency, lab::add_expedited, lab::add_overhead, lab::add_blocked,
                             lab::add_torture, lab::add_report, lab::add_top, lab::add_who, lab::add_dropin,
                             lab::add_env},
                            argc, argv);
}
