// SPDX-License-Identifier: MIT OR Apache-2.0
// The torture test as a program, for variants without the lab and for mutants of the library.
#include <rtrcu/rcu.h>

#include "command/command.h"

int main(int argc, char **argv)
{
    return lab::run_command("torture: the torture of the rtrcu library, as a program of its own", rtrcu_version(),
                            {lab::add_torture}, argc, argv);
}
