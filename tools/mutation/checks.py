# SPDX-License-Identifier: MIT OR Apache-2.0
"""The checks that a mutant must fail, cheapest first: unit tests, tests of the interface, the explorer, torture."""

import os
import signal
import subprocess
import time

from mutation.build import EXPLORED, LIBRARY

TORTURE = ("TREE01 TREE02 TREE05 TREE06 QSBR-MIX TASKS FLOOD FENCES THROTTLE KRCUD FORK WAKE BOOST").split()
# Stepping through every instruction takes longer than all the others together.
SLOW = {"api_steps", "api_config_page"}


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
        return (self.seconds + 0.2) / (1 + self.kills.get(room, 0))

    def command(self, changed):
        """The words of the run, and what it needs in its environment."""
        if self.target:
            return [str(changed.link(self.target, self.parts)), *self.arguments], {}
        library = changed.link("librtrcu.so.0.1.0", self.parts)
        soname = library.parent / "librtrcu.so.0"
        if not soname.exists():
            soname.symlink_to(library.name)
        program = changed.build.folder / "test" / "api" / self.name
        return [str(program), *self.arguments], {"LD_LIBRARY_PATH": str(library.parent)}

    def run(self, changed, extra=()):
        """How it ended: None if it passed, else why not."""
        words, environment = self.command(changed)
        return run_program(words + list(extra), environment, self.limit() if self.seconds else 600)


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
        if (build.folder / "test" / f"unit_{folder.name}").exists():
            parts = (LIBRARY, f"unit_{folder.name}.dir")
            checks.append(Check(f"unit_{folder.name}", parts, f"test/unit_{folder.name}", ["--gtest_brief=1"]))
    for file in sorted((build.root / "test" / "api").glob("*.cc")):
        name = f"api_{file.stem}"
        if name not in SLOW and (build.folder / "test" / "api" / name).exists():
            checks.append(Check(name, (LIBRARY,), None, ["--gtest_brief=1"]))
    if (build.folder / "test/explore/rtrcu-explore").exists():
        parts = (EXPLORED, "explore_one_word_scenarios.dir")
        checks.append(Check("explore", parts, "test/explore/rtrcu-explore", ["--seconds", "0.04"]))
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
