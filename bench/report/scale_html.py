#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes the page of the results at scale: scale_html.py BENCH.json LINES.json PAGE.html

The first two are files that rtrcu-bench and rtrcu-lines wrote with --json.
Exit 0 done, 2 wrong usage, 3 done without charts.
"""
import json
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "lab" / "report"))
import page_html  # noqa: E402
from charts import Axis, Chart  # noqa: E402
from page_html import section  # noqa: E402

COLOURS = {"rtrcu": "blue", "flat": "red", "urcu-memb": "red"}
CROWDS = [("crowd-idle", "How long does synchronize_rcu() take among threads that sleep?", "µs"),
          ("crowd-now-and-then", "How long does synchronize_rcu() take among threads that read occasionally?", "µs"),
          ("crowd-queueing", "How much CPU time does a callback take where each thread queues some?", "ns")]
COUNTS = [("gp inside", "How many lines move in a grace period whose readers are inside?", "transfers", "grace period"),
          ("gp outside", "How many lines move in a grace period of readers outside?", "transfers", "grace period"),
          ("gp inside", "How many lines does a grace period touch?", "lines", "grace period"),
          ("section", "How many lines move for a section, with sixteen per grace period?", "transfers", "section"),
          ("callback each", "How many lines move for a callback, where each CPU queues four?", "transfers", "callback"),
          ("callback one", "How many lines move for a callback of a CPU that queues all?", "transfers", "callback")]
STYLES = {"spread": "solid", "one leaf": "dash", "all": "dot"}
PLACED = {"spread": "16 read, in 16 leaves", "one leaf": "16 read, in one leaf", "all": "all read"}


def crowd_chart(bench, stem, unit):
    rows = sorted((int(row["figure"].rsplit("-", 1)[1]), row) for row in bench["rows"]
                  if row["figure"].rsplit("-", 1)[0] == stem and row["rounds"])
    chart = Chart([""], Axis("threads", log=True, unit="threads"), Axis(f"median, {unit}", log=True, unit=unit))
    for name, key in (("rtrcu", "ours_p50"), ("urcu-memb", "peer_p50")):
        chart.line("", [(threads, row[key]) for threads, row in rows], name, COLOURS[name], mode="lines+markers")
    return chart.html()


def count_chart(lines, figure, key, each):
    counted = {"transfers": "cache-line transfers", "lines": "cache lines touched"}[key]
    chart = Chart([""], Axis("CPUs", log=True, unit="CPUs"), Axis(f"{counted} per {each}", log=True, unit=key))
    for subject in ("rtrcu", "flat"):
        for placement, style in STYLES.items():
            points = [(row["cpus"], row[key] or None) for row in lines["rows"]
                      if (row["subject"], row["figure"], row["placement"]) == (subject, figure, placement)]
            name = subject if figure.startswith("callback") else f"{subject}, {PLACED[placement]}"
            chart.line("", points, name, COLOURS[subject], dash=style, mode="lines+markers")
    return chart.html()


def contended_table(lines):
    largest = max(row["cpus"] for row in lines["rows"])
    rows = [[row["subject"], row["figure"], PLACED[row["placement"]], f"{row['contended_transfers']:,.1f}",
             f"{row['contended_cpus']:,}",
             " in ".join(filter(None, (row["contended_access"], row["contended_function"])))]
            for row in lines["rows"] if row["cpus"] == largest]
    titles = ["", "figure", "readers", "transfers a round", "CPUs", "access"]
    return section(f"The most contended line, of {largest:,} CPUs", page_html.table(titles, rows, 3))


def bars_table(bench):
    """Returns a table of the measured values of both sides, and whether rtrcu's is within its bar."""
    rows = [[row["figure"], row["what"], row["peer"], row["verdict"], f"{row['ours_p50']:,.4g} {row['unit']}",
             f"{row['peer_p50']:,.4g} {row['unit']}", f"{row['ratio_p50']:.2f}", row["bar"],
             f"{row['rounds_within']} of {row['rounds']}"]
            for row in bench["rows"] if row["rounds"] and row.get("bar", "-") != "-"]
    titles = ["figure", "", "peer", "verdict", "ours", "theirs", "ratio", "bar", "rounds within"]
    return section("Measured. Which figures have a bar?", page_html.table(titles, rows, 4))


def page(bench, lines):
    about = (f"<p class='note'>{page_html.machine_text(bench)} Measured: both sides in one run. Counted: cache lines "
             "that move between CPUs in a model that runs the library's own source; its caches are infinite, and it "
             "measures no time. leaf: the records of 32 threads, and their lock. flat: a design with one list of "
             "readers under one lock, and one queue of callbacks. urcu-memb: liburcu's flavour of that name.</p>")
    return page_html.page_text("scale", "Grace periods, sections and callbacks at scale", [
        "", *(section(f"Measured. {title}", crowd_chart(bench, stem, unit)) for stem, title, unit in CROWDS),
        *(section(f"Counted. {title}", count_chart(lines, figure, key, each)) for figure, title, key, each in COUNTS),
        contended_table(lines), bars_table(bench), section("What was compared", about)])


def main(arguments):
    if len(arguments) != 4:
        sys.stderr.write(f"usage: {arguments[0]} BENCH.json LINES.json PAGE.html\n")
        return 2
    page_html.find_library(page_html.charts.available())
    bench, lines = (json.loads(pathlib.Path(path).read_text(encoding="utf-8")) for path in arguments[1:3])
    return page_html.written(arguments[3], page(bench, lines))


if __name__ == "__main__":
    sys.exit(main(sys.argv))
