# SPDX-License-Identifier: MIT OR Apache-2.0
"""Turns the data of `rtrcu blocked` (blocked.json) into one self-contained page with charts.

Usage: blocked_html.py DATA.json PAGE.html.  Exit 0 done, 2 wrong usage, 3 done without charts.
"""
import sys

sys.dont_write_bytecode = True  # the folder may be the installed one

import page_html
from charts import Axis, Chart
from page_html import figure_text, machine_text, rows_of, section, table, verdict_list

COLOURS = {"node-spin": "red", "percpu-spin": "violet", "node": "orange", "percpu": "blue", "none": "floor"}
NAMES = {"node-spin": "node, spinning", "percpu-spin": "per CPU, spinning", "node": "node, boosting",
         "percpu": "per CPU, boosting", "none": "no sections"}
WHAT = {"node-spin": "the node's list, under a lock that waiters spin for: the baseline of 2026",
        "percpu-spin": "the thread's own list, then the node's, under locks that waiters spin for: the RFC of 2026",
        "node": "the node's list, under the library's priority-inheriting lock",
        "percpu": "the thread's own list, then the node's, under priority-inheriting locks: the library's default",
        "none": "the same fibers without sections"}
# The RFC of 2026: iterations per second, and the mean hold time of the node's lock.
PUBLISHED = {"node-spin": 66_980, "percpu-spin": 97_719}
PUBLISHED_HOLD_US = 1069


def curves_of(data):
    return [curve for curve in data["curves"] if curve["iterations_per_s"]]


def chart_iterations(data):
    """Returns a chart of iterations per second: a point for each run, a line for the runs' mean, and a row above with
    the RFC's means."""
    chart = Chart(["the RFC of 2026", "this run"], Axis("iterations per second, of all readers", log=True,
                                                        unit="iterations/s"), Axis(""))
    for lists, rate in PUBLISHED.items():
        chart.points("the RFC of 2026", [(NAMES[lists], rate)], "mean", "red", symbol="line-ns-open", size=20)
    for curve in curves_of(data):
        name, rates = NAMES[curve["lists"]], curve["iterations_per_s"]
        chart.points("this run", [(name, rate) for rate in rates], "a run", "blue", opacity=0.4)
        chart.points("this run", [(name, sum(rates) / len(rates))], "mean", "red", symbol="line-ns-open", size=20)
    return chart.html()


def chart_holds(data):
    """Returns a histogram of the hold times of the node's lock, as counts per second of measured time."""
    chart = Chart([""], Axis("the node's lock was held for this or up to twice as long, µs", log=True, unit="µs"),
                  Axis("times per second", log=True))
    seconds = data["args"]["metered_ms"] / 1000
    for curve in curves_of(data):
        total = seconds * len(curve["iterations_per_s"])
        chart.line("", [(2 ** i / 1000, count / total) for i, count in enumerate(curve["hold_log2"]) if count],
                   NAMES[curve["lists"]], COLOURS[curve["lists"]], mode="lines+markers")
    chart.mark(PUBLISHED_HOLD_US, "2026: mean hold with the node's list")
    return chart.html()


def chart_shares(data):
    """Returns a chart of the hold times of the lock, for each iteration and for each acquisition."""
    rows = [row for row in rows_of(data, "lists") if row["lists"] != "none"]
    kinds = [("an iteration", lambda row: (row["lock_hold_ns_per_iteration"] or 0) / 1000),
             ("an acquisition, mean", lambda row: row["lock_hold_us_mean"]),
             ("an acquisition, without preemption", lambda row: row["unpreempted_hold_us_mean"])]
    chart = Chart([name for name, _ in kinds], Axis("the node's lock was held for, µs", log=True, unit="µs"), Axis(""))
    for name, value in kinds:
        chart.points(name, [(NAMES[row["lists"]], value(row) or None) for row in rows], "this run", "blue")
    chart.points(kinds[1][0], [(NAMES["node-spin"], PUBLISHED_HOLD_US)], "the RFC of 2026", "slate",
                 symbol="line-ns-open")
    return chart.html()


def chart_latency(data):
    chart = Chart([""], Axis("the grace period took longer than, µs", log=True, unit="µs"),
                  Axis("share of grace periods", log=True))
    for curve in curves_of(data):
        points = [(ns / 1000, 1 - share) for ns, share in curve["cdf"] if share < 1 and ns > 0]
        chart.line("", points, NAMES[curve["lists"]], COLOURS[curve["lists"]])
    return chart.html()


def chart_crowds(data):
    crowds = sorted({row["tasks"] for row in rows_of(data, "parked")})
    chart = Chart(["to begin a grace period", "to end a grace period"],
                  Axis("parked tasks", log=True, unit="tasks", ticks=crowds), Axis("time, µs", log=True, unit="µs"),
                  height=220)
    for lists in ("node", "percpu"):
        rows = [row for row in rows_of(data, "parked") if row["lists"] == lists]
        for title, key in (("to begin a grace period", "begin_us"), ("to end a grace period", "end_us")):
            chart.line(title, [(row["tasks"], row[key]) for row in rows], NAMES[lists], COLOURS[lists],
                       mode="lines+markers")
    return chart.html()


