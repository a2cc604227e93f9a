#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""`rtrcu dropin`: runs a program on the libraries that replace liburcu's, and refuses programs that these do not reach.

usage: command.py RTRCU PROGRAM FIXED [OTHER]

PROGRAM was built for liburcu, and fails on liburcu's own libraries; FIXED has liburcu's folder as its DT_RPATH; OTHER
was built for a flavour that has no counterpart here.
"""
import os
import pathlib
import shutil
import stat
import struct
import subprocess
import sys
import tempfile

# A program that loads plugins: it needs no flavour when it starts, and loads one later.
HOST = [sys.executable, "-c", "import ctypes\nctypes.CDLL('liburcu-memb.so.8')\n"
        "assert 'librtrcu' in open('/proc/self/maps').read()"]
# struct vfs_cap_data of <linux/capability.h>, revision 2, effective: CAP_NET_BIND_SERVICE.
CAPABILITY = struct.pack("<5I", 0x02000001, 1 << 10, 0, 0, 0)


def give_capability(path):
    """Gives the file a capability.  Returns False if this user or file system cannot set it."""
    try:
        os.setxattr(path, "security.capability", CAPABILITY)
    except OSError as error:
        print(f"no file capabilities here, which are not tested: {error}")
        return False
    return True


def main():
    rtrcu, program, fixed = sys.argv[1:4]
    wrong = 0

    def expect(what, arguments, code, *said):
        nonlocal wrong
        environment = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
        done = subprocess.run([rtrcu, "dropin", *arguments], env=environment, capture_output=True, text=True,
                              timeout=50, check=False)
        missing = [text for text in said if text not in done.stderr]
        if done.returncode != code or missing:
            print(f"does not hold: {what}; status {done.returncode}, missing {missing}, said: {done.stderr}")
            wrong += 1

    expect("a program runs", [program], 0, "rtrcu: runs ", "LD_LIBRARY_PATH=")
    expect("its counters are printed", ["--counters", program], 0, "urcu-memb: ", " grace periods")
    expect("its arguments and its status are its own", [program, "1"], -6, "failed: ")
    expect("nothing is named", [], 2, "the program to run is missing")
    expect("what does not exist", ["/nowhere/program"], 2, "the program does not exist")
    expect("a program without liburcu", ["true"], 2, "needs none of liburcu's")
    expect("a host of plugins is refused", HOST, 2, "needs none of liburcu's", "--anyway")
    expect("a host of plugins runs if it is asked for", ["--anyway", *HOST], 0, "rtrcu: runs ",
           "may not use the drop-in")
    expect("a program whose DT_RPATH names liburcu's folder", [fixed], 2, "the loader would take ",
           "liburcu-memb.so.8 for liburcu-memb.so.8: a DT_RPATH")
    expect("a program that does not exist is not run either way", ["--anyway", "/nowhere/program"], 2,
           "the program does not exist")
    for other in sys.argv[4:]:
        expect("a program of another flavour", [other], 2,
               "the program needs liburcu-signal, which no drop-in library replaces")
    with tempfile.TemporaryDirectory() as folder:
        ran = pathlib.Path(folder, "ran")
        script = pathlib.Path(folder, "it's a script")
        script.write_text(f"#!/bin/sh\ntouch '{ran}'\n", encoding="utf-8")
        script.chmod(0o755)
        expect("a script", [str(script)], 2, "the program is a script")
        quoted = pathlib.Path(folder, "it's a program")
        shutil.copy(program, quoted)
        expect("a name that a shell would take apart", [str(quoted)], 0, "rtrcu: runs ")
        if give_capability(quoted):
            expect("a program with file capabilities", [str(quoted)], 2, "file capabilities")
            os.removexattr(quoted, "security.capability")
        quoted.chmod(quoted.stat().st_mode | stat.S_ISUID)
        expect("a set-user-ID program", [str(quoted)], 2, "set-user-ID")
        if ran.exists():
            print("does not hold: a refused program does not run")
            wrong += 1
    sys.exit(1 if wrong else 0)


main()
