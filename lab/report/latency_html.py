# SPDX-License-Identifier: MIT OR Apache-2.0
"""Turns the data of `rtrcu latency` (latency.json) into one self-contained page with charts.

Usage: latency_html.py DATA.json PAGE.html.  Exit 0 done, 2 wrong usage, 3 done without charts.
"""
import sys

sys.dont_write_bytecode = True  # the folder may be the installed one

import charts
import page_html
from charts import Axis, Chart
from page_html import figure_text, largest, machine_text, section, table, verdict_list

COLOURS = {"none": "floor", "unbounded": "red", "inline": "blue", "daemon": "green", "krcud": "orange",
           "throttle": "violet", "direct": "slate", "liburcu": "brown"}
DASHES = {"krcud-always": "dash", "krcud-0": "dot", "throttle-16": "dash"}
SYMBOLS = {"krcud-always": "diamond", "krcud-0": "square", "throttle-16": "diamond"}
WORKLOADS = {
    "dcache": "a recorded dbench stream and lookups in the machine's own directory tree",
    "route": "packets to random destinations over real prefixes",
    "both": "half of each event is dcache work, half is route work",
    "flood": "denial of service, 30,000 callbacks per grace period",
}
FIFO_COLOURS = {"rtrcu": "green", "ordinary": "slate", "liburcu": "brown"}
# The paper of UseLinux 2004, in microseconds: stock, krcud and direct together, and the goal.
PUBLISHED = [(711, "2004: stock 711 µs"), (413, "2004: cures 413 µs"), (250, "2004: goal 250 µs")]
FLOOD = 30000
WORST_MS = 50  # time in the timelines at which the worst sample is due
LATE_MS = 0.05  # smallest lateness of a deadline that the timelines show


def colour(policy):
    return COLOURS.get(policy.split("-")[0], "slate")


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


def chart_tails(data):
    """Returns a chart of the share of deadlines that are late by more than x, on two logarithmic axes."""
    chart = Chart(workloads_of(data), Axis("late by more than, µs", log=True, unit="µs", least=10),
                  Axis("share of deadlines", log=True), height=260)
    for name in workloads_of(data):
        for curve in shown_curves(data, name):
            points = [(us, 1 - share) for us, share in curve["cdf"] if us >= 10 and share < 1]
            floor = curve["policy"] == "none"
            chart.line(name, points, "none: the floor" if floor else curve["policy"], colour(curve["policy"]),
                       dash=DASHES.get(curve["policy"], "solid"), width=5 if floor else 2)
    return chart.html("none: the same loop and the same work, without reclamation.")


def overruns(data, name):
    """Returns bars (label, value or None, text, colour) of the policies under a workload."""
    bars = []
    for row in policy_rows(data, (name,), {r["policy"] for r in data["rows"]} - {"none"}):
        value, late = row["overrun_cpu_us_max"] or 0, row["overrun_callbacks_max"] or 0
        text = f"{figure_text(value)} µs, {late:,.0f} late" if late else "none late"
        bars.append((row["policy"], value if late else None, text, colour(row["policy"])))
    return bars


def chart_overruns(data):
    chart = Chart(workloads_of(data), Axis("largest overrun, µs of CPU time", log=True, unit="µs", least=1), Axis(""))
    for name in workloads_of(data):
        chart.bars(name, overruns(data, name))
    for value, text in PUBLISHED:
        chart.mark(value, text)
    return chart.html("Overrun: from the due time to the end of the batch of callbacks then running, in CPU time of "
                      "the loop's thread. Late: callbacks that began after the due time. The figures of 2004 are "
                      "lateness by all causes.")


def chart_why(data):
    """Returns a chart of the lateness of each variant's late samples, divided by causes."""
    rows = data.get("why", [])
    hues = [hue for hue in charts.COLOURS if hue not in ("floor", "red")]
    chart = Chart([""], Axis("part of the lateness of late samples, %", least=0, unit="%"), Axis(""))
    known = {"callbacks": "red", "not explained": "floor"}
    for cause in dict.fromkeys(row["cause"] for row in rows):
        hue = known.setdefault(cause, hues[(len(known) - 2) % len(hues)])
        chart.parts("", [(row["label"], 100 * (row["of_lateness"] or 0)) for row in rows if row["cause"] == cause],
                    cause, hue)
    return chart.html()


