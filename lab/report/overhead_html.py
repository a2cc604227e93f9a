# SPDX-License-Identifier: MIT OR Apache-2.0
"""Turns the data of `rtrcu overhead` (overhead.json) into one self-contained page with charts.

Usage: overhead_html.py DATA.json PAGE.html.  Exit 0 done, 2 wrong usage, 3 done without charts.
"""
import sys

sys.dont_write_bytecode = True  # the folder may be the installed one

import page_html
from charts import Axis, Chart
from page_html import figure_text, machine_text, rows_of, section, table, verdict_list

ENVIRONMENTS = {"rare": "updates rare", "frequent": "updates frequent"}
WORK = [("lookup_ns", "look-up", "blue"), ("update_ns", "update", "green"), ("rcu_ns", "RCU", "red"),
        ("traffic_ns", "traffic", "brown"), ("other_ns", "other", "floor")]
FEW_ROUNDS = 5          # fewer are not judged
FUNCTIONS_SHOWN = 24
WIDE_SPREAD_PCT = 10


def environments_of(data):
    return [name for name in ENVIRONMENTS if any(r["environment"] == name for r in rows_of(data, "engine"))]


def engine_rows(data, environment):
    return [row for row in rows_of(data, "engine") if row["environment"] == environment]


def published_engines(data):
    """Returns pairs of an engine's name in 2002 and the label of this library's engine with the same features."""
    return data["args"]["published_engines"]


def published_rows(data, environment):
    return [row for row in rows_of(data, "published") if row["environment"] == environment]


def counterpart_ticks(data, environment):
    """Returns this run's ticks by function of 2002 and label: in the published unit, or, without base, for a million
    packets."""
    return {(row["published"], row["label"]): row["ticks_as_published"] or row["ticks_per_million_packets"] or 0
            for row in rows_of(data, "counterpart") if row["environment"] == environment}


def kind_of(function):
    known = {"ip_route_output_key": "look-up", "call_rcu": "call_rcu()", "schedule": None}
    return known.get(function, "other RCU work")


def sums(data, environment):
    """Returns [(title, engine, {kind: ticks})] of the engines of 2002, then of this library's engines with the same
    features."""
    found = []
    for name in published_engines(data):
        kinds = {}
        for row in published_rows(data, environment):
            kinds[kind_of(row["function"])] = kinds.get(kind_of(row["function"]), 0) + (row[name] or 0)
        found.append(("2002", name, kinds))
    ours = counterpart_ticks(data, environment)
    for label in published_engines(data).values():
        kinds = {}
        for (function, which), ticks in ours.items():
            if which == label:
                kinds[kind_of(function)] = kinds.get(kind_of(function), 0) + ticks
        if kinds:
            found.append(("this run", label, kinds))
    return found


def chart_cost(data):
    names = environments_of(data)
    chart = Chart([ENVIRONMENTS[name] for name in names], Axis("CPU time per packet, ns", least=0, unit="ns"), Axis(""))
    for name in names:
        rows = engine_rows(data, name)
        for key, kind, hue in WORK:
            chart.parts(ENVIRONMENTS[name], [(row["label"], row[key]) for row in rows], kind, hue)
    return chart.html("The length of a bar is measured; its parts are shares of the profile's samples.")


def chart_sums(data):
    """Returns a chart of look-up and RCU work without `schedule`, the sum on which the conclusions of 2002 are
    based."""
    titles = [f"{title}, {ENVIRONMENTS[name]}" for name in environments_of(data) for title in ("2002", "this run")]
    chart = Chart(titles, Axis("profile ticks, as published", least=0, unit="ticks"), Axis(""))
    for name in environments_of(data):
        for kind, hue in (("look-up", "blue"), ("call_rcu()", "orange"), ("other RCU work", "red")):
            for title in ("2002", "this run"):
                parts = [(engine, kinds.get(kind, 0)) for which, engine, kinds in sums(data, name) if which == title]
                chart.parts(f"{title}, {ENVIRONMENTS[name]}", parts, kind, hue)
    scaled = any(row["ticks_as_published"] for row in rows_of(data, "counterpart"))
    return chart.html("This run's ticks are scaled so that base's look-up has as many ticks as published." if scaled
                      else "This run has no base, so its figures are ticks for a million packets.")


