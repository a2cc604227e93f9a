# SPDX-License-Identifier: MIT OR Apache-2.0
"""Turns the data of `rtrcu expedited` (expedited.json) into one self-contained page with plots.

Usage: expedited_html.py DATA.json PAGE.html.
"""
import sys

sys.dont_write_bytecode = True  # the folder may be the installed one

import page_html
import plot
from page_html import figure_text, machine_text, rows_of, table, verdict_list

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
COLOURS = {"workqueue": "red", "kthread-only": "orange", "kthread": "blue", "normal=1": "green", "none": "floor"}
WORKERS = ("workqueue", "kthread-only", "kthread")
BUSY = [
    ("rtrcu", True, "rtrcu, boosting", "#1f77b4"), ("rtrcu", False, "rtrcu, no boosting", "#e9a03b"),
    ("liburcu-memb", False, "liburcu-memb", "#222222"),
]


def plot_tails(data):
    """Share of calls that took longer than x, on two log axes; the floor wide and pale."""
    panels = []
    for boost in (True, False):
        panel = plot.Panel("with boosting" if boost else "without boosting", "took longer than, µs", "share of calls",
                           log=(True, True), size=(520, 330))
        for curve in data["curves"]:
            floor = curve["worker"] == "none"
            if not floor and curve["boost"] != boost:
                continue
            points = [(ns / 1000, 1 - share) for ns, share in curve["cdf"] if share < 1 and ns > 0]
            panel.line(points, COLOURS[curve["worker"]], "floor: no grace period" if floor else curve["worker"],
                       "wide" if floor else "solid")
        panels.append(panel)
    return plot.figure(panels, "Both axes are logarithmic. The wide grey line is the floor: the caller wakes a "
                       "real-time thread and waits for its answer, beside the same load.")


def plot_busy(data):
    """Median, 99th percentile or maximum, and maximum, over the number of readers."""
    panel = plot.Panel("waiting for busy readers", "busy readers on the CPUs of this machine", "µs", log=(True, True),
                       size=(640, 360))
    for peer, boost, label, colour in BUSY:
        rows = [r for r in rows_of(data, "busy_readers") if r["peer"] == peer and r["boost"] == boost and r["p50_ns"]]
        panel.line([(r["readers"], r["p50_ns"] / 1000) for r in rows], colour, label + ": median")
        panel.line([(r["readers"], (r["p99_ns"] or r["max_ns"]) / 1000) for r in rows], colour, label + ": p99", "dash")
        panel.line([(r["readers"], r["max_ns"] / 1000) for r in rows], colour, label + ": largest", "dot")
    panel.level(1000, "1 ms")
    return plot.figure([panel], "Where samples are few, the largest stands for the 99th percentile. The largest is cut "
                       "short by the end of the experiment where it did not end.")


def plot_throughput(data):
    rows = [(f"{r['readers']} readers, {'boost' if r['boost'] else 'no boost'}", r["sections_per_s"],
             f"{figure_text(r['sections_per_s'])}, {figure_text(r['grace_periods_per_s'])} grace periods/s",
             "blue" if r["boost"] else "orange") for r in rows_of(data, "throughput")]
    return plot.figure([plot.Bars("what readers got done", "sections a second", rows, width=640, label_width=150)],
                       "1,000 requests for a grace period a second.")


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
            first, *others = [found.get((worker, boost), {}).get(key) for worker in WORKERS]
            cells.append(figure_text(first))
            for ours in others:
                cells += [figure_text(ours), "" if key in ("count", "experiments") else difference(first, ours)]
        normal = found.get(("normal=1", True), {})
        rows.append(cells + [figure_text(normal.get(key)), figure_text(floor.get(key))])
    variants = ["kthread-only", "diff", "kthread", "diff"]
    titles = ["", "Linux 2022: workqueues", "kthread_worker", "diff", "boost: workqueue", *variants,
              "no boost: workqueue", *variants, "normal=1", "floor"]
    return table(titles, rows)


def turned_table(data):
    rows = [[row.get("environment", "quiet"), row["worker"], "boost" if row["boost"] else "no boost"]
            + [figure_text(row.get(key)) for key in ("expedited", "by_caller", "by_worker", "boosts", "cut_off")]
            for row in rows_of(data, "worker") if row["worker"] != "none"]
    return table(["", "worker", "", "expedited grace periods", "turned by callers", "turned by the worker",
                  "readers boosted", "calls cut off"], rows, 3)


