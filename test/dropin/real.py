#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Programs from the distribution's packages on our libraries: started, queried, reloaded meanwhile, stopped.

usage: real.py FOLDER knot|gdnsd|lttng [SECONDS]

FOLDER has the libraries.  Exit 0: every answer was right; 77: the program is not installed.
"""

import contextlib
import os
import pathlib
import random
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import typing

ZONE = """$TTL 60
@ SOA ns.example.test. root.example.test. {serial} 3600 600 86400 60
@ NS ns
ns A 127.0.0.1
"""
NAMES = 200


class Wrong(Exception):
    pass


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until(claim, what, seconds=20):
    """Polls until @claim() is true; raises Wrong after @seconds."""
    until = time.monotonic() + seconds
    while not claim():
        if time.monotonic() > until:
            raise Wrong(f"not within {seconds} s: {what}")
        time.sleep(0.02)


def address_of(index, serial):
    return bytes([10, serial % 250, index // 250, index % 250])


def write_zone(path, serial):
    text = ZONE.format(serial=serial)
    for index in range(NAMES):
        text += f"h{index} A {'.'.join(map(str, address_of(index, serial)))}\n"
    fresh = path.with_name(f".{path.name}.new")
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(path)


def ask(sock, index):
    """The address that the server has for a name, None = no answer in time."""
    number = random.getrandbits(16)
    name = b"".join(bytes([len(label)]) + label for label in (b"h%d" % index, b"example", b"test")) + b"\0"
    sock.send(struct.pack(">6H", number, 0, 1, 0, 0, 0) + name + struct.pack(">2H", 1, 1))
    try:
        answer = sock.recv(1500)
    except (TimeoutError, ConnectionRefusedError):
        return None
    got, flags, _, count, _, _ = struct.unpack(">6H", answer[:12])
    if got != number or flags & 15 or count != 1:
        raise Wrong(f"answer {got} to {number}, code {flags & 15}, {count} records")
    at = 12 + len(name) + 4
    at += 2 if answer[at] & 0xC0 else len(name)
    kind, _, _, length = struct.unpack(">2HIH", answer[at : at + 10])
    if kind != 1 or length != 4:
        raise Wrong(f"record of type {kind}, {length} bytes")
    return answer[at + 10 : at + 14]


def uses_ours(process, folder):
    maps = pathlib.Path(f"/proc/{process}/maps").read_text(encoding="utf-8")
    return "librtrcu" in maps and str(folder) in maps


def connect(port):
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.settimeout(2)
    sock.connect(("127.0.0.1", port))
    return sock


class Askers:
    """Threads that query continuously; each answer must have a serial that was in force meanwhile."""

    def __init__(self, port, count=2):
        self.port, self.serial, self.ended = port, 1, False
        self.asked = self.lost = 0
        self.problems = []
        self.threads = [threading.Thread(target=self.run) for _ in range(count)]
        for thread in self.threads:
            thread.start()

    def run(self):
        with connect(self.port) as sock:
            while not self.ended:
                index, before = random.randrange(NAMES), self.serial
                try:
                    answer = ask(sock, index)
                except Wrong as wrong:
                    self.problems.append(str(wrong))
                    continue
                self.asked += 1
                if answer is None:
                    self.lost += 1
                elif answer not in [address_of(index, serial) for serial in range(max(1, before - 2), self.serial + 2)]:
                    self.problems.append(f"h{index}: {answer.hex()} with serial {before} to {self.serial}")

    def end(self):
        self.ended = True
        for thread in self.threads:
            thread.join()
        if self.problems:
            raise Wrong(f"{len(self.problems)} wrong answers, the first: {self.problems[0]}")
        if self.asked == 0 or self.lost > self.asked // 100:
            raise Wrong(f"{self.lost} of {self.asked} questions were lost")


class Server(typing.NamedTuple):
    """A running server: its port, its zone, and the command that makes it reload the zone."""

    pid: int
    port: int
    zone: pathlib.Path
    reload: typing.Callable[[], object]

    def answers(self, sock, serial):
        wait_until(lambda: ask(sock, 7) == address_of(7, serial), f"serial {serial} in force")


def serve_and_reload(server, seconds):
    """Query and reload alternately for a while; returns how many of each."""
    with connect(server.port) as sock:
        server.answers(sock, 1)
        askers = Askers(server.port)
        reloads = 0
        until = time.monotonic() + seconds
        try:
            while time.monotonic() < until:
                serial = askers.serial + 1
                askers.serial = serial
                write_zone(server.zone, serial)
                server.reload()
                server.answers(sock, serial)
                reloads += 1
        finally:
            askers.end()
    return f"{askers.asked} questions, {askers.lost} without an answer, {reloads} reloads"


def environment(folder):
    """The environment for a program on the libraries of a folder; None: on those of the system."""
    if not folder:
        return {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    return {**os.environ, "LD_LIBRARY_PATH": str(folder), "DROPIN_COUNTERS": "1"}


def start(command, folder, log):
    return subprocess.Popen(command, env=environment(folder), stdout=log, stderr=subprocess.STDOUT)


def expect_libraries(program, process, folder):
    if folder and not uses_ours(process, folder):
        raise Wrong(f"{program} does not run on these libraries")


def stop(process):
    process.send_signal(signal.SIGTERM)
    code = process.wait(timeout=20)
    if code != 0:
        raise Wrong(f"it ended with {code}")


def run_quietly(command, env=None):
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=30, check=False)
    if done.returncode != 0:
        raise Wrong(f"{' '.join(map(str, command))}: {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


@contextlib.contextmanager
def knot(folder, work, log):
    """Knot DNS: memb by calls through liburcu.so.8, its main thread not registered."""
    port, zone = free_port(), work / "example.test.zone"
    write_zone(zone, 1)
    config = work / "knot.conf"
    config.write_text(
        f"server:\n  rundir: {work}\n  listen: 127.0.0.1@{port}\n  udp-workers: 2\n  tcp-workers: 1\n"
        f"  background-workers: 1\nlog:\n  - target: stdout\n    any: warning\n"
        f"database:\n  storage: {work}/db\n"
        f"zone:\n  - domain: example.test\n    file: {zone}\n    zonefile-load: whole\n    zonefile-sync: -1\n",
        encoding="utf-8",
    )
    server = start(["/usr/sbin/knotd", "-c", config, "-s", work / "knot.sock"], folder, log)
    try:
        wait_until((work / "knot.sock").exists, "knotd's socket")
        expect_libraries("knotd", server.pid, folder)
        command = ["/usr/sbin/knotc", "-s", work / "knot.sock", "zone-reload"]
        yield Server(server.pid, port, zone, lambda: run_quietly(command))
        stop(server)
    finally:
        server.kill()


@contextlib.contextmanager
def gdnsd(folder, work, log):
    """gdnsd: qsbr, its readers inlined and the generation copied into the program."""
    port = free_port()
    (work / "etc/zones").mkdir(parents=True)
    (work / "etc/config").write_text(
        f"options => {{\n  listen => [ 127.0.0.1:{port} ]\n  run_dir => {work}/run\n  state_dir => {work}/state\n"
        "  udp_threads => 2\n  tcp_threads => 1\n}\n",
        encoding="utf-8",
    )
    (work / "run").mkdir()
    (work / "state").mkdir()
    zone = work / "etc/zones/example.test"
    write_zone(zone, 1)
    server = start(["/usr/sbin/gdnsd", "-c", work / "etc", "start"], folder, log)
    control = ["/usr/bin/gdnsdctl", "-c", work / "etc"]
    try:
        wait_until((work / "run/control.sock").exists, "gdnsd's socket")
        expect_libraries("gdnsd", server.pid, folder)
        yield Server(server.pid, port, zone, lambda: run_quietly([*control, "reload-zones"]))
        run_quietly([*control, "stop"])
        server.wait(timeout=20)
        if server.returncode not in (0, -signal.SIGTERM):
            raise Wrong(f"it ended with {server.returncode}")
    finally:
        server.kill()


def lttng(folder, work, log, seconds):
    """lttng-tools: memb by inlined readers, with liburcu-cds' hash tables, in the session daemon and its consumers."""
    env = {**environment(folder), "LTTNG_HOME": str(work), "LTTNG_UST_REGISTER_TIMEOUT": "0"}
    daemon = subprocess.Popen(
        ["/usr/bin/lttng-sessiond", "--no-kernel"], env=env, stdout=log, stderr=subprocess.STDOUT
    )
    rounds = 0
    try:
        ping = ["/usr/bin/lttng", "--no-sessiond", "list"]
        wait_until(lambda: subprocess.run(ping, env=env, capture_output=True, check=False).returncode == 0, "an answer")
        expect_libraries("lttng-sessiond", daemon.pid, folder)
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            name = f"s{rounds}"
            run_quietly(["/usr/bin/lttng", "create", name, "--output", work / name], env)
            for event in ("one:*", "two:*", "three:here"):
                run_quietly(["/usr/bin/lttng", "enable-event", "-s", name, "-u", event], env)
            if "three:here" not in run_quietly(["/usr/bin/lttng", "list", name], env):
                raise Wrong("an event is not listed")
            run_quietly(["/usr/bin/lttng", "start", name], env)
            run_quietly(["/usr/bin/lttng", "stop", name], env)
            run_quietly(["/usr/bin/lttng", "destroy", name], env)
            rounds += 1
        stop(daemon)
    finally:
        daemon.kill()
    return f"{rounds} sessions"


