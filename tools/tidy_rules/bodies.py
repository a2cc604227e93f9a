# SPDX-License-Identifier: MIT OR Apache-2.0
"""Functions: their length; headers contain only inline functions; no .c file is included."""

import ast
import re

from tidy_rules import Finding
from tidy_rules.heads import is_code
from tidy_rules.scan import scan

CAP = 60
MAY_STAND_IN_HEADER = re.compile(r"\b(inline|constexpr|consteval|template|concept)\b")
INCLUDED_SOURCE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">]+\.(?:c|cc|cpp))[">]', re.M)


def too_long(file, name, first, last):
    return Finding(file.path, first, f"{name}() has {last - first + 1} lines, above the limit of {CAP}; split it")


def python_functions(file):
    try:
        module = ast.parse(file.text)
    except SyntaxError as error:
        yield Finding(file.path, error.lineno or 1, f"does not parse: {error.msg}; correct it")
        return
    for node in ast.walk(module):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if node.end_lineno - node.lineno + 1 > CAP:
                yield too_long(file, node.name, node.lineno, node.end_lineno)


def function_length(tree):
    for file in tree.files:
        if file.is_c_like:
            for function in scan(file).functions:
                if function.last - function.first + 1 > CAP:
                    yield too_long(file, function.name, function.first, function.last)
        elif file.extension == ".py" or is_code(file) and "python" in file.lines[0]:
            yield from python_functions(file)


def header_bodies(tree):
    for file in tree.c_files:
        if not file.is_header:
            continue
        for function in scan(file).functions:
            if not function.in_class and not MAY_STAND_IN_HEADER.search(function.head):
                message = f"{function.name}() has its body in a header and is not inline; move the body to a source"
                yield Finding(file.path, function.first, message)


def included_sources(tree):
    for file in tree.c_files:
        for match in INCLUDED_SOURCE.finditer(file.code_and_strings):
            message = f"includes {match.group(1)}; compile it by itself and include its header"
            yield Finding(file.path, file.line_of(match.start(1)), message)


RULES = {"function-length": function_length, "header-bodies": header_bodies, "included-sources": included_sources}
