# SPDX-License-Identifier: MIT OR Apache-2.0
"""Words: phrases that docs/style.md replaces, in comments, strings, pages and subjects of commits.

The phrases find about a third of the places that violate style.md.  A reader finds the rest.
"""

import os
import re
import subprocess

from tidy_rules import Finding
from tidy_rules.heads import is_code

# A phrase by its name, with the advice that a finding gives.
START = r"(?:^|[.;:,(] +|\b(?:and|or|but|by|of|for|to|from|than|where|when|if|as|that) )"
VERB = r"\b(?:is|are|was|were|has|have|had|does|do|may|must|can|cannot)\b"
PHRASES = {
    "who": (START + r"who(?:ever)? ", "name the thread, caller or reader"),
    "whom": (r"\bwhom(?:ever)?\b", "name the thread, caller or reader"),
    "what is": (START + r"what [a-z' ]{1,60}?" + VERB, "name the things"),
    "behind": (r"\bbehind\b", "say after, or where it is"),
    "said": (r"\b(?:is|are|was|were|be|been|not) (?:said|told)\b|\bsays? so\b", "say printed, reported"),
    "nobody": (r"\b(?:no|some|any|every)body\b", "name the thread, or say no thread"),
    "is there": (r"\b(?:is|are|was|were) (?:there|gone)\b(?! +(?:a|an|any|no)\b)", "say exists, has exited"),
    "lets go": (r"\b(?:lets? go|gives? back|at work|at rest|in the midst)\b", "say releases, runs, waits"),
}
PHRASES = {name: (re.compile(pattern, re.I), advice) for name, (pattern, advice) in PHRASES.items()}

PROSE = {".md", ".1", ".3", ".7"}
# Files that quote the phrases.
QUOTING = {"docs/style.md", "docs/decisions/0022-a-word-has-one-meaning.md", "tools/tidy_rules/words.py"}
STRING = re.compile(r'"((?:\\.|[^"\\\n]){12,})"')
COMMENT = re.compile(r"^\s*(?:#(?!\w)|\*|--)\s|(?:/\*|//).*|\"\"\".*")

NEWEST = 20  # number of commits that are checked
SUBJECT_MAX = 72
SAMPLE = "commits.log"  # a sample has the commits in a file: hash, subject and body, divided by lines of dashes


def texts(file):
    """Yields each line number with the text that a reader sees on the line."""
    prose = file.extension in PROSE
    if not prose and not file.is_c_like and not is_code(file):
        return
    comments = file.comments.split("\n") if file.is_c_like else None
    for number, line in enumerate(file.lines, 1):
        if prose:
            yield number, line
            continue
        strings = " ".join(STRING.findall(line))
        if comments is not None:
            yield number, f"{re.sub(r'^[ */]+', '', comments[number - 1].strip())} {strings}".strip()
        else:
            found = COMMENT.search(line)
            yield number, f"{found.group().strip(' #*') if found else ''} {strings}".strip()


def plain_words(tree):
    for file in tree.files:
        if file.path in QUOTING:
            continue
        for number, text in texts(file):
            for name, (pattern, advice) in PHRASES.items():
                if pattern.search(text):
                    message = f"`{name}`: {advice}; see How we write in docs/style.md"
                    place = file.lines[number - 1].strip()[:100].strip()
                    yield Finding(file.path, number, message, f"{file.path}: {name}: {place}")


def commits(tree):
    """Returns (hash, subject, body) of the newest commits, newest first."""
    if tree.exists(SAMPLE):
        entries = [entry.strip("\n").split("\n") for entry in re.split(r"^-+$", tree.by_path[SAMPLE].text, flags=re.M)]
        return [(entry[0], entry[1], "\n".join(entry[2:])) for entry in entries if len(entry) > 1]
    log = ["git", "-C", tree.root, "log", "--no-merges", f"-{NEWEST}", "--format=%h%x00%s%x00%b%x01"]
    answer = subprocess.run(log, capture_output=True, text=True, errors="replace", check=True).stdout
    entries = [entry.strip("\n").split("\0") for entry in answer.split("\1")]
    return [tuple(entry) for entry in entries if len(entry) == 3]


def commit_subjects(tree):
    for number, (name, subject, body) in enumerate(commits(tree), 1):
        wrong = [f"longer than {SUBJECT_MAX} characters"] if len(subject) > SUBJECT_MAX else []
        wrong += ["has a semicolon"] if ";" in subject else []
        wrong += ["names no room"] if not re.match(r"[\w./{},+ -]+: \S", subject) else []
        wrong += ["has no body"] if not body.strip() else []
        wrong += [f"`{phrase}`" for phrase, (pattern, _) in PHRASES.items() if pattern.search(subject)]
        if wrong:
            message = f"commit {name}: `{subject}`: {', '.join(wrong)}; see Commits in docs/style.md"
            yield Finding(SAMPLE, number, message, f"{name}")


def missing():
    """Returns the reason why commits cannot be read here, or None."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    return None if os.path.exists(os.path.join(root, ".git")) else "this is no git checkout"


commit_subjects.missing = missing

RULES = {"plain-words": plain_words, "commit-subjects": commit_subjects}
