#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""`rtrcu top` and `rtrcu who` on running programs: their output for people and for programs, and the screen.

usage: programs.py ROOT RTRCU ADOPTED TRACED DROPIN LIBRARIES NAMES SUBJECT...     The subjects have the library linked
in several ways; ADOPTED has liburcu's flavours, TRACED is built with RTRCU_DEBUG; DROPIN is a program of liburcu, and
LIBRARIES replace its libraries; NAMES gives itself the names of its command line.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

from subject import Subject

sys.path.append("/usr/lib/python3/dist-packages")  # where another Python is first, the system's packages are not seen


def run(*command, code=0):
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if done.returncode != code:
        raise SystemExit(f"{command}: exit {done.returncode}, not {code}:\n{done.stdout}{done.stderr}")
    return done.stdout if code == 0 else done.stderr


def expect(condition, what, output=""):
    if not condition:
        raise SystemExit(f"{what}\n{output}")


def until(look, what):
    """Repeats @look, since programs need time to reach their waits."""
    for _ in range(300):
        found = look()
        if found:
            return found
        time.sleep(0.05)
    raise SystemExit(f"never: {what}")


def rows_of(rtrcu, *pids):
    document = json.loads(run(rtrcu, "top", "--json", "-", "--interval", "0.2", *map(str, pids)))
    expect(document["experiment"] == "top", "the document's name")
    return document["rows"]


def rows_of_refused(rtrcu, pid):
    command = [rtrcu, "top", "--json", "-", "--interval", "0.2", str(pid)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, timeout=60, check=False).stdout)["rows"]


def check_json(rtrcu, subject):
    def waits():
        rows = rows_of(rtrcu, subject.pid)
        domain = next(row for row in rows if row["row"] == "domain")
        return rows if domain["holdouts"] == 2 and domain["callbacks_backlog"] == 7 else None

    rows = until(waits, "two holdouts")
    threads = {row["name"]: row for row in rows if row["row"] == "thread"}
    tasks = {row["name"]: row for row in rows if row["row"] == "task"}
    domain = rows[0]
    expect(threads["a-reader"]["thread"] == subject.threads["a-reader"], "the reader's number", rows)
    expect(threads["a-reader"]["nesting"] == 2 and threads["a-reader"]["waited_for"], "the reader", rows)
    taken = [threads["a-reader"][key] for key in ("slow_paths", "system_calls", "lock_waits", "callback_ns")]
    expect(taken == [*subject.taken, 0], "what the library took from the reader", (taken, subject.taken))
    expect(threads["a-loop"]["online"], "the loop is online", rows)
    expect(threads["an-updater"]["callbacks_pending"] == 7, "the updater's callbacks", rows)
    expect(set(tasks) == {"first-task", "second-task"} and tasks["first-task"]["waited_for"], "the tasks", rows)
    expect(domain["gp_age_ms"] > 0 and domain["oldest_callback_ms"] > 0, "ages", rows)
    expect(domain["callback_ns_max"] >= 30_000_000, "a callback has slept for 30 ms", rows)
    expect(domain["section_ns_max"] is None, "sections are measured in debug builds alone", rows)


def check_once(rtrcu, subjects):
    text = run(rtrcu, "top", "--once", "--interval", "0.2", "--", *[str(s.pid) for s in subjects])
    for subject in subjects:
        expect(re.search(rf"^ *{subject.pid} +\S+ +native", text, re.M), f"process {subject.pid} is listed", text)
    everybody = run(rtrcu, "top", "--once", "--interval", "0.2")
    for subject in subjects:
        expect(re.search(rf"^ *{subject.pid} ", everybody, re.M), f"process {subject.pid} is found", everybody)


def check_prometheus(rtrcu, busy):
    try:
        from prometheus_client.parser import text_string_to_metric_families
    except ModuleNotFoundError:
        print("prometheus: no parser here, not checked")
        return
    text = run(rtrcu, "top", "--prometheus", str(busy.pid))
    families = {family.name: family for family in text_string_to_metric_families(text)}
    samples = [sample for family in families.values() for sample in family.samples]
    expect(len(samples) > 50, "metrics", text)
    expect(all(sample.labels["pid"] == str(busy.pid) for sample in samples), "labels", text)
    for kind in ("normal", "expedited"):
        buckets = [s for s in families["rtrcu_grace_period_seconds"].samples if s.labels.get("kind") == kind]
        counts = [s.value for s in buckets if s.name.endswith("_bucket")]
        total = next(s.value for s in buckets if s.name.endswith("_count"))
        expect(counts == sorted(counts) and counts[-1] == total, "buckets rise up to the count", text)
    completed = families["rtrcu_grace_periods"].samples
    expect(any(s.labels["kind"] == "expedited" and s.value == 3 for s in completed), "expedited ones", text)


