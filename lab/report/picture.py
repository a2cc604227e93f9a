#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Draws the pictures of README.md and docs/scale.md, as SVG for light and dark pages, by matplotlib
(python3-matplotlib).

usage: picture.py flood LATENCY.json STEM
       picture.py idle BENCH.json STEM
       picture.py lines LINES.json STEM
Writes STEM-light.svg and STEM-dark.svg.  Exit 0 done, 2 wrong usage, 3 no matplotlib.
"""
import json
import sys

sys.dont_write_bytecode = True

import page_html
from charts import COLOURS, number

try:
    from matplotlib import pyplot, rc_context
except ImportError:
    pyplot = None

INK = {"light": "#222222", "dark": "#e6e6e6"}
FLOOD = 30000
HUES = {"unbounded": "red", "inline": "blue", "daemon": "green", "krcud": "orange", "throttle": "violet",
        "direct": "slate", "liburcu": "brown"}


def flood(data, axes):
    """Draws bars: how far callbacks overrun a deadline in the flood, for each policy."""
    rows = [row for row in data["rows"] if row["workload"] == "flood" and row["probe"] == "loop"
            and row["scheduling"] == "fifo" and row["burst"] == FLOOD and row["policy"] != "none"][::-1]
    tail = all(row["overrun_cpu_us_p999"] is not None for row in rows)
    key = "overrun_cpu_us_p999" if tail else "overrun_cpu_us_max"
    values = [row[key] if row["overrun_callbacks_max"] else 0 for row in rows]
    texts = [f"{number(value)} µs, {row['overrun_callbacks_max']:,.0f} late" if value else "none late"
             for row, value in zip(rows, values)]
    hues = [COLOURS[HUES.get(row["policy"].split("-")[0], "slate")] for row in rows]
    axes.bar_label(axes.barh([row["policy"] for row in rows], [max(value, 1) for value in values], color=hues),
                   labels=texts, padding=4)
    axes.set_xscale("log")
    axes.set_xlim(1, max(values + [10]) * 40)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    which = "overrun at p99.9" if tail else "largest overrun"
    axes.set_xlabel(f"{which}, µs of CPU time; late: callbacks begun after the deadline")
    axes.set_title("How far callbacks run past a deadline, with 30,000 callbacks per grace period", loc="left")


def curves(axes, named, x, y, title):
    for name, (points, hue, style) in named.items():
        axes.plot([point[0] for point in points], [point[1] for point in points], style, color=COLOURS[hue], label=name)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.set_title(title, loc="left")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.legend(frameon=False)


def idle(data, axes):
    rows = sorted((int(row["figure"].rsplit("-", 1)[1]), row) for row in data["rows"]
                  if row["figure"].rsplit("-", 1)[0] == "crowd-idle" and row["rounds"])
    curves(axes, {"rtrcu": ([(threads, row["ours_p50"]) for threads, row in rows], "blue", "-"),
                  "liburcu-memb": ([(threads, row["peer_p50"]) for threads, row in rows], "red", "-")},
           "threads", "median, µs", "synchronize_rcu() among threads that sleep")


def lines(data, axes):
    named = {}
    for subject, hue in (("rtrcu", "blue"), ("flat", "red")):
        for placement, style in (("spread", "-"), ("one leaf", "--"), ("all", ":")):
            points = [(row["cpus"], row["lines"]) for row in data["rows"]
                      if (row["subject"], row["figure"], row["placement"]) == (subject, "gp inside", placement)]
            named[f"{subject}, {placement}"] = (points, hue, style)
    curves(axes, named, "CPUs", "lines", "a grace period: lines touched")


PICTURES = {"flood": flood, "idle": idle, "lines": lines}


def draw(picture, data, stem, theme):
    ink = INK[theme]
    colours = dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), ink)
    with rc_context(colours | {"svg.hashsalt": "rtrcu", "svg.fonttype": "none", "font.size": 9,
                               "axes.spines.top": False, "axes.spines.right": False}):
        figure, axes = pyplot.subplots(figsize=(7.2, 3.4), layout="constrained")
        picture(data, axes)
        figure.savefig(f"{stem}-{theme}.svg", transparent=True, metadata={"Date": None})
        pyplot.close(figure)


def main(arguments):
    if len(arguments) != 4 or arguments[1] not in PICTURES:
        sys.stderr.write(__doc__[__doc__.index("usage:"):])
        return 2
    page_html.find_library(pyplot is not None)
    if pyplot is None:
        sys.stderr.write("matplotlib is missing: apt-get install python3-matplotlib\n")
        return page_html.EXIT_NO_CHARTS
    with open(arguments[2], encoding="utf-8") as file:
        data = json.load(file)
    for theme in INK:
        draw(PICTURES[arguments[1]], data, arguments[3], theme)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
