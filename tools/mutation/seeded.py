# SPDX-License-Identifier: MIT OR Apache-2.0
"""Named faults and the test that kills each, of a room or of the interface: test/mutants/*.mutant, the format of the
torture mutants with a line

    killed: PROGRAM TEST
"""

import pathlib
import random
import sys

from mutation.build import LIBRARY, Changed
from mutation.checks import run_program

LIMIT = 60.0


def make_mutant(root):
    sys.path.insert(0, str(root / "test" / "torture"))
    import make_mutant as module  # noqa: E402
    return module


def is_killed(run, program, test, changed):
    words = [f"--gtest_filter={test}", "--gtest_brief=1"]
    if program.startswith("api_"):  # it asks the loader for the library
        folders = {"LD_LIBRARY_PATH": str(changed.library_folder())}
        return run_program([str(run.build.folder / "test/api" / program), *words], folders, LIMIT)[0] is not None
    target = changed.link(f"test/{program}", (LIBRARY, f"{program}.dir"))
    return run_program([str(target), *words], {}, LIMIT)[0] is not None


def check(run, sample, seed):
    """What is wrong: faults that their test does not see, or that fit the source no more; of a sample, or of all."""
    mutants = make_mutant(run.build.root)
    wrong = []
    specs = sorted((run.build.root / "test" / "mutants").glob("*.mutant"))
    if sample:
        specs = random.Random(seed).sample(specs, min(sample, len(specs)))
    for spec in specs:
        try:
            keys, edits = mutants.parse(spec.read_text(encoding="utf-8"))
            texts = mutants.patched(edits, run.build.root / "src")
        except mutants.SpecError as error:
            wrong.append(f"{spec.name}: {error}")
            continue
        program, test = keys["killed"].split()
        scratch = pathlib.Path(run.scratch) / spec.stem
        changed = Changed(run.build, {f"src/{name}": text for name, text in texts.items()}, scratch)
        clean = Changed(run.build, {}, scratch / "clean")
        if not is_killed(run, program, test, changed):
            wrong.append(f"{spec.name}: {program} {test} passes")
        if is_killed(run, program, test, clean):
            wrong.append(f"{spec.name}: {program} {test} fails without the fault")
        print(f"{spec.stem}: {program} {test}", flush=True)
    return wrong