# Names that differ in Prometheus; None: an address, which is no metric.
METRICS = {
    "gp_completed": 'grace_periods_total{kind="normal"}',
    "exp_completed": 'grace_periods_total{kind="expedited"}',
    "gp_ns_last": 'grace_period_last_seconds{kind="normal"}',
    "gp_ns_max": 'grace_period_max_seconds{kind="normal"}',
    "latency_us_log2": "callback_wait_seconds_count",
    "callback_oldest_ns": "callback_oldest_seconds",
    "callback_ns_max": "callback_max_seconds",
    "callback_longest": None,
    "section_ns_max": "section_max_seconds",
    "section_longest": None,
    "boost_ns": "boost_seconds_total",
    "boost_ns_max": "boost_max_seconds",
}


def names_of_counters(root):
    """The fields of struct rtrcu_stats after its size, and the number of words of each."""
    with open(os.path.join(root, "include/rtrcu/config.h"), encoding="utf-8") as file:
        header = file.read()
    buckets = int(re.search(r"define RTRCU_LATENCY_BUCKETS (\d+)", header).group(1))
    fields = re.search(r"struct rtrcu_stats \{(.*?)\n\};", header, re.S).group(1)
    found = re.findall(r"^    uint64_t (\w+)(\[RTRCU_LATENCY_BUCKETS\])?;", fields, re.M)
    return {name: buckets if many else 1 for name, many in found}


def counters_said(root, subject):
    words = [int(word) for word in subject.ask()[1:]]
    said, at = {}, 0
    for name, count in names_of_counters(root).items():
        said[name] = words[at] if count == 1 else words[at : at + count]
        at += count
    expect(at == len(words), "the program has as many counters as the header", words)
    return said


def metric_of(text, name):
    """The value of the metric in the Prometheus output @text; None if the metric is missing."""
    wanted = METRICS.get(name, name)
    label = re.search(r"\{(.*)\}", wanted)
    base = re.escape(wanted.split("{")[0])
    more = rf"[^}}]*{re.escape(label.group(1))}" if label else "[^}]*"
    found = re.search(rf"^rtrcu_{base}(?:_total)?\{{{more}\}} (\S+)$", text, re.M)
    return float(found.group(1)) if found else None


def differences(root, rtrcu, subject):
    """The differences between `rtrcu top` and the counters that the program prints."""
    said = counters_said(root, subject)
    row = next(row for row in rows_of(rtrcu, subject.pid) if row["row"] == "domain")
    text = run(rtrcu, "top", "--prometheus", str(subject.pid))
    wrong = [(name, value, row.get(name)) for name, value in said.items() if (row.get(name) or 0) != value]
    for name, value in said.items():
        if METRICS.get(name, name) is None or name == "section_ns_max" and value == 0:
            continue
        value = sum(value) if isinstance(value, list) else value
        shown = metric_of(text, name)
        scale = 1e9 if METRICS.get(name, "").split("{")[0].removesuffix("_total").endswith("_seconds") else 1
        if shown is None or abs(shown * scale - value) > 1e-6 * value:
            wrong.append((f"prometheus: {name}", value, shown))
    return wrong


def check_counters(root, rtrcu, path):
    """Every field of struct rtrcu_stats is shown, with the value that the program prints."""
    limits = {"RTRCU_QHIMARK": "20", "RTRCU_QLOWMARK": "10", "RTRCU_QMAX": "200"}
    stuck = Subject(path)
    text = until(
        lambda: re.search(r".*its section began .* ago at .*", run(rtrcu, "who", str(stuck.pid)), re.S),
        "a section began some time ago",
    ).group()
    for pattern in (r"began .* ago at read_for_long", r"the longest section has taken .*, and began at read_for_long"):
        expect(re.search(pattern, text), f"who: /{pattern}/", text)
    stuck.end()
    subject = Subject(path, "counters", environment=limits)
    found = [("nothing", 0, 0)]
    for _ in range(100):  # its driver may not have gone to sleep yet
        found = differences(root, rtrcu, subject)
        if not found:
            break
    expect(not found, "counters differ: name, said, shown", found)
    said = counters_said(root, subject)
    for name in ("gp_completed", "over_qmax", "callback_ns_max", "callback_longest", "section_ns_max", "slow_locks"):
        expect(said[name] > 0, f"{name} has something to show", said)
    subject.end()


