# SPDX-License-Identifier: MIT OR Apache-2.0
"""The checks that a mutant must fail, cheapest first: unit tests, tests of the interface, programs for liburcu, the
explorer, torture.
"""

import copy
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

from mutation.build import EXPLORED, LIBRARY

TORTURE = ("TREE01 TREE02 TREE05 TREE06 QSBR-MIX TASKS FLOOD FENCES THROTTLE KRCUD FORK WAKE BOOST").split()
# These run last: stepping through every instruction takes a third of the whole time.
LATE = {"api_steps"}
# Not used: its tests expect only plat/, but a program linked with a changed object contains the whole library.
APART = {"unit_plat"}
LIBRARIES = {LIBRARY, EXPLORED}
# Installed headers are tested by programs, which are compiled again for each mutant.
FIRST = {"include": "api_"}
REPEATS = 3
TIMES = 2  # a test must detect a known fault this often
NO_END = "no end in"
SKIPPED = "skipped"
BEGUN = re.compile(r"^\[ RUN      \] (\S+)", re.M)
FAILED = re.compile(r"^\[  FAILED  \] ([\w/]+\.[\w/]+)", re.M)


class Check:
    """One program: how it is linked for a mutant, and how it is run.  First its time is measured without a fault."""

    def __init__(self, name, parts, target=None, arguments=(), late=False, always_the_same=False):
        self.name = name
        self.parts = parts  # folders of the objects that it is linked from
        self.target = target
        self.arguments = list(arguments)
        self.late = late
        self.always_the_same = always_the_same  # its result does not depend on the machine's load
        self.seconds = 0.0
        self.kills = {}

    def limit(self):
        return 6 + 8 * self.seconds

    def cost(self, room):
        """Returns a sort key: checks that have detected mutants of this room at low cost so far come first."""
        own = FIRST.get(room, f"unit_{room}")
        first = 8 if self.name.startswith(own) else 2 if self.name.startswith("unit_") else 1
        return self.late, (self.seconds + 0.5) / (first + self.kills.get(room, 0))

    def command(self, changed):
        """Returns the command line, and variables that it needs in its environment."""
        return [str(changed.link(self.target, self.parts)), *self.arguments], {}

    def own(self, _build):
        """Returns the folders of the program's own objects, which contain the functions of headers that it uses."""
        return {part for part in self.parts if part not in LIBRARIES}

    def run(self, changed, extra=()):
        """Runs the check.  Returns None if it passed, otherwise the reason why it failed."""
        return self.outcome(changed, extra)[0]

    def outcome(self, changed, extra=()):
        """Returns the reason why the check failed (None: it passed), and arguments that repeat the failing part."""
        words, environment = self.command(changed)
        reason, _ = run_program(words + list(extra), environment, self.limit() if self.seconds else 600)
        return reason, extra

    whole = ()  # arguments that run the whole check

    def kill(self, changed, original):
        """Returns the reason why the change fails this check; None: the check passes.  A failure counts if it is
        repeated, and if the original passes under the same load; if the check did not end in time with the change, it
        must pass with the original in a third of that time.  A test that does not fail alone may depend on tests before
        it: then all are run.""" 
        reason, again = self.outcome(changed)
        if not reason or (self.always_the_same and not reason.startswith(NO_END)):
            return reason
        for again in [again] * (REPEATS - 1) + [self.whole]:
            started = time.monotonic()
            clean = self.run(original, again)
            is_quick = time.monotonic() - started < self.limit() / 3
            if clean is None and (is_quick or not reason.startswith(NO_END)) and self.run(changed, again):
                return f"{reason} {' '.join(again)}".strip()
        return None


class Gtest(Check):
    """Tests of GoogleTest: a run ends at the first test that fails, and only that test is repeated."""

    whole = ("--gtest_fail_fast",)

    def outcome(self, changed, extra=()):
        words, environment = self.command(changed)
        words += extra or ["--gtest_fail_fast"]
        reason, output = run_program(words, environment, self.limit() if self.seconds else 600)
        if reason and not extra:
            names = FAILED.findall(output) or BEGUN.findall(output)[-1:]
            extra = [f"--gtest_filter={names[0]}"] if names else ["--gtest_fail_fast"]
        return reason, extra


