#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Draws charts of the output of `service` and `deadline`: a dot for each round, a bar for the median.

usage: plot.py RESULTS.jsonl FOLDER
"""

import json
import statistics
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

CHARTS = {
    "service": (
        "a request's latency while the routing table is replaced 1,000 times a second",
        ["p50_us", "p99_us", "p99_9_us"],
    ),
    "deadline": (
        "what replacing 8 values in each period of 500 us costs the loop",
        ["change_p50_us", "change_p99_us", "change_p99_9_us"],
    ),
}


def draw(bench, rows, path):
    title, keys = CHARTS[bench]
    sides = list(dict.fromkeys(row["side"] for row in rows))
    figure, axes = plt.subplots(1, len(keys), figsize=(4 * len(keys), 3.6))
    for axis, key in zip(axes, keys):
        for place, side in enumerate(sides):
            values = [row[key] for row in rows if row["side"] == side]
            axis.bar(place, statistics.median(values), color=f"C{place}", alpha=0.6)
            axis.plot([place] * len(values), values, "k.", markersize=4)
        axis.set_xticks(range(len(sides)), sides, rotation=20, ha="right", fontsize=8)
        axis.set_title(key.replace("_us", "").replace("99_9", "99.9").replace("_", " "))
        axis.set_ylabel("microseconds")
        axis.set_ylim(bottom=0)
    figure.suptitle(title, fontsize=10)
    figure.tight_layout()
    figure.savefig(path)


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    with open(sys.argv[1], encoding="utf-8") as stream:
        rows = [json.loads(line) for line in stream if line.startswith("{")]
    for bench in CHARTS:
        chosen = [row for row in rows if row["bench"] == bench]
        if chosen:
            path = f"{sys.argv[2]}/{bench}.svg"
            draw(bench, chosen, path)
            print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