def why_table(data):
    keys = ("samples", "late", "late_with_cause", "late_mainly", "share_us_p50", "share_us_max")
    return table(["workload, policy", "cause", "samples", "late", "late with this cause", "late mainly by it",
                  "its share p50, µs", "max, µs", "part of all lateness, %"],
                 [[row["label"], row["cause"], *(figure_text(row[key]) for key in keys),
                   figure_text(100 * (row["of_lateness"] or 0))] for row in data.get("why", [])], 2)


def chart_shares(data):
    """Returns a chart of the callbacks' own share of a sample's lateness."""
    kinds = [("callback_share_us_p99", "p99", "circle", "green"),
             ("callback_share_us_p999", "p99.9", "diamond", "blue"),
             ("callback_share_us_p9999", "p99.99", "square", "violet"),
             ("callback_share_us_max", "largest", "line-ns-open", "red")]
    chart = Chart(workloads_of(data), Axis("callbacks' own share of a deadline's lateness, µs", log=True, unit="µs",
                                           least=0.1), Axis(""))
    for name in workloads_of(data):
        rows = [row for row in policy_rows(data, (name,), {r["policy"] for r in data["rows"]} - {"none"})
                if (row["callback_share_us_max"] or 0) >= 0.1]
        chart.labels[name] = [row["policy"] for row in rows]
        for key, kind, symbol, hue in kinds:
            chart.points(name, [(row["policy"], row[key] or None) for row in rows], kind, hue, symbol=symbol)
    chart.mark(10, "a usual requirement: 10 µs")
    return chart.html("Policies whose largest share is below 0.1 µs have no row. A percentile has no mark where it is "
                      "0 or samples are too few.")


def chart_table1(data):
    """Returns a chart of stock and the cures on one CPU, with intervals, beside the document's figures."""
    rows = data.get("table1", [])
    workloads = list(dict.fromkeys(row["workload"] for row in rows))
    chart = Chart(workloads, Axis("lateness, µs", log=True, unit="µs"), Axis(""))
    for name in workloads:
        mine = [row for row in rows if row["workload"] == name]
        for key, text, hue in (("late_us", "largest of a round, median and 95 % interval", "blue"),
                               ("share_us", "callbacks' share of this lateness", "orange")):
            shown = [row for row in mine if row[key]]
            chart.points(name, [(row["policy"], row[key]) for row in shown], text, hue,
                         spread=[(row[key] - row[f"{key}_low"], row[f"{key}_high"] - row[key]) for row in shown])
        chart.points(name, [(row["policy"], row["late_us_max"] or None) for row in mine], "largest of the run", "red",
                     symbol="line-ns-open")
        chart.points(name, [(row["policy"], row["document_us"]) for row in mine], "UseLinux 2004", "slate",
                     symbol="diamond")
    chart.mark(250, "2004: goal 250 µs")
    return chart.html("A share whose median is 0 has no mark. An interval that begins at 0 leaves the chart on the "
                      "left.")


def chart_backlog(data, name):
    """Returns a small chart for each policy, all with the same axes."""
    curves = [c for c in shown_curves(data, name) if c["policy"] != "none" and c["backlog"]]
    if not curves:
        return ""
    most = max(waiting for curve in curves for _, waiting in curve["backlog"]) or 1
    limits = {row["policy"]: row["backlog_limit"] for row in loop_rows(data) if row["workload"] == name}
    chart = Chart([c["policy"] for c in curves], Axis("measured time of each policy, ms", unit="ms", least=0),
                  Axis("callbacks", unit="callbacks wait", least=0, most=most), height=56, gap=26,
                  legend=False)
    for curve in curves:
        chart.line(curve["policy"], curve["backlog"], curve["policy"], colour(curve["policy"]), width=1,
                   fill="tozeroy")
        if limits[curve["policy"]] and limits[curve["policy"]] <= most:
            chart.level(curve["policy"], limits[curve["policy"]], "limit at which the producer is slowed down")
    return f"<h3>{name}</h3>" + chart.html()


TRACED = ("unbounded", "throttle-16", "throttle", "krcud", "krcud-always", "inline", "daemon")


