# SPDX-License-Identifier: MIT OR Apache-2.0
"""Turns the data of `rtrcu blocked` (blocked.json) into one self-contained page with plots.

Usage: blocked_html.py DATA.json PAGE.html.
"""
import sys

sys.dont_write_bytecode = True  # the folder may be the installed one

import page_html
import plot
from page_html import figure_text, machine_text, rows_of, table, verdict_list

COLOURS = {"node-spin": "red", "percpu-spin": "violet", "node": "orange", "percpu": "blue", "none": "floor"}
NAMES = {"node-spin": "node, spinning (before the RFC of 2026)", "percpu-spin": "per CPU, spinning (the RFC)",
         "node": "node, boosting", "percpu": "per CPU", "none": "no sections"}


def curves_of(data):
    return [curve for curve in data["curves"] if curve["iterations_per_s"]]


def plot_iterations(data):
    """Every run a point, in the order in which they were made; the mean a line."""
    panel = plot.Panel("iterations under preemption", "run", "iterations a second", log=(False, True), size=(600, 330))
    for curve in curves_of(data):
        rates, colour = curve["iterations_per_s"], COLOURS[curve["lists"]]
        mean = sum(rates) / len(rates)
        panel.dots(list(enumerate(rates, 1)), colour, NAMES[curve["lists"]])
        panel.line([(1, mean), (len(rates), mean)], colour, NAMES[curve["lists"]] + ", mean", "dash")
    return plot.figure([panel], "Each point is a run, in the order in which they were made.")


def plot_holds(data):
    """How often the node's lock was held for how long, per second of measured time; both axes logarithmic."""
    panel = plot.Panel("how long the node's lock was held", "held for this or up to twice as long, µs",
                       "times a second", log=(True, True), size=(600, 330))
    seconds = data["args"]["metered_ms"] / 1000
    for curve in curves_of(data):
        total = seconds * len(curve["iterations_per_s"])
        panel.line([(2 ** i / 1000, count / total) for i, count in enumerate(curve["hold_log2"]) if count],
                   COLOURS[curve["lists"]], NAMES[curve["lists"]])
    return plot.figure([panel], "Both axes are logarithmic. What lies to the right held up everybody who needed the "
                       "lock.")


def plot_latency(data):
    panel = plot.Panel("how long grace periods took", "longer than, µs", "share of grace periods", log=(True, True),
                       size=(600, 330))
    for curve in curves_of(data):
        points = [(ns / 1000, 1 - share) for ns, share in curve["cdf"] if share < 1 and ns > 0]
        panel.line(points, COLOURS[curve["lists"]], NAMES[curve["lists"]])
    return plot.figure([panel], "Both axes are logarithmic: the share of grace periods that took longer than this.")


def plot_crowds(data):
    panel = plot.Panel("a grace period beside a crowd", "parked tasks", "µs", log=(True, True), size=(600, 330))
    for lists in ("node", "percpu"):
        rows = [row for row in rows_of(data, "parked") if row["lists"] == lists]
        panel.line([(row["tasks"], row["begin_us"]) for row in rows], COLOURS[lists], f"{NAMES[lists]}: begin")
        panel.line([(row["tasks"], row["end_us"]) for row in rows], COLOURS[lists], f"{NAMES[lists]}: end", "dot")
    return plot.figure([panel], "What it takes to begin and to end a grace period while so many tasks are parked "
                       "inside sections.")


def keyed_table(rows, columns, text_columns=1):
    """Columns are (key, title); texts stay as they are."""
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
        ("lists", "lists"), ("lock_acquisitions_per_iteration", "acquisitions an iteration, no grace period"),
        ("lock_acquisitions_per_iteration_with_gp", "with grace periods"),
        ("reader_lock_pct_without_gp", "readers' time, %, no grace period"), ("reader_lock_pct", "with grace periods"),
        ("lock_hold_ns_per_iteration", "hold an iteration, ns"), ("lock_hold_us_mean", "hold, µs"),
        ("lock_hold_us_max", "max"), ("reader_hold_us_mean", "readers' hold, µs"),
        ("reader_hold_us_max", "max"), ("reader_wait_us_mean", "readers' wait, µs"), ("reader_wait_us_max", "max"),
        ("unpreempted_hold_us_mean", "hold without preemption, µs"), ("promotions", "promotions")])


def order_table(data):
    return keyed_table(rows_of(data, "order"), [
        ("lists", "lists"), ("rounds", "rounds"), ("older", "older tasks"), ("later", "later tasks"),
        ("ended_early", "ended early"), ("not_ended", "did not end"), ("older_not_waited", "older not waited for"),
        ("later_waited_for", "later waited for"), ("found_us_p50", "found after, µs, p50")])


def crowd_table(data):
    return keyed_table(rows_of(data, "parked"), [
        ("lists", "lists"), ("tasks", "parked"), ("bytes_each", "bytes each"), ("park_ns", "park, ns"),
        ("unlock_ns", "unlock, ns"), ("promotion_ns_each", "promotion, ns each"), ("begin_us", "begin, µs"),
        ("end_us", "end, µs"), ("gp_without_us", "grace period with none, µs"),
        ("lock_hold_us_max", "longest hold, µs")])


def plots(data):
    drawn = [plot_iterations(data), plot_holds(data)]
    if any(curve["cdf"] for curve in data["curves"]):
        drawn.append(plot_latency(data))
    if rows_of(data, "parked"):  # not yet in a run that was interrupted
        drawn.append(plot_crowds(data))
    return "".join(drawn)


def conclusion(data):
    found = {row["lists"]: row["iterations_per_s_mean"] for row in rows_of(data, "lists")}
    spin, percpu = found.get("node-spin"), found.get("percpu")
    if not spin or not percpu:
        return "The tables below have what was measured."
    return (f"On this machine, with carriers that are preempted, per-CPU lists let readers make {figure_text(percpu)} "
            f"iterations a second and the node's spinning list {figure_text(spin)}: "
            f"{100 * (percpu / spin - 1):+.0f} %.")


def noise(data):
    wide = [row for row in rows_of(data, "lists") if row["iterations_per_s_mean"]
            and row["iterations_per_s_stddev"] > 0.3 * row["iterations_per_s_mean"]]
    if not wide:
        return ""
    return ("Runs differ from each other by more than 30 % with " + ", ".join(NAMES[row["lists"]] for row in wide)
            + ": smaller differences between the lists are this machine's noise.")


def page(data):
    args = data["args"]
    intro = (
        f"<p>{args['readers']} reader fibers on {args['carriers']} carrier threads park inside their sections, while "
        f"{args['preemptors']} SCHED_FIFO threads take the CPUs away from the carriers. Where the parked readers are "
        "listed decides whether a carrier that was preempted holds up the others.</p>"
        f"<p class='note'>{machine_text(data)} The RFC on per-CPU lists of blocked readers (2026) "
        "had, with 64 reader threads on virtual CPUs: 66,980 iterations a second with the node's list, 97,719 with "
        "per-CPU lists "
        "(+46 %); the lock was held for 1,069 µs on average, then for about 0.</p>")
    return page_html.page_text("blocked", "Readers that are parked", [
        page_html.conclusion(data, conclusion(data)), intro, page_html.warning(noise(data)), plots(data),
        "<h2>Iterations and grace periods</h2>", lists_table(data), "<h2>The node's lock</h2>", lock_table(data),
        "<h2>Who is waited for</h2>", order_table(data), "<h2>Crowds of parked tasks</h2>", crowd_table(data),
        "<h2>What it must show</h2>", verdict_list(data)])


if __name__ == "__main__":
    sys.exit(page_html.main(page, sys.argv))
