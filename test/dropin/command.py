#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""`rtrcu dropin`: runs a program on the libraries that stand in for liburcu's, and refuses what they do not reach.

usage: command.py RTRCU PROGRAM [OTHER]
PROGRAM was built for liburcu, and fails on liburcu's own libraries; OTHER for a flavour that has no counterpart here.
"""
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tempfile


def main():
    rtrcu, program = sys.argv[1:3]
    wrong = 0

    def expect(what, arguments, code, *said):
        nonlocal wrong
        environment = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
        done = subprocess.run([rtrcu, "dropin", *arguments], env=environment, capture_output=True, text=True,
                              timeout=50, check=False)
        missing = [text for text in said if text not in done.stderr]
        if done.returncode != code or missing:
            print(f"not so: {what}; status {done.returncode}, missing {missing}, said: {done.stderr}")
            wrong += 1

    expect("a program runs", [program], 0, "rtrcu: runs ", "LD_LIBRARY_PATH=")
    expect("its counters are said", ["--counters", program], 0, "urcu-memb: ", " grace periods")
    expect("its arguments and its status are its own", [program, "1"], -6, "not so: queued")
    expect("nothing is named", [], 2, "name a program")
    expect("what does not exist", ["/nowhere/program"], 2, "no such program")
    expect("who needs no liburcu", ["true"], 2, "needs none of liburcu's")
    for other in sys.argv[3:]:
        expect("who needs another flavour", [other], 2, "it needs liburcu-signal, which has no counterpart here")
    with tempfile.TemporaryDirectory() as folder:
        ran = pathlib.Path(folder, "ran")
        script = pathlib.Path(folder, "it's a script")
        script.write_text(f"#!/bin/sh\ntouch '{ran}'\n", encoding="utf-8")
        script.chmod(0o755)
        expect("a script", [str(script)], 2, "it is a script")
        quoted = pathlib.Path(folder, "it's a program")
        shutil.copy(program, quoted)
        expect("a name that a shell would take apart", [str(quoted)], 0, "rtrcu: runs ")
        quoted.chmod(quoted.stat().st_mode | stat.S_ISUID)
        expect("a set-user-ID program", [str(quoted)], 2, "set-user-ID")
        if ran.exists():
            print("not so: what is refused does not run")
            wrong += 1
    sys.exit(1 if wrong else 0)


main()