def chart_gains(data):
    names = environments_of(data)
    chart = Chart([ENVIRONMENTS[name] for name in names],
                  Axis("CPU time saved against base, %; below 0: more CPU time than base", unit="%"), Axis(""))
    for name in names:
        rows = [row for row in engine_rows(data, name) if row["engine"] != "base"]
        chart.points(ENVIRONMENTS[name], [(row["label"], row["net_gain_pct"]) for row in rows], "CPU time per packet",
                     "blue")
        chart.points(ENVIRONMENTS[name], [(row["label"], row["document_gain_pct"]) for row in rows],
                     "look-up and RCU work, as 2002 counts", "orange", symbol="diamond")
        found = {engine: kinds for title, engine, kinds in sums(data, name) if title == "2002"}
        base = found["base"]["look-up"]
        shown = {row["label"] for row in rows}
        chart.points(ENVIRONMENTS[name], [
            (label, 100 * (base - sum(n for kind, n in found[engine].items() if kind)) / base)
            for engine, label in published_engines(data).items() if label in shown and base], "2002", "slate",
                     symbol="line-ns-open")
    chart.mark(0, "equal to base")
    return chart.html("Each engine is compared with the base that has as many forwarding threads.")


def chart_latency(data):
    names = environments_of(data)
    chart = Chart([ENVIRONMENTS[name] for name in names], Axis("from call_rcu() to the callback's start, µs", log=True,
                                                               unit="µs"), Axis(""))
    for name in names:
        rows = [row for row in engine_rows(data, name) if row["gp_latency_us_p50"] or row["gp_latency_us_p99"]]
        for key, kind, hue, symbol in (("gp_latency_us_p50", "median", "blue", "circle"),
                                       ("gp_latency_us_p99", "p99", "red", "diamond")):
            chart.points(ENVIRONMENTS[name], [(row["label"], row[key] or None) for row in rows], kind, hue,
                         symbol=symbol)
    floor = next((row["floor_us_p50"] for row in rows_of(data, "engine") if row["floor_us_p50"]), None)
    if floor:
        chart.mark(floor, f"floor, median {figure_text(floor)} µs")
    return chart.html("floor: the lateness of a thread of the same class that sleeps until an absolute time. p99 has "
                      "no mark where samples are too few.")


def ticks_text(ticks):
    return figure_text(ticks) if ticks else ""


def published_table(data, environment):
    """Returns a table of the functions of 2002 by engine: the published ticks, then the ticks of this library's engines
    with the same features."""
    ours = counterpart_ticks(data, environment)
    published = {row["function"]: row for row in published_rows(data, environment)}
    engines = published_engines(data)
    rows = []
    for function in dict.fromkeys([*published, *(name for name, _ in ours)]):
        theirs = [ticks_text(published.get(function, {}).get(engine)) for engine in engines]
        mine = [ticks_text(ours.get((function, label))) for label in engines.values()]
        if any(theirs + mine):
            rows.append([function, *theirs, *mine])
    found = {(title, engine): sum(ticks for kind, ticks in kinds.items() if kind)
             for title, engine, kinds in sums(data, environment)}
    rows.append(["sum without schedule", *(ticks_text(found.get(("2002", engine))) for engine in engines),
                 *(ticks_text(found.get(("this run", label))) for label in engines.values())])
    return table(["function", *(f"2002: {engine}" for engine in engines),
                  *(f"ours: {label}" for label in engines.values())], rows)


def mapping_table(data):
    ours = {row["published"]: row["ours"] for row in rows_of(data, "counterpart")}
    return table(["function of 2002", "ours"], list(ours.items()), 2)


def function_table(data, environment):
    """Returns a table of this run's ticks by function for a million packets, the largest first."""
    ticks, about = {}, {}
    for row in rows_of(data, "function"):
        if row["environment"] == environment:
            key = row["function"], row["work"]
            ticks.setdefault(key, {})[row["label"]] = row["ticks_per_million_packets"]
            about[key] = row["published"]
    largest = sorted(ticks, key=lambda key: -max(value or 0 for value in ticks[key].values()))[:FUNCTIONS_SHOWN]
    labels = [row["label"] for row in engine_rows(data, environment)]
    return table(["function", "work", "in 2002", *labels],
                 [[*key, about[key], *(ticks_text(ticks[key].get(label)) for label in labels)] for key in largest], 3)


