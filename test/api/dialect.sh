#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# usage: dialect.sh INCLUDE COMPILER - programs compiled with -masm=intel have the same instructions as others.
set -euo pipefail
include=$1
compiler=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/program.c" <<'C'
#include <rtrcu/detail/word.h>
#include <rtrcu/rcu.h>
void section(void);
void section(void)
{
    rcu_read_lock();
    rcu_read_unlock();
    rcu_quiescent_state();
}
int held(uint64_t *counter);
int held(uint64_t *counter)
{
    rtrcu_count_owner(counter);
    rtrcu_cpu_relax();
    return rcu_read_lock_held();
}
C
for dialect in att intel; do
    "$compiler" -O2 -c -Wall -Werror "-masm=$dialect" "-I$include" -o "$folder/program.o" "$folder/program.c"
    objdump -dr --no-show-raw-insn "$folder/program.o" >"$folder/$dialect"
done
cmp "$folder/att" "$folder/intel"
