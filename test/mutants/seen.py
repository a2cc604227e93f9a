#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Checks how `tools/mutants --named` judges the results of its tests: seen.py.

Nothing is built or run: a made-up tree has two named faults, and each case says how the test of each ends, with the
fault and without.  Exit 1 if a case is judged wrongly.
"""

import contextlib
import io
import pathlib
import sys
import tempfile
import time
import types

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from mutation import checks, seeded  # noqa: E402

PASSES, FAILS, SKIPPED = None, "exit 1", checks.SKIPPED
SEEN, MISSED, LOOKED_AT_NOTHING, HIDDEN = (FAILS, PASSES), (PASSES, PASSES), (SKIPPED, SKIPPED), (SKIPPED, PASSES)
ONCE = ([SKIPPED, FAILS], PASSES)  # with the fault two runs, without it one
# Results for the first and the second fault; whether the check passes; its output.
CASES = {
    "all are seen": (SEEN, SEEN, True, "2 tests fail as they should, 0 skipped"),
    "a test sees nothing": (SEEN, MISSED, False, "api_second Some.Test: passes"),
    "a test is skipped here": (SEEN, LOOKED_AT_NOTHING, True, "1 skipped, 0 wrong"),
    "all are": (LOOKED_AT_NOTHING, LOOKED_AT_NOTHING, False, "all 2 tests were skipped"),
    "a fault makes its test skip itself": (SEEN, HIDDEN, False, "is skipped only with the fault"),
    "it does so once": (SEEN, ONCE, False, "is skipped only with the fault"),
}
MUTANT = """file: one.c
killed: {program} Some.Test
--- find
    looked = 1;
--- replace
--- end
"""


class Changed:
    """Stands for the library of a tree: with a fault where any text of it is another."""

    def __init__(self, _build, texts, _scratch):
        self.folder = "faulty" if texts else "clean"

    def library_folder(self):
        return self.folder


def outcomes(ends):
    """Like checks.outcome_of().  @ends: program -> its results with the fault, one for each run; and its result
    without.
    """
    runs = {}

    def outcome_of(words, environment, _limit):
        program = pathlib.Path(words[0]).name
        faulty, clean = ends[program]
        if environment.get("LD_LIBRARY_PATH") != "faulty":
            return clean
        runs[program] = runs.get(program, -1) + 1
        return faulty[runs[program]] if isinstance(faulty, list) else faulty
    return outcome_of


def made_up(folder):
    source = "void look(void)\n{\n    looked = 1;\n}\n"
    mutants = [(f"test/mutants/{name}.mutant", MUTANT.format(program=f"api_{name}")) for name in ("first", "second")]
    for name, text in [("src/one.c", source), *mutants]:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "test/torture").symlink_to(ROOT / "test/torture")


def checked(first, second):
    """Exit status and output of the check."""
    seeded.Changed = Changed
    seeded.outcome_of = outcomes({"api_first": first, "api_second": second})
    with tempfile.TemporaryDirectory() as name:
        folder, output = pathlib.Path(name), io.StringIO()
        made_up(folder)
        run = types.SimpleNamespace(build=types.SimpleNamespace(root=folder, folder=folder), scratch=folder,
                                    arguments=types.SimpleNamespace(sample=0, seed=1), begun=time.monotonic(),
                                    known=types.SimpleNamespace(misfits=lambda _root: []))
        with contextlib.redirect_stdout(output):
            status = seeded.report(run)
    return status, output.getvalue()


def main():
    wrong = 0
    for what, (first, second, passes, says) in CASES.items():
        status, output = checked(first, second)
        if (status == 0) != passes or says not in output:
            print(f"{what}: exit status {status}, and `{says}` must be in\n{output}", file=sys.stderr)
            wrong += 1
    print(f"{len(CASES)} cases, {wrong} taken for another")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