def check_who(rtrcu, subject):
    text = run(rtrcu, "who", str(subject.pid))
    for pattern in (
        rf'holdout: thread {subject.threads["a-reader"]} "a-reader", inside a section, nesting 2 for ',
        rf'holdout: thread {subject.threads["a-loop"]} "a-loop", online',
        r'holdout: task "first-task", parked',
        r"7 callbacks are pending, the oldest for ",
        r"\bread_for_long\+",
        r"\bstay_online\+",
    ):
        expect(re.search(pattern, text), f"who: /{pattern}/", text)
    if not shutil.which("gdb"):
        return
    with tempfile.TemporaryDirectory() as folder:
        core = os.path.join(folder, "core")
        run("gdb", "-q", "-nx", "-batch", "-p", str(subject.pid), "-ex", f"gcore {core}")
        text = run(rtrcu, "who", core)
    for pattern in (rf"holdout: thread {subject.threads['a-reader']} ", r'task "second-task"', r"\bread_for_long\+"):
        expect(re.search(pattern, text), f"who, core: /{pattern}/", text)


def check_refusals(rtrcu):
    expect("no process 99999999" in run(rtrcu, "who", "99999999", code=2), "who: no process")
    expect("no process 99999999" in run(rtrcu, "top", "--once", "99999999", code=2), "top: no process")
    expect("core file" in run(rtrcu, "who", __file__, code=2), "who: no core file")
    own = run(rtrcu, "top", "--once", "--interval", "0.2", str(os.getpid()), code=2)
    expect("does not run the library" in own, "top: another program", own)
    expect("needs a terminal" in run(rtrcu, "top", code=2), "top: no terminal")


# ---- the screen ----


class Screen:
    def __init__(self, width, height, *command):
        self.name = f"rtrcu-{os.getpid()}"
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(width), "-y", str(height), " ".join(command))

    def tmux(self, *arguments):
        command = ["tmux", "-L", self.name, *arguments]
        locale = os.environ | {"LC_ALL": "C.UTF-8"}
        return subprocess.run(command, capture_output=True, text=True, timeout=60, env=locale)

    def text(self):
        return self.tmux("capture-pane", "-p").stdout

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def resize(self, width, height):
        self.tmux("resize-window", "-x", str(width), "-y", str(height))

    def is_there(self):
        return self.tmux("has-session").returncode == 0

    def shows(self, *patterns):
        try:
            until(lambda: all(re.search(pattern, self.text(), re.M) for pattern in patterns), patterns)
        except SystemExit as never:
            raise SystemExit(f"{never}\n{self.text()}") from None
        return self.text()


def check_screen(root, rtrcu, subject, busy, path):
    if not shutil.which("tmux"):
        print("screen: no tmux here, not checked")
        return
    screen = Screen(80, 24, rtrcu, "top", "--interval", "0.2")
    try:
        small = screen.shows(rf"^ *{subject.pid} ", rf"^ *{busy.pid} ", r"^ *PID PROCESS +DOMAIN +GP/S", r"q quit")
        expect("LIBRARY" not in small, "80 columns have no room for all", small)
        screen.resize(200, 60)
        version = re.escape(run(rtrcu, "--version").strip())
        screen.shows(r"GP/S.*PARKED.*LIBRARY", rf"^ *{subject.pid} .*{version}")
        screen.keys("p")
        screen.shows(r"paused")
        screen.keys("p", "s")
        screen.shows(r"by PROCESS")
        screen.keys("S", "k", "k", "k", "k")
        screen.shows(r"by PID")
        lines = [line for line in screen.text().splitlines() if re.match(r" *\d+ ", line)]
        below = next(i for i, line in enumerate(lines) if line.split()[0] == str(subject.pid))
        screen.keys(*["j"] * below, "Enter")
        screen.shows(rf"^{subject.pid} .* domain native", r"a-reader.*inside, nesting 2", r"task first-task parked")
        reader, (slow_paths, system_calls, _) = subject.threads["a-reader"], subject.taken
        screen.shows(
            r"^ *THREAD NAME +SLOW +SYSCALLS +CALLBACKS +LONGEST +BOOSTS +LOCKWAITS",
            rf"^ *{reader} a-reader +{slow_paths} +{system_calls} +- ",
        )
        deep = screen.shows(r"^sections  2 inside, 2 holdouts.* not measured", r"\bbudget_stops +\d+ ")
        for name, count in names_of_counters(root).items():
            expect(count > 1 or name in deep or name.startswith("section_"), f"{name} is on the screen", deep)
        screen.resize(80, 24)
        screen.shows(r"a-reader.*inside, nesting 2", r"Esc back")
        screen.keys("Escape")
        screen.shows(r"Enter in depth")
        late = Subject(path, "rounds")
        screen.shows(rf"^ *{late.pid} ")
        late.end()
        busy.end()
        until(lambda: not re.search(rf"^ *{late.pid} ", screen.text(), re.M), "one that came late and went")
        until(lambda: not re.search(rf"^ *{busy.pid} ", screen.text(), re.M), "a process that has ended goes")
        screen.keys("q")
        until(lambda: not screen.is_there(), "q ends it")
    finally:
        screen.tmux("kill-server")


