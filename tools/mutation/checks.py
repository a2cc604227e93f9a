# SPDX-License-Identifier: MIT OR Apache-2.0
"""The checks that a mutant must fail, cheapest first: unit tests, tests of the interface, the explorer, torture."""

import os
import signal
import subprocess
import sys
import time

from mutation.build import EXPLORED, LIBRARY

TORTURE = ("TREE01 TREE02 TREE05 TREE06 QSBR-MIX TASKS FLOOD FENCES THROTTLE KRCUD FORK WAKE BOOST").split()
# Stepping through every instruction takes longer than all the others together.
SLOW = {"api_steps", "api_config_page"}
# Linked with a changed object ahead it is the whole library, of which its tests expect nothing but plat/.
APART = {"unit_plat"}


class Check:
    """One program: how it is made for a mutant, and how it is run.  Its time is measured without a fault first."""

    def __init__(self, name, parts, target=None, arguments=()):
        self.name = name
        self.parts = parts  # folders of the objects that it is linked from
        self.target = target
        self.arguments = list(arguments)
        self.seconds = 0.0
        self.kills = {}

    def limit(self):
        return 6 + 8 * self.seconds

    def cost(self, room):
        """What a kill in this room has cost so far: the next check is the cheapest."""
        first = 8 if self.name == f"unit_{room}" else 2 if self.name.startswith("unit_") else 1
        return (self.seconds + 0.5) / (first + self.kills.get(room, 0))

    def command(self, changed):
        """The words of the run, and what it needs in its environment."""
        if self.target:
            return [str(changed.link(self.target, self.parts)), *self.arguments], {}
        program = changed.build.folder / "test" / "api" / self.name
        return [str(program), *self.arguments], {"LD_LIBRARY_PATH": str(changed.library_folder())}

    def run(self, changed, extra=()):
        """How it ended: None if it passed, else why not."""
        words, environment = self.command(changed)
        return run_program(words + list(extra), environment, self.limit() if self.seconds else 600)


class Shapes(Check):
    """The ordering tags' shapes on the model of aarch64, with the orders that the mutant has."""

    def __init__(self, root):
        super().__init__("litmus-arm", (EXPLORED,))
        self.root = root
        self.folder = root / "test" / "litmus" / "arm"

    def run(self, changed, extra=()):
        sys.path.insert(0, str(self.folder))
        import check as shapes
        texts = {path: (changed.tree / path).read_text(encoding="utf-8") for path in changed.paths}
        source = shapes.library.Source(self.root, texts)
        for shape in shapes.library.parse((self.folder / "shapes.txt").read_text(encoding="utf-8")):
            if not any(line.place and line.place[0] in texts for thread in shape.threads for line in thread):
                continue
            try:
                if shapes.fails(shape, source):
                    return f"{shape.tag} comes out"
            except shapes.library.ShapeError as error:
                return f"{shape.tag}: {error}"
        return None


def run_program(words, environment, limit):
    """None if it passed, else why not.  It runs in a group of its own, which does not outlive it."""
    program = subprocess.Popen(words, env={**os.environ, **environment}, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        status = program.wait(timeout=limit)
    except subprocess.TimeoutExpired:
        return f"no end in {limit:.0f} s"
    finally:
        try:
            os.killpg(program.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        program.wait()
    if status == 0:
        return None
    return f"signal {-status}" if status < 0 else f"exit {status}"


def all_checks(build):
    """Every check that this build has programs for."""
    checks = []
    for folder in sorted((build.root / "test" / "unit").iterdir()):
        name = f"unit_{folder.name}"
        if name not in APART and (build.folder / "test" / name).exists():
            checks.append(Check(name, (LIBRARY, f"{name}.dir"), f"test/{name}", ["--gtest_brief=1"]))
    for file in sorted((build.root / "test" / "api").glob("*.cc")):
        name = f"api_{file.stem}"
        if name not in SLOW and (build.folder / "test" / "api" / name).exists():
            checks.append(Check(name, (LIBRARY,), None, ["--gtest_brief=1"]))
    if (build.folder / "test/explore/rtrcu-explore").exists():
        parts = (EXPLORED, "explore_one_word_scenarios.dir")
        checks.append(Shapes(build.root))
        checks.append(Check("explore", parts, "test/explore/rtrcu-explore", ["--schedules", "60"]))
    checks.append(Check("torture", (LIBRARY,), "test/torture/torture",
                        ["torture", "--seconds", "0.7", "--patience", "8", "--stop-at-first-error", "--scenario",
                         *TORTURE]))
    return checks


def measure(checks, original, say):
    """Run all without a fault.  The names of those that do not pass."""
    failed = []
    for check in checks:
        started = time.monotonic()
        reason = check.run(original)
        check.seconds = time.monotonic() - started
        say(f"  {check.name}: {check.seconds:.1f} s" + (f", FAILED without a fault: {reason}" if reason else ""))
        if reason:
            failed.append(check.name)
    return failed
