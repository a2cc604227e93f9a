# SPDX-License-Identifier: MIT OR Apache-2.0
"""Turns the data of `rtrcu expedited` (expedited.json) into one self-contained page with charts.

Usage: expedited_html.py DATA.json PAGE.html.  Exit 0 done, 2 wrong usage, 3 done without charts.
"""
import sys

sys.dont_write_bytecode = True  # the folder may be the installed one

import page_html
from charts import Axis, Chart
from page_html import figure_text, machine_text, rows_of, section, table, verdict_list

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
ENVIRONMENTS = {"quiet": "no other load", "loaded": "with CPU hogs and writers in another process group"}
BUSY = [("rtrcu", True, "rtrcu, boosting", "blue"), ("rtrcu", False, "rtrcu, no boosting", "orange"),
        ("liburcu-memb", False, "liburcu-memb", "brown")]
FLOOR = "floor: the caller wakes a real-time thread and waits for the thread's answer, without a grace period."
FIGURES = [("median_ns", "median", "diamond"), ("avg_ns", "mean", "circle"), ("max_ns", "largest", "line-ns-open")]


def boosting(boost):
    return "boosting" if boost else "no boosting"


def environments_of(rows):
    return [name for name in ENVIRONMENTS if any(row["environment"] == name for row in rows)]


def published(key, after):
    return next(row[3 if after else 2] for row in FIELDS if row[0] == key)


def chart_workers(data):
    """Returns a chart of each variant's median, mean and largest duration, with the figures of 2022 in a row above."""
    rows = rows_of(data, "worker")
    environments = environments_of(rows)
    chart = Chart(["Linux, 2022", *(ENVIRONMENTS[name] for name in environments)],
                  Axis("duration of a call, µs", log=True, unit="µs"), Axis(""))
    for key, name, symbol in FIGURES:
        colour = {"median": "violet", "mean": "blue", "largest": "red"}[name]
        chart.points("Linux, 2022", [("workqueue", published(key, False) / 1000),
                                     ("kthread_worker", published(key, True) / 1000)], name, colour, symbol=symbol)
        for environment in environments:
            chart.points(ENVIRONMENTS[environment], [
                ("floor" if row["worker"] == "none" else f"{row['worker']}, {boosting(row['boost'])}",
                 row[key] / 1000 if row[key] else None) for row in rows if row["environment"] == environment],
                         name, colour, symbol=symbol)
    return chart.html(f"In both rows of the document readers are boosted. {FLOOR}")


def chart_tails(data):
    environments = environments_of(data["curves"])
    chart = Chart([ENVIRONMENTS[name] for name in environments],
                  Axis("the call took longer than, µs", log=True, unit="µs"),
                  Axis("share of calls", log=True))
    for environment in environments:
        for curve in data["curves"]:
            if curve["environment"] != environment:
                continue
            points = [(ns / 1000, 1 - share) for ns, share in curve["cdf"] if share < 1 and ns > 0]
            if curve["worker"] == "none":
                chart.line(ENVIRONMENTS[environment], points, "floor", "floor", width=5)
                continue
            chart.line(ENVIRONMENTS[environment], points, f"{curve['worker']}, {boosting(curve['boost'])}",
                       COLOURS[curve["worker"]], dash="solid" if curve["boost"] else "dot")
    chart.mark(published("avg_ns", False) / 1000, "2022: mean with a workqueue")
    chart.mark(published("avg_ns", True) / 1000, "2022: mean with a kthread_worker")
    return chart.html(FLOOR)


def chart_busy(data):
    """Returns a chart of the median, the p99 and the maximum by number of readers; a missing p99 is replaced by the
    maximum."""
    readers = sorted({row["readers"] for row in rows_of(data, "busy_readers")})
    chart = Chart([""], Axis("busy readers", log=True, unit="readers", ticks=readers),
                  Axis("wait, µs", log=True, unit="µs"))
    for peer, boost, label, colour in BUSY:
        rows = [r for r in rows_of(data, "busy_readers") if r["peer"] == peer and r["boost"] == boost and r["p50_ns"]]
        for key, name, dash in (("p50_ns", "median", "solid"), ("p99_ns", "p99", "dash"), ("max_ns", "largest", "dot")):
            points = [(r["readers"], (r[key] or r["max_ns"]) / 1000) for r in rows]
            chart.line("", points, f"{label}: {name}", colour, dash=dash, mode="lines+markers")
    chart.level("", 1000, "bar of p99: 1 ms")
    for row in rows_of(data, "busy_readers"):
        if row["peer"] == "floor" and row["p50_ns"]:
            chart.level("", row["p50_ns"] / 1000, "median of a wake-up")
    few = any(row["p99_ns"] is None for row in rows_of(data, "busy_readers") if row["peer"] != "floor")
    cut = sum(row["unfinished"] or 0 for row in rows_of(data, "busy_readers"))
    return chart.html(("Where samples are too few for p99, the largest duration is drawn instead. " if few else "")
                      + (f"{figure_text(cut)} calls are left out, because they had not returned when their experiment "
                         "ended." if cut else ""))