class Api(Gtest):
    """A test of the interface, with the mutant as its shared library.  The test is linked again only if the fault is
    in an installed header.
    """

    def __init__(self, name, target, late=False):
        super().__init__(name, (LIBRARY,), target, late=late)

    def command(self, changed):
        program = changed.build.folder / self.target
        if changed.is_installed():
            program = changed.link(self.target, self.own(changed.build))
        return [str(program), *self.arguments], {"LD_LIBRARY_PATH": str(changed.library_folder())}

    def own(self, build):
        return build.parts_of(self.target)


class DropIn(Check):
    """A program built for liburcu, run on the libraries that replace liburcu's, as a test of CTest."""

    def __init__(self, name, command, properties):
        super().__init__(name, (LIBRARY,))
        self.words = command
        self.folders = properties["ENVIRONMENT"].pop("LD_LIBRARY_PATH", "")
        self.environment = properties["ENVIRONMENT"]
        self.said = properties.get("PASS_REGULAR_EXPRESSION")

    def command(self, changed):
        return list(self.words), {**self.environment,
                                  "LD_LIBRARY_PATH": f"{changed.library_folder()}:{self.folders}"}

    def outcome(self, changed, extra=()):
        words, environment = self.command(changed)
        reason, output = run_program(words, environment, self.limit() if self.seconds else 600, subprocess.STDOUT)
        if self.said and not (reason or "").startswith(NO_END):
            reason = None if any(re.search(said, output, re.S) for said in self.said) else "prints something else"
        return reason, extra


class Explorer(Check):
    """Scenarios of the explorer."""

    def __init__(self, name, parts, target, arguments, late=False):
        super().__init__(name, parts, target, arguments, late, always_the_same=True)

    def narrowed(self, scenarios):
        """Returns the same check, limited to these scenarios; None: all scenarios."""
        if scenarios is None:
            return self
        check = copy.copy(self)
        check.arguments = [*self.arguments, "--scenario", ",".join(scenarios)]
        return check


class Shapes(Check):
    """The litmus shapes of the ordering tags on the model of aarch64, with the mutant's orders.  A mutant is killed
    if a forbidden outcome is possible.  Source text that a shape does not recognize fails the test suite, but kills
    nothing.
    """

    def __init__(self, root):
        super().__init__("litmus-arm", (EXPLORED,), always_the_same=True)
        self.root = root
        self.folder = root / "test" / "litmus" / "arm"

    def outcome(self, changed, extra=()):
        return self.fails(changed), extra

    def fails(self, changed):
        sys.path.insert(0, str(self.folder))
        import check as shapes
        texts = {path: (changed.tree / path).read_text(encoding="utf-8") for path in changed.paths}
        source = shapes.library.Source(self.root, texts)
        for shape in shapes.library.parse((self.folder / "shapes.txt").read_text(encoding="utf-8")):
            touched = any(line.place and line.place[0] in texts for thread in shape.threads for line in thread)
            touched |= bool(texts.keys() & {shapes.library.ATOMICS, shapes.library.FENCES})
            if texts and not touched:
                continue
            try:
                if shapes.fails(shape, source):
                    return f"{shape.tag} comes out"
            except shapes.library.ShapeError as error:
                if not texts:
                    return f"{shape.tag}: {error}"
        return None


