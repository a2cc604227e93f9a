#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Checks that TREE03 exercises all its features, and that its row has the documented keys.

usage: tree03.py PROGRAM DIRECTORY, with the command torture.
"""
import json
import os
import subprocess
import sys

COLUMNS = ("scenario", "reads", "updates", "grace periods", "carriers ended", "boosts", "near", "errors", "result")
KEYS = "scenario seconds reads updates grace_periods pipe near_misses errors result".split()
ACTS = {"parked": "tasks parked inside sections", "carriers_ended": "carriers ended while tasks were parked",
        "expedited_grace_periods": "expedited grace periods ended", "callbacks": "callbacks ran"}


def may_be_realtime():
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    except OSError:
        return False
    return True


def problems_of(row, boosts):
    found = [f"the row has no {key}" for key in KEYS if key not in row]
    acts = ACTS | ({"boosts": "readers were boosted"} if boosts else {})
    return found + [f"does not hold: {what} (row: {row})" for key, what in acts.items() if not row.get(key)]


def main(arguments):
    if len(arguments) != 3:
        sys.stderr.write(f"usage: {arguments[0]} PROGRAM DIRECTORY\n")
        return 2
    file = os.path.join(arguments[2], "tree03.json")
    command = [arguments[1], "torture", "--scenario", "TREE03", "--seconds", "3", "--json", file]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=200, check=False)
    last = done.stdout.splitlines()[-1]
    with open(file, encoding="utf-8") as text:
        found = problems_of(json.load(text)["rows"][0], may_be_realtime())
    heading = next((line for line in done.stdout.splitlines() if line.startswith("scenario")), "")
    found += [f"the table has no column '{column}'" for column in COLUMNS if column not in heading]
    if (done.returncode, last) != (0, "End of test: SUCCESS"):
        found.append(f"ended with {done.returncode}, and \"{last}\"")
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