def keyed_table(rows, columns, text_columns=1):
    """Returns a table of the rows' fields. columns: pairs (key, title). Numbers are formatted, texts are not."""
    def cell(value):
        if isinstance(value, str):
            return NAMES.get(value, value)
        return f"{value:.5f}" if value and abs(value) < 0.1 else figure_text(value)
    return table([title for _, title in columns], [[cell(row[key]) for key, _ in columns] for row in rows],
                 text_columns)


def lists_table(data):
    return keyed_table(rows_of(data, "lists"), [
        ("lists", "lists"), ("runs", "runs"), ("iterations_per_s_mean", "iterations/s"),
        ("iterations_per_s_stddev", "±"), ("preempted_pct", "preempted, %"), ("grace_periods", "grace periods"),
        ("gp_latency_us_p50", "p50, µs"), ("gp_latency_us_p99", "p99, µs"), ("floor_us_p50", "floor p50, µs"),
        ("floor_us_p99", "floor p99, µs")])


def lock_table(data):
    return keyed_table([row for row in rows_of(data, "lists") if row["lists"] != "none"], [
        ("lists", "lists"), ("lock_acquisitions_per_iteration", "acquisitions per iteration, no grace period"),
        ("lock_acquisitions_per_iteration_with_gp", "with grace periods"),
        ("reader_lock_pct_without_gp", "readers' time, %, no grace period"), ("reader_lock_pct", "with grace periods"),
        ("lock_hold_ns_per_iteration", "hold per iteration, ns"), ("lock_hold_us_mean", "hold, µs"),
        ("lock_hold_us_max", "max"), ("reader_hold_us_mean", "readers' hold, µs"),
        ("reader_hold_us_max", "max"), ("reader_wait_us_mean", "readers' wait, µs"), ("reader_wait_us_max", "max"),
        ("unpreempted_hold_us_mean", "hold without preemption, µs"), ("promotions", "promotions")])


def order_table(data):
    return keyed_table(rows_of(data, "order"), [
        ("lists", "lists"), ("rounds", "rounds"), ("older", "older tasks"), ("later", "later tasks"),
        ("ended_early", "ended early"), ("not_ended", "did not end"), ("older_not_waited", "older not waited for"),
        ("later_waited_for", "later waited for"), ("found_us_p50", "end found after, µs, p50")])


def crowd_table(data):
    return keyed_table(rows_of(data, "parked"), [
        ("lists", "lists"), ("tasks", "parked"), ("bytes_each", "bytes each"), ("park_ns", "park, ns"),
        ("unlock_ns", "unlock, ns"), ("promotion_ns_each", "promotion, ns each"), ("begin_us", "begin, µs"),
        ("end_us", "end, µs"), ("gp_without_us", "grace period without parked tasks, µs"),
        ("lock_hold_us_max", "longest hold, µs")])


def conclusion(data):
    found = {row["lists"]: row["iterations_per_s_mean"] for row in rows_of(data, "lists")}
    spin, percpu = found.get("node-spin"), found.get("percpu")
    if not spin or not percpu:
        return "The tables below have the measured figures."
    return (f"On this machine, with carriers that are preempted, readers make {figure_text(percpu)} iterations per "
            f"second with per-CPU lists and {figure_text(spin)} with the node's list under a spinning lock: "
            f"{100 * (percpu / spin - 1):+.0f} %.")


def noise(data):
    wide = [row for row in rows_of(data, "lists") if row["iterations_per_s_mean"]
            and row["iterations_per_s_stddev"] > 0.3 * row["iterations_per_s_mean"]]
    if not wide:
        return ""
    return ("The runs' standard deviation is above 30 % of their mean with "
            + ", ".join(NAMES[row["lists"]] for row in wide)
            + ". Smaller differences between the lists are this machine's noise.")


def page(data):
    args = data["args"]
    used = {row["lists"] for row in rows_of(data, "lists")}
    about = (
        f"<p>{args['readers']} reader fibers on {args['carriers']} carrier threads park inside their sections, while "
        f"{args['preemptors']} SCHED_FIFO threads take the CPUs away from the carriers. The variants differ in where "
        "parked readers are listed, and in the lock of that list.</p><dl>"
        + "".join(f"<dt><b>{NAMES[name]}</b> ({name})</dt><dd>{text}</dd>" for name, text in WHAT.items()
                  if name in used)
        + f"</dl><p class='note'>{machine_text(data)} The RFC's readers ran on virtual CPUs, which threads of the "
        "host preempted. Compare iterations per second only within one run of the experiment.</p>")
    return page_html.page_text("blocked", "Readers that are parked inside their sections", [
        page_html.conclusion(data, conclusion(data)) + page_html.warning(noise(data)),
        section("How many iterations do readers make while carriers are preempted?", chart_iterations(data),
                lists_table(data)),
        section("How long is the node's lock held?", chart_shares(data), lock_table(data)),
        section("Histogram of the hold times of the node's lock", chart_holds(data)),
        section("How long do grace periods take?", chart_latency(data)),
        section("What does a crowd of parked tasks cost a grace period?", chart_crowds(data), crowd_table(data)),
        section("For which tasks does a grace period wait?", order_table(data)),
        section("Verdicts", verdict_list(data)), section("The variants", about)])


if __name__ == "__main__":
    sys.exit(page_html.main(page, sys.argv))
