# SPDX-License-Identifier: MIT OR Apache-2.0
"""Turns the data of `rtrcu latency` (latency.json) into one self-contained page with plots.

Usage: latency_html.py DATA.json PAGE.html.  Also writes the plot of overruns in the flood as SVG files, for light and
dark pages.  Exit 0 done, 2 wrong usage.
"""
import sys

sys.dont_write_bytecode = True  # the folder may be the installed one

import page_html
import plot
from page_html import figure_text, largest, machine_text, table, verdict_list

COLOURS = {
    "none": "floor", "unbounded": "red", "inline": "blue", "daemon": "green", "krcud": "orange", "throttle": "violet",
    "direct": "slate", "liburcu": "ink",
}
POLICIES = {
    "none": "the floor: the same loop and work with nothing reclaimed while the clock runs",
    "unbounded": "the loop runs all ready callbacks at once, as Linux 2.6.0 did",
    "inline": "the loop runs callbacks within a budget and up to its next deadline",
    "daemon": "a preemptible daemon for each CPU runs them; the default",
    "krcud": "UseLinux 2004: at most bhlimit in the loop, the rest by a daemon",
    "throttle": "UseLinux 2004: 256 in the loop, then a tick of rest; no adaptive limits",
    "direct": "UseLinux 2004: at once, where the loop is the only reader",
    "liburcu": "liburcu-memb, whose call_rcu thread runs them",
}
WORKLOADS = {
    "dcache": "a recorded dbench stream and lookups in the machine's own directory tree",
    "route": "packets to random destinations over real prefixes",
    "flood": "denial of service, 30,000 callbacks a grace period",
}
FLOOD = 30000


def colour(policy):
    return COLOURS.get(policy, "slate")


def shown_curves(data, workload):
    return [c for c in data["curves"] if c["workload"] == workload and c["fifo"] and c["burst"] in (0, FLOOD)]


def workloads_of(data):
    present = {curve["workload"] for curve in data["curves"]}
    return [name for name in WORKLOADS if name in present]


def loop_rows(data):
    return [row for row in data["rows"] if row["probe"] == "loop" and row["scheduling"] == "fifo"]


def policy_rows(data, workloads, policies):
    return [r for r in loop_rows(data) if r["workload"] in workloads and r["policy"] in policies
            and r["burst"] in (0, FLOOD)]


def plot_tails(data):
    """Share of deadlines missed by more than x: the tail of the lateness distribution on two log axes."""
    panels = []
    for name in workloads_of(data):
        panel = plot.Panel(name, "late by more than, µs", "share of deadlines", log=(True, True), x_range=(10, None))
        for curve in shown_curves(data, name):
            points = [(us, 1 - share) for us, share in curve["cdf"] if us > 0 and share < 1]
            # The floor is drawn wide and pale: what lies on it is not the policy's doing.
            floor = curve["policy"] == "none"
            panel.line(points, colour(curve["policy"]), "none: the floor" if floor else curve["policy"],
                       "wide" if floor else "solid")
        panels.append(panel)
    return plot.figure(panels, "Both axes are logarithmic. The wide grey line is the floor: the same loop and work "
                       "with nothing reclaimed. What lies on it is the machine's doing, not the policy's.")


def overrun_bars(data, name, key="overrun_cpu_us_max", **look):
    rows = []
    for row in loop_rows(data):
        if row["workload"] != name or row["policy"] == "none" or row["burst"] not in (0, FLOOD):
            continue
        value, late = row[key] or 0, row["overrun_callbacks_max"] or 0
        text = f"{figure_text(value)} µs; {late:,.0f} callback{'s' if late != 1 else ''} late" if late else "none"
        rows.append((row["policy"], value if late else None, text, colour(row["policy"])))
    which = "largest overrun" if key == "overrun_cpu_us_max" else "overrun at p99.9"
    return plot.Bars(name, f"{which}, µs of CPU time", rows, log=True, least=1, **look)


def plot_overruns(data):
    """Largest overrun by policy, in thread CPU time, one group of bars a workload."""
    panels = [overrun_bars(data, name, mark=(400, "400 µs, what UseLinux 2004 reached"))
              for name in workloads_of(data)]
    return plot.figure(panels, "From the time the event was due to the end of the batch of callbacks then running, in "
                       "CPU time of the loop's thread: a machine that is itself preempted does not count. Beside it, "
                       "how many callbacks were begun after the event was due; none: no batch ran into the deadline. "
                       "Dotted: 400 µs.")


def plot_backlog(data):
    panels = []
    for name in workloads_of(data):
        panel = plot.Panel(name, "% of the measured time", "callbacks waiting", y_range=(0, None))
        for curve in shown_curves(data, name):
            if curve["policy"] == "none" or not curve["backlog"]:
                continue
            end = max(point[0] for point in curve["backlog"]) or 1
            panel.line([(100 * p[0] / end, p[1]) for p in curve["backlog"]], colour(curve["policy"]), curve["policy"])
        panels.append(panel)
    return plot.figure(panels, "Callbacks queued and not yet run.")


