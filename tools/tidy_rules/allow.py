# SPDX-License-Identifier: MIT OR Apache-2.0
"""Lists of findings that a rule still allows, because they are older than the rule.

Each line of tools/tidy_rules/RULE.allow is an entry: the name that the rule gives to a finding.  An entry that matches
no finding is a violation too, so the lists shrink.
"""

import os

from tidy_rules import Finding

FOLDER = "tools/tidy_rules"
HEAD = """\
# SPDX-License-Identifier: MIT OR Apache-2.0
# Findings that {name} allows, since they are older.  tools/tidy --renew-allowed shortens the list.
"""


def path_of(name):
    return f"{FOLDER}/{name}.allow"


def entries(tree, name):
    """Returns each entry of the rule's list, with its line."""
    if not tree.exists(path_of(name)):
        return {}
    lines = tree.by_path[path_of(name)].lines
    return {line.strip(): number for number, line in enumerate(lines, 1) if line.strip() and not line.startswith("#")}


def apply(tree, name, findings):
    """Yields the findings that the list does not allow, and the list's entries that match no finding."""
    allowed = entries(tree, name)
    findings = sorted(set(findings))
    matched = {finding.entry for finding in findings}
    left = [finding for finding in findings if not finding.entry or finding.entry not in allowed]
    for entry, line in allowed.items():
        if entry not in matched:
            left.append(Finding(path_of(name), line, f"`{entry}` matches no finding; delete the line"))
    return left


def renew(tree, name, findings):
    """Rewrites the rule's list from the present findings.  Writes nothing, and returns false, if it would grow."""
    before = entries(tree, name)
    now = sorted({finding.entry for finding in findings if finding.entry})
    if not before or len(now) > len(before):
        return not now or now == sorted(before)
    path = os.path.join(tree.root, path_of(name))
    if not now:
        os.remove(path)
        return True
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(HEAD.format(name=name) + "".join(f"{entry}\n" for entry in now))
    return True
