#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compares rtrcu's hash table with that of liburcu-cds, alternately: medians of the CPU time per call, in nanoseconds,
and their ratio.

usage: table.py BUILD_FOLDER [ROUNDS]
"""

import statistics
import subprocess
import sys

SIDES = {"rtrcu": ["bench_table_rtrcu"], "cds": ["bench_table_cds"], "cds presized": ["bench_table_cds", "presized"]}
BARS = {
    (10000, "hit"): 0.45,
    (10000, "remove"): 0.8,
    (10000, "insert"): 0.8,
    (4000000, "hit"): 0.35,
    (4000000, "miss"): 0.25,
    (4000000, "remove"): 0.6,
    (4000000, "insert"): 0.6,
}


def measure(folder, side, count):
    program, *rest = SIDES[side]
    command = [f"{folder}/bench/{program}", str(count), *rest]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    return {name: float(value) for name, value in map(str.split, answer.stdout.splitlines())}


def compare(folder, count, rounds):
    runs = {side: [] for side in SIDES}
    for _ in range(rounds):
        for side in SIDES:
            runs[side].append(measure(folder, side, count))
    for figure in runs["rtrcu"][0]:
        median = {side: statistics.median(run[figure] for run in runs[side]) for side in SIDES}
        ratios = {side: median["rtrcu"] / median[side] for side in SIDES if side != "rtrcu"}
        bar = BARS.get((count, figure), "")
        columns = [f"{median[side]:8.1f}" for side in SIDES] + [f"{ratio:6.2f}" for ratio in ratios.values()]
        print(f"{count:8} {figure:8}", *columns, f"  bar {bar}" if bar else "")


def main():
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    print(" entries figure  ", *(f"{side[:8]:>8}" for side in SIDES), " ratio", " ratio")
    for count in (10000, 4000000):
        compare(sys.argv[1], count, rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
