# SPDX-License-Identifier: MIT OR Apache-2.0
"""Which fault each test of the interface sees: test/mutants/table.txt, a row a test, made by running.

A fault of the table is a function of the library that does nothing but what stands in the row, so that it fits whatever
becomes of the rest of the source:

    api_task Task.AParkedTaskIsWaitedForAndKnowsIt: reader_inside { return 0; }

The check builds each fault once and runs its tests, each of which must fail.  A test without a row fails the check too.
"""

import random
import re
import subprocess
import time

from mutation import checks, operators, seeded
from mutation.build import Changed, DoesNotCompile

DEFINITION = re.compile(r"^(?P<type>(?:static inline )?[a-z][\w ]*?[ *]+)(?P<name>\w+)\([^;{}]*?\)\n\{\n", re.M)
ROW = re.compile(r"(\w+) (\S+): (\w+) (\{ .* \})$")
LIMIT = 12.0
# Without these nothing works, so that they say nothing about a test.
VITAL = re.compile(r"init|^lock_|^plat_(?!print)|_slot_|_key|^drive_start|^drive_driver_of|^section_record|^api_own|"
                   r"_leaf|_node_at")
# Tried first: what grace periods, callbacks and tasks are for.
FIRST = [
    ("reader_inside", "{ return 0; }"), ("rtrcu_synchronize", "{ return; }"),
    ("rtrcu_synchronize_expedited", "{ return; }"), ("gp_reached", "{ return true; }"),
    ("rtrcu_call", "{ func(head); return; }"), ("rtrcu_call", "{ return; }"), ("rtrcu_barrier", "{ return; }"),
    ("section_task_park", "{ rtrcu_word_add(&rtrcu_self, (uint32_t)-section_nesting()); return 0; }"),
    ("rtrcu_config_set", "{ return 0; }"), ("rtrcu_configure", "{ return 0; }"), ("rtrcu_stats", "{ return 0; }"),
    ("plat_print", "{ return; }"), ("rtrcu_register_thread", "{ return 0; }"),
    ("rtrcu_process_callbacks", "{ return 0; }"), ("rtrcu_free", "{ return; }"),
    ("rtrcu_retire", "{ func(object); return 0; }"), ("rtrcu_retire", "{ return 0; }"),
]


class Functions:
    """Where every function of the library is defined."""

    def __init__(self, root):
        self.root = root
        self.places = {}
        for pattern in ("src/**/*.c", "include/rtrcu/*.h", "include/rtrcu/detail/*.h"):
            for file in sorted(root.glob(pattern)):
                text = file.read_text(encoding="utf-8")
                for match in DEFINITION.finditer(operators.blank(text)):
                    self.places[match.group("name")] = (str(file.relative_to(root)), match.end(), match.group("type"))

    def text_of(self, name, body):
        path, at, _ = self.places[name]
        text = (self.root / path).read_text(encoding="utf-8")
        return path, text[:at] + body[1:-1].strip() + "\n" + text[at:]

    def candidates(self):
        """Every public function of the rooms emptied, interface first; what returns nothing, zero, one."""
        order = ["src/api", "src/section", "src/drive", "src/callback", "include"]
        names = sorted(self.places, key=lambda name: (next((i for i, part in enumerate(order)
                                                            if self.places[name][0].startswith(part)), 9), name))
        for name in names:
            kind = self.places[name][2]
            static = kind.startswith("static ") and not self.places[name][0].startswith("include")
            if static or VITAL.search(name):
                continue
            bodies = ["{ return 0; }", "{ return 1; }"]
            if kind.strip() in ("void", "static inline void"):
                bodies = ["{ return; }"]
            elif "*" in kind:
                bodies.pop()  # no pointer
            for body in bodies:
                yield name, body


def programs(build):
    for file in sorted((build.root / "test" / "api").glob("*.cc")):
        program = build.folder / "test" / "api" / f"api_{file.stem}"
        if program.exists():
            yield program


def tests_of(program):
    """Names as --gtest_filter takes them; those of a parameterised test are one."""
    text = subprocess.run([program, "--gtest_list_tests"], check=True, capture_output=True, text=True).stdout
    suite, names = "", []
    for line in text.splitlines():
        line = line.split("#")[0].rstrip()
        if line.endswith(".") and not line.startswith(" "):
            suite = line
        elif line.startswith("  "):
            name = suite + re.sub(r"/.*", "/*", line.strip())
            if name not in names:
                names.append(name)
    return names


class Fault:
    """The library with one function emptied, and the programs that compile it in."""

    def __init__(self, run, functions, name, body):
        path, text = functions.text_of(name, body)
        self.path = path
        self.changed = Changed(run.build, {path: text}, run.scratch / f"{name}{abs(hash(body))}")

    def command(self, program, test):
        words = [str(program), f"--gtest_filter={test}"]
        if self.path.startswith("include/"):
            parts = (f"{program.name}.dir", f"{program.name}_c.dir")
            words[0] = str(self.changed.link(f"test/api/{program.name}", parts))
        return words, {"LD_LIBRARY_PATH": str(self.changed.library_folder())}

    def why_unseen_by(self, program, test):
        words, environment = self.command(program, test)
        return checks.why_unseen(lambda limit: checks.outcome_of(words, environment, limit),
                                 lambda limit: checks.outcome_of([str(program), *words[1:]], {}, limit), LIMIT)


