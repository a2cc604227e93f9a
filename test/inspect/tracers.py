#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""The commands for gdb on a live process and on its core file, each bpftrace script against the counters, and code that
may have no probe.

usage: tracers.py gdb|bpftrace|costs SUBJECT ROOT     SUBJECT is the shared library for costs.  Exits with 77 if the
tool is not installed or may not be used.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

from subject import Subject

SKIPPED = 77


def fail(what, output):
    print(f"{what}:\n{output}")
    sys.exit(1)


def gdb(arguments, commands):
    command = ["gdb", "-q", "-nx", "-batch", *arguments]
    for one in commands:
        command += ["-ex", one]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    return done.stdout + done.stderr


def check_gdb(subject, output, where):
    wanted = [
        r"normal: number \d+ is under way",
        rf"waits for thread {subject.threads['a-reader']} ",
        rf"waits for thread {subject.threads['a-loop']} ",
        r'waits for the parked task "first-task"',
        r'waits for the parked task "second-task"',
        r"expedited: none is under way; 3 ended",
        rf"  {subject.threads['a-reader']} +\S+ .* 2 +- +normal",
        rf"  {subject.threads['a-loop']} +\S+ .* 0 +yes +normal",
        rf"thread {subject.threads['an-updater']}: 7 callbacks, 0 frees",
        r"\$1 = \{rcu_head: nothing",
    ]
    for pattern in wanted:
        if not re.search(pattern, output):
            fail(f"{where}: no line has /{pattern}/", output)


def run_gdb(path, root):
    if not shutil.which("gdb"):
        return SKIPPED
    script = os.path.join(root, "tools/gdb/rtrcu-gdb.py")
    commands = [f"source {script}", "rtrcu gp", "rtrcu threads", "rtrcu callbacks", "print heads[0]"]
    subject = Subject(path)
    with tempfile.TemporaryDirectory() as folder:
        core = os.path.join(folder, "core")
        # The updater needs time to reach its wait.
        for _ in range(200):
            live = gdb(["-p", str(subject.pid)], commands)
            if "ptrace" in live and "Operation not permitted" in live:
                return SKIPPED
            if "is under way" in live and ": 7 callbacks" in live:
                break
        check_gdb(subject, live, "live")
        gdb(["-p", str(subject.pid)], [f"gcore {core}"])
        check_gdb(subject, gdb([path, core], commands), "core")
    subject.end()
    return 0


def check_page(root, probes):
    """The page names each probe, and no other.  Returns the number of arguments that it gives for each."""
    with open(os.path.join(root, "docs/probes.md"), encoding="utf-8") as file:
        page = dict(re.findall(r"^\| `(\w+)` \|.*\| ([^|]+) \|$", file.read(), re.M))
    if set(page) != probes:
        fail("docs/probes.md and the library have other probes", sorted(set(page) ^ probes))
    return {name: len(arguments.split(", ")) for name, arguments in page.items()}


# ---- bpftrace ----


def counters_of(output):
    """The counters that the program printed, and the contents of the maps."""
    said = {name: int(value) for name, value in re.findall(r"^(\w+) (\d+)$", output, re.M)}
    maps = {name: int(value) for name, value in re.findall(r"^@(\w+): (\d+)$", output, re.M)}
    reader = re.search(r"^thread a-reader (\d+)$", output, re.M)
    asked = {int(thread): int(count) for thread, count in re.findall(r"^@asked_thread\[(\d+)\]: (\d+)$", output, re.M)}
    return said, maps, asked, int(reader.group(1)) if reader else 0


def trace(path, script, folder):
    """Runs the script on the program from its first instruction on, so that no event is missed."""
    with open(script, encoding="utf-8") as file:
        text = file.read().replace("usdt:*:", f"usdt:{path}:")
    copy = os.path.join(folder, os.path.basename(script))
    with open(copy, "w", encoding="utf-8") as file:
        file.write(text)
    settings = {"RTRCU_QHIMARK": "20", "RTRCU_QLOWMARK": "10", "RTRCU_QMAX": "200", "BPFTRACE_STRLEN": "48"}
    done = subprocess.run(
        ["bpftrace", "-c", f"{path} 50", copy], capture_output=True, text=True, timeout=120, env=os.environ | settings
    )
    return done.stdout + done.stderr


