# SPDX-License-Identifier: MIT OR Apache-2.0
"""The lines of the library that each check executes: a check that never executes a mutant's line is not run.

The library is compiled once with gcc's counters, and every check is run once with it; the explorer, scenario by
scenario.  A check that fails with counters counts as executing everything, and so does one whose children may not open
files.
"""

import hashlib
import json
import pathlib
import shutil
import subprocess

from mutation.build import EXPLORED, LIBRARY, Changed, DoesNotCompile
from mutation.checks import run_program

# Children of tests end without exit handlers, so these functions write the counters.
SHIM = r"""
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>
void __gcov_dump(void);
void _exit(int status)
{
    __gcov_dump();
    for (;;)
        syscall(SYS_exit_group, status);
}
void abort(void)
{
    sigset_t set;
    __gcov_dump();
    signal(SIGABRT, SIG_DFL);
    sigemptyset(&set);
    sigaddset(&set, SIGABRT);
    sigprocmask(SIG_UNBLOCK, &set, 0);
    for (;;)
        kill(getpid(), SIGABRT);
}
"""
APART = ("test/mutants", "test/litmus/arm/faults")
EVERYTHING = {"api_seccomp"}
LIMIT = 300


class Counted(Changed):
    """The library without a fault, with counters."""

    def __init__(self, build, scratch, part=LIBRARY):
        super().__init__(build, {}, scratch)
        self.tree.mkdir(parents=True)
        self.counted = {}
        self.part = part

    def objects(self, parts):
        with self.lock:
            if not self.counted:
                for name in self.build.entries:
                    if self.build.part(name) == self.part:
                        self.counted[name] = self.compile(name)
                shim = self.scratch / "shim.c"
                shim.write_text(SHIM, encoding="utf-8")
                self.shim = self.scratch / "shim.o"
                self.build.compiled(["cc", "-O1", "-fPIC", "-c", str(shim), "-o", str(self.shim)], self.tree, self.shim)
            return self.counted

    def compile(self, name):
        words = [word for word in self.build.entries[name] if word not in ("-Og", "-Werror")]
        out = self.scratch / "objects" / name
        words[words.index("-o") + 1] = str(out)
        words[1:1] = [*([] if self.part == EXPLORED else ["-O0"]), "--coverage", "-fprofile-update=atomic", "-w"]
        return self.build.compiled(words, self.tree, out)

    def finished(self, words):
        """Returns the link command with all names visible, so that programs use the shim's functions."""
        words = [word for word in words if "--version-script" not in word]
        if self.part == EXPLORED:
            return [*words, "--coverage"]
        words[words.index("-o"):words.index("-o")] = [str(self.shim), "--coverage"]
        return words


def of_program(folder, root, code):
    """Returns the lines that were executed, by file; adds to @code the lines that have code."""
    lines = {}
    data = sorted(folder.rglob("*.gcda"))
    for file in data:
        notes = pathlib.Path("/") / file.relative_to(folder).with_suffix(".gcno")
        shutil.copy(notes, file.with_suffix(".gcno"))
    done = subprocess.run(["gcov", "--json-format", "--stdout", *map(str, data)], capture_output=True, text=True,
                          check=True, cwd=folder)
    for text in done.stdout.splitlines():
        for file in json.loads(text)["files"]:
            path = pathlib.Path(root / file["file"]).resolve()
            if path.is_relative_to(root):
                name = str(path.relative_to(root))
                executed = {line["line_number"] for line in file["lines"] if line["count"]}
                code.setdefault(name, set()).update(line["line_number"] for line in file["lines"])
                lines.setdefault(name, set()).update(executed)
    return {path: sorted(found) for path, found in lines.items()}


def state(root):
    """Returns a hash of the library and its tests, without files that only list mutants."""
    whole = hashlib.sha1()
    apart = {root / folder for folder in APART}
    for folder in ("src", "include", "liburcu", "cxx", "lab", "test", "tools/mutation"):
        for file in sorted((root / folder).rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts and apart.isdisjoint(file.parents):
                whole.update(str(file.relative_to(root)).encode() + file.read_bytes())
    return whole.hexdigest()


class Coverage:
    """The lines that each check executes, stored in a file until the library or the tests change.  Without checks
    nothing is known, and all checks are run.
    """

    def __init__(self, run, checks):
        self.checks = {}
        self.code = {}
        self.explored = {}
        self.explored_code = {}
        if not checks:
            return
        file = run.folder / "coverage.json"
        key = state(run.build.root)
        if file.exists():
            kept = json.loads(file.read_text(encoding="utf-8"))
            if kept["state"] == key:
                self.checks, self.code = kept["checks"], kept["code"]
                self.explored, self.explored_code = kept["explored"], kept["explored_code"]
        if not self.checks:
            self.make(run, checks)
            kept = {"state": key, "checks": self.checks, "code": self.code, "explored": self.explored,
                    "explored_code": self.explored_code}
            file.write_text(json.dumps(kept), encoding="utf-8")

    def make(self, run, checks):
        counted = Counted(run.build, run.scratch / "counted")
        code = {}
        for check in checks:
            if LIBRARY not in check.parts or check.name in EVERYTHING:
                continue
            folder = run.scratch / "counts" / check.name
            folder.mkdir(parents=True)
            try:
                words, environment = check.command(counted)
            except DoesNotCompile:
                continue
            reason, _ = run_program(words, {**environment, "GCOV_PREFIX": str(folder)}, LIMIT)
            self.checks[check.name] = None if reason else of_program(folder, run.build.root, code)
            print(f"  {check.name}: " + (f"fails with counters, so it may execute every line: {reason}" if reason
                                         else f"{sum(map(len, self.checks[check.name].values()))} lines"), flush=True)

        self.code = {path: sorted(lines) for path, lines in code.items()}
        for check in checks:
            if check.name == "explore":
                self.make_explored(run, check)

    def make_explored(self, run, check):
        """Finds the lines of each scenario of the explorer, which compiles the same files in another way."""
        counted = Counted(run.build, run.scratch / "counted_explored", EXPLORED)
        code = {}
        try:
            words, _ = check.command(counted)
        except DoesNotCompile:
            return
        text = subprocess.run([run.build.folder / check.target, "--list"], check=True, capture_output=True,
                              text=True).stdout
        for scenario in [line.split()[0] for line in text.splitlines() if line.strip()]:
            folder = run.scratch / "counts" / scenario
            folder.mkdir(parents=True)
            reason, _ = run_program([*words, "--scenario", scenario], {"GCOV_PREFIX": str(folder)}, LIMIT)
            if not reason:
                self.explored[scenario] = of_program(folder, run.build.root, code)
        self.explored_code = {path: sorted(lines) for path, lines in code.items()}
        print(f"  explorer: {len(self.explored)} scenarios", flush=True)

    def scenarios(self, path, first, last):
        """Returns the scenarios that may execute one of the lines; None if that is not known."""
        if not any(first <= line <= last for line in self.explored_code.get(path, ())):
            return None
        return [scenario for scenario, lines in self.explored.items()
                if any(first <= line <= last for line in lines.get(path, ()))]

    def comes_to(self, check, path, first, last):
        """Returns true if @check may execute one of the lines."""
        lines = self.checks.get(check.name)
        code = [line for line in self.code.get(path, ()) if first <= line <= last]
        return lines is None or not code or any(line in lines.get(path, ()) for line in code)
