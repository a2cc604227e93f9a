#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs `rtrcu blocked --quick` and checks its exit code, its time, and the keys of its rows.

usage: blocked_quick.py PROGRAM DIRECTORY.  Exit 0: all present, 1: something is missing, 2: this machine permits no
run.
"""
import json
import os
import subprocess
import sys
import time

KEYS = {"lists", "readers", "carriers", "preemptors", "runs", "iterations_per_s_mean", "iterations_per_s_stddev",
        "lock_hold_us_mean", "lock_hold_us_max", "lock_hold_ns_per_iteration", "lock_acquisitions_per_iteration",
        "promotions", "gp_latency_us_p50", "gp_latency_us_p99"}
QUICK_S = 20


def problems_of(document, seconds):
    found = []
    rows = {row["lists"]: row for row in document["rows"] if row["table"] == "lists"}
    for lists in ("node-spin", "percpu-spin", "node", "percpu"):
        missing = KEYS - rows.get(lists, {}).keys()
        if missing:
            found.append(f"{lists}: no {', '.join(sorted(missing))}")
    for key in ("experiment", "version", "machine", "args", "rows"):
        if key not in document:
            found.append(f"no {key}")
    if "seed" not in document.get("args", {}):
        found.append("no seed")
    if seconds > QUICK_S:
        print(f"slow: {seconds:.1f} s; on a machine that does nothing else it ends within {QUICK_S} s")
    return found


def main(arguments):
    program, directory = arguments
    file = os.path.join(directory, "blocked_quick.json")
    begin = time.monotonic()
    done = subprocess.run([program, "blocked", "--quick", "--json", file, "--out", directory], check=False)
    if done.returncode != 0:
        return done.returncode
    with open(file, encoding="utf-8") as text:
        found = problems_of(json.load(text), time.monotonic() - begin)
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
