#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Turns the data of `rtrcu expedited` (expedited.json) into one self-contained page with plots.

Usage: expedited_html.py DATA.json PAGE.html.  Without matplotlib the page has the tables and says what to install.
"""
import sys

sys.dont_write_bytecode = True  # the folder may be the installed one

import page_html
from page_html import figure_text, machine_text, plain_axis, pyplot, rows_of, svg_of, table, verdict_list

FIELDS = [
    ("count", "Count", 725, 688), ("min_ns", "Min Duration (ns)", 326, 447), ("q1_ns", "Q1 (ns)", 39428, 38971),
    ("median_ns", "Q2 - Median (ns)", 98225, 69743), ("q3_ns", "Q3 (ns)", 342122, 126638),
    ("max_ns", "Max Duration (ns)", 372766967, 2329671), ("avg_ns", "Avg Duration (ns)", 2746353, 151242),
    ("stddev_ns", "Standard Deviation (ns)", 19327765, 294408),
    ("experiments", "Total No. of Experiments", 25, 23),
    ("largest_max_ns", "Largest Maximum (ns)", 372766967, 2329671),
    ("smallest_max_ns", "Smallest Maximum (ns)", 38819, 86954),
    ("range_of_max_ns", "Range of Maximums (ns)", 372728148, 2242717),
    ("largest_min_ns", "Largest Minimum (ns)", 88623, 27588),
    ("smallest_min_ns", "Smallest Minimum (ns)", 326, 447),
    ("range_of_min_ns", "Range of Minimums (ns)", 88297, 27141),
]
COLOURS = {"workqueue": "#d1495b", "kthread": "#1f77b4", "none": "#8c8c8c"}
BUSY = [
    ("rtrcu", True, "rtrcu, boosting", "#1f77b4"), ("rtrcu", False, "rtrcu, no boosting", "#e9a03b"),
    ("liburcu-memb", False, "liburcu-memb", "#222222"),
]


def plot_tails(data):
    """Share of calls that took longer than x, on two log axes; the floor wide and pale."""
    figure, axes = pyplot.subplots(1, 2, figsize=(10.5, 4.2), sharey=True, sharex=True)
    for axis, boost in zip(axes, (True, False)):
        for curve in data["curves"]:
            floor = curve["worker"] == "none"
            if not floor and curve["boost"] != boost:
                continue
            points = [(ns / 1000, 1 - share) for ns, share in curve["cdf"] if share < 1]
            axis.plot([p[0] for p in points], [p[1] for p in points], color=COLOURS[curve["worker"]],
                      linewidth=5 if floor else 1.6, alpha=0.4 if floor else 1,
                      label="floor: no grace period" if floor else curve["worker"])
        axis.set_xscale("log")
        axis.set_yscale("log")
        plain_axis(axis, "with boosting" if boost else "without boosting", "took longer than, µs",
                   "share of calls" if boost else "")
        axis.legend(fontsize=8, loc="lower left")
    return svg_of(figure)


def plot_busy(data):
    """Median as a line, 99th percentile or maximum as a thin one, over the number of readers."""
    figure, axis = pyplot.subplots(figsize=(6.8, 4.2))
    for peer, boost, label, colour in BUSY:
        rows = [r for r in rows_of(data, "busy_readers") if r["peer"] == peer and r["boost"] == boost and r["p50_ns"]]
        readers = [r["readers"] for r in rows]
        axis.plot(readers, [r["p50_ns"] / 1000 for r in rows], "o-", color=colour, label=label + ", p50")
        axis.plot(readers, [r["max_ns"] / 1000 for r in rows], ":", color=colour, label="max")
        axis.plot(readers, [(r["p99_ns"] or r["max_ns"]) / 1000 for r in rows], "--", color=colour, linewidth=0.8)
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    axis.axhline(1000, color="#999999", linestyle=":", linewidth=1)
    plain_axis(axis, "waiting for busy readers", "busy readers on the CPUs of this machine", "µs")
    axis.legend(fontsize=8)
    return svg_of(figure)


def plot_throughput(data):
    figure, axis = pyplot.subplots(figsize=(5.2, 2.6))
    rows = rows_of(data, "throughput")
    for place, row in enumerate(reversed(rows)):
        axis.barh(place, row["sections_per_s"] or 0, color="#1f77b4" if row["boost"] else "#e9a03b")
        text = f"{figure_text(row['grace_periods_per_s'])} gps/s"
        axis.text((row["sections_per_s"] or 0) * 1.01, place, text, va="center", fontsize=8)
    axis.set_yticks(range(len(rows)), [f"{r['readers']} readers, {'boost' if r['boost'] else 'no boost'}"
                                       for r in reversed(rows)])
    plain_axis(axis, "what readers got done, 1,000 requests a second", "sections a second", "")
    return svg_of(figure)


def difference(before, after):
    return f"{100 * (after - before) / before:+.2f} %" if before and after is not None else ""


def document_table(data, environment):
    """Both tables of the document, each row beside the same of this run."""
    found = {(r["worker"], r["boost"]): r for r in rows_of(data, "worker")
             if r.get("environment", "quiet") == environment}
    floor = found.get(("none", None), {})
    rows = []
    for key, title, before, after in FIELDS:
        change = "" if key in ("count", "experiments") else difference(before, after)
        cells = [title, f"{before:,}", f"{after:,}", change]
        for boost in (True, False):
            ours = [found.get((worker, boost), {}).get(key) for worker in ("workqueue", "kthread")]
            cells += [figure_text(value) for value in ours]
            cells.append("" if key in ("count", "experiments") else difference(*ours))
        rows.append(cells + [figure_text(floor.get(key))])
    titles = ["", "2022: workqueues", "kthread_worker", "diff", "boost: workqueue", "kthread", "diff",
              "no boost: workqueue", "kthread", "diff", "floor"]
    return table(titles, rows)


def busy_table(data):
    rows = [[r["readers"], r["peer"] if r["peer"] != "rtrcu" else f"rtrcu, {'boost' if r['boost'] else 'no boost'}",
             figure_text(r["count"]), figure_text(r["unfinished"])]
            + [figure_text(r[k] / 1000 if r[k] is not None else None) for k in ("p50_ns", "p99_ns", "max_ns")]
            + [figure_text(r["boosts"])] for r in rows_of(data, "busy_readers")]
    return table(["busy readers", "", "samples", "unfinished", "p50, µs", "p99, µs", "max, µs", "lent"], rows, 2)


def throughput_table(data):
    rows = [[r["readers"], "boost" if r["boost"] else "no boost"]
            + [figure_text(r[k]) for k in ("sections_per_s", "spread_pct", "requests_per_s", "grace_periods_per_s",
                                           "boosts_per_s")]
            + [f"{100 * r['ratio']:.1f} %" if r["ratio"] else ""] for r in rows_of(data, "throughput")]
    return table(["busy readers", "", "sections/s", "± %", "requests/s", "grace periods/s", "lent/s", "with/without"],
                 rows, 2)


def plots(data):
    return "".join([
        "<h2>How long a critical caller waits</h2><p class='note'>Both axes are logarithmic. The wide grey line is the "
        "floor: the caller wakes a real-time thread and waits for its answer, beside the same load.</p>",
        plot_tails(data),
        "<h2>More readers than CPUs</h2><p class='note'>Solid: median. Dashed: 99th percentile, or the largest where "
        "samples are few. Dotted: largest, cut short by the end of the experiment where it did not end. Grey: 1 ms."
        "</p>", plot_busy(data), "<h2>What boosting costs the readers</h2>", plot_throughput(data)])


def page(data):
    intro = (
        "<p>A SCHED_FIFO thread waits for expedited grace periods while ordinary threads keep the CPUs busy. Who turns "
        "the crank of the grace period, and whether readers that were preempted inside their sections are lent a "
        "priority, decides how long it waits.</p>"
        f"<p class='note'>{machine_text(data)}</p>")
    return page_html.page_text("expedited", "Who runs the expedited grace period", [
        intro, page_html.plots_or_hint(data, plots),
        "<h2>The document's tables of 2022, and this run: nothing beside it</h2>", document_table(data, "quiet"),
        "<h2>The same beside hogs and writers of another process group</h2>", document_table(data, "loaded"),
        "<h2>Busy readers</h2>", busy_table(data), "<h2>Throughput of readers</h2>", throughput_table(data),
        "<h2>What it must show</h2>", verdict_list(data)])


if __name__ == "__main__":
    sys.exit(page_html.main(page, sys.argv))
