#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Checks the output of `tools/test` while it builds, and about tests that skip themselves: test_command.py ROOT.

Nothing is built: a made-up tree has a copy of the script, and a cmake and a ctest that print and write what the real
ones do.
"""

import os
import pathlib
import pty
import shutil
import subprocess
import sys
import tempfile

CMAKE = """#!/bin/sh
[ "$1" = --build ] || exit 0
for n in 1 2 3; do echo "[$n/3] Building C object $n.c.o"; done
if [ -e broken ]; then echo "2.c:1: error: it does not compile"; exit 1; fi
"""
CTEST = """#!/bin/sh
cat >../debug.xml <<END
<testsuite>
<testcase name="unit_gp" classname="unit_gp" time="0.1" status="run"/>
<testcase name="inspect_gdb" classname="inspect_gdb" time="0.1" status="notrun">
<skipped message="SKIP_RETURN_CODE=77"/>
</testcase>
</testsuite>
END
mkdir -p ../debug.gtest
cat >../debug.gtest/unit_gp.xml <<END
    <testcase name="OneCpu" status="run" result="skipped" classname="Gp">
      <skipped message="gp.cc:1&#x0A;one CPU" />
    </testcase>
END
"""


def tree(folder, root):
    (folder / "tools").mkdir(parents=True)
    (folder / "build" / "debug").mkdir(parents=True)
    shutil.copy(root / "tools" / "test", folder / "tools" / "test")
    for name, text in (("cmake", CMAKE), ("ctest", CTEST)):
        (folder / name).write_text(text, encoding="utf-8")
        (folder / name).chmod(0o755)


def run(folder, seconds=10, output=subprocess.PIPE):
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "RTRCU_PROGRESS_SECONDS": str(seconds)}
    return subprocess.run([folder / "tools" / "test", "debug"], env=environment, stdout=output,
                          stderr=subprocess.STDOUT, check=False)


def on_terminal(folder):
    """What a terminal gets."""
    ours, theirs = pty.openpty()
    run(folder, output=theirs)
    os.close(theirs)
    text = b""
    try:
        while piece := os.read(ours, 4096):
            text += piece
    except OSError:
        pass  # the other end is closed
    os.close(ours)
    return text.decode()


def expect(is_so, what, text):
    if not is_so:
        sys.exit(f"{what}\n{text}")


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch) / "tree"
        tree(folder, root)

        text = run(folder, seconds=0).stdout.decode()
        expect("debug: building [2/3]" in text, "a long build says nothing", text)
        expect("Building C object" not in text, "each line of the build is printed", text)
        log = (folder / "build" / "debug.log").read_text(encoding="utf-8")
        expect("[3/3] Building C object 3.c.o" in log, "the log lacks what ninja printed", log)
        expect("building" not in run(folder).stdout.decode(), "a short build prints no progress", text)

        said = "2 tests were skipped on this machine: build/skipped.txt has their names and reasons"
        expect(said in text and text.count("one CPU") == 0, "tests that were skipped are not one line", text)
        listed = (folder / "build" / "skipped.txt").read_text(encoding="utf-8")
        expect("debug: Gp.OneCpu: one CPU" in listed and "debug: inspect_gdb" in listed, "the list lacks them", listed)

        text = on_terminal(folder)
        expect("\rdebug: building [1/3]\rdebug: building [2/3]\rdebug: building [3/3]\r" in text,
               "no line moves on a terminal", repr(text))

        (folder / "broken").touch()
        done = run(folder)
        expect(done.returncode == 1 and "it does not compile" in done.stdout.decode(), "a build that fails passes",
               done.stdout.decode())


if __name__ == "__main__":
    main()
