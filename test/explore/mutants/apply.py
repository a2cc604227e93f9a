#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Make the changed copies of a .mutant file: apply.py SPEC ROOT OUTPUT.

The format is that of the torture mutants (test/torture/make_mutant.py), with keys of the explorer:

    found: SCENARIO MEMORY STRATEGY SCHEDULES     the explorer must find the fault there within so many schedules
    missed: SCENARIO MEMORY STRATEGY SCHEDULES    and must not find it there
    layout: two_words                             the reader word of aarch64
"""

import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "torture"))
import make_mutant  # noqa: E402


def main(arguments):
    if len(arguments) != 3:
        print("usage: apply.py SPEC ROOT OUTPUT", file=sys.stderr)
        return 2
    spec, root, output = arguments
    (pathlib.Path(output) / "src").mkdir(parents=True, exist_ok=True)
    return make_mutant.main(spec, pathlib.Path(root) / "src", pathlib.Path(output) / "src")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