def chart_throughput(data):
    rows = rows_of(data, "throughput")
    readers = list(dict.fromkeys(row["readers"] for row in rows))
    chart = Chart([f"{count} busy readers" for count in readers],
                  Axis("sections per second, of all readers", least=0, unit="sections/s"), Axis(""))
    for count in readers:
        chart.bars(f"{count} busy readers", [
            (boosting(row["boost"]), row["sections_per_s"],
             f"{figure_text(row['sections_per_s'])} ± {figure_text(row['spread_pct'])} %",
             "blue" if row["boost"] else "orange") for row in rows if row["readers"] == count])
    return chart.html()


def chart_interrupts(data):
    chart = Chart([""], Axis("interrupts per second", least=0, unit="interrupts/s"), Axis(""))
    chart.bars("", [(row["variant"], row["interrupts_per_s"],
                     f"{figure_text(row['interrupts_per_s'])} ± {figure_text(row['spread_pct'])} %", "slate")
                    for row in rows_of(data, "interrupts")])
    return chart.html("control: no grace period. expedited: synchronize_rcu_expedited() in the default configuration. "
                      "normal=1, membarrier=off: the same calls with this setting. qsbr reader: the default "
                      "configuration, and a quiescent-state reader.")


def difference(before, after):
    return f"{100 * (after - before) / before:+.2f} %" if before and after is not None else ""


def document_table(data, environment):
    """Returns both tables of the document, with this run's figures beside the document's."""
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
    return table(["", "worker", "", "expedited grace periods", "advanced by callers", "advanced by the worker",
                  "readers boosted", "calls cut off"], rows, 3)


def interrupt_table(data):
    keys = ("experiments", "interrupts_per_s", "spread_pct", "grace_periods_per_s", "interrupts_per_grace_period")
    rows = [[row["variant"]] + [figure_text(row[key]) for key in keys] for row in rows_of(data, "interrupts")]
    return table(["", "experiments", "interrupts/s", "± %", "grace periods/s",
                  "interrupts per grace period beyond the control"], rows, 1)


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
    return table(["busy readers", "", "sections/s", "± %", "requests/s", "grace periods/s", "boosts/s",
                  "with/without boosting"], rows, 2)


def conclusion(data):
    """Returns the conclusion: a sentence with the means in the quiet environment, and the median beside the most
    readers."""
    found = {r["worker"]: r["avg_ns"] for r in rows_of(data, "worker")
             if r.get("environment", "quiet") == "quiet" and r["boost"] and r["avg_ns"]}
    parts = []
    if "workqueue" in found and "kthread" in found:
        parts.append(f"a critical caller waited {figure_text(found['workqueue'] / 1000)} µs on average for a worker at "
                     f"ordinary priority and {figure_text(found['kthread'] / 1000)} µs for a real-time worker")
    busy = [r for r in rows_of(data, "busy_readers") if r["peer"] == "rtrcu" and r["boost"] and r["p50_ns"]]
    if busy:
        most = max(busy, key=lambda row: row["readers"])
        parts.append(f"beside {most['readers']} busy readers with boosting, half of the waits took "
                     f"{figure_text(most['p50_ns'] / 1000)} µs or less")
    return f"On this machine {'; '.join(parts)}." if parts else "The tables below show the figures."


def noise(data):
    found = {(row["worker"], row["boost"]): row["avg_ns"] for row in rows_of(data, "worker")
             if row.get("environment", "quiet") == "quiet"}
    floor, best = found.get(("none", None)), found.get(("kthread", True))
    if not floor or not best or floor < 0.5 * best:
        return ""
    return (f"On this machine, waking a thread takes {figure_text(floor / 1000)} µs on average, without a grace "
            "period. A smaller difference between the two workers is noise.")


def page(data):
    about = (
        "<p>A SCHED_FIFO thread calls <code>synchronize_rcu_expedited()</code> while ordinary threads keep the CPUs "
        "busy. The variants differ in the thread that runs the grace period, and in whether readers that were "
        "preempted inside their sections are boosted.</p><dl>"
        "<dt><b>workqueue</b></dt><dd>a worker at ordinary priority runs the grace period</dd>"
        "<dt><b>kthread-only</b></dt><dd>a real-time worker runs the grace period; callers never do, as in 2022</dd>"
        "<dt><b>kthread</b></dt><dd>the caller runs the first step, a real-time worker the other steps</dd>"
        "<dt><b>normal=1</b></dt><dd>expedited calls wait for normal grace periods</dd></dl>"
        f"<p class='note'>{machine_text(data)}</p>")
    return page_html.page_text("expedited", "Expedited grace periods, by the thread that runs them", [
        page_html.conclusion(data, conclusion(data)) + page_html.warning(noise(data)),
        section("How long does a critical caller wait?", chart_workers(data)),
        section("How often does the caller wait longer than a given time?", chart_tails(data)),
        section("How long does the caller wait beside more readers than CPUs?", chart_busy(data), busy_table(data)),
        section("What does boosting cost the readers?", chart_throughput(data), throughput_table(data)),
        section("How many interrupts reach the CPU of an isolated reader?", chart_interrupts(data),
                interrupt_table(data)),
        section("rcu: Move expedited grace period (GP) work to RT kthread_worker (Linux, 2022), and this run without "
                "other load", document_table(data, "quiet")),
        section("The figures of 2022, and this run beside CPU hogs and writers of another process group",
                document_table(data, "loaded")),
        section("Which threads ran the grace periods?", turned_table(data)),
        section("Verdicts", verdict_list(data)), section("The variants", about)])


if __name__ == "__main__":
    sys.exit(page_html.main(page, sys.argv))