def chart_timelines(data):
    """Returns timelines of the 100 ms around each policy's worst sample, as in figures 1, 3 and 13 of the paper."""
    name = "flood" if "flood" in workloads_of(data) else next(iter(workloads_of(data)), None)
    curves = {c["policy"]: c for c in shown_curves(data, name) if c.get("deadlines")}
    policies = [policy for policy in TRACED if policy in curves]
    titles = {policy: f"{policy}: worst sample {figure_text(curves[policy]['traced_late_us'])} µs late"
              for policy in policies}
    chart = Chart(titles.values(), Axis("time, ms", unit="ms", least=0), Axis(""), gap=40)
    for policy in policies:
        curve, row = curves[policy], titles[policy]
        late = [(due, served) for due, served in curve["deadlines"] if served - due >= LATE_MS]
        starts = [(at, at) for at in curve["grace_periods"]]
        for label, spans, texts, hue in (
                ("long reader's section", curve["sections"], ["in its section"] * len(curve["sections"]), "slate"),
                ("new grace period number", starts, ["the loop saw a new number"] * len(starts), "green"),
                ("callbacks, in the loop", curve["batches"], counted(curve["batch_callbacks"]), "red"),
                ("callbacks, elsewhere", curve["helper_batches"], counted(curve["helper_callbacks"]), "blue"),
                ("deadline late", late, [f"{figure_text(1000 * (end - begin))} µs late" for begin, end in late],
                 "orange")):
            chart.spans(row, label, spans, texts, hue)
    if policies:
        chart.mark(WORST_MS, "the worst sample is due")
    return chart.html(f"Workload {name}, traced from the end of a round's warm-up to the end of the round. A deadline "
                      f"is late if it was served {1000 * LATE_MS:g} µs or more after it was due.")


def counted(numbers):
    return [f"{number:,} callback{'s' if number != 1 else ''}" for number in numbers]


def chart_invocations(data):
    present = [name for name in workloads_of(data) if any(c["invocations"] for c in shown_curves(data, name))]
    chart = Chart(present, Axis("largest backlog of the round, callbacks", log=True, unit="callbacks"),
                  Axis("p99 of the wait, µs", log=True, unit="µs"), height=220)
    for name in present:
        for curve in shown_curves(data, name):
            chart.dots(name, [p for p in curve["invocations"] if p[0] > 0 and p[1] > 0], curve["policy"],
                       colour(curve["policy"]), symbol=SYMBOLS.get(curve["policy"], "circle"))
    return chart.html("Wait: from the oldest call_rcu() of a batch to the begin of the batch's first callback. The "
                      "values are from the library's histogram, whose steps are powers of two. Each dot is a round.")


def chart_bursts(data):
    rows = sorted((row for row in loop_rows(data) if row["workload"] == "flood" and row["policy"] == "unbounded"
                   and row["callback_ns"] and row["batch_max"]), key=lambda row: row["batch_max"])
    chart = Chart([""], Axis("callbacks in the largest batch", log=True, unit="callbacks",
                             ticks=[row["batch_max"] for row in rows]),
                  Axis("overrun, µs", log=True, unit="µs"), height=260)
    for text, hue, dash, value in (
            ("callbacks × time of a callback", "floor", "dash",
             lambda row: row["batch_max"] * row["callback_ns"] / 1000),
            ("largest overrun, CPU time", "red", "solid", lambda row: row["overrun_cpu_us_max"] or None),
            ("largest overrun, wall time", "orange", "dot", lambda row: row["overrun_us_max"] or None)):
        chart.line("", [(row["batch_max"], value(row)) for row in rows], text, hue, dash=dash, mode="lines+markers")
    chart.dots("", [(1660, 711)], "UseLinux 2004: lateness, all causes", "slate", symbol="diamond")
    return chart.html() if rows else ""


def answer_text(row):
    if not row["longest_ms"]:
        return "no answer"
    text = f"{'≥ ' if row['longest_cut'] else ''}{figure_text(row['longest_ms'])} ms"
    return text + (f", {100 * row['dropped_share']:.0f} % dropped" if row["dropped_share"] else "")


