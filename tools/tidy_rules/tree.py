# SPDX-License-Identifier: MIT OR Apache-2.0
"""The files that tidy reads: their text, their code without comments, their comments without code."""

import functools
import os
import re
import subprocess

C_LIKE = {".c", ".h", ".cc", ".hh", ".cpp", ".hpp"}

# Comments, strings, raw strings and character literals, tried in this order at each place.  An apostrophe between
# digits is a separator of C++, not a literal.
TOKEN = re.compile(
    r"""(?P<comment>/\*.*?\*/|//[^\n]*)
      | (?P<raw>R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)")
      | (?P<string>"(?:\\.|[^"\\\n])*")
      | (?P<char>(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+')""",
    re.S | re.X,
)

# In a sample: `value++; // times 60` stands for 60 lines `value++;`.
REPEATED = re.compile(rb"^(.*?) *(?://|#|<!--) times (\d+)(?: -->)?$", re.M)


def blank(text):
    """Returns blank text with the same lines and columns."""
    return re.sub(r"[^\n]", " ", text)


class File:
    """One file of the tree; @path is relative to the root, with forward slashes."""

    def __init__(self, root, path, sample=False):
        self.path = path
        self.name = os.path.basename(path)
        self.parts = path.split("/")
        self.extension = os.path.splitext(path)[1]
        with open(os.path.join(root, path), "rb") as stream:
            self.bytes = stream.read()
        if sample:
            self.bytes = REPEATED.sub(lambda line: b"\n".join([line[1]] * int(line[2])), self.bytes)

    @functools.cached_property
    def text(self):
        return self.bytes.decode("utf-8", errors="replace")

    @functools.cached_property
    def lines(self):
        return self.text.split("\n")

    @property
    def is_c_like(self):
        return self.extension in C_LIKE

    @property
    def is_header(self):
        return self.extension in {".h", ".hh", ".hpp"}

    @functools.cached_property
    def _views(self):
        code, strings, comments = [], [], []
        end = 0
        for match in TOKEN.finditer(self.text):
            between = self.text[end : match.start()]
            token = match.group()
            is_comment = match.group("comment") is not None
            gap = blank(token)
            code += [between, gap if is_comment or len(token) < 2 else token[0] + gap[1:-1] + token[-1]]
            strings += [between, gap if is_comment else token]
            comments += [blank(between), token if is_comment else gap]
            end = match.end()
        rest = self.text[end:]
        return "".join(code) + rest, "".join(strings) + rest, "".join(comments) + blank(rest)

    @property
    def code(self):
        """The code: comments and the contents of strings are blank."""
        return self._views[0]

    @functools.cached_property
    def code_lines(self):
        return self.code.split("\n")

    @property
    def code_and_strings(self):
        return self._views[1]

    @property
    def comments(self):
        return self._views[2]

    @functools.cached_property
    def plain_code(self):
        """The code without preprocessor lines and their continuations."""
        return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda match: blank(match.group()), self.code, flags=re.M)

    def line_of(self, offset):
        return self.text.count("\n", 0, offset) + 1

    @functools.cached_property
    def comment_blocks(self):
        """Each comment as (first line, last line, text); // comments on consecutive lines are one."""
        blocks = []
        for match in TOKEN.finditer(self.text):
            if match.group("comment") is None:
                continue
            first = self.line_of(match.start())
            last = self.line_of(match.end())
            body = match.group()
            if blocks and body.startswith("//") and blocks[-1][2].startswith("//") and blocks[-1][1] == first - 1:
                blocks[-1] = (blocks[-1][0], last, blocks[-1][2] + "\n" + body)
            else:
                blocks.append((first, last, body))
        return blocks


def listed_files(root):
    """Returns the files that git knows or would add; without git (an unpacked archive), all that are not built."""
    command = ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "."]
    try:
        answer = subprocess.run(command, capture_output=True, check=True).stdout.decode()
        return sorted(set(filter(None, answer.split("\0"))))
    except (OSError, subprocess.CalledProcessError):
        found = []
        for folder, folders, names in os.walk(root):
            folders[:] = [name for name in folders if name not in {"build", "out", ".git"}]
            found += [os.path.relpath(os.path.join(folder, name), root) for name in names]
        return sorted(found)


class Tree:
    """A source tree.  The samples of test/tidy violate rules on purpose: each sample is a tree of its own."""

    def __init__(self, root, samples=False):
        self.root = os.path.abspath(root)
        self.files = []
        for path in listed_files(self.root):
            is_sample = path.startswith("test/tidy/") and not samples and path.count("/") > 2
            full = os.path.join(self.root, path)
            if not is_sample and os.path.isfile(full) and not os.path.islink(full):
                self.files.append(File(self.root, path, samples))
        self.by_path = {file.path: file for file in self.files}

    def exists(self, path):
        return path in self.by_path

    @functools.cached_property
    def c_files(self):
        return [file for file in self.files if file.is_c_like]

    def under(self, *folders):
        """Returns the C and C++ files below the named top folders."""
        return [file for file in self.c_files if file.parts[0] in folders]