def differ(name, output, pairs):
    for what, said, traced in pairs:
        if said != traced:
            fail(f"{name}: {what}: the counters say {said}, the script {traced}", output)


def check_script(name, output):
    said, maps, asked, reader = counters_of(output)
    if "completed" not in said:
        fail(f"{name}: the program did not come to its end", output)
    if name == "gp_latency.bt":
        both = maps.get("normal", 0) + maps.get("expedited", 0) + maps.get("nobody_read", 0)
        differ(name, output, [("grace periods", said["completed"] + said["expedited"], both)])
        if "@normal_us" not in output:
            fail(f"{name}: no histogram", output)
    elif name == "batches.bt":
        differ(name, output, [("callbacks", said["invoked"], maps.get("callbacks", 0))])
    elif name == "limits.bt":
        pairs = [("over_qmax", "over_qmax"), ("limit_raised", "limits_raised"), ("boosts", "boosts")]
        differ(name, output, [(one, said[one], maps.get(other, 0)) for one, other in pairs])
        if said["over_qmax"] == 0:
            fail(f"{name}: the flood has hit no limit", output)
    elif name == "tasks.bt":
        differ(name, output, [("parks", 50, maps.get("parks", 0))])
        if "@parked_us[a-task]" not in output:
            fail(f"{name}: the task's name is not there", output)
    elif name == "who_was_waited_for.bt":
        if asked.get(reader, 0) == 0:
            fail(f"{name}: thread {reader} was never asked", output)
    else:
        fail(f"{name}: nothing is known of this script", output)


def run_bpftrace(path, root):
    if not shutil.which("bpftrace") or os.geteuid() != 0:
        return SKIPPED
    listed = subprocess.run(["bpftrace", "-l", f"usdt:{path}:*"], capture_output=True, text=True, timeout=60)
    if "rtrcu:gp_end" not in listed.stdout:
        fail("bpftrace finds no probes", listed.stdout + listed.stderr)
    folder = os.path.join(root, "tools/bpftrace")
    with tempfile.TemporaryDirectory() as temporary:
        for script in sorted(os.listdir(folder)):
            output = trace(path, os.path.join(folder, script), temporary)
            if "Operation not permitted" in output or "kernel does not support" in output:
                return SKIPPED
            check_script(script, output)
            print(f"{script}: agrees with the counters")
    check_page(root, set(re.findall(r"rtrcu:(\w+)$", listed.stdout, re.M)))
    return 0


# ---- costs ----

FAST = ("rtrcu_read_lock", "rtrcu_read_unlock", "rtrcu_quiescent_state", "rtrcu_call", "callback_enqueue", "rtrcu_free")


def run_costs(library, root):
    """No probe is on a fast path, and all probes that the page names exist, with the right number of arguments."""
    if not shutil.which("readelf") or not shutil.which("nm"):
        return SKIPPED
    notes = subprocess.run(["readelf", "-n", library], capture_output=True, text=True, timeout=60, check=True).stdout
    probes = re.findall(r"Provider: rtrcu\s+Name: (\w+)\s+Location: 0x([0-9a-f]+),.*\s+Arguments: (.*)", notes)
    if not probes:
        fail("the library has no probes", notes)
    lengths = check_page(root, {name for name, _, _ in probes})
    for name, _, arguments in probes:
        if not re.fullmatch(r"[1248]@\S+( [1248]@\S+)*", arguments) or len(arguments.split()) != lengths[name]:
            fail(f"{name}: docs/probes.md says {lengths[name]} arguments", arguments)
    symbols = subprocess.run(["nm", "-S", library], capture_output=True, text=True, timeout=60, check=True).stdout
    for function in FAST:
        found = re.search(rf"^([0-9a-f]+) ([0-9a-f]+) [Tt] {function}(@.*)?$", symbols, re.M)
        if not found:
            fail(f"{function}: not in the library", symbols)
        begin, size = (int(number, 16) for number in found.groups()[:2])
        for name, place, _ in probes:
            if begin <= int(place, 16) < begin + size:
                fail(f"{function}: a probe stands in it", name)
    return 0


if __name__ == "__main__":
    sys.exit({"gdb": run_gdb, "bpftrace": run_bpftrace, "costs": run_costs}[sys.argv[1]](sys.argv[2], sys.argv[3]))
