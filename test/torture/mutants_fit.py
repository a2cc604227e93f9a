#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Prints the mutants that no longer fit the source: mutants_fit.py [SOURCE_ROOT SPEC...].

By default all of test/torture, test/explore, test/mutants and test/litmus/arm/faults, the explained survivors included.
Exit 1 if one does not fit.
"""

import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import make_mutant  # noqa: E402
from mutation import known  # noqa: E402


def main(source_root, specs):
    misfits = 0
    for spec in specs:
        try:
            _, edits = make_mutant.parse(pathlib.Path(spec).read_text(encoding="utf-8"))
            make_mutant.patched(edits, pathlib.Path(source_root))
        except (OSError, make_mutant.SpecError) as error:
            print(f"{spec}: {error}", file=sys.stderr)
            misfits += 1
    print(f"{len(specs)} mutants, {misfits} do not fit the source")
    return 1 if misfits or not specs else 0


if __name__ == "__main__":
    tree = pathlib.Path(__file__).resolve().parents[2]
    if sys.argv[1:]:
        sys.exit(main(sys.argv[1], sys.argv[2:]))
    gone = known.Explained(tree / "test" / "mutants" / "survivors.txt").misfits(tree)
    for what in gone:
        print(f"test/mutants/survivors.txt does not fit the source: {what}", file=sys.stderr)
    folders = ("torture/mutants", "explore/mutants", "mutants", "litmus/arm/faults")
    every = [spec for folder in folders for spec in sorted((tree / "test" / folder).glob("*.mutant"))]
    sys.exit(1 if main(tree / "src", every) or gone else 0)