def check_adopted(rtrcu, path):
    """Flavours of liburcu are domains of their own."""
    subject = Subject(path, environment={"RTRCU_STALL_TIMEOUT_MS": "20"})
    reader, loop = subject.threads["reader"], subject.threads["loop"]

    def both_wait():
        rows = {(row["row"], row["domain"], row.get("thread")): row for row in rows_of(rtrcu, subject.pid)}
        say_so = all(rows["domain", domain, None]["stall_reports"] for domain in ("nested", "online"))
        wait = all(
            rows.get(("thread", domain, thread), {}).get("waited_for")
            for domain, thread in (("nested", reader), ("online", loop))
        )
        return rows if say_so and wait else None

    rows = until(both_wait, "both flavours wait for their readers, and show it")
    expect(rows["thread", "nested", reader]["nesting"] == 3, "adopted: nesting", rows)
    expect(rows["thread", "online", loop]["online"], "adopted: online", rows)
    row = rows["domain", "nested", None]
    expect(row["callbacks_backlog"] == 4 and row["callbacks_invoked"] == 3, "adopted: callbacks, one deferred", rows)
    expect(row["full_fences"] == 1 and rows["domain", "online", None]["full_fences"] == 0, "adopted: fences", rows)
    text = run(rtrcu, "who", "--no-stacks", str(subject.pid))
    for pattern in (
        r"domain nested .*\n  normal grace period \d+ has been under way",
        rf"holdout: thread {reader} .*nesting 3",
        rf"holdout: thread {loop} .*online",
    ):
        expect(re.search(pattern, text), f"who, adopted: /{pattern}/", text)
    subject.end()


def check_dropin(rtrcu, path, libraries):
    """An unmodified program of liburcu that runs on this library."""
    subject = Subject(path, environment={"LD_LIBRARY_PATH": libraries})
    reader = subject.threads["a-reader"]

    def waits():
        rows = [row for row in rows_of(rtrcu, subject.pid) if row["row"] == "thread" and row["thread"] == reader]
        return [row["domain"] for row in rows if row["waited_for"] and row["nesting"] == 1]

    domains = until(waits, "drop-in: the reader is waited for")
    expect(domains == ["urcu-memb"], "drop-in: the flavour", domains)
    domain = next(row for row in rows_of(rtrcu, subject.pid) if row["domain"] == "urcu-memb" and row["row"] == "domain")
    expect(domain["oldest_callback_ms"] > 0, "drop-in: the age of the oldest callback", domain)
    text = run(rtrcu, "who", str(subject.pid))
    for pattern in (
        r"domain urcu-memb ",
        rf'thread {reader} "a-reader", inside a section',
        r"\bread_for_long\+",
        r"1 callbacks are pending, the oldest for [0-9]",
    ):
        expect(re.search(pattern, text), f"who, drop-in: /{pattern}/", text)
    subject.end()


def check_namespace(rtrcu, path, elsewhere):
    """A process in PID and mount namespaces of its own is found by its number outside, with its threads."""
    before = ("unshare", "--pid", "--fork", "--mount", "--mount-proc", "--kill-child")
    if not shutil.which("unshare") or subprocess.run([*before, "true"], check=False, capture_output=True).returncode:
        print("namespaces: not permitted here, not checked")
        return
    subject = Subject(path, before=before)
    with open(f"/proc/{subject.pid}/task/{subject.pid}/children", encoding="ascii") as file:
        pid = int(file.read().split()[0])
    rows = until(
        lambda: (found := rows_of(rtrcu, pid))[0]["holdouts"] == 2 and found, "in a namespace: two holdouts"
    )
    reader = next(row for row in rows if row["row"] == "thread" and row["name"] == "a-reader")
    with open(f"/proc/{pid}/task/{reader['thread']}/status", encoding="ascii") as file:
        numbers = re.search(r"^NSpid:\s+(.*)$", file.read(), re.M).group(1).split()
    expect(int(numbers[-1]) == subject.threads["a-reader"] != reader["thread"], "in a namespace: its threads", numbers)
    text = run(rtrcu, "who", str(pid))
    for pattern in (rf'thread {reader["thread"]} "a-reader", inside', r"\bread_for_long\+"):
        expect(re.search(pattern, text), f"who, in a namespace: /{pattern}/", text)
    # From inside, the processes outside have no number.
    inside = run(*before, rtrcu, "top", "--once", "--interval", "0.2", str(elsewhere.pid), code=2)
    expect("in this PID namespace; name a process in a container by its number" in inside, "from a namespace", inside)
    subject.end()