def read(path):
    rows = {}
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            match = ROW.match(line)
            if match:
                rows[(match.group(1), match.group(2))] = (match.group(3), match.group(4))
    return rows


def gaps(build, functions, rows):
    """Tests without a row, rows without a test or a function, in words."""
    tests = {(program.name, test) for program in programs(build) for test in tests_of(program)}
    built = {program for program, _ in tests}
    wrong = [f"{program} {test}: no row" for program, test in sorted(tests - rows.keys())]
    wrong += [f"{program} {test}: no such test" for program, test in sorted(rows.keys() - tests) if program in built]
    wrong += [f"{program} {test}: no function {name}" for (program, test), (name, _) in sorted(rows.items())
              if name not in functions.places]
    return [f"test/mutants/table.txt: {what}; run tools/mutants --make-table" for what in wrong]


def check(run, rows):
    """Every test fails under its fault."""
    functions = Functions(run.build.root)
    wrong, seen, skipped = gaps(run.build, functions, rows), 0, 0
    if run.arguments.sample:
        print(f"a sample of {run.arguments.sample} rows, seed {run.arguments.seed}", flush=True)
        drawn = random.Random(run.arguments.seed).sample(sorted(rows), min(run.arguments.sample, len(rows)))
        rows = {key: rows[key] for key in drawn}
    for name, body in sorted(set(rows.values())):
        tests = [key for key, fault in rows.items() if fault == (name, body)]
        if name not in functions.places:
            continue
        fault = Fault(run, functions, name, body)
        for program, test in tests:
            why = fault.why_unseen_by(run.build.folder / "test" / "api" / program, test)
            seen += why is None
            skipped += why == checks.SKIPPED
            if why not in (None, checks.SKIPPED):
                wrong.append(f"{program} {test}: {name} {body}: {why}")
        print(f"{name} {body}: {len(tests)} tests", flush=True)
    wrong_seeded, seen_seeded, skipped_seeded = seeded.check(run, -(-run.arguments.sample // 4), run.arguments.seed)
    wrong += wrong_seeded
    seen += seen_seeded
    skipped += skipped_seeded
    if skipped and not seen:
        wrong.append(f"each of {skipped} tests was skipped, and nothing was looked at")
    wrong += [f"test/mutants/survivors.txt: the source has this no more: {what}"
              for what in run.known.misfits(run.build.root)]
    print("\n".join(wrong))
    print(f"table: {seen} tests fail as they should, {skipped} skipped, {len(wrong)} wrong, "
          f"{time.monotonic() - run.begun:.0f} s")
    return 1 if wrong else 0


def find(run, functions, faults, program, test):
    """The first fault that @test sees, among those that stopped other tests first."""
    candidates = [fault for fault in FIRST if fault[0] in functions.places]
    candidates += [fault for fault in functions.candidates() if fault not in candidates]
    first = set(FIRST)
    # What these tests are about stands in headers, which they compile in.
    folders = {"api_list": ("include/",), "api_readers": ("include/", "src/")}.get(program.name, ("src/",))
    for name, body in sorted(candidates, key=lambda fault: 0 if fault in first else
                             1 / (2 + faults[fault][1]) if fault in faults else 1):
        if not functions.places[name][0].startswith(folders):
            continue
        try:
            if (name, body) not in faults:
                faults[(name, body)] = [Fault(run, functions, name, body), 0]
            fault = faults[(name, body)]
            if fault[0].why_unseen_by(program, test) is None:
                fault[1] += 1
                return name, body
        except DoesNotCompile:
            faults[(name, body)] = [fault_of_nothing(), 0]
    return None


def fault_of_nothing():
    """Stands for a fault that does not compile."""
    class Nothing:
        @staticmethod
        def why_unseen_by(_program, _test):
            return "does not compile"
    return Nothing()


def make(run, path, rows):
    """Find a fault for every test that has none; rows are kept that name what is there."""
    functions = Functions(run.build.root)
    faults = {}
    tests = [(program, test) for program in programs(run.build) for test in tests_of(program)]
    names_now = {(program.name, test) for program, test in tests}
    rows = {key: fault for key, fault in rows.items() if key in names_now and fault[0] in functions.places}
    for program, test in tests:
        key = (program.name, test)
        if key in rows:
            continue
        found = find(run, functions, faults, program, test)
        print(f"{program.name} {test}: {' '.join(found) if found else 'NOTHING'}", flush=True)
        if found:
            rows[key] = found
            write(path, rows)
    write(path, rows)
    return 0


def write(path, rows):
    lines = ["# SPDX-License-Identifier: MIT OR Apache-2.0",
             "# Test by fault that it sees, made by `tools/mutants --make-table`; see test/README.md."]
    lines += [f"{key[0]} {key[1]}: {fault[0]} {fault[1]}" for key, fault in sorted(rows.items())]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def place(root):
    return root / "test" / "mutants" / "table.txt"


def table(run, make_it):
    path = place(run.build.root)
    return make(run, path, read(path)) if make_it else check(run, read(path))


def names(build):
    """Does the table name every test, and nothing else?"""
    wrong = gaps(build, Functions(build.root), read(place(build.root)))
    print("\n".join(wrong or ["each test has its row"]))
    return 1 if wrong else 0
