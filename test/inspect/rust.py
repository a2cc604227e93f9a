#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""`rtrcu top` and `rtrcu who` on a program in Rust, which contains a copy of the library.

usage: rust.py ROOT RTRCU FOLDER     FOLDER: where cargo builds.  Exits with 77 if no suitable cargo is installed.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time

from subject import Subject

SKIPPED = 77

MANIFEST = """[package]
name = "inside-rust"
edition = "2024"
[dependencies]
rtrcu = {{ path = "{root}/rust/rtrcu" }}
[workspace]
"""

PROGRAM = """
use std::io::Read;

#[inline(never)]
fn read_for_long() {
    let guard = rtrcu::read();
    let updater = std::thread::spawn(rtrcu::synchronize);
    println!("ready");
    let _ = std::io::stdin().read(&mut [0; 1]);
    drop(guard);
    updater.join().unwrap();
}

fn main() {
    read_for_long();
}
"""


def build(root, folder):
    """Builds the program; returns its path, or None if no suitable cargo is available."""
    cargo = shutil.which("cargo") or shutil.which(os.path.expanduser("~/.cargo/bin/cargo"))
    if not cargo:
        return None
    os.makedirs(os.path.join(folder, "src"), exist_ok=True)
    for name, text in (("Cargo.toml", MANIFEST.format(root=root)), ("src/main.rs", PROGRAM)):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    shutil.copy(os.path.join(root, "rust/Cargo.lock"), folder)
    done = subprocess.run([cargo, "build", "--offline"], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(done.stderr)
        return None if "offline" in done.stderr or "edition" in done.stderr else sys.exit("cargo build failed")
    return os.path.join(folder, "target/debug/inside-rust")


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False).stdout


def main(root, rtrcu, folder):
    path = build(root, folder)
    if path is None:
        return SKIPPED
    subject = Subject(path)
    for _ in range(300):  # until the updater waits
        domain = json.loads(run(rtrcu, "top", "--json", "-", "--interval", "0.1", str(subject.pid)))["rows"][0]
        if domain.get("holdouts") == 1:
            break
        time.sleep(0.05)
    once, who = run(rtrcu, "top", "--once", "--interval", "0.1"), run(rtrcu, "who", str(subject.pid))
    subject.end()
    if domain.get("holdouts") != 1 or not domain["private"] or domain["section_ns_max"] is not None:
        sys.exit(f"the copy in the program: {domain}")
    if not re.search(rf"^ *{subject.pid} +inside-rust ", once, re.M):
        sys.exit(f"not found by itself:\n{once}")
    if not re.search(rf"holdout: thread {subject.pid} .*nesting 1(.|\n)*read_for_long", who):
        sys.exit(f"who:\n{who}")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
