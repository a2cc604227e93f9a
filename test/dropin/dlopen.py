#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""The libraries that replace liburcu's, loaded by a running program: each alone, and all in one process.

usage: dlopen.py FOLDER

Their static thread-local storage must fit into the reserve that the C library keeps for libraries loaded late.
"""
import ctypes
import pathlib
import re
import subprocess
import sys
import threading

LIBRARIES = {"urcu-qsbr": "qsbr", "urcu-bp": "bp", "urcu-mb": "mb", "urcu-memb": "memb", "urcu": "memb"}
MOST_STATIC = 512


class Head(ctypes.Structure):
    _fields_ = [("next", ctypes.c_void_p), ("func", ctypes.c_void_p)]


Callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def use(library, flavour):
    def function(name, result=None, *arguments):
        found = getattr(library, f"urcu_{flavour}_{name}")
        found.restype, found.argtypes = result, arguments
        return found

    unregister = function("unregister_thread") if flavour != "bp" else lambda: None
    ran = []
    callback = Callback(ran.append)
    head = Head()

    def read():
        function("register_thread")()
        function("read_lock")()
        assert flavour == "qsbr" or function("read_ongoing", ctypes.c_int)() == 1
        function("read_unlock")()
        unregister()

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    function("call_rcu", None, ctypes.c_void_p, Callback)(ctypes.byref(head), callback)
    function("synchronize_rcu")()
    function("barrier")()
    assert ran == [ctypes.addressof(head)], ran
    for thread in threads:
        thread.join()


def blocks_of_threads(library, count):
    """Tests bp, whose threads never unregister."""
    blocks = set()

    def read():
        library.urcu_bp_read_lock()
        blocks.add(ctypes.c_void_p.in_dll(library, "urcu_bp_reader").value)
        library.urcu_bp_read_unlock()

    for _ in range(count):
        thread = threading.Thread(target=read)
        thread.start()
        thread.join()
    return len(blocks)


def take_keys(count):
    libc = ctypes.CDLL(None)
    for _ in range(count):
        assert libc.pthread_key_create(ctypes.byref(ctypes.c_uint()), None) == 0


def static_bytes(path):
    """The size of the thread-local storage, with the most that its alignment may add."""
    text = subprocess.run(["readelf", "-lW", path], check=True, capture_output=True, text=True).stdout
    found = re.search(r"^ *TLS( +0x[0-9a-f]+){4} 0x([0-9a-f]+) +R +0x([0-9a-f]+)", text, re.MULTILINE)
    return int(found[2], 16) if found else 0


def main():
    folder = pathlib.Path(sys.argv[1])
    if sys.argv[2:3] == ["late"]:
        take_keys(64)
        blocks = blocks_of_threads(ctypes.CDLL(str(folder / "liburcu-bp.so.8")), 256)
        assert blocks < 128, f"256 threads, one after the other, had {blocks} blocks"
        return
    if len(sys.argv) > 2:
        for name in sys.argv[2:]:
            use(ctypes.CDLL(str(folder / f"lib{name}.so.8")), LIBRARIES[name])
        return
    own = static_bytes(folder.parent / "librtrcu.so")
    for name in LIBRARIES:
        both = static_bytes(folder / f"lib{name}.so.8") + own
        assert 0 < both <= MOST_STATIC, f"{name}: {both} bytes of static thread-local storage, with librtrcu's"
    for names in [[name] for name in LIBRARIES] + [list(LIBRARIES), ["late"]]:
        subprocess.run([sys.executable, __file__, str(folder), *names], check=True, timeout=60)


main()
