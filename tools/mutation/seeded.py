# SPDX-License-Identifier: MIT OR Apache-2.0
"""Named faults, each with the test of a room or of the interface that kills it: test/mutants/*.mutant, in the format
of the torture mutants with a line

    killed: PROGRAM TEST
"""

import pathlib
import random
import sys
import time

from mutation.build import LIBRARY, Changed
from mutation.checks import SKIPPED, outcome_of, why_unseen

LIMIT = 60.0


def make_mutant(root):
    sys.path.insert(0, str(root / "test" / "torture"))
    import make_mutant as module  # noqa: E402
    return module


def reason_of(run, program, test, changed, limit):
    """Runs one test.  Returns None if it passes, SKIPPED if it skipped itself, otherwise the reason why it fails."""
    words = [f"--gtest_filter={test}"]
    if program.startswith("api_"):  # it asks the loader for the library
        folders = {"LD_LIBRARY_PATH": str(changed.library_folder())}
        return outcome_of([str(run.build.folder / "test/api" / program), *words], folders, limit)
    target = changed.link(f"test/{program}", (LIBRARY, f"{program}.dir"))
    return outcome_of([str(target), *words], {}, limit)


def check(run, sample, seed):
    """Tries all faults, or a sample.  Returns the errors (faults that their test does not detect, or that do not fit
    the source any more), the number of faults detected, and the number of tests skipped.
    """
    mutants = make_mutant(run.build.root)
    wrong, seen, skipped = [], 0, 0
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
        why = why_unseen(lambda limit: reason_of(run, program, test, changed, limit),
                         lambda limit: reason_of(run, program, test, clean, limit), LIMIT)
        seen += why is None
        skipped += why == SKIPPED
        if why not in (None, SKIPPED):
            wrong.append(f"{spec.name}: {program} {test}: {why}")
        print(f"{spec.stem}: {program} {test}", flush=True)
    return wrong, seen, skipped


def report(run):
    """Returns the exit status: 0 if each test detected its fault and each explanation fits the source."""
    wrong, seen, skipped = check(run, run.arguments.sample, run.arguments.seed)
    if skipped and not seen:
        wrong.append(f"all {skipped} tests were skipped, so no fault was checked")
    wrong += [f"test/mutants/survivors.txt: the source no longer contains: {what}"
              for what in run.known.misfits(run.build.root)]
    print("\n".join(wrong))
    print(f"named faults: {seen} tests fail as they should, {skipped} skipped, {len(wrong)} wrong, "
          f"{time.monotonic() - run.begun:.0f} s")
    return 1 if wrong else 0
