#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""This library's replacement headers have every name of the installed liburcu headers, of the same type, and every
field at the same place.

usage: headers.py DIFFERENCES INCLUDE... -- COMPILER...

INCLUDE: the folders of our headers, the first two with liburcu's names.  A compiler is a command of one word; its name
says whether it compiles C or C++. DIFFERENCES has one line for each intended difference, `NAME  why` or `HEADER:NAME
why`, where NAME is a pattern.
"""
import fnmatch
import itertools
import pathlib
import re
import subprocess
import sys
import tempfile

# The headers that a program includes, with the options for it.
FLAVOURS = [("urcu.h", []), ("urcu.h", ["-DRCU_MB"]), ("urcu-qsbr.h", []), ("urcu-bp.h", []),
            ("urcu/urcu-memb.h", []), ("urcu/urcu-mb.h", []), ("urcu/urcu-qsbr.h", []), ("urcu/urcu-bp.h", []),
            ("urcu/urcu-memb.h", ["-DURCU_API_MAP"]), ("urcu/urcu-qsbr.h", ["-DURCU_API_MAP"])]
PARTS = [("urcu-call-rcu.h", []), ("urcu-defer.h", []), ("urcu-flavor.h", []), ("urcu-pointer.h", []),
         ("urcu/static/pointer.h", []), ("urcu/static/urcu.h", []), ("urcu/map/urcu.h", ["-DRCU_MEMBARRIER"])]
NAMES = ["memb", "mb", "qsbr", "bp"]
READERS = ["read_lock", "read_unlock", "read_ongoing", "quiescent_state", "thread_offline", "thread_online",
           "dereference", "set_pointer", "xchg_pointer", "cmpxchg_pointer"]
INLINED = [[], ["-D_LGPL_SOURCE"]]
# Names that our headers may add.
OUR_NAMES = re.compile(r"_?(urcu|rcu|rtrcu|URCU|RTRCU)_|.*_(memb|mb|qsbr|bp)$")
# liburcu's files, also those that these headers do not replace: programs get their names from a flavour's header.
THEIRS = re.compile(r"/urcu[-/.]")
MARKER = re.compile(r'# \d+ "([^"]*)"')
DEFINE = re.compile(r"#(define|undef) (\w+)")
TYPE = re.compile(r"\b(?:struct|enum|union)\s+(\w+)\s*\{")
OBJECT = re.compile(r"\bextern\s+(?!\")[^;{}()]*?(\w+)\s*(?:__attribute__\s*\(\(.*\)\)\s*)?;")
FUNCTION = re.compile(r"/\* (.*?):\d+:\w+ \*/ (?:extern |static |inline )*(.*?);")
BESIDE = "the short names of liburcu's flavours and <rtrcu/rcu.h> are for different files"


class Headers:
    """A list of include folders."""

    def __init__(self, folders):
        self.options = [f"-I{folder}" for folder in folders]

    def names(self, header, options):
        """{name: (its kind, the file)} after `#include <header>`."""
        text = f"#include <stdbool.h>\n#include <{header}>\n"  # liburcu 0.15's <urcu-flavor.h> needs it
        with tempfile.NamedTemporaryFile() as prototypes:
            command = ["gcc", "-xc", "-std=gnu11", *self.options, *options, "-"]
            subprocess.run([*command, "-S", "-o", "/dev/null", "-aux-info", prototypes.name], input=text, text=True,
                           check=True)
            functions = pathlib.Path(prototypes.name).read_text(encoding="utf-8")
            done = subprocess.run([*command, "-E", "-dD"], input=text, text=True, check=True, capture_output=True)
        found = {}
        for file, lines in sections(done.stdout):
            for what, name in DEFINE.findall(lines):
                if what == "define":
                    found[name] = ("macro", file)
                else:
                    found.pop(name, None)
            plain = re.sub(r"^#.*$", "", lines, flags=re.M)
            found.update((name, ("type", file)) for name in TYPE.findall(plain))
            found.update((name, ("object", file)) for name in OBJECT.findall(plain))
        for file, prototype in FUNCTION.findall(functions):
            name = re.search(r"(\w+) \(", prototype).group(1)
            found.setdefault(name, (prototype, file))
        return found


def sections(text):
    """The preprocessor's output, by the file from which it is."""
    file, lines = "", []
    for line in text.splitlines():
        marker = MARKER.match(line)
        if marker:
            yield file, "\n".join(lines)
            file, lines = marker.group(1), []
        else:
            lines.append(line)
    yield file, "\n".join(lines)