def check_versions(rtrcu, archive):
    """An argument that is not understood is named, by any command."""
    with open(archive, "rb") as file:
        program = file.read()
    block = b"rtrcu-in\1\0\0\0"
    expect(program.count(block) == 1, "the program has one block")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "of-the-future")
        with open(path, "wb") as file:
            file.write(program.replace(block, b"rtrcu-in\2\0\0\0"))
        os.chmod(path, 0o700)
        subject = Subject(path)
        said = "of-the-future has a block of version 2, this program reads version 1"
        expect(said in run(rtrcu, "who", str(subject.pid), code=2), "who: another version")
        expect(said in run(rtrcu, "top", "--once", "--interval", "0.2", str(subject.pid), code=2), "top: another")
        expect(said in rows_of_refused(rtrcu, subject.pid)[0]["problem"], "top --json: another version")
        subject.end()


def check_names(rtrcu, path):
    """Bytes that are no text, and control characters, are shown escaped, and hide no other process."""
    hostile = Subject(path, "cut in two: \u00e9\u00e9", b"a\x1b[2Jb", b"task \xff\n")  # the kernel keeps 15 bytes
    broken = Subject(path, "two\nlines", "c\nd", "a-task")
    said = "cut in two: \u00e9\\xc3"
    rows = rows_of(rtrcu)
    names = {(row["pid"], row["row"], row["process"], row.get("name")) for row in rows}
    for name in ((hostile.pid, "domain", said, None), (broken.pid, "domain", "two\\x0alines", None),
                 (hostile.pid, "thread", said, "a\\x1b[2Jb"), (hostile.pid, "task", said, "task \\xff\\x0a"),
                 (broken.pid, "thread", "two\\x0alines", "c\\x0ad")):  # fmt: skip
        expect(name in names, f"top --json: {name}", sorted(map(str, names)))
    text = run(rtrcu, "top", "--prometheus")
    for label in (said, "two\\x0alines"):
        label = label.replace("\\", "\\\\")  # the format escapes its own escape character
        expect(f'process="{label}"' in text, f"top --prometheus: {label}", text[:2000])
    text = run(rtrcu, "top", "--once", "--interval", "0.2")
    for line in (rf"^ *{hostile.pid} +{re.escape(said)} +native", rf"^ *{broken.pid} +two\\x0alines +native"):
        expect(re.search(line, text, re.M), f"top --once: {line}", text)
    text = run(rtrcu, "who", "--all", str(hostile.pid))
    for part in (f"{hostile.pid} {said}, domain", '"a\\x1b[2Jb", inside', 'task "task \\xff\\x0a"'):
        expect(part in text, f"who: {part}", text)
    text = run(rtrcu, "dropin", "/not\x1b[2J/here", code=2)
    expect("/not\\x1b[2J/here" in text, "dropin", text)
    hostile.end()
    broken.end()


def main(root, rtrcu, adopted, traced, dropin, libraries, names, *paths):
    subjects = [Subject(path) for path in paths]
    busy = Subject(paths[0], "rounds")
    for subject in subjects:
        check_json(rtrcu, subject)
    check_once(rtrcu, [*subjects, busy])
    check_prometheus(rtrcu, busy)
    check_counters(root, rtrcu, traced)
    check_who(rtrcu, subjects[0])
    check_adopted(rtrcu, adopted)
    check_refusals(rtrcu)
    check_dropin(rtrcu, dropin, libraries)
    check_namespace(rtrcu, paths[1], busy)
    check_versions(rtrcu, paths[1])
    check_names(rtrcu, names)
    check_screen(root, rtrcu, subjects[0], busy, paths[1])
    for subject in subjects:
        subject.end()


if __name__ == "__main__":
    main(*sys.argv[1:])
