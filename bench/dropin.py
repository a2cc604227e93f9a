#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""The costs of a program that was built for liburcu: with liburcu's own libraries and with rtrcu's, alternately.

Prints a table. Times are in nanoseconds, medians over the rounds. The ratio is the median of the rounds' ratios, with
its spread.
"""
import argparse
import os
import pathlib
import platform
import statistics
import subprocess

# The bars: the largest allowed ratio of rtrcu's time to liburcu's.
BARS = {("called", "section"): 0.5, ("inlined", "section"): 1.1, ("called", "wait-alone"): 1.0,
        ("called", "wait-busy"): 1.0, ("called", "call-to-barrier"): 0.7}


def run(program, folder):
    environment = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    if folder:
        environment["LD_LIBRARY_PATH"] = str(folder)
    text = subprocess.run([program], env=environment, check=True, capture_output=True, text=True).stdout
    return {line.split()[0]: float(line.split()[1]) for line in text.splitlines()}


def cpu_model():
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path, help="the build folder, which contains bench/ and liburcu/")
    parser.add_argument("rounds", type=int, nargs="?", default=15)
    arguments = parser.parse_args()
    build, rounds = arguments.build.resolve(), arguments.rounds
    print(f"{os.cpu_count()} CPUs, {cpu_model()}, Linux {platform.release()}, {rounds} rounds\n")
    print("| read side | figure | liburcu, ns | rtrcu, ns | ratio | spread | bar |")
    print("|---|---|---|---|---|---|---|")
    for side in ("called", "inlined"):
        program = build / "bench" / f"bench_dropin_{side}"
        stock, ours = [], []
        for number in range(rounds):
            turns = [(stock, None), (ours, build / "liburcu")]
            for results, folder in turns if number % 2 else reversed(turns):
                results.append(run(program, folder))
        for figure in stock[0]:
            ratios = sorted(b[figure] / a[figure] for a, b in zip(stock, ours))
            bar = BARS.get((side, figure))
            print(f"| {side} | {figure} | {statistics.median(a[figure] for a in stock):.1f} "
                  f"| {statistics.median(b[figure] for b in ours):.1f} | {statistics.median(ratios):.2f} "
                  f"| {ratios[len(ratios) // 10]:.2f} to {ratios[-1 - len(ratios) // 10]:.2f} | {bar or ''} |")


main()
