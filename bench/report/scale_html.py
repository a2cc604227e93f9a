#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""The page of what is counted and measured at scale: scale_html.py BENCH.json LINES.json PAGE.html

The first two are what rtrcu-bench and rtrcu-lines wrote with --json.
"""
import html
import json
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "lab" / "report"))
import page_html  # noqa: E402
import plot  # noqa: E402

COLOURS = {"rtrcu": "blue", "flat": "red", "urcu-memb": "red"}
# What is drawn: figure, title, unit or key.  The same order names the files beside the page.
CROWDS = [("crowd-idle", "synchronize_rcu() among threads that rest", "us"),
          ("crowd-now-and-then", "synchronize_rcu() among threads that read now and then", "us"),
          ("crowd-queueing", "CPU time of a callback, where each thread queues some", "ns")]
COUNTS = [("gp inside", "a grace period, its readers inside", "transfers"),
          ("gp outside", "a grace period, its readers outside", "transfers"),
          ("gp inside", "a grace period: lines touched", "lines"),
          ("section", "a section, sixteen to a grace period", "transfers"),
          ("callback each", "a callback, four of each CPU", "transfers"),
          ("callback one", "a callback, one CPU queues all", "transfers")]
STYLES = {"spread": "solid", "one leaf": "dash", "all": "dot"}
PLACED = {"spread": "16 read, in 16 leaves", "one leaf": "16 read, in one leaf", "all": "all read"}


def crowd_panels(bench):
    panels = []
    for stem, title, unit in CROWDS:
        rows = sorted((int(row["figure"].rsplit("-", 1)[1]), row) for row in bench["rows"]
                      if row["figure"].rsplit("-", 1)[0] == stem and row["rounds"])
        panel = plot.Panel(title, "threads", unit, log=(True, True))
        for name, key in (("rtrcu", "ours_p50"), ("urcu-memb", "peer_p50")):
            panel.line([(threads, row[key]) for threads, row in rows], COLOURS[name], name)
        panels.append(panel)
    return panels


def count_panels(lines):
    panels = []
    for figure, title, key in COUNTS:
        panel = plot.Panel(title, "CPUs", key, log=(True, True))
        for subject in ("rtrcu", "flat"):
            for placement, style in STYLES.items():
                points = [(row["cpus"], row[key]) for row in lines["rows"]
                          if (row["subject"], row["figure"], row["placement"]) == (subject, figure, placement)]
                name = subject if figure.startswith("callback") else f"{subject}, {PLACED[placement]}"
                panel.line(points, COLOURS[subject], name, style)
        panels.append(panel)
    return panels


def contended_table(lines):
    largest = max(row["cpus"] for row in lines["rows"])
    rows = [[row["subject"], row["figure"], PLACED[row["placement"]], f"{row['contended_transfers']:,.1f}",
             f"{row['contended_cpus']:,}", f"{row['contended_access']} in {row['contended_function']}".strip(" in")]
            for row in lines["rows"] if row["cpus"] == largest]
    titles = ["", "figure", "readers", "transfers a round", "CPUs", "access"]
    return (f"<h2>The most contended line, of {largest:,} CPUs</h2>" + page_html.table(titles, rows, 3))


def page(bench, lines):
    parts = [f"<p class='note'>{page_html.machine_text(bench)}</p>", "<h2>Measured</h2>",
             plot.figure(crowd_panels(bench), "Medians over the rounds, both sides in one run."),
             "<h2>Counted, by a model</h2>",
             plot.figure(count_panels(lines), html.escape(
                 "Cache lines that move between CPUs, by a model over the library's own source: caches are without "
                 "end, and no time is measured. flat: one list of readers under one lock, one queue of callbacks.")),
             contended_table(lines)]
    return page_html.page_text("scale", "Grace periods, sections and callbacks at scale", parts)


def main(arguments):
    if len(arguments) != 4:
        sys.stderr.write(f"usage: {arguments[0]} BENCH.json LINES.json PAGE.html\n")
        return 2
    bench, lines = (json.loads(pathlib.Path(path).read_text(encoding="utf-8")) for path in arguments[1:3])
    pathlib.Path(arguments[3]).write_text(page(bench, lines), encoding="utf-8")
    stem = arguments[3].removesuffix(".html")
    names = [name for name, _, _ in CROWDS] + [f"{figure.replace(' ', '-')}-{key}" for figure, _, key in COUNTS]
    for name, panel in zip(names, crowd_panels(bench) + count_panels(lines)):
        for theme in plot.THEMES:
            path = pathlib.Path(f"{stem}-{name}-{theme}.svg")
            path.write_text(plot.alone(panel.svg(), theme), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
