#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""`rtrcu who --messages`: names for the addresses in messages of the library.

usage: messages.py RTRCU PROGRAM...     Each PROGRAM makes a mistake in configure_wrongly(), which the library reports.
"""

import os
import re
import subprocess
import sys
import tempfile

EVERY_FORM = """\
a line of the program's own from /usr/bin/true 0x{main:x}
rtrcu:   from the program 0x{main:x}
2026-01-01T00:00:00 host app[7]: rtrcu:     in system call 202 at the program 0x{main:x}: it went to sleep
rtrcu:     it waits for itself in f(), which it called inside that section at the program 0x{main:x}
rtrcu:     its section began at main+0x0 (./{name})
rtrcu:     thread 7 invokes them, and runs or has just run the program 0x{main:x}
rtrcu: the code of a callback of thread 7 is no longer in memory: the program 0x{main:x}; before dlclose(), unpublish
rtrcu: thread 7: 3 callbacks took 60 ms, the last one the function at the program 0x{main:x}; other callbacks wait
"""


def who(rtrcu, *arguments, log=None, code=0):
    done = subprocess.run([rtrcu, "who", *arguments], input=log, capture_output=True, text=True, timeout=60)
    expect(done.returncode == code, f"{arguments}: exit {done.returncode}, not {code}", done.stdout + done.stderr)
    return done.stdout if code == 0 else done.stdout + done.stderr


def expect(condition, what, output=""):
    if not condition:
        raise SystemExit(f"{what}\n{output}")


def address_of_main(program):
    symbols = subprocess.run(["nm", program], capture_output=True, text=True, check=True, timeout=60).stdout
    return int(re.search(r"^([0-9a-f]+) T main$", symbols, re.M).group(1), 16)


def check_program(rtrcu, program):
    said = subprocess.run([program], capture_output=True, text=True, timeout=60)
    expect(said.returncode == 0 and "from the program 0x" in said.stderr, "the program reports its mistake", said)
    text = who(rtrcu, "--messages", "-", "--program", program, log=said.stderr)
    expect(re.search(r"the program 0x\w+: configure_wrongly\+0x\w+ \(messages\.c:\d+\)$", text, re.M), "named", text)
    bare = re.sub(r": \w+\+0x\w+ \([^ ]+\)$", "", text, flags=re.M)
    expect(bare == said.stderr, "the log's own lines stay as they are", text)
    nameless = who(rtrcu, "--messages", "-", log=said.stderr, code=1)
    expect("pass its executable file by --program" in nameless, "without --program", nameless)


def check_forms(rtrcu, program):
    log = EVERY_FORM.format(main=address_of_main(program), name=os.path.basename(program))
    lines = who(rtrcu, "--messages", "-", "--program", program, log=log).splitlines()
    expect(lines[0] == log.splitlines()[0], "a line of the program's own stays as it is", lines)
    for line in lines[1:]:
        expect(re.search(r": main\+0(x0)? \(messages\.c:\d+\)$", line), "each form has its name", line)


def check_problems(rtrcu, program):
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "log")
        with open(log, "w", encoding="utf-8") as file:
            file.write("rtrcu:   from /not/here.so 0x12\nrtrcu:   from /not/here.so 0x13\nrtrcu:   from 0x7f0012\n")
        text = who(rtrcu, "--messages", log, code=1)
        expect(text.count("/not/here.so: ") == 1 and "copy the file" in text, "each absent file is named once", text)
        expect("generated while the program ran" in text, "code of no file", text)
        os.mkfifo(os.path.join(folder, "fifo"))
        text = who(rtrcu, "--messages", "-", log=f"rtrcu:   from {folder}/fifo 0x12\n", code=1)
        expect("fifo: not a regular file" in text, "a fifo is not waited for", text)
        text = who(rtrcu, "--messages", folder, code=2)
        expect("cannot be read (Is a directory)" in text, "a folder is no log", text)
        text = who(rtrcu, "--messages", os.path.join(folder, "absent"), code=2)
        expect("cannot be read (No such file" in text, "an absent log", text)
        text = who(rtrcu, "--messages", log, "--program", log, code=2)
        expect("cannot be read as a program" in text, "a log is no program", text)
    expect("excludes" in who(rtrcu, "--messages", "-", str(os.getpid()), log="", code=2), "a log and a process")
    expect("--messages" in who(rtrcu, code=2), "neither a process nor a log")


def main(rtrcu, *programs):
    for program in programs:
        check_program(rtrcu, program)
        check_forms(rtrcu, program)
    check_problems(rtrcu, programs[0])


if __name__ == "__main__":
    main(*sys.argv[1:])
