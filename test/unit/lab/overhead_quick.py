#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs a short `rtrcu overhead --quick` and checks its exit code, its rows and its verdicts.

usage: overhead_quick.py PROGRAM DIRECTORY.  Exit 0: all present, 1: something is missing, 2: this machine permits no
run.
"""
import json
import os
import subprocess
import sys

ENGINES = ("base", "ltimer", "poll/global queue", "poll/free CPU")
KEYS = {"engine", "variant", "environment", "threads", "cpu_ns_per_packet", "lookup_ns", "rcu_ns", "schedule_ns",
        "document_ns", "net_gain_pct", "net_gain_one_lock_pct", "net_gain_chain_locks_pct", "document_gain_pct",
        "callbacks_per_s", "call_rcu_ns", "call_rcu_samples", "switches_per_s", "rounds"}


def rows_of(document, table):
    return [row for row in document["rows"] if row["table"] == table]


def problems_of(document):
    found = []
    engines = {row["label"]: row for row in rows_of(document, "engine")}
    for label in ENGINES:
        missing = KEYS - engines.get(label, {}).keys()
        if missing:
            found.append(f"{label}: no {', '.join(sorted(missing))}")
        elif label != "base" and not engines[label]["callbacks_per_s"]:
            found.append(f"{label}: no callbacks")
    published = {row["function"]: row for row in rows_of(document, "published") if row["environment"] == "frequent"}
    if published["call_rcu"]["rcu_poll"] != 2251 or published["call_rcu"]["base"] is not None:
        found.append(f"published call_rcu: {published['call_rcu']}")
    counterparts = {(row["published"], row["label"]) for row in rows_of(document, "counterpart")}
    found += [f"no counterpart of {name} in {label}" for name in ("call_rcu", "schedule", "ip_route_output_key")
              for label in ENGINES if (name, label) not in counterparts]
    if not rows_of(document, "function"):
        found.append("no functions")
    outcomes = {verdict["claim"][:2]: verdict["outcome"] for verdict in document["verdicts"]}
    found += [f"conclusion {number} is {outcomes.get(number)} in a quick run" for number in ("1.", "2.", "3.", "4.")
              if outcomes.get(number) != "not judged"]
    return found


def main(arguments):
    program, directory = arguments
    file = os.path.join(directory, "overhead_quick.json")
    engines = [word for label in ENGINES for word in ("--engine", label)]
    done = subprocess.run([program, "overhead", "--quick", "--environment", "frequent", "--geoip", "generated",
                           "--json", file, *engines], check=False)
    if done.returncode != 0:
        return done.returncode
    with open(file, encoding="utf-8") as text:
        document = json.load(text)
    if document["args"]["skipped"]:
        print("the machine is too busy for a quick run of four variants")
        return 2
    found = problems_of(document)
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
