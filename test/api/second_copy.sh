#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# The check that two copies of the library in one process are refused: shared in the program and static in a plugin, or
# in two plugins.
# usage: second_copy.sh PROGRAM_WITH_SHARED PROGRAM_WITHOUT PLUGIN OTHER_PLUGIN PLUGIN_WITH_SHARED [EMULATOR...]
# A program loads the plugins that its arguments name, and each plugin reads and synchronizes.
set -uo pipefail
shared=$1 without=$2 plugin=$3 other=$4 plugin_with_shared=$5
shift 5
run=("$@")
failures=0

works() {
    local what=$1 output
    shift
    output=$("${run[@]}" "$@" 2>&1) || {
        echo "$what: must work, but failed with status $?: $output"
        failures=$((failures + 1))
    }
}

refused() {
    local what=$1 output status
    shift
    output=$({ "${run[@]}" "$@"; } 2>&1)
    status=$?
    # 134: SIGABRT
    if [ $status -ne 134 ] || [[ $output != *"two copies of the library in one process"* ]]; then
        echo "$what: must abort and print the reason; status $status: $output"
        failures=$((failures + 1))
    fi
}

works "shared library alone" "$shared"
works "one plugin with its own copy, and no other" "$without" "$plugin"
works "a plugin that links the shared library, in a program that does too" "$shared" "$plugin_with_shared"
works "two plugins that link the shared library" "$without" "$plugin_with_shared" "$plugin_with_shared"
works "a plugin with its own copy that is unloaded" "$without" "$plugin" unload
works "a plugin that links the shared library and is unloaded" "$without" "$plugin_with_shared" unload
refused "shared in the program, static in a plugin" "$shared" "$plugin"
refused "static in two plugins" "$without" "$plugin" "$other"
refused "static in one plugin, shared in the next" "$without" "$plugin" "$plugin_with_shared"
refused "shared in one plugin, static in the next" "$without" "$plugin_with_shared" "$plugin"

[ $failures -eq 0 ] || exit 1
echo "10 arrangements: 6 work, 4 are refused"
