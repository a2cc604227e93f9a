# SPDX-License-Identifier: MIT OR Apache-2.0
"""The matrix of mutants and the checkers that caught them: python3 matrix.py MUTANTS_FOLDER RESULTS_FOLDER.

Exit 1 if a mutant was not caught, or a checker that a mutant can set off caught none.
"""

import json
import pathlib
import sys

# The checks of which each must catch a mutant.  Checks that no mutant can fail, such as out of memory, are not listed.
CHECKS = ("age mark canary census cookie early twice lost barrier litmus leak progress table late boost stall fork"
          " configure hang crash").split()


def read(results, name):
    """The result row of the run of mutant @name, or None if the run left none."""
    try:
        return json.loads((results / f"{name}.json").read_text(encoding="utf-8"))["rows"][0]
    except (OSError, ValueError, KeyError, IndexError):
        return None


def main(mutants_folder, results_folder):
    results = pathlib.Path(results_folder)
    names = sorted(path.stem for path in pathlib.Path(mutants_folder).glob("*.mutant"))
    width = max(map(len, names))
    good, caught_by_any = True, set()
    print(f"{'mutant':{width}}  {'scenario':12} {'after s':>8}  caught by")
    for name in names:
        row = read(results, name)
        checks = row["failed_checks"] if row else []
        caught_by_any.update(checks)
        if not checks:
            good = False
            print(f"{name:{width}}  {'-' if not row else row['scenario']:12} {'-':>8}  NOT CAUGHT")
            continue
        print(f"{name:{width}}  {row['scenario']:12} {row['first_error_s']:8.2f}  {' '.join(checks)}")
    for check in CHECKS:
        if check not in caught_by_any:
            good = False
            print(f"checker {check} caught no mutant: it proves nothing; add a mutant for it")
    return 0 if good else 1


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: matrix.py MUTANTS_FOLDER RESULTS_FOLDER")
    sys.exit(main(*sys.argv[1:]))