def run_program(words, environment, limit, errors=subprocess.DEVNULL):
    """Runs a program in a process group of its own, which is killed at the end.  Returns None or the reason why it
    did not pass, and its output; with @errors STDOUT, standard error too.
    """
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        program = subprocess.Popen(words, env={**os.environ, **environment}, stdin=subprocess.DEVNULL,
                                   stdout=output, stderr=errors, start_new_session=True)
        try:
            status = program.wait(timeout=limit)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            try:
                os.killpg(program.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            program.wait()
        output.seek(0)
        text = output.read(1 << 20)
    if status is None:
        return f"{NO_END} {limit:.0f} s", text
    if status == 0:
        return None, text
    return f"signal {-status}" if status < 0 else f"exit {status}", text


def outcome_of(words, environment, limit):
    """Runs the GoogleTest tests that @words choose.  Returns None if they pass, SKIPPED if one of them skipped itself,
    and otherwise the reason why they fail.
    """
    reason, output = run_program([*words, "--gtest_brief=0"], environment, limit)
    return SKIPPED if reason is None and "[  SKIPPED ]" in output else reason


def why_unseen(faulty, clean, limit):
    """Returns the reason why a fault does not count as detected by a test; None: the fault counts as detected.

    The test must fail twice with the fault, and pass without the fault.  If the test did not end with the fault, it
    must pass without the fault in a third of the time.  SKIPPED: the test is skipped without the fault too.  @faulty
    and @clean run the test with a time limit, and return the reason why it did not pass, or None.
    """
    reasons = [faulty(limit) for _ in range(TIMES)]
    if SKIPPED in reasons:
        return SKIPPED if clean(limit) == SKIPPED else "is skipped only with the fault"
    if None in reasons:
        return "passes"
    hung = any(reason.startswith(NO_END) for reason in reasons)
    reason = clean(limit / 3 if hung else limit)
    return f"without the fault: {reason}" if reason else None


def drop_ins(build):
    """Yields programs that were built for liburcu; there are none if liburcu is not installed."""
    text = subprocess.run(["ctest", "--show-only=json-v1", "-R", "^dropin_"], check=True, capture_output=True,
                          text=True, cwd=build.folder).stdout
    for test in json.loads(text)["tests"]:
        if not test.get("command", [""])[0].startswith(str(build.folder / "test" / "dropin")):
            continue
        properties = {entry["name"]: entry["value"] for entry in test["properties"]}
        properties["ENVIRONMENT"] = dict(entry.split("=", 1) for entry in properties.get("ENVIRONMENT", ()))
        yield DropIn(test["name"], test["command"], properties)


def all_checks(build):
    """Returns all checks whose programs this build has."""
    checks = []
    for folder in sorted((build.root / "test" / "unit").iterdir()):
        name = f"unit_{folder.name}"
        if name not in APART and (build.folder / "test" / name).exists():
            checks.append(Gtest(name, (LIBRARY, f"{name}.dir"), f"test/{name}"))
    for file in sorted((build.root / "test" / "api").glob("*.cc")):
        name = f"api_{file.stem}"
        if (build.folder / "test" / "api" / name).exists():
            checks.append(Api(name, f"test/api/{name}", late=name in LATE))
    checks += drop_ins(build)
    explorer = "test/explore/rtrcu-explore"
    if (build.folder / explorer).exists():
        parts = (EXPLORED, "explore_scenarios.dir")
        checks.append(Shapes(build.root))
        checks.append(Explorer("explore", parts, explorer, ["--schedules", "60"]))
        checks.append(Explorer("explore-more", parts, explorer, ["--schedules", "300", "--seed", "1001"], late=True))
        checks.append(Explorer("explore-two-words", parts, f"{explorer}-two-words",
                               ["--memory", "pso", "--strategy", "random", "--schedules", "100"]))
    checks.append(Check("torture", (LIBRARY,), "test/torture/torture",
                        ["torture", "--seconds", "0.7", "--patience", "8", "--stop-at-first-error", "--scenario",
                         *TORTURE]))
    return checks


def measure(checks, original, say):
    """Runs all checks without a fault.  Returns the names of those that do not pass."""
    failed = []
    for check in checks:
        for _ in range(REPEATS):
            started = time.monotonic()
            reason = check.run(original)
            seconds = time.monotonic() - started
            if not reason:
                break
        check.seconds = seconds
        say(f"  {check.name}: {check.seconds:.1f} s" + (f", FAILED without a fault: {reason}" if reason else ""))
        if reason:
            failed.append(check.name)
    return failed