SERVERS = {"knot": ("/usr/sbin/knotd", knot), "gdnsd": ("/usr/sbin/gdnsd", gdnsd)}


def run(name, folder, work, log, seconds):
    if name == "lttng":
        return lttng(folder, work, log, seconds)
    with SERVERS[name][1](folder, work, log) as server:
        return serve_and_reload(server, seconds)


@contextlib.contextmanager
def work_folder(name):
    """For a server, which may read it as another user."""
    work = pathlib.Path(tempfile.mkdtemp(prefix=f"rtrcu-{name}-"))
    os.chmod(work, 0o755)
    try:
        yield work
    finally:
        shutil.rmtree(work)


def main():
    folder, name = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    seconds = float(sys.argv[3] if len(sys.argv) > 3 else os.environ.get("DROPIN_SECONDS", "6"))
    binary = SERVERS[name][0] if name in SERVERS else "/usr/bin/lttng-sessiond"
    if not shutil.which(binary):
        print(f"{binary} is not installed")
        return 77
    with work_folder(name) as work:
        with open(work / "log", "w", encoding="utf-8") as log:
            try:
                print(run(name, folder, work, log, seconds))
                failed = 0
            except Wrong as wrong:
                print(f"{name}: {wrong}")
                failed = 1
        text = (work / "log").read_text(encoding="utf-8", errors="replace")
        print(text[-3000:])
        if "rtrcu:" not in text:
            print("the library has printed no counters")
            failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())
