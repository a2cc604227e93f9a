# SPDX-License-Identifier: MIT OR Apache-2.0
"""Builds the programs of a mutant: compiles the one file that changed, and links the requested programs.

Everything else is taken from a finished build of the tree. A changed header means every file that includes it, those of
the tests too.
"""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import threading

LIBRARY = "rtrcu_objects.dir"
# The static library in which all names are visible; a changed object is linked with it.
INTERNALS = "librtrcu_internals.a"
SHARED = re.compile(r"librtrcu\.so\.\d[\d.]*$")
EXPLORED = "explore_library.dir"
# The compilers of the supported processors, if this machine has them.
SHIPPED = ("cc", "aarch64-linux-gnu-gcc")


class DoesNotCompile(Exception):
    pass


def is_installed(path):
    return path.startswith("include/")


class Build:
    """A complete build of the tree, as CMake and ninja describe it."""

    def __init__(self, root, folder):
        self.root = pathlib.Path(root)
        self.folder = pathlib.Path(folder)
        with open(self.folder / "compile_commands.json", encoding="utf-8") as stream:
            self.entries = {}
            for entry in json.load(stream):
                words = shlex.split(entry["command"])
                self.entries[words[words.index("-o") + 1]] = words
        self.links = {}
        self.includes = {}

    @staticmethod
    def missing_compilers():
        return [compiler for compiler in SHIPPED if not shutil.which(compiler)]

    def link_command(self, target):
        """Returns the command that links @target, relative to the build folder."""
        if target not in self.links:
            text = subprocess.run(["ninja", "-C", self.folder, "-t", "commands", target], check=True,
                                  capture_output=True, text=True).stdout.strip().splitlines()[-1]
            words = [word for word in shlex.split(text) if word not in (":", "&&")]
            self.links[target] = words
        return list(self.links[target])

    def parts_of(self, target):
        """Returns the folders of the objects in the command that links @target."""
        return {self.part(word) for word in self.link_command(target) if word in self.entries}

    def shared_library(self):
        """Returns the target of the shared library, and its soname."""
        target = max((file.name for file in self.folder.iterdir() if SHARED.match(file.name)), key=len)
        prefix = "-Wl,-soname,"
        return target, next(word[len(prefix):] for word in self.link_command(target) if word.startswith(prefix))

    def objects_of(self, path, parts):
        """Returns the objects that are compiled from @path or include it, of targets whose folder is in @parts."""
        if path.endswith(".c"):
            ending = "/" + path + ".o"
            return [name for name in self.entries if name.endswith(ending) and self.part(name) in parts]
        if not self.includes:
            self.read_includes()
        return [name for name in self.includes.get(path, []) if self.part(name) in parts]

    def read_includes(self):
        text = subprocess.run(["ninja", "-C", self.folder, "-t", "deps"], check=True, capture_output=True,
                              text=True).stdout
        name = None
        for line in text.splitlines():
            if line and not line.startswith(" "):
                name = line.split(":")[0]
            elif line.strip():
                file = os.path.normpath(os.path.join(self.folder, line.strip()))
                if file.startswith(str(self.root)) and name in self.entries:
                    self.includes.setdefault(os.path.relpath(file, self.root), []).append(name)

    @staticmethod
    def part(name):
        return next((word for word in name.split("/") if word.endswith(".dir")), "")

    def compile(self, name, tree, out):
        """Compiles object @name, with sources from @tree if it has them, otherwise from the original tree."""
        words = list(self.entries[name])
        source = os.path.relpath(words[words.index("-c") + 1], self.root)
        words = [word for word in words if word not in ("-g", "-g1", "-Werror")]
        words[words.index("-o") + 1] = str(out)
        words[words.index("-c") + 1] = self.place_of(source, tree)
        words[1:1] = ["-w", f"-I{tree}/include", f"-I{tree}/src"]
        if self.part(name).startswith("explore_"):  # what the simulation shadows comes before everything
            words[1:1] = [f"-I{self.root}/test/sim"]
        if self.part(name) == LIBRARY:  # as the asan variant does
            words[1:1] = ["-fsanitize=bounds", "-fsanitize-undefined-trap-on-error"]
        return self.compiled(words, tree, out)

    def compile_shipped(self, name, compiler, tree, out):
        """Compiles object @name of the library as it is installed: optimized, without the checks of debug builds."""
        words = [word for word in self.entries[name] if not re.match(r"-(?:g\d?|Og|Werror|DRTRCU_DEBUG=1)$", word)]
        source = os.path.relpath(words[words.index("-c") + 1], self.root)
        return self.optimized(words, source, compiler, tree, out)

    def compile_header(self, path, defines, compiler, tree, out):
        """Compiles all functions of an installed header, also those that no code calls."""
        words = ["", "-std=gnu11", "-fkeep-inline-functions", *defines, "-x", "c", "-I", str(self.root / "include"),
                 "-o", "", "-c", ""]
        return self.optimized(words, path, compiler, tree, out)

    def optimized(self, words, source, compiler, tree, out):
        words[0] = compiler
        words[words.index("-o") + 1] = str(out)
        words[words.index("-c") + 1] = self.place_of(source, tree)
        words[1:1] = ["-O2", "-w", f"-I{tree}/include", f"-I{tree}/src"]
        return self.compiled(words, tree, out)

    def place_of(self, source, tree):
        return source if (tree / source).exists() else str(self.root / source)

    @staticmethod
    def compiled(words, tree, out):
        out.parent.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(words, cwd=tree, capture_output=True, text=True, check=False)
        if done.returncode:
            raise DoesNotCompile(done.stderr)
        return out


