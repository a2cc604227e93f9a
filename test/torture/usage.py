#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Checks that wrong usage is reported immediately, and that Ctrl-C prints the results so far.

usage: usage.py PROGRAM, which has the command torture.
"""
import os
import signal
import subprocess
import sys
import tempfile

BRIEF = ["torture", "--scenario", "TREE01", "--seconds", "1"]


def run(program, *arguments):
    done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=100, check=False)
    return done.returncode, done.stdout, done.stderr


def expect(what, condition, seen):
    if not condition:
        print(f"does not hold: {what}; seen: {seen}")
    return 0 if condition else 1


def mistakes(program):
    wrong = 0
    code, out, err = run(program, "no-such")
    wrong += expect("an unknown command is refused with what there is", code == 2 and "the commands are: " in err
                    and "torture" in err.split("the commands are: ")[-1], (code, err))
    code, out, err = run(program)
    wrong += expect("a missing command is refused with the list",
                    code == 2 and "the commands are: " in err, (code, err))
    for file in ("/no/such/folder/results.json", "/dev/null/results.json"):
        code, out, err = run(program, *BRIEF, "--json", file)
        wrong += expect("a file that cannot be written is refused before the run",
                        code == 2 and file in err and "Torture:" not in out, (code, out, err))
    code, out, err = run(program, *BRIEF, "--scenario", "NONE")
    wrong += expect("an unknown scenario is refused with what there is", code == 2 and "TREE01" in err, (code, err))
    return wrong


def widths(program):
    code, out, _ = run(program, *BRIEF, "--width", "60")
    lines = out.splitlines()[1:-1]
    return (expect("a table keeps to its width", code == 0 and max(map(len, lines)) <= 60, (code, out))
            + expect("and begins anew below with its first column", out.count("scenario") >= 2, out))


def interrupted(program):
    with tempfile.TemporaryDirectory() as folder:
        results = os.path.join(folder, "results.json")
        arguments = [program, "torture", "--scenario", "TREE01", "TREE02", "--seconds", "60", "--json", results]
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as child:
            child.stdout.readline()  # printed once signals are caught
            child.send_signal(signal.SIGINT)
            out, _ = child.communicate(timeout=100)
        return (expect("Ctrl-C gives 130", child.returncode == 130, (child.returncode, out))
                + expect("and reports it", "interrupted: " in out and "End of test: INTERRUPTED" in out, out)
                + expect("and writes what was completed", os.path.getsize(results) > 0, results))


def main(arguments):
    if len(arguments) != 2:
        sys.stderr.write(f"usage: {arguments[0]} PROGRAM\n")
        return 2
    wrong = mistakes(arguments[1]) + widths(arguments[1]) + interrupted(arguments[1])
    print(f"{wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
