#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Checks docs/stuck.md: runs each command on the program; each line that the page shows must be printed.

usage: page.py ROOT RTRCU STUCK     Numbers, and the names of the C library's functions, may differ.
"""

import os
import re
import shutil
import subprocess
import sys
import time


def blocks(page):
    """Each command with its output lines on the page."""
    with open(page, encoding="utf-8") as file:
        for block in re.findall(r"```console\n\$ (.*?)```", file.read(), re.S):
            command, *lines = block.rstrip("\n").split("\n")
            yield command, lines


VARIES = re.compile(r"0x[0-9a-f]+|(?<![\w-])\d[\d,]*(?:\.\d+)?(?: (?:µs|ms|s|min)\b)?|/\S*libc\.so\S*|\bread\b| +")


def pattern(line):
    """Matches any number in place of a number, any unit of time after it, and any function by which the C library
    waits.
    """
    at, text = 0, ""
    for match in VARIES.finditer(line.strip()):
        text += re.escape(line.strip()[at : match.start()])
        word, at = match.group(), match.end()
        if word.isspace():
            text += r"\s+"
        elif word.startswith("0x"):
            text += "0x[0-9a-f]+"
        elif word[0].isdigit():
            text += r"[\d,.]+( (µs|ms|s|min))?"
        else:
            text += r"\S+"
    return text + re.escape(line.strip()[at:])


def missing(lines, output):
    return [line for line in lines if not re.search(pattern(line), output)]


def run(command, root, rtrcu, pid):
    words = command.replace("PID", str(pid)).replace("SCRIPT", os.path.join(root, "tools/gdb/rtrcu-gdb.py"))
    words = re.sub(r"^rtrcu ", rtrcu + " ", words)
    done = subprocess.run(words, shell=True, capture_output=True, text=True, timeout=120)
    return done.stdout + done.stderr


def until_all(lines, look):
    """Repeats the command, since the program needs time to reach the state."""
    output = ""
    for _ in range(100):
        output = look()
        if not missing(lines, output):
            return
        time.sleep(0.1)
    sys.exit(f"the page shows what does not come: {missing(lines, output)}\n{output}")


def main(root, rtrcu, stuck):
    all_blocks = list(blocks(os.path.join(root, "docs/stuck.md")))
    log = os.path.join(os.getcwd(), "stuck.log")
    with open(log, "w", encoding="utf-8") as said:
        settings = os.environ | {"RTRCU_STALL_TIMEOUT_MS": "300"}
        program = subprocess.Popen([stuck, "600"], stdout=said, stderr=said, env=settings)
    try:
        for command, lines in all_blocks:
            tool = command.split()[0]
            if tool.startswith("RTRCU_"):
                until_all(lines, lambda: open(log, encoding="utf-8").read())
            elif tool == "rtrcu" or shutil.which(tool):
                until_all(lines, lambda command=command: run(command, root, rtrcu, program.pid))
            else:
                print(f"{tool}: not installed, not tested")
    finally:
        program.kill()
        program.wait()
    if len(all_blocks) < 4:
        sys.exit("the page has fewer commands than it had")


if __name__ == "__main__":
    main(*sys.argv[1:])
