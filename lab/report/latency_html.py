#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Turns the data of `rtrcu latency` (latency.json) into one self-contained page with plots.

Usage: latency_html.py DATA.json PAGE.html.  Exit 0 done, 2 wrong usage, 3 without plots: there is no matplotlib, and
the page has the tables and says what to install.
"""
import sys

sys.dont_write_bytecode = True  # the folder may be the installed one

import page_html
from page_html import figure_text, machine_text, plain_axis, pyplot, svg_of, table, verdict_list

COLOURS = {
    "none": "#8c8c8c", "unbounded": "#d1495b", "inline": "#1f77b4", "daemon": "#2a9d8f", "krcud": "#e9a03b",
    "throttle": "#8e6bbf", "direct": "#5d737e", "liburcu": "#222222",
}
WORKLOADS = {
    "dcache": "dcache: a recorded dbench stream and lookups in the machine's own directory tree",
    "route": "route: packets to random destinations over real prefixes",
    "flood": "flood: denial of service, 30,000 callbacks a grace period",
}
FLOOD = 30000


def colour(policy):
    return COLOURS.get(policy, "#444444")


def shown_curves(data, workload):
    return [c for c in data["curves"] if c["workload"] == workload and c["fifo"] and c["burst"] in (0, FLOOD)]


def workloads_of(data):
    present = {curve["workload"] for curve in data["curves"]}
    return [name for name in WORKLOADS if name in present]


def plot_tails(data):
    """Share of deadlines missed by more than x: the tail of the lateness distribution on two log axes."""
    names = workloads_of(data)
    figure, axes = pyplot.subplots(1, len(names), figsize=(4.6 * len(names), 4.2), sharex=True,
                                   sharey=True, squeeze=False)
    for axis, name in zip(axes[0], names):
        for curve in shown_curves(data, name):
            points = [(us, 1 - share) for us, share in curve["cdf"] if us > 0 and share < 1]
            if not points:
                continue
            # The floor is drawn wide and pale: what lies on it is not the policy's doing.
            floor = curve["policy"] == "none"
            axis.plot([p[0] for p in points], [p[1] for p in points], color=colour(curve["policy"]),
                      linewidth=5 if floor else 1.6, alpha=0.4 if floor else 1, label=curve["policy"],
                      zorder=1 if floor else 2)
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_xlim(left=10)
        plain_axis(axis, name, "late by more than, µs", "share of deadlines" if axis is axes[0][0] else "")
        axis.legend(fontsize=8, loc="lower left")
    return svg_of(figure)


def loop_rows(data):
    return [row for row in data["rows"] if row["probe"] == "loop" and row["scheduling"] == "fifo"]


def plot_overruns(data):
    """Largest overrun by policy, in thread CPU time, one group of bars a workload."""
    names = workloads_of(data)
    figure, axes = pyplot.subplots(1, len(names), figsize=(4.6 * len(names), 3.2), sharex=True, squeeze=False)
    smallest, largest_shown = 1, 1e6  # the right part is for the labels
    for axis, name in zip(axes[0], names):
        rows = [r for r in loop_rows(data)
                if r["workload"] == name and r["policy"] != "none" and r["burst"] in (0, FLOOD)]
        rows.reverse()
        for place, row in enumerate(rows):
            value, late = row["overrun_cpu_us_max"] or 0, row["overrun_callbacks_max"] or 0
            if late:
                axis.barh(place, max(value, smallest), left=smallest, color=colour(row["policy"]))
            text = f"{figure_text(value)} µs, {late:,.0f} callbacks" if late else "none"
            axis.text(max(value, smallest) * 1.4, place, text, va="center", fontsize=8)
        axis.set_yticks(range(len(rows)), [r["policy"] for r in rows])
        axis.set_xscale("log")
        axis.set_xlim(smallest, largest_shown)
        axis.set_xticks([1, 10, 100, 1000, 10000])
        axis.set_ylim(-0.6, len(rows) - 0.4)
        axis.axvline(400, color="#999999", linestyle=":", linewidth=1)
        plain_axis(axis, name, "largest overrun, µs of CPU time", "")
    figure.tight_layout()
    return svg_of(figure)


def plot_backlog(data):
    names = workloads_of(data)
    figure, axes = pyplot.subplots(1, len(names), figsize=(4.6 * len(names), 3.4), squeeze=False)
    for axis, name in zip(axes[0], names):
        for curve in shown_curves(data, name):
            if curve["policy"] == "none" or not curve["backlog"]:
                continue
            end = max(point[0] for point in curve["backlog"]) or 1
            axis.plot([100 * p[0] / end for p in curve["backlog"]], [p[1] for p in curve["backlog"]],
                      color=colour(curve["policy"]), linewidth=0.8, label=curve["policy"])
        plain_axis(axis, name, "measured time, %", "callbacks waiting" if axis is axes[0][0] else "")
        axis.set_ylim(bottom=0)
        axis.legend(fontsize=8, loc="upper right")
    return svg_of(figure)


def plot_invocations(data):
    names = workloads_of(data)
    figure, axes = pyplot.subplots(1, len(names), figsize=(4.6 * len(names), 3.4), squeeze=False)
    for axis, name in zip(axes[0], names):
        for curve in shown_curves(data, name):
            points = [p for p in curve["invocations"] if p[0] > 0]
            if points:
                axis.scatter([p[0] for p in points], [p[1] for p in points], s=14, color=colour(curve["policy"]),
                             label=curve["policy"])
        plain_axis(axis, name, "largest backlog of the round", "p99, µs" if axis is axes[0][0] else "")
        axis.set_xscale("log")
        axis.set_yscale("log")
        if axis.get_legend_handles_labels()[0]:
            axis.legend(fontsize=8, loc="upper left")
    figure.tight_layout()
    return svg_of(figure)


def label_of(row):
    text = f"{row['workload']} {row['policy']}"
    if row["burst"] not in (0, FLOOD):
        text += f" {row['burst']:,}"
    return text if row["scheduling"] == "fifo" else text + " (SCHED_OTHER)"


def result_table(data):
    keys = ["samples", "p50_us", "p99_us", "floor_p99_us", "p999_us", "floor_p999_us", "p9999_us", "max_us",
            "overrun_us_max", "overrun_cpu_us_max", "overrun_callbacks_max", "callbacks_per_gp_p50",
            "callbacks_per_gp_max", "callback_ns", "backlog_max", "ops_per_s"]
    titles = ["workload, policy", "samples", "p50", "p99", "floor", "p99.9", "floor", "p99.99", "max", "overrun max",
              "in CPU time", "callbacks late", "a gp: p50", "max", "ns each", "backlog", "ops/s"]
    rows = [r for r in data["rows"] if r["probe"] == "loop"]
    return table(titles, [[label_of(r)] + [figure_text(r[k]) for k in keys] for r in rows])


def largest(rows, key):
    values = [r[key] for r in rows if r.get(key) is not None]
    return max(values) if values else None


def policy_rows(data, workloads, policies):
    return [r for r in loop_rows(data) if r["workload"] in workloads and r["policy"] in policies
            and r["burst"] in (0, FLOOD)]


def document_table(data):
    """What the documents of 2004 measured, beside the same of this run."""
    load = policy_rows(data, ("dcache", "route"), ("unbounded",))
    flood = policy_rows(data, ("flood",), ("unbounded",))
    cures = policy_rows(data, ("flood",), ("inline", "daemon", "krcud", "throttle", "direct"))
    each = [r["callback_ns"] for r in load + flood if r.get("callback_ns")]
    rate = 1000 / (sum(each) / len(each)) if each else None
    rows = [
        ["callbacks after one grace period, under load", "1,660 to 1,800",
         f"{figure_text(largest(load, 'callbacks_per_gp_max'))} at most"],
        ["callbacks a microsecond", "about 4", figure_text(rate)],
        ["delay by stock RCU, under load", "711 to 800 µs, all causes",
         f"{figure_text(largest(load, 'overrun_us_max'))} µs by callbacks alone"],
        ["callbacks after one grace period, denial of service", "over 30,000",
         figure_text(largest(flood, "batch_max"))],
        ["delay by stock RCU, denial of service", "not stated",
         f"{figure_text(largest(flood, 'overrun_us_max'))} µs by callbacks alone"],
    ]
    for row in cures:
        rows.append([f"with {row['policy']}, denial of service", "about 400 µs, all causes, under load",
                     f"{figure_text(row['overrun_us_max'])} µs by callbacks alone "
                     f"({figure_text(row['overrun_cpu_us_max'])} of CPU time)"])
    return table(["", "2004, one 2.4 GHz CPU", "this run"], rows, text_columns=3)


def burst_table(data):
    rows = []
    for row in sorted(loop_rows(data), key=lambda r: r["burst"]):
        if row["workload"] != "flood" or row["policy"] != "unbounded" or not row["callback_ns"]:
            continue
        predicted = row["batch_max"] * row["callback_ns"] / 1000
        rows.append([f"{row['burst']:,}", figure_text(row["batch_max"]), figure_text(row["callback_ns"]),
                     figure_text(predicted), figure_text(row["overrun_cpu_us_full"]),
                     figure_text(row["overrun_us_max"])])
    titles = ["callbacks a grace period", "largest batch", "ns each", "product, µs", "overrun, µs of CPU time (p95)",
              "largest on the wall, µs"]
    return table(titles, rows) if rows else ""


def plots(data):
    parts = [
        "<h2>How late the deadline event runs</h2><p class='note'>Both axes are logarithmic. The wide grey line is the "
        "floor: the same loop and work with nothing reclaimed. What lies on it is the machine's doing, not the "
        "policy's.</p>", plot_tails(data),
        "<h2>What callbacks took from the deadline</h2><p class='note'>From the time the event was due to the end of "
        "the batch of callbacks then running, in CPU time of the loop's thread: a preempted machine does not count. "
        "Dotted: 400 µs.</p>", plot_overruns(data),
        "<h2>Backlog</h2><p class='note'>Callbacks queued and not yet run.</p>", plot_backlog(data),
        "<h2>How long callbacks wait, against how many wait</h2><p class='note'>From the oldest call_rcu() of a batch "
        "to the batch's first callback, by the library's own histogram, whose steps are powers of two: the 99th "
        "percentile of each round.</p>", plot_invocations(data),
    ]
    return "".join(parts)


def page(data):
    floor = ", ".join(f"{w} {figure_text(r['p99_us'])} µs"
                      for w in workloads_of(data) for r in policy_rows(data, (w,), ("none",)))
    intro = (
        "<p>An event loop runs to completion, as packet forwarders and audio engines do, and serves real work over an "
        "RCU-protected structure. A timer event with an absolute due time measures how late the loop gets to it. Who "
        "runs the callbacks that reclaim memory, and how many at a time, is the policy.</p>"
        f"<p class='note'>{machine_text(data)} Noise floor of the same loop with nothing reclaimed, p99: {floor}.</p>")
    return page_html.page_text("latency", "What reclamation does to a deadline", [
        intro, page_html.plots_or_hint(data, plots),
        "<h2>Overrun is callbacks times callback time</h2>", burst_table(data),
        "<h2>The documents of 2004, and this run</h2>", document_table(data),
        "<h2>What it must show</h2>", verdict_list(data),
        "<h2>All figures</h2><p class='note'>Microseconds where no unit is given. A dash: too few samples.</p>",
        result_table(data)])


if __name__ == "__main__":
    sys.exit(page_html.main(page, sys.argv))