class Changed:
    """The objects and programs of one mutant, which are built in a scratch folder when a check needs them."""

    def __init__(self, build, texts, scratch):
        self.build = build
        self.paths = list(texts)
        self.scratch = pathlib.Path(scratch)
        self.tree = self.scratch / "tree"
        for path, text in texts.items():
            (self.tree / path).parent.mkdir(parents=True, exist_ok=True)
            (self.tree / path).write_text(text, encoding="utf-8")
        self.made = {}
        self.linked = {}
        self.shipped = {}
        self.library = None
        self.lock = threading.RLock()  # the original's is used by several workers

    def library_folder(self):
        """Returns the folder of the shared library with the change, which is linked once."""
        with self.lock:
            if self.library is None:
                target, name = self.build.shared_library()
                self.library = self.link(target, (LIBRARY,)).parent
                (self.library / name).symlink_to(target)
            return self.library

    def objects(self, parts):
        """Returns, for every object that differs from the original, its original name and its new file."""
        result = {}
        with self.lock:
            for name in {name for path in self.paths for name in self.build.objects_of(path, parts)}:
                if name not in self.made:
                    out = self.scratch / "objects" / name
                    self.made[name] = self.build.compile(name, self.tree, out)
                result[name] = self.made[name]
        return result

    def is_same_as(self, other, parts):
        mine, theirs = self.objects(parts), other.objects(parts)
        return all(mine[name].read_bytes() == theirs[name].read_bytes() for name in mine)

    def is_installed(self):
        """Returns true if the change is in an installed header."""
        return any(map(is_installed, self.paths))

    def ships_the_same_as(self, other, compilers=SHIPPED):
        """Returns true if installed objects equal the other's, for every processor whose compiler this machine has."""
        mine, theirs = self.shipped_objects(compilers), other.shipped_objects(compilers)
        return all(mine[key].read_bytes() == theirs[key].read_bytes() for key in mine if key[0] in compilers)

    def shipped_objects(self, compilers):
        with self.lock:
            for compiler in filter(shutil.which, compilers):
                for path in self.paths:
                    self.ship(path, compiler, self.scratch / "shipped" / compiler)
            return self.shipped

    def ship(self, path, compiler, folder):
        if is_installed(path):
            for defines in ((), ("-DRTRCU_DEBUG=1",)):
                if (compiler, path, defines) not in self.shipped:
                    out = folder / "".join([path, *defines, ".o"])
                    self.shipped[compiler, path, defines] = self.build.compile_header(path, defines, compiler,
                                                                                      self.tree, out)
            return
        for name in self.build.objects_of(path, (LIBRARY,)):
            if (compiler, name) not in self.shipped:
                self.shipped[compiler, name] = self.build.compile_shipped(name, compiler, self.tree, folder / name)

    def link(self, target, parts):
        """Links @target, once.  Its own changed objects replace the originals; the library's precede all others."""
        with self.lock:
            if target not in self.linked:
                self.linked[target] = self.link_anew(target, parts)
            return self.linked[target]

    @staticmethod
    def finished(words):
        return words

    def link_anew(self, target, parts):
        words = self.build.link_command(target)
        words = [INTERNALS if word == "librtrcu.a" else word for word in words]
        out = self.scratch / pathlib.Path(target).name
        words[words.index("-o") + 1] = str(out)
        out.parent.mkdir(parents=True, exist_ok=True)
        ahead = []
        for name, file in self.objects(parts).items():
            if name in words:
                words[words.index(name)] = str(file)
            elif self.build.part(name) == LIBRARY:
                ahead.append(str(file))
        words[1:1] = [*ahead, "-Wl,-S"]
        done = subprocess.run(self.finished(words), cwd=self.build.folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise DoesNotCompile(done.stderr)
        return out
