# SPDX-License-Identifier: MIT OR Apache-2.0
"""Small made-up results of each experiment, for the tests of the pages."""
import re

MACHINE = {"cpu_model": "made up", "cpus": 2, "kernel": "6.0"}
VERDICTS = [{"outcome": "held", "claim": "a claim", "figures": "1 against 2"},
            {"outcome": "not reproduced", "claim": "another <claim>", "figures": "-"}]
POLICIES = ("none", "unbounded", "inline", "daemon", "krcud", "throttle-16")


def document(rows, curves, **arguments):
    return {"version": "0.0", "machine": MACHINE, "args": {"seed": 1, **arguments}, "rows": rows, "curves": curves,
            "verdicts": VERDICTS}


def keys_of(path, pattern=r'\*this, "([a-z_0-9]+)"'):
    """Keys of the rows that a header of the lab declares."""
    return re.findall(pattern, path.read_text(encoding="utf-8"))


def latency(root, noisy=True):
    every = dict.fromkeys(keys_of(root / "lab/latency/rows.h"), 7)
    rows, curves = [], []
    for policy in POLICIES:
        overrun, late = {"unbounded": (1087.5, 30000), "inline": (2.8, 11)}.get(policy, (0, 0))
        for workload, burst in (("dcache", 0), ("flood", 30000)):
            floor = 90.0 if noisy else 5.0
            rows.append(every | {"workload": workload, "policy": policy, "probe": "loop", "scheduling": "fifo",
                                 "burst": burst, "p99_us": floor if policy == "none" else 100.0,
                                 "overrun_cpu_us_max": overrun, "overrun_callbacks_max": late, "batch_max": 29000})
            curves.append({"workload": workload, "policy": policy, "fifo": True, "burst": burst,
                           "cdf": [[1, 0.1], [20, 0.5], [300, 0.999], [400, 1]],
                           "backlog": [[0, 0], [1, 30000], [40000, 100]], "invocations": [[30000, 12.5], [1, 0]],
                           "traced_late_us": 1500.0, "deadlines": [[49.8, 49.81], [50, 51.5]],
                           "sections": [[0, 48], [52, 100]], "grace_periods": [48.1], "batches": [[49.9, 51.4]],
                           "batch_callbacks": [30000], "helper_batches": [], "helper_callbacks": []})
    fifo = dict.fromkeys(keys_of(root / "lab/latency/fifo_rows.h"), 3)
    curves += [{"workload": "fifo", "variant": variant, "backlog": [[1, 100], [300, 900], [1500, 0]]}
               for variant in ("rtrcu", "ordinary")]
    table1 = dict.fromkeys(keys_of(root / "lab/latency/table1.h"), 100)
    console = dict.fromkeys(keys_of(root / "lab/latency/console_rows.h"), 50)
    data = document(rows, curves)
    data["policies"] = [{"name": policy, "what": f"what {policy} does"} for policy in POLICIES]
    data["table1"] = [table1 | {"workload": "dcache", "policy": policy, "document_us": document, "late_us_high": 200}
                      for policy, document in (("unbounded", 711), ("krcud", 413), ("throttle", None))]
    data["console"] = [console | {"policy": policy, "longest_ms": longest, "longest_cut": policy == "krcud",
                                  "dropped_share": 0.5}
                       for policy, longest in (("none", 0.3), ("unbounded", 0), ("krcud", 12000.0), ("inline", 30.0))]
    why = dict.fromkeys(keys_of(root / "lab/latency/why.h"), 5) | {"label": "flood inline", "of_lateness": 0.5}
    data["why"] = [why | {"cause": cause} for cause in ("stolen time", "callbacks", "not explained")]
    data["fifo"] = [fifo | {"variant": variant, "what": f"what {variant} is", "backlog_later": peak, "work": 0.75}
                    for variant, peak in (("rtrcu", 505), ("ordinary", 5556))]
    data["interrupting_updater"] = [dict.fromkeys(keys_of(root / "lab/latency/interrupting.h"), 1)]
    return data


