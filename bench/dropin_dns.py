#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""A DNS server of the distribution answers queries while its zone is reloaded: on liburcu's own libraries, on rtrcu's,
and on liburcu's once more, since the ratio of liburcu to itself shows the noise of the machine.

The three are measured in turns.  Each turn starts the server anew, and queries it as fast as it answers, then at one
rate for all turns, with latencies from the moment at which a query was due.  The client has the last CPU; the server
and the thread that reloads have the other CPUs.
"""

import argparse
import json
import os
import pathlib
import platform
import re
import shutil
import statistics
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "test/dropin"))
import real  # the servers, as the tests start them

RELOAD_EVERY = 0.1  # seconds from one reload to the next, if the server is fast enough
RATE_PART = 0.4  # the rate of all turns, as a part of the rate that the server answered in the first run
SIDES = ("liburcu", "rtrcu", "liburcu again")
FIGURES = {
    "rate": "answers a second, without a rate limit",
    "p50": "latency, p50, µs",
    "p99": "latency, p99, µs",
    "p99.9": "latency, p99.9, µs",
    "memory": "largest resident memory, MB",
    "reloads": "reloads a second",
}
COUNTED = re.compile(r"(\d+) grace periods, (\d+) of them waited for readers, the longest (\d+) us"
                     r".*; (\d+) callbacks queued")
NOT_TO_EXPECT = """\
Grace periods with preempted readers are not shorter with rtrcu: readers of liburcu's flavours are not boosted, whether
inlined or called.  liburcu does not count callbacks; the server queues as many with it."""


class Reloads:
    """A thread that reloads the zone repeatedly, and checks that the server serves each new zone."""

    def __init__(self, server):
        self.server, self.serial, self.ended, self.problem = server, 1, False, None
        self.thread = threading.Thread(target=self.run)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended = True
        self.thread.join()
        if self.problem:
            raise self.problem

    def run(self):
        try:
            with real.connect(self.server.port) as sock:
                while not self.ended:
                    began = time.monotonic()
                    real.write_zone(self.server.zone, self.serial + 1)
                    self.server.reload()
                    self.serial += 1
                    self.server.answers(sock, self.serial)
                    time.sleep(max(0.0, began + RELOAD_EVERY - time.monotonic()))
        except (real.Wrong, OSError, subprocess.SubprocessError) as problem:
            self.problem = problem


def ask(options, port, rate):
    """Runs the client once; returns answers per second, the share of queries without an answer, and latencies."""
    command = ["taskset", "-c", str(options.last_cpu), options.loader, str(port), str(real.NAMES),
               str(options.seconds), str(rate)]
    asked, answered, wrong, took, *latencies = map(float, real.run_quietly(command).split())
    if wrong or answered < 0.5 * asked:
        raise real.Wrong(f"{wrong:.0f} wrong answers; {answered:.0f} of {asked:.0f} queries were answered")
    return answered / took, 1 - answered / asked, latencies


def largest_memory(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(re.search(r"VmHWM:\s+(\d+) kB", status).group(1)) / 1024


def one_turn(options, folder, rate):
    """Starts the server, measures it, and stops it. Returns the results; with rate 0, only the rate of answers."""
    with real.work_folder(options.server) as work:
        log = work / "log"
        with open(log, "w", encoding="utf-8") as said:
            with real.SERVERS[options.server][1](folder, work, said) as server:
                began = time.monotonic()
                with Reloads(server) as reloads:
                    most, _, _ = ask(options, server.port, 0)
                    if rate == 0:
                        return {"rate": most}
                    _, lost, (p50, p99, p999, longest) = ask(options, server.port, rate)
                seconds = time.monotonic() - began
                memory = largest_memory(server.pid)
        result = {"rate": most, "p50": p50, "p99": p99, "p99.9": p999, "longest": longest, "memory": memory,
                  "reloads": (reloads.serial - 1) / seconds, "lost": lost}
        counted = COUNTED.search(log.read_text(encoding="utf-8", errors="replace"))
        if counted:
            result["counters"] = dict(zip(("grace periods", "waited for readers", "longest, us", "callbacks queued"),
                                          map(int, counted.groups())))
    return result


def measure(options):
    """Runs all turns; returns the results by side, and the rate of queries."""
    rate = max(1000, round(one_turn(options, None, 0)["rate"] * RATE_PART, -3))
    results = {side: [] for side in SIDES}
    for round_number in range(options.rounds):
        first = round_number % len(SIDES)
        for side in SIDES[first:] + SIDES[:first]:
            folder = options.build / "liburcu" if side == "rtrcu" else None
            results[side].append(one_turn(options, folder, rate))
    return rate, results


def ratios(results, side, figure):
    pairs = zip(results[SIDES[0]], results[side])
    return sorted(other[figure] / base[figure] for base, other in pairs)


def number(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def show(results):
    print(f"| figure | {' | '.join(SIDES[:2])} | ratio | lowest to highest | {SIDES[2]}: ratio | lowest to highest |")
    print("|---|---|---|---|---|---|")
    for figure, text in FIGURES.items():
        cells = [number(statistics.median(turn[figure] for turn in results[side])) for side in SIDES[:2]]
        for side in SIDES[1:]:
            all_ratios = ratios(results, side, figure)
            cells += [f"{statistics.median(all_ratios):.2f}", f"{all_ratios[0]:.2f} to {all_ratios[-1]:.2f}"]
        print(f"| {text} | {' | '.join(cells)} |")
    counters = [turn["counters"] for turn in results["rtrcu"]]
    counts = (f"{name} {statistics.median(each[name] for each in counters):,.0f}" for name in counters[0])
    print(f"\nrtrcu, medians over the turns: {'; '.join(counts)}")
    lost = (f"{side} {100 * statistics.median(each['lost'] for each in results[side]):.2f} %" for side in SIDES)
    print(f"queries without an answer, at the fixed rate: {', '.join(lost)}")


def cpu_model():
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path, help="the build folder, which contains bench/ and liburcu/")
    parser.add_argument("--server", choices=sorted(real.SERVERS), default="knot")
    parser.add_argument("--rounds", type=int, default=4, help="number of rounds, of three turns each")
    parser.add_argument("--seconds", type=float, default=2.0, help="duration of each of the two parts of a turn")
    parser.add_argument("--json", type=pathlib.Path, help="write the results of all turns to this file")
    options = parser.parse_args()
    options.build = options.build.resolve()
    options.loader = str(options.build / "bench/bench_dropin_dns")
    return options


def main():
    options = parse()
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2 or not shutil.which(real.SERVERS[options.server][0]):
        print(f"skipped: needs two CPUs and the distribution's package of {options.server}")
        return 77
    options.last_cpu = cpus[-1]
    os.sched_setaffinity(0, cpus[:-1])
    began, busy = time.monotonic(), os.getloadavg()[0]
    try:
        rate, results = measure(options)
    except real.Wrong as wrong:
        print(f"{options.server}: {wrong}")
        return 1
    machine = {"cpus": len(cpus), "model": cpu_model(), "linux": platform.release(), "load before": busy}
    print(f"{options.server}, {len(cpus)} CPUs of {machine['model']}, Linux {machine['linux']},"
          f" load {busy:.1f} before the runs; {options.rounds} rounds, {time.monotonic() - began:.0f} s;"
          f" latencies at {rate:,.0f} queries a second\n")
    show(results)
    print(f"\n{NOT_TO_EXPECT}")
    if options.json:
        document = {"server": options.server, "machine": machine, "seconds": options.seconds, "rate": rate,
                    "turns": results}
        options.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
