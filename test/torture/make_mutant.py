# SPDX-License-Identifier: MIT OR Apache-2.0
"""Make the patched source files of a mutant: python3 make_mutant.py SPEC SOURCE_ROOT OUTPUT_ROOT.

A spec has lines `key: value` and edits:

    file: gp/machine.c          the file of src/ that the edits below change
    scenario: QSBR-MIX          the scenario that catches it; `seconds: 20`, how long it may take at most
    compile: gp/cookie.c        files that include a changed header, to be compiled anew (optional)
    killed: unit_gp Gp.A        in test/mutants: the unit test that fails, in place of a scenario
    says: gp_begin: #ifdef FOO  in test/litmus/arm/faults: words of what the orderings' checker prints, in place of one
    found: cookie sc random 400 in test/explore: scenario, memory, strategy, and schedules within which it is found
    missed: ...                 in test/explore: where it is not found
    layout: two_words           in test/explore: the reader word of aarch64
    --- find
    text that stands in the file exactly once
    --- replace
    what stands there instead
    --- end

Anything else than exactly one place is an error: the mutant no longer breaks what it says.
"""

import pathlib
import sys

KEYS = {"file", "scenario", "seconds", "compile", "what", "killed", "says", "found", "missed", "layout"}


class SpecError(Exception):
    pass


def parse(text):
    """Parses a spec; returns its keys, and its edits as tuples (file, find, replace)."""
    keys, edits, section = {}, [], None
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("--- "):
            section = line[4:].strip()
            if section == "find":
                edits.append([keys.get("file"), [], []])
            elif section not in ("replace", "end") or not edits:
                raise SpecError(f"line {number}: {line}: allowed are --- find, --- replace, --- end, in this order")
        elif section in ("find", "replace"):
            edits[-1][1 if section == "find" else 2].append(line)
        elif line.strip() and not line.startswith("#"):
            key, colon, value = line.partition(":")
            if not colon or key not in KEYS:
                raise SpecError(f"line {number}: {line}: allowed are the keys {', '.join(sorted(KEYS))}")
            keys[key] = value.strip()
    if not edits or any(edit[0] is None for edit in edits):
        raise SpecError("no edit, or an edit before any `file:`")
    return keys, [(name, "\n".join(find), "\n".join(replace)) for name, find, replace in edits]


def patched(edits, source_root):
    """Applies the edits; returns the changed files as a dictionary from name to text."""
    texts = {}
    for name, find, replace in edits:
        text = texts.get(name) or (source_root / name).read_text(encoding="utf-8")
        count = text.count(find)
        if count != 1:
            raise SpecError(f"src/{name} has the text to replace {count} times, it must be once:\n{find}\n"
                            "The source has moved on: adapt the mutant, so that it still breaks what it says.")
        texts[name] = text.replace(find, replace)
    return texts


def main(spec_name, source_root, output_root):
    try:
        _, edits = parse(pathlib.Path(spec_name).read_text(encoding="utf-8"))
        texts = patched(edits, pathlib.Path(source_root))
    except (OSError, SpecError) as error:
        print(f"{spec_name}: {error}", file=sys.stderr)
        return 1
    for name, text in texts.items():
        path = pathlib.Path(output_root) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("usage: make_mutant.py SPEC SOURCE_ROOT OUTPUT_ROOT")
    sys.exit(main(*sys.argv[1:]))