def expedited(root):
    every = dict.fromkeys(keys_of(root / "lab/expedited/summary.h"), 1000)
    rows = [every | {"table": "worker", "worker": worker, "boost": boost, "environment": place, "avg_ns": mean}
            for place in ("quiet", "loaded") for boost in (True, False)
            for worker, mean in (("workqueue", 2746353), ("kthread", 151242))]
    rows.append(every | {"table": "worker", "worker": "none", "boost": None, "environment": "quiet", "avg_ns": 140000})
    rows += [{"table": "busy_readers", "peer": peer, "boost": peer == "rtrcu", "readers": readers, "count": 10,
              "unfinished": 0, "p50_ns": 477000, "p99_ns": None, "max_ns": 960000, "boosts": 3}
             for readers in (16, 64) for peer in ("rtrcu", "liburcu-memb")]
    rows.append(rows[-1] | {"peer": "floor", "boost": None, "p50_ns": 37000})
    rows.append({"table": "throughput", "readers": 4, "boost": True, "sections_per_s": 1e6, "spread_pct": 1.5,
                 "requests_per_s": 1000, "grace_periods_per_s": 900, "boosts_per_s": 5, "ratio": 0.99})
    rows.append({"table": "interrupts", "variant": "membarrier=off", "experiments": 3, "interrupts_per_s": 1234567.0,
                 "spread_pct": 12.3, "grace_periods_per_s": 950, "interrupts_per_grace_period": 1.0})
    curves = [{"environment": place, "worker": worker, "boost": boost, "cdf": [[1000, 0.1], [90000, 0.9], [200000, 1]]}
              for place in ("quiet", "loaded")
              for worker, boost in (("none", None), ("workqueue", True), ("kthread", False))]
    return document(rows, curves)


def blocked(root):
    source = (root / "lab/report/blocked_html.py").read_text(encoding="utf-8")
    every = dict.fromkeys(re.findall(r'\("([a-z_0-9]+)", "', source), 3)
    rows = [every | {"table": "lists", "lists": lists, "iterations_per_s_mean": mean, "iterations_per_s_stddev": spread}
            for lists, mean, spread in (("node-spin", 66980, 30000), ("node", 90000, 10), ("percpu", 97719, 10))]
    rows += [every | {"table": "order", "lists": "percpu"}]
    rows += [every | {"table": "parked", "lists": lists, "tasks": tasks} for lists in ("node", "percpu")
             for tasks in (10, 100000)]
    curves = [{"lists": lists, "iterations_per_s": [60000, 70000], "hold_log2": [0, 5, 1],
               "cdf": [[1000, 0.5], [2000, 1]]} for lists in ("node-spin", "percpu")]
    return document(rows, curves, readers=64, carriers=2, preemptors=32, metered_ms=100)


def overhead(root, rounds=9):
    every = dict.fromkeys(keys_of(root / "lab/overhead/rows.h"), 12.5)
    labels = {"base": 100.0, "ltimer": 60.0, "poll/global queue, free CPU": 140.0}
    rows, functions = [], ("ip_route_output_key", "call_rcu", "schedule", "(no counterpart)")
    for name in ("rare", "frequent"):
        rows += [every | {"table": "engine", "environment": name, "label": label, "engine": label.split("/")[0],
                          "cpu_ns_per_packet": cost, "net_gain_pct": 100 - cost} for label, cost in labels.items()]
        rows += [{"table": "published", "environment": name, "function": function, "work": "rcu", "base": 4486,
                  "rcu_ltimer": 11} for function in functions[:3]]
        rows += [{"table": "counterpart", "environment": name, "label": label, "published": function, "ours": "ours",
                  "ticks_per_million_packets": 5.0, "ticks_as_published": 50.0}
                 for label in labels for function in functions]
        rows += [{"table": "function", "environment": name, "label": label, "function": "call_rcu", "work": "rcu",
                  "published": "call_rcu", "ticks_per_million_packets": 5.0} for label in labels]
    return document(rows, [], threads=2, rounds=rounds, measure_ms=100, sample_us=125.0, prefixes="made up",
                    published_columns="A note.", published_engines={"base": "base", "rcu_ltimer": "ltimer"})


def bench():
    rows = [{"figure": f"{stem}-{threads}", "rounds": 3, "ours_p50": 0.08, "peer_p50": 0.4 * threads}
            for stem in ("crowd-idle", "crowd-now-and-then", "crowd-queueing") for threads in (1, 8192)]
    rows.append({"figure": "sync", "what": "synchronize_rcu, alone", "unit": "us", "peer": "urcu-memb", "rounds": 3,
                 "ours_p50": 0.05, "peer_p50": 0.8, "ratio_p50": 0.0625, "bar": "\u2264 1x", "rounds_within": 2,
                 "verdict": "held"})
    return document(rows, [])


def lines():
    rows = [{"subject": subject, "figure": figure, "placement": placement, "cpus": cpus, "transfers": 4.0 * cpus,
             "lines": 10 * cpus, "contended_transfers": 4.0, "contended_cpus": 2, "contended_access": "a read",
             "contended_function": "gp_scan" if subject == "rtrcu" else ""}
            for subject in ("rtrcu", "flat") for placement in ("spread", "one leaf", "all") for cpus in (1, 4096)
            for figure in ("gp inside", "gp outside", "section", "callback each", "callback one")]
    return {"rows": rows}
