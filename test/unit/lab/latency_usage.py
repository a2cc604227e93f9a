#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tests of the command line of `rtrcu latency`: an unwritable path is refused before the run, a full disk is an error,
Ctrl-C keeps the results so far, and with one CPU it reports the parts that cannot be measured.  The workload fifo
refuses options that do not fit it.

usage: latency_usage.py PROGRAM
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

# Runs on any machine in a few seconds: no real-time permission, generated input, one workload of two policies.
BRIEF = ["latency", "--other", "--quick", "--workload", "flood", "--policy", "unbounded", "inline",
         "--tree", "generated", "--loadfile", "generated", "--geoip", "generated"]
PLAN = "An event loop with a deadline"


def expect(what, condition, seen):
    if not condition:
        print(f"failed: {what}; seen: {seen}")
    return 0 if condition else 1


def mistakes(program, folder):
    wrong = 0
    places = {"--json": os.path.join(folder, "none", "results.json"), "--out": os.path.join(os.devnull, "pages")}
    for option, place in places.items():
        with subprocess.Popen([program, *BRIEF, "--seconds", "1", option, place], text=True, cwd=folder,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
            out, err = child.communicate(timeout=100)
        wrong += expect(f"{option}: a path that cannot be written is refused before the run",
                        child.returncode == 2 and place in err and PLAN not in out, (child.returncode, out, err))
    return wrong


def fifo(program, folder):
    """The workload fifo refuses options that do not fit it, and says what to do if real-time scheduling is refused."""
    wrong = 0
    for options in (["--other"], ["--policy", "inline"]):
        done = subprocess.run([program, "latency", "--workload", "fifo", *options], cwd=folder, capture_output=True,
                              text=True, timeout=100, check=False)
        wrong += expect(f"fifo with {options[0]} is refused before the run",
                        done.returncode == 2 and f"{options[0]} does not fit the workload fifo" in done.stderr,
                        (done.returncode, done.stderr))
    without = ["setpriv", "--bounding-set", "-sys_nice", "prlimit", "--rtprio=0:0"]
    if os.getuid() != 0 or not (shutil.which("setpriv") and shutil.which("prlimit")):
        return wrong
    done = subprocess.run([*without, program, "latency", "--workload", "fifo"], cwd=folder, capture_output=True,
                          text=True, timeout=100, check=False)
    return wrong + expect("fifo without permission: the reason and the remedy, and no word of --other",
                          done.returncode == 2 and "CAP_SYS_NICE" in done.stderr and "--other" not in done.stderr,
                          (done.returncode, done.stderr))


def full_disk(program):
    """Output to a full disk is an error, for short and for long output."""
    wrong = 0
    for arguments in (["--version"], ["latency", "--help"], ["env"]):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([program, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, timeout=100,
                                  check=False)
        wrong += expect(f"{arguments}: a full disk is reported, and the exit code is 2",
                        done.returncode == 2 and "standard output" in done.stderr, (done.returncode, done.stderr))
    return wrong


def one_cpu(program, folder):
    cpu = min(os.sched_getaffinity(0))
    done = subprocess.run(["taskset", "--cpu-list", str(cpu), program, *BRIEF, "--seconds", "1"], cwd=folder,
                          capture_output=True, text=True, timeout=100, check=False)
    return expect("one CPU: the plan lists the parts that are not shown",
                  PLAN in done.stdout and "one CPU: " in done.stdout and "are not shown" in done.stdout,
                  (done.returncode, done.stdout, done.stderr))


def interrupted(program, folder):
    results = os.path.join(folder, "results.json")
    arguments = [program, *BRIEF, "--seconds", "60", "--json", results]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder) as child:
        for line in child.stderr:  # progress
            if "round 2 of" in line:
                break
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate(timeout=100)
    wrong = expect("Ctrl-C gives 130", child.returncode == 130, (child.returncode, out))
    wrong += expect("Ctrl-C is reported as an interruption", "interrupted" in out, out)
    try:
        with open(results, encoding="utf-8") as file:
            json.load(file)
    except (OSError, ValueError) as error:
        wrong += expect("after Ctrl-C the results can be read", False, error)
    return wrong


def main(arguments):
    if len(arguments) != 2:
        sys.stderr.write(f"usage: {arguments[0]} PROGRAM\n")
        return 2
    program = os.path.abspath(arguments[1])
    with tempfile.TemporaryDirectory() as folder:
        wrong = mistakes(program, folder) + fifo(program, folder) + full_disk(program)
        wrong += one_cpu(program, folder) + interrupted(program, folder)
    print(f"{wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
