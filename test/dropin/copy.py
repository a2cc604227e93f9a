#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""A program that runs on our libraries and also has liburcu's own under another name.  The copy that is loaded first
has the readers; if that copy is not ours, this is reported.

usage: copy.py FOLDER STOCK PROGRAM

FOLDER has our libraries; STOCK is the folder of liburcu's; PROGRAM needs liburcu.so.8.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

NAME, OTHER = b"liburcu-memb.so.8\0", b"liburcu-copy.so.8\0"  # a name of the same length


def run(folder, program, preload):
    environment = {**os.environ, "LD_LIBRARY_PATH": str(folder), "DROPIN_COUNTERS": "1",
                   "LD_PRELOAD": ":".join(map(str, preload))}
    done = subprocess.run([program], env=environment, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0:
        print(f"does not hold: it runs with {preload}: {done.returncode}, {done.stderr}")
    return done.returncode == 0, done.stderr


def main():
    folder, stock, program = map(pathlib.Path, sys.argv[1:4])
    original = (stock / "liburcu-memb.so.8").read_bytes()
    assert NAME in original
    with tempfile.TemporaryDirectory() as other:
        copy = pathlib.Path(other, OTHER[:-1].decode())
        copy.write_bytes(original.replace(NAME, OTHER))
        runs, said = run(folder, program, [copy])
        told = f"rtrcu: urcu-memb: {copy} was loaded before" in said
        unused = "urcu-memb: 0 grace periods" in said
        runs_too, said_too = run(folder, program, [folder / "liburcu.so.8", copy])
        used = "has these names" not in said_too and "urcu-memb: 0 grace periods" not in said_too
    if not (told and unused):
        print(f"does not hold: a program that does not run on our library gets a message: {said}")
    if not used:
        print(f"does not hold: a program that finds our names first is on our library: {said_too}")
    sys.exit(0 if runs and runs_too and told and unused and used else 1)


main()