def plot_invocations(data):
    panels = []
    for name in workloads_of(data):
        panel = plot.Panel(name, "largest backlog of the round", "p99, µs", log=(True, True))
        for curve in shown_curves(data, name):
            points = [(p[0], p[1]) for p in curve["invocations"] if p[0] > 0 and p[1] > 0]
            panel.dots(points, colour(curve["policy"]), curve["policy"])
        panels.append(panel)
    return plot.figure(panels, "From the oldest call_rcu() of a batch to the batch's first callback, by the library's "
                       "own histogram, whose steps are powers of two: the 99th percentile of each round.")


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


def document_table(data):
    """What Sarma and McKenney measured in 2004, beside the same of this run."""
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
    return table(["", "UseLinux 2004, one 2.4 GHz CPU", "this run"], rows, text_columns=3)


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


def explanations(data):
    used = {row["policy"] for row in data["rows"]}
    return ("<h2>Who runs the callbacks, on which work</h2><dl>"
            + "".join(f"<dt><b>{name}</b></dt><dd>{text}</dd>" for name, text in POLICIES.items() if name in used)
            + "".join(f"<dt><b>{name}</b></dt><dd>{WORKLOADS[name]}</dd>" for name in workloads_of(data)) + "</dl>")


def overrun_text(row):
    late = row["overrun_callbacks_max"] or 0
    if not late:
        return f"{row['policy']} never ran into it"
    return (f"{row['policy']} by {figure_text(row['overrun_cpu_us_max'])} µs of CPU time "
            f"({late:,.0f} callbacks begun late)")


def conclusion(data):
    """By CPU time and counts, which a machine that is itself preempted does not move."""
    name = "flood" if "flood" in workloads_of(data) else next(iter(workloads_of(data)), None)
    stock, rest = policy_rows(data, (name,), ("unbounded",)), policy_rows(data, (name,), ("inline", "daemon"))
    if not stock or not rest:
        return "Which policies were compared stands in the tables below."
    return (f"On this machine, under {name}, callbacks ran past the deadline: {overrun_text(stock[0])}; "
            f"{'; '.join(overrun_text(row) for row in rest)}.")


def noise(data):
    """Where the machine decides about lateness on the wall, and the policy does not."""
    hidden = []
    for name in workloads_of(data):
        floor, stock = policy_rows(data, (name,), ("none",)), policy_rows(data, (name,), ("unbounded",))
        if floor and stock and (floor[0]["p99_us"] or 0) > 0.5 * (stock[0]["p99_us"] or float("inf")):
            hidden.append(f"{name} (floor p99 {figure_text(floor[0]['p99_us'])} µs)")
    if not hidden:
        return ""
    return (f"This machine's own noise decides about lateness in {', '.join(hidden)}: there the lines below lie within "
            "a factor of two of the floor, and their order says nothing about policies. Overruns, which are counted in "
            "callbacks and in CPU time, do.")


def plots(data):
    return "".join([
        "<h2>What callbacks took from the deadline</h2>", plot_overruns(data),
        "<h2>How late the deadline event runs</h2>", page_html.warning(noise(data)), plot_tails(data),
        "<h2>Backlog</h2>", plot_backlog(data),
        "<h2>How long callbacks wait, against how many wait</h2>", plot_invocations(data)])


def figures(data):
    """For the README: the overruns of the flood."""
    if "flood" not in workloads_of(data):
        return {}
    tail = all(row["overrun_cpu_us_p999"] is not None for row in policy_rows(data, ("flood",), POLICIES))
    bars = overrun_bars(data, "flood", "overrun_cpu_us_p999" if tail else "overrun_cpu_us_max", width=620,
                        label_width=90)
    bars.title = "What freeing memory takes from a deadline, 30,000 callbacks a grace period"
    return {"flood": bars.svg()}


def page(data):
    floor = ", ".join(f"{w} {figure_text(r['p99_us'])} µs"
                      for w in workloads_of(data) for r in policy_rows(data, (w,), ("none",)))
    intro = (
        "<p>An event loop runs to completion, as packet forwarders and audio engines do, and serves real work over an "
        "RCU-protected structure. A timer event with an absolute due time measures how late the loop gets to it. Who "
        "runs the callbacks that reclaim memory, and how many at a time, is the policy.</p>"
        f"<p class='note'>{machine_text(data)} Noise floor of the same loop with nothing reclaimed, p99: {floor}.</p>")
    return page_html.page_text("latency", "What reclamation does to a deadline", [
        page_html.conclusion(data, conclusion(data)), intro, explanations(data), plots(data),
        "<h2>Overrun is callbacks times callback time</h2>", burst_table(data),
        "<h2>Sarma and McKenney: making RCU safe for realtime (UseLinux 2004), and this run</h2>", document_table(data),
        "<h2>What it must show</h2>", verdict_list(data),
        "<h2>All figures</h2><p class='note'>Microseconds where no unit is given. A dash: too few samples.</p>",
        result_table(data)])


if __name__ == "__main__":
    sys.exit(page_html.main(page, sys.argv, figures))