def chart_console(data):
    rows = data.get("console", [])
    chart = Chart([""], Axis("longest answer of the console, ms", log=True, unit="ms", least=0.1), Axis(""))
    chart.bars("", [("no flood" if row["policy"] == "none" else row["policy"], row["longest_ms"], answer_text(row),
                     colour(row["policy"])) for row in rows])
    chart.mark(100, "seems immediate to a user: 100 ms")
    return chart.html("≥: the round ended before the answer arrived. Dropped: percentage of the packets offered."
                      ) if rows else ""


def console_table(data):
    keys = ("answers", "answer_ms_p50", "longest_ms", "backlog_max", "backlog_limit", "offered_per_s", "served_per_s",
            "late_us_p99", "utilisation")
    return table(["policy", "answers", "p50, ms", "longest, ms", "backlog", "limit of the backlog", "offered/s",
                  "served/s", "probe p99, µs", "use of the CPU"],
                 [[row["policy"]] + [figure_text(row[key]) for key in keys] for row in data.get("console", [])])


def fifo_rows(data):
    return {row["variant"]: row for row in data.get("fifo", [])}


def chart_fifo(data):
    """Returns a chart of the backlog of a FIFO updater after each due time, by variant."""
    curves = [curve for curve in data["curves"] if curve["workload"] == "fifo" and curve["backlog"]]
    chart = Chart([""], Axis("time since the start, ms", unit="ms", least=0),
                  Axis("waiting callbacks", log=True, unit="callbacks"), height=300)
    for curve in curves:
        chart.line("", [point for point in curve["backlog"] if point[1] > 0], curve["variant"],
                   FIFO_COLOURS.get(curve["variant"], "slate"), width=1.5)
    if curves:
        chart.mark(300, "after 0.3 s")
    return chart.html("Each curve is the variant's round whose peak after 0.3 s is the median of its rounds. During "
                      "the first 0.3 s the library creates its threads.") if curves else ""


def interval_cell(row, stem):
    if row[stem] is None:
        return "–"
    text = figure_text(row[stem])
    if row[f"{stem}_low"] is None:
        return text
    return f"{text} ({figure_text(row[f'{stem}_low'])} to {figure_text(row[f'{stem}_high'])})"


def fifo_table(data):
    keys = ("late_us_p50", "late_us_p99", "late_us_max", "age_ms_p99")
    rows = []
    for row in data.get("fifo", []):
        longest = ("≥ " if row["unfinished"] else "") + figure_text(row["age_ms_max"])
        own = None if row["own_cpus"] is None else 100 * row["own_cpus"]
        rows.append([row["variant"], figure_text(row["backlog_begin"]), interval_cell(row, "backlog_later"),
                     interval_cell(row, "backlog_whole"), *(figure_text(row[key]) for key in keys), longest,
                     interval_cell(row, "work"), figure_text(row["ordinary_cpus"]), figure_text(row["others_cpus"]),
                     figure_text(own),
                     f"{figure_text(row['realtime_threads'])} of {figure_text(row['threads'])}",
                     figure_text(row["rounds"])])
    note = ("<p class='note'>Medians of the rounds, with 95 % intervals. Peak: the largest number of callbacks that "
            "waited after a due time. Late: time from a due time until its callbacks were queued, over all rounds. "
            "Age: time from call_rcu() to the callback; p99 of a round, and the largest of all rounds. Ordinary work: "
            "work of the ordinary threads, in multiples of their work in the same round of <i>ordinary</i>. Their "
            "CPUs: CPU time of the ordinary threads; others' CPUs: CPU time of other processes and of the host, both "
            "in CPUs. Own CPU: CPU time of the back-end's threads. Real-time: of the back-end's threads that used "
            "1 ms or more, the number that were SCHED_FIFO at the end of a round.</p>")
    return note + table(["variant", "peak to 0.3 s", "peak after 0.3 s", "peak of the round", "late p50, µs", "p99, µs",
                         "max, µs", "age p99, ms", "max, ms", "ordinary work", "their CPUs", "others' CPUs",
                         "own CPU, %", "real-time", "rounds"], rows) if rows else ""


def fifo_conclusion(data):
    """Returns sentences with the peak backlog of each variant, and the work that the ordinary threads do."""
    rows = fifo_rows(data)
    if "rtrcu" not in rows:
        return ""
    peaks = [f"{name} {figure_text(row['backlog_later'])}" for name, row in rows.items()]
    text = (f"Beside busy ordinary threads, a FIFO updater's peak backlog after 0.3 s is, in callbacks: "
            f"{', '.join(peaks)}.")
    if "ordinary" in rows and rows["rtrcu"]["work"] is not None:
        text += (f" With rtrcu the ordinary threads do {figure_text(rows['rtrcu']['work'])} times the work that they "
                 "do if all threads of the library are ordinary.")
    return text