def interrupt_table(data):
    keys = ("experiments", "interrupts_per_s", "spread_pct", "grace_periods_per_s", "interrupts_per_grace_period")
    rows = [[row["variant"]] + [figure_text(row[key]) for key in keys] for row in rows_of(data, "interrupts")]
    return table(["", "experiments", "interrupts/s", "± %", "grace periods/s", "beyond the control, each"], rows, 1)


def busy_table(data):
    rows = [[r["readers"], r["peer"] if r["peer"] != "rtrcu" else f"rtrcu, {'boost' if r['boost'] else 'no boost'}",
             figure_text(r["count"]), figure_text(r["unfinished"])]
            + [figure_text(r[k] / 1000 if r[k] is not None else None) for k in ("p50_ns", "p99_ns", "max_ns")]
            + [figure_text(r["boosts"])] for r in rows_of(data, "busy_readers")]
    return table(["busy readers", "", "samples", "unfinished", "p50, µs", "p99, µs", "max, µs", "boosts"], rows, 2)


def throughput_table(data):
    rows = [[r["readers"], "boost" if r["boost"] else "no boost"]
            + [figure_text(r[k]) for k in ("sections_per_s", "spread_pct", "requests_per_s", "grace_periods_per_s",
                                           "boosts_per_s")]
            + [f"{100 * r['ratio']:.1f} %" if r["ratio"] else ""] for r in rows_of(data, "throughput")]
    return table(["busy readers", "", "sections/s", "± %", "requests/s", "grace periods/s", "boosts/s", "with/without"],
                 rows, 2)


def conclusion(data):
    """The quiet environment's means, and the waiting among the most readers."""
    found = {r["worker"]: r["avg_ns"] for r in rows_of(data, "worker")
             if r.get("environment", "quiet") == "quiet" and r["boost"] and r["avg_ns"]}
    parts = []
    if "workqueue" in found and "kthread" in found:
        parts.append(f"a critical caller waited {figure_text(found['workqueue'] / 1000)} µs on average for a worker at "
                     f"ordinary priority and {figure_text(found['kthread'] / 1000)} µs for a real-time one")
    busy = [r for r in rows_of(data, "busy_readers") if r["peer"] == "rtrcu" and r["boost"] and r["p50_ns"]]
    if busy:
        most = max(busy, key=lambda row: row["readers"])
        parts.append(f"beside {most['readers']} busy readers, boosted, half of the waits took "
                     f"{figure_text(most['p50_ns'] / 1000)} µs or less")
    return f"On this machine {'; '.join(parts)}." if parts else "The tables below have what was measured."


def noise(data):
    floor = next((r for r in rows_of(data, "worker") if r["worker"] == "none"), None)
    best = next((r for r in rows_of(data, "worker") if r["worker"] == "kthread" and r["boost"]), None)
    if not floor or not best or not floor["avg_ns"] or not best["avg_ns"] or floor["avg_ns"] < 0.5 * best["avg_ns"]:
        return ""
    return (f"Waking a thread alone takes {figure_text(floor['avg_ns'] / 1000)} µs on average here: what the two "
            "workers differ by below that is this machine's noise.")


def plots(data):
    return "".join([
        "<h2>How long a critical caller waits</h2>", page_html.warning(noise(data)), plot_tails(data),
        "<h2>More readers than CPUs</h2>", plot_busy(data), "<h2>What boosting costs the readers</h2>",
        plot_throughput(data)])


def page(data):
    intro = (
        "<p>A SCHED_FIFO thread waits for expedited grace periods while ordinary threads keep the CPUs busy. Who turns "
        "the crank of the grace period, and whether readers that were preempted inside their sections are boosted, "
        "decides how long it waits.</p>"
        f"<p class='note'>{machine_text(data)}</p>")
    return page_html.page_text("expedited", "Who runs the expedited grace period", [
        page_html.conclusion(data, conclusion(data)), intro, plots(data),
        "<h2>rcu: Move expedited grace period (GP) work to RT kthread_worker (Linux, 2022),"
        " and this run: nothing beside it</h2>",
        document_table(data, "quiet"),
        "<h2>The same beside hogs and writers of another process group</h2>", document_table(data, "loaded"),
        "<h2>Which threads turned the grace periods</h2>", turned_table(data),
        "<h2>Interrupts at the CPU of an isolated reader</h2>", interrupt_table(data),
        "<h2>Busy readers</h2>", busy_table(data), "<h2>Throughput of readers</h2>", throughput_table(data),
        "<h2>What it must show</h2>", verdict_list(data)])


if __name__ == "__main__":
    sys.exit(page_html.main(page, sys.argv))