class Check:
    def __init__(self, folders, differences):
        self.folders = [pathlib.Path(folder) for folder in folders]
        self.files = sorted({str(path.relative_to(folder)) for folder in self.folders[:2]
                             for path in folder.rglob("*.h")})
        self.differences = [line.split(None, 1)[0] for line in differences.read_text(encoding="utf-8").splitlines()
                            if line and not line.startswith("#")]
        self.readers = {f"urcu_{flavour}_{call}" for flavour, call in itertools.product(NAMES, READERS)}
        self.needed, self.problems, self.compared = set(), [], 0

    def complain(self, text):
        if text not in self.problems:
            self.problems.append(text)

    def is_meant(self, header, name):
        patterns = [pattern for pattern in self.differences
                    if fnmatch.fnmatchcase(f"{header}:{name}" if ":" in pattern else name, pattern)]
        self.needed.update(patterns)
        return bool(patterns)

    def compare(self, header, options):
        stock = Headers([]).names(header, options)
        ours = Headers(self.folders).names(header, options)
        where = f"{header} {' '.join(options)}".strip()
        for name, (what, file) in stock.items():
            if not THEIRS.search(file):
                continue
            self.compared += 1
            own = ours.get(name, (None, None))[0]
            # Inlined functions are replaced by a macro of the same name.
            is_reader = name in self.readers and own and "macro" in (own, what)
            if own != what and not is_reader and not self.is_meant(header, name):
                self.complain(f"{where}: {what} {name} is {own or 'missing'}")
        for name, (what, file) in ours.items():
            added = name not in stock and any(file.startswith(f"{folder}/") for folder in self.folders)
            if added and not OUR_NAMES.match(name) and not self.is_meant(header, name):
                self.complain(f"{where}: {what} {name} is no name of liburcu's")

    def compare_layouts(self, folder):
        said = {}
        for headers in (Headers([]), Headers(self.folders)):
            program = pathlib.Path(folder) / "layout"
            source = pathlib.Path(__file__).parent / "layout.c"
            subprocess.run(["gcc", *headers.options, "-Wall", "-Wextra", "-Werror", "-o", program, source,
                            "-lurcu-memb"], check=True)
            done = subprocess.run([program], check=True, capture_output=True, text=True)
            said[headers] = set(done.stdout.splitlines())
        stock, ours = said.values()
        self.compared += len(stock)
        for line in sorted(stock ^ ours):
            self.complain(f"{line}, says {'liburcu' if line in stock else 'this library'} alone")

    def compile(self, compiler, headers, options, sentence=None):
        """Complains unless the compiler prints nothing; with @sentence, unless it prints the one error @sentence."""
        cxx = "++" in pathlib.Path(compiler).name
        language = ["-xc++", "-std=gnu++17"] if cxx else ["-xc", "-std=gnu11"]
        text = "".join(f"#include <{header}>\n" for header in headers)
        command = [compiler, *language, "-Wall", "-Wextra", "-Wshadow", "-Wundef", "-fsyntax-only",
                   *(f"-I{folder}" for folder in self.folders), *options, "-"]
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False,
                              env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"})
        count = sum(" error: " in line or " warning: " in line for line in done.stderr.splitlines())
        if count != (1 if sentence else 0) or (sentence and sentence not in done.stderr):
            self.complain(f"{compiler} {' '.join(options)}: {' then '.join(headers)}\n{done.stderr[:1500]}")

    def compile_all(self, compiler):
        for file, inlined in itertools.product(self.files, INLINED):
            if "signal" in file:
                self.compile(compiler, [file], inlined, "rtrcu has no urcu-signal")
            else:
                self.compile(compiler, [file], inlined)
        natives = ["rtrcu/rcu.h", "rtrcu/urcu.h", "rtrcu/list.h"]
        for (header, options), native, inlined in itertools.product(FLAVOURS, natives, INLINED):
            sentence = BESIDE if "/" not in header or "-DURCU_API_MAP" in options else None
            self.compile(compiler, [header, native], options + inlined, sentence)
            self.compile(compiler, [native, header], options + inlined, sentence)


def main():
    split = sys.argv.index("--")
    check = Check(sys.argv[2:split], pathlib.Path(sys.argv[1]))
    for (header, options), inlined in itertools.product(FLAVOURS + PARTS, INLINED):
        if "/static/" in header and not inlined:
            continue  # a program that includes it directly gets all functions inlined
        check.compare(header, options + inlined)
    with tempfile.TemporaryDirectory() as folder:
        check.compare_layouts(folder)
    for compiler in sys.argv[split + 1:]:
        check.compile_all(compiler)
    print("\n".join(check.problems))
    print(f"{check.compared} names and places compared; meant to differ: {', '.join(sorted(check.needed))}")
    return 1 if check.problems else 0


sys.exit(main())