def table1_table(data):
    keys = ("document_us", "late_us", "late_us_low", "late_us_high", "share_us", "share_us_low", "share_us_high",
            "late_us_max", "callbacks_per_gp_max", "batch_max", "backlog_max", "rounds")
    return table(["workload", "policy", "2004, µs", "largest of a round, µs", "from", "to", "callbacks' share, µs",
                  "from", "to", "largest of the run, µs", "gp max", "batch max", "backlog", "rounds"],
                 [[row["workload"], row["policy"]] + [figure_text(row[key]) for key in keys]
                  for row in data.get("table1", [])], 2)


def interrupting_table(data):
    texts, keys = ("reader", "updater", "thread"), ("walks", "deleted", "callbacks_direct", "direct_refused",
                                                    "reclaimed_under_reader", "never_reclaimed")
    return table(["the walk is in", "the signal calls", "thread", "walks", "deleted", "run immediately", "queued",
                  "reclaimed during the walk", "never reclaimed"],
                 [[row[key] for key in texts] + [figure_text(row[key]) for key in keys]
                  for row in data.get("interrupting_updater", [])], 3)


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
              "in CPU time", "callbacks late", "callbacks per gp: p50", "max", "ns per callback", "backlog", "ops/s"]
    rows = [r for r in data["rows"] if r["probe"] == "loop"]
    return table(titles, [[label_of(r)] + [figure_text(r[k]) for k in keys] for r in rows])