def figures_table(data):
    keys = [("threads", "threads"), ("packets_per_s", "packets/s"), ("cpu_ns_per_packet", "CPU ns per packet"),
            ("cpu_spread_pct", "± %"), ("lookup_ns", "look-up"), ("update_ns", "update"), ("rcu_ns", "RCU"),
            ("traffic_ns", "traffic"), ("other_ns", "other"), ("schedule_ns", "schedule's part of RCU"),
            ("document_ns", "look-up + RCU as in 2002"), ("document_spread_pct", "± %"), ("net_gain_pct", "gain %"),
            ("net_gain_one_lock_pct", "over one lock %"), ("net_gain_chain_locks_pct", "over chain locks %"),
            ("document_gain_pct", "gain as in 2002 %")]
    return table(["updates", "engine", *(title for _, title in keys)],
                 [[name, row["label"], *(figure_text(row[key]) for key, _ in keys)]
                  for name in environments_of(data) for row in engine_rows(data, name)], 2)


def callbacks_table(data):
    keys = [("gp_latency_us_p50", "p50, µs"), ("gp_latency_us_p99", "p99, µs"), ("callbacks_per_s", "callbacks/s"),
            ("grace_periods_per_s", "grace periods/s"), ("backlog_max", "backlog, largest"), ("over_qmax", "over qmax"),
            ("call_rcu_ns", "call_rcu(), ns"), ("call_rcu_spread_pct", "± %"), ("call_rcu_samples", "samples"),
            ("rcu_threads_ns", "RCU threads, ns per packet"), ("switches_per_s", "switches/s")]
    return table(["updates", "engine", *(title for _, title in keys)],
                 [[name, row["label"], *(figure_text(row[key]) for key, _ in keys)]
                  for name in environments_of(data) for row in engine_rows(data, name) if row["backlog_max"]], 2)


def conclusion(data):
    parts = []
    for name in environments_of(data):
        rows = {row["label"]: row for row in engine_rows(data, name) if row["cpu_ns_per_packet"]}
        others = [row for row in rows.values() if row["engine"] != "base" and row["net_gain_pct"] is not None]
        if "base" in rows and others:
            least = min(others, key=lambda row: row["cpu_ns_per_packet"])
            paid = sum(row["net_gain_pct"] > 0 for row in others)
            base_ns = figure_text(rows["base"]["cpu_ns_per_packet"])
            parts.append(f"with {ENVIRONMENTS[name]}, a packet took {base_ns} ns of CPU time with base and "
                         f"{figure_text(least['cpu_ns_per_packet'])} ns with {least['label']}, and "
                         f"{paid} of {len(others)} engines took less than base")
    return f"On this machine, {'; '.join(parts)}." if parts else "The tables below have the measured figures."


def noise(data):
    if data["args"]["rounds"] < FEW_ROUNDS:
        return (f"This run had {data['args']['rounds']} rounds, too few for a spread. No difference below is judged.")
    wide = sorted({row["label"] for row in rows_of(data, "engine")
                   if (row["cpu_spread_pct"] or 0) > WIDE_SPREAD_PCT})
    return (f"The spread of the rounds is above {WIDE_SPREAD_PCT} % with {', '.join(wide)}. Smaller differences are "
            "this machine's noise.") if wide else ""


def page(data):
    args = data["args"]
    about = (
        f"<p>{args['threads']} threads forward packets through a route cache. Destinations are random, and change "
        "after every 5 packets. base has a reader-writer lock for each hash chain and a reference count in each entry. "
        "The engines use RCU, and differ in the threads that advance grace periods.</p>"
        f"<p class='note'>{machine_text(data)} Prefixes: {args['prefixes']}. "
        f"{args['rounds']} rounds of {args['measure_ms']} ms for each variant; a profile sample every "
        f"{args['sample_us']:g} µs of CPU time. {args['published_columns']}</p>")
    tables = "".join(f"<h3>{ENVIRONMENTS[name]}</h3>{published_table(data, name)}" for name in environments_of(data))
    functions = "".join(f"<h3>{ENVIRONMENTS[name]}</h3>{function_table(data, name)}" for name in environments_of(data))
    return page_html.page_text("overhead", "Engines for grace periods: their cost, and the time that they save", [
        page_html.conclusion(data, conclusion(data)) + page_html.warning(noise(data)),
        section("What does a packet cost?", chart_cost(data)),
        section("What do the engines save?", chart_gains(data), figures_table(data)),
        section("Look-up and RCU work, beside RCU overhead measurements (OLS 2002)", chart_sums(data), tables),
        section("How long do callbacks wait?", chart_latency(data), callbacks_table(data)),
        section("Verdicts", verdict_list(data)),
        section("Functions of this run: ticks for a million packets", functions),
        section("Functions of 2002, and the corresponding functions of this run", mapping_table(data)),
        section("The engines", about)])


if __name__ == "__main__":
    sys.exit(page_html.main(page, sys.argv))
