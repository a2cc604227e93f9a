#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""The pages of the experiments, from small made-up results: what they say on top, warn of, and draw.

usage: pages.py SOURCE_DIR
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

MACHINE = {"cpu_model": "made up", "cpus": 2, "kernel": "6.0"}
VERDICTS = [{"outcome": "held", "claim": "a claim", "figures": "1 against 2"},
            {"outcome": "not reproduced", "claim": "another <claim>", "figures": "-"}]


def document(rows, curves, **arguments):
    return {"version": "0.0", "machine": MACHINE, "args": {"seed": 1, **arguments}, "rows": rows, "curves": curves,
            "verdicts": VERDICTS}


def latency(noisy):
    floor = 90.0 if noisy else 5.0
    keys = ("samples p50_us p99_us floor_p99_us p999_us floor_p999_us p9999_us max_us overrun_us_max "
            "overrun_cpu_us_max overrun_cpu_us_p999 overrun_cpu_us_full overrun_callbacks_max callbacks_per_gp_p50 "
            "callbacks_per_gp_max callback_ns backlog_max ops_per_s batch_max").split()
    rows, curves = [], []
    for policy, overrun, late in (("none", 0, 0), ("unbounded", 1087.5, 30000), ("inline", 2.8, 11), ("daemon", 0, 0)):
        row = dict.fromkeys(keys, 7)
        row |= {"workload": "flood", "policy": policy, "probe": "loop", "scheduling": "fifo", "burst": 30000,
                "p99_us": floor if policy == "none" else 100.0, "overrun_cpu_us_max": overrun,
                "overrun_cpu_us_p999": overrun, "overrun_callbacks_max": late}
        rows.append(row)
        curves.append({"workload": "flood", "policy": policy, "fifo": True, "burst": 30000,
                       "cdf": [[1, 0.1], [20, 0.5], [300, 0.999], [400, 1]], "backlog": [[0, 0], [1, 30000]],
                       "invocations": [[30000, 12.5], [1, 0]]})
    return document(rows, curves)


def expedited():
    keys = ("count min_ns q1_ns median_ns q3_ns max_ns avg_ns stddev_ns experiments largest_max_ns smallest_max_ns "
            "range_of_max_ns largest_min_ns smallest_min_ns range_of_min_ns").split()
    rows = [dict.fromkeys(keys, 1000) | {"table": "worker", "worker": worker, "boost": boost, "environment": place,
                                         "avg_ns": mean}
            for place in ("quiet", "loaded") for boost in (True, False)
            for worker, mean in (("workqueue", 2746353), ("kthread", 151242))]
    rows.append(dict.fromkeys(keys, 1000) | {"table": "worker", "worker": "none", "boost": None, "avg_ns": 140000})
    rows += [{"table": "busy_readers", "peer": "rtrcu", "boost": True, "readers": readers, "count": 10, "unfinished": 0,
              "p50_ns": 477000, "p99_ns": None, "max_ns": 960000, "boosts": 3} for readers in (16, 64)]
    rows.append({"table": "throughput", "readers": 4, "boost": True, "sections_per_s": 1e6, "spread_pct": 1.5,
                 "requests_per_s": 1000, "grace_periods_per_s": 900, "boosts_per_s": 5, "ratio": 0.99})
    curves = [{"worker": worker, "boost": boost, "cdf": [[1000, 0.1], [90000, 0.9], [200000, 1]]}
              for worker, boost in (("none", None), ("workqueue", True), ("kthread", False))]
    return document(rows, curves)


def blocked(root):
    source = (root / "lab/report/blocked_html.py").read_text(encoding="utf-8")
    every = dict.fromkeys(re.findall(r'\("([a-z_0-9]+)", "', source), 3)
    rows = [every | {"table": "lists", "lists": lists, "iterations_per_s_mean": mean, "iterations_per_s_stddev": spread}
            for lists, mean, spread in (("node-spin", 66980, 30000), ("node", 90000, 10), ("percpu", 97719, 10))]
    rows += [every | {"table": "order", "lists": "percpu"}]
    rows += [every | {"table": "parked", "lists": lists, "tasks": tasks} for lists in ("node", "percpu")
             for tasks in (10, 10000)]
    curves = [{"lists": lists, "iterations_per_s": [60000, 70000], "hold_log2": [0, 5, 1],
               "cdf": [[1000, 0.5], [2000, 1]]} for lists in ("node-spin", "percpu")]
    return document(rows, curves, readers=64, carriers=2, preemptors=32, metered_ms=100)


def page_of(root, folder, name, data):
    data_file, page_file = folder / f"{name}.json", folder / f"{name}.html"
    data_file.write_text(json.dumps(data), encoding="utf-8")
    subprocess.run([sys.executable, root / f"lab/report/{name}_html.py", data_file, page_file], check=True)
    page = page_file.read_text(encoding="utf-8")
    for svg in re.findall(r"<svg.*?</svg>", page, re.S):
        xml.fromstring(svg)
    return page


def main(arguments):
    if len(arguments) != 2:
        sys.stderr.write(f"usage: {arguments[0]} SOURCE_DIR\n")
        return 2
    root = pathlib.Path(arguments[1])
    wrong = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        pages = {
            "latency": (latency(True), ["unbounded by 1,088 µs of CPU time (30,000 callbacks begun late)",
                                        "daemon never ran into it", "noise decides", "1 held, 1 not reproduced"]),
            "expedited": (expedited(), ["2,746 µs on average", "151 µs for a real-time one", "noise"]),
            "blocked": (blocked(root), ["97,719 iterations a second", "+46 %", "noise"]),
        }
        for which, (data, texts) in pages.items():
            page = page_of(root, folder, which, data)
            wrong += [f"{which}: no '{text}'" for text in texts if text not in page]
            wrong += [f"{which}: nothing is drawn"] * ("<polyline" not in page)
            wrong += [f"{which}: {word}" for word in ("nan", ">None<", "another <claim>") if word in page]
        if "noise decides" in page_of(root, folder, "latency", latency(False)):
            wrong.append("latency: a warning on a quiet machine")
        for theme in ("light", "dark"):
            picture = (folder / f"latency-flood-{theme}.svg").read_text(encoding="utf-8")
            xml.fromstring(picture)
            wrong += [f"{theme}: a colour without a value"] * ("var(" in picture)
    print("\n".join(wrong + [f"{len(wrong)} wrong"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