def document_table(data):
    """Returns a table of the measurements of Sarma and McKenney in 2004, with this run's figures beside them."""
    load = policy_rows(data, ("dcache", "route"), ("unbounded",))
    flood = policy_rows(data, ("flood",), ("unbounded",))
    cures = policy_rows(data, ("flood",), ("inline", "daemon", "krcud", "throttle", "direct"))
    each = [r["callback_ns"] for r in load + flood if r.get("callback_ns")]
    rate = 1000 / (sum(each) / len(each)) if each else None
    rows = [
        ["callbacks after one grace period, under load", "1,660 to 1,800",
         f"{figure_text(largest(load, 'callbacks_per_gp_max'))} at most"],
        ["callbacks per microsecond", "about 4", figure_text(rate)],
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
        if row["workload"] != "flood" or row["policy"] != "unbounded" or not row["callback_ns"] or not row["batch_max"]:
            continue
        predicted = row["batch_max"] * row["callback_ns"] / 1000
        rows.append([f"{row['burst']:,}", figure_text(row["batch_max"]), figure_text(row["callback_ns"]),
                     figure_text(predicted), figure_text(row["overrun_cpu_us_full"]),
                     figure_text(row["overrun_us_max"])])
    titles = ["callbacks per grace period", "largest batch", "ns per callback", "product, µs",
              "overrun, µs of CPU time (p95)", "largest overrun in wall time, µs"]
    return table(titles, rows) if rows else ""


def explanations(data):
    used = ({row["policy"] for row in data["rows"]} | {row["policy"] for row in data.get("table1", [])}
            | {row["policy"] for row in data.get("console", [])})
    terms = [(one["name"], one["what"]) for one in data["policies"] if one["name"] in used]
    terms += [(name, WORKLOADS[name]) for name in workloads_of(data)]
    terms += [(f"fifo: {row['variant']}", row["what"]) for row in data.get("fifo", [])]
    return "<dl>" + "".join(f"<dt><b>{name}</b></dt><dd>{text}</dd>" for name, text in terms) + "</dl>"


def overrun_text(row):
    late = row["overrun_callbacks_max"] or 0
    if not late:
        return f"{row['policy']} never"
    return (f"{row['policy']} by {figure_text(row['overrun_cpu_us_max'])} µs of CPU time "
            f"({late:,.0f} callbacks begun late)")


def conclusion(data):
    """Returns a sentence based on CPU time and counts, which do not change if the host preempts the machine."""
    name = "flood" if "flood" in workloads_of(data) else next(iter(workloads_of(data)), None)
    stock, rest = policy_rows(data, (name,), ("unbounded",)), policy_rows(data, (name,), ("inline", "daemon"))
    if not stock or not rest:
        return fifo_conclusion(data) or "The tables below list the policies that were compared."
    return (f"On this machine, under {name}, callbacks ran past the deadline: {overrun_text(stock[0])}; "
            f"{'; '.join(overrun_text(row) for row in rest)}.")


def noise(data):
    """Returns a warning that names the workloads whose lateness is caused by the machine and not by the policy."""
    hidden = []
    for name in workloads_of(data):
        floor, stock = policy_rows(data, (name,), ("none",)), policy_rows(data, (name,), ("unbounded",))
        if floor and stock and (floor[0]["p99_us"] or 0) > 0.5 * (stock[0]["p99_us"] or float("inf")):
            hidden.append(f"{name} (floor p99 {figure_text(floor[0]['p99_us'])} µs)")
    if not hidden:
        return ""
    return (f"This machine's own noise determines the lateness in {', '.join(hidden)}: the p99 of the floor is more "
            "than half of unbounded's. There the order of the lines below does not compare policies. Compare overruns "
            "instead, which are counted in callbacks and in CPU time.")


def about_text(data):
    """Returns the descriptions of the event loop and of the FIFO updater, where they were measured."""
    parts = []
    floor = ", ".join(f"{w} {figure_text(r['p99_us'])} µs"
                      for w in workloads_of(data) for r in policy_rows(data, (w,), ("none",)))
    if data["rows"] or not data.get("fifo"):
        parts.append(
            "<p>An event loop runs to completion, as packet forwarders and audio engines do, and serves real work over "
            "an RCU-protected structure. A timer event with an absolute due time measures how late the loop serves it. "
            "Callbacks reclaim memory. The policies differ in the thread that runs callbacks, and in the number of "
            "callbacks that it runs at a time.</p>")
    if data.get("fifo"):
        parts.append(
            "<p>A SCHED_FIFO 5 thread has an absolute due time every millisecond, and queues 100 callbacks at each, "
            "100,000 a second, beside four ordinary threads that never sleep. Each round of a variant runs for 1.5 s "
            "(0.6 s with --quick) in a process of its own; the variants take turns in each round.</p>")
    noise_floor = f" Noise floor (the same loop without reclamation), p99: {floor}." if floor else ""
    return "".join(parts) + f"<p class='note'>{machine_text(data)}{noise_floor}</p>"


def page(data):
    about, loops = about_text(data), bool(data["rows"])
    return page_html.page_text("latency", "How much reclamation delays a deadline", [
        page_html.conclusion(data, conclusion(data)),
        section("How far do callbacks run past a deadline?", chart_overruns(data)),
        section("How much of a deadline's lateness do callbacks cause?", chart_shares(data)),
        section("Why were samples late?", chart_why(data)),
        section("What happened around the worst sample?", chart_timelines(data)),
        section("How late does the deadline event run?", page_html.warning(noise(data)), chart_tails(data)),
        section("Stock RCU and the cures of 2004, all on one CPU", chart_table1(data), table1_table(data)),
        section("Is an overrun the number of callbacks times the time of a callback?", chart_bursts(data),
                burst_table(data)),
        section("Does a console answer beside a flood?", chart_console(data), console_table(data)),
        section("How many callbacks of a FIFO updater wait beside busy ordinary threads?", chart_fifo(data),
                fifo_table(data)),
        section("How many callbacks wait?", *(chart_backlog(data, name) for name in workloads_of(data))),
        section("How long do callbacks wait, and how many callbacks wait?", chart_invocations(data)),
        section("An updater that interrupts a walk", interrupting_table(data)),
        section("Sarma and McKenney: making RCU safe for realtime (UseLinux 2004), and this run",
                document_table(data) if loops else ""),
        section("Verdicts", verdict_list(data)),
        section("All figures", *(["<p class='note'>Microseconds where no unit is given. A dash: too few samples.</p>",
                                  result_table(data), why_table(data)] if loops else [])),
        section("Policies and workloads", about, explanations(data))])


if __name__ == "__main__":
    sys.exit(page_html.main(page, sys.argv))
