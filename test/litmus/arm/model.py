# SPDX-License-Identifier: MIT OR Apache-2.0
"""The memory model of aarch64 over small programs: every execution, judged by the axioms.

After "Simplifying ARM Concurrency" (Pulte et al., POPL 2018) and the Arm architecture's own text, without mixed sizes,
instruction fetch and dependencies through addresses, which no shape uses.  A load-acquire is the weaker of the two that
compilers may choose (LDAPR: it may pass an earlier store-release).  A heavy fence is a full fence of its caller, and a
full fence of each other thread at some point of that thread, between the caller's accesses before and after the call.
"""

import dataclasses
import itertools


@dataclasses.dataclass(frozen=True)
class Event:
    """One step of a thread, as in the source.  @value: the stored value, or the addend for `add`."""

    kind: str  # read, write, set, or, and, add, cas, fence, heavy, only
    variable: str = ""
    value: int = 0
    expected: int = 0  # cas: the expected value
    register: str = ""
    orders: frozenset = frozenset()  # acquire, release; fence: a full fence follows the access
    text: str = ""


@dataclasses.dataclass(frozen=True)
class Access:
    """An access that an event made in one execution."""

    thread: int
    index: int  # in its thread
    reads: bool
    variable: str
    value: int
    orders: frozenset
    pair: int = 0  # links the two halves of a read-modify-write; 0 = none


UPDATES = {
    "set": lambda old, event: event.value,
    "or": lambda old, event: old | event.value,
    "and": lambda old, event: old & event.value,
    "add": lambda old, event: old + event.value,
    "cas": lambda old, event: event.value if old == event.expected else None,
}


def step(event, thread, seen, trace, registers):
    """Append the accesses that @event makes if it reads @seen."""
    trace, registers = list(trace), dict(registers)
    if event.register:
        registers[event.register] = seen
    if event.kind == "write":
        trace.append(Access(thread, len(trace), False, event.variable, event.value, event.orders))
    elif event.kind == "read":
        trace.append(Access(thread, len(trace), True, event.variable, seen, event.orders))
    elif event.kind in UPDATES:
        stored = UPDATES[event.kind](seen, event)
        pair = len(trace) + 1 if stored is not None else 0
        # the fence is a step of its own: it does not order accesses before the update
        orders = event.orders - {"fence"}
        trace.append(Access(thread, len(trace), True, event.variable, seen, orders - {"release"}, pair))
        if stored is not None:
            trace.append(Access(thread, len(trace), False, event.variable, stored, orders - {"acquire"}, pair))
        if "fence" in event.orders:
            trace.append(Access(thread, len(trace), False, "", 0, frozenset({"fence", "behind"})))
    elif event.kind in ("fence", "heavy"):
        trace.append(Access(thread, len(trace), False, "", 0, frozenset({event.kind, "fence"})))
    return trace, registers


def traces(events, thread, values):
    """All executions of the thread, for all values that its reads may see: (accesses, registers)."""
    found = [([], {})]
    for event in events:
        following = []
        for trace, registers in found:
            if registers.get("stopped"):
                following.append((trace, registers))
            elif event.kind == "only":  # continues only if the register has the value: a branch before all that follows
                stays = registers[event.register] in (event.value, event.expected)
                following.append((trace, registers if stays else {**registers, "stopped": 1}))
            else:
                reads = event.kind == "read" or event.kind in UPDATES
                for seen in sorted(values[event.variable]) if reads else [0]:
                    following.append(step(event, thread, seen, trace, registers))
        found = following
    return found


def possible_values(program):
    """The values that each variable may ever hold, extended until no new one is found."""
    values = {name: {value} for name, value in program.initial.items()}
    for _ in range(8):
        before = {name: set(held) for name, held in values.items()}
        for event in itertools.chain(*program.threads):
            if event.kind == "write":
                values[event.variable].add(event.value)
            for old in before.get(event.variable, ()) if event.kind in UPDATES else ():
                stored = UPDATES[event.kind](old, event)
                if stored is not None and stored < 16:
                    values[event.variable].add(stored)
        if values == before:
            break
    return values


def is_cyclic(edges, count):
    following = [[] for _ in range(count)]
    for a, b in edges:
        following[a].append(b)
    state = [0] * count
    for root in range(count):
        stack = [(root, iter(following[root]))] if state[root] == 0 else []
        state[root] = state[root] or 1
        while stack:
            node, rest = stack[-1]
            child = next(rest, None)
            if child is None:
                state[node] = 2
                stack.pop()
            elif state[child] == 1:
                return True
            elif state[child] == 0:
                state[child] = 1
                stack.append((child, iter(following[child])))
    return False


def orders_within(trace, first, branches):
    """Edges of one thread that every other thread sees; @first: number of its first access, @branches: indices of
    the reads on which a branch depends, for each access.
    """
    edges = set()
    for j, later in enumerate(trace):
        for i, earlier in enumerate(trace[:j]):
            held = "acquire" in earlier.orders or "release" in later.orders or "fence" in earlier.orders | later.orders
            held |= earlier.pair != 0 and earlier.pair == later.pair
            held |= not later.reads and later.variable != "" and i in branches[j]
            if held:
                edges.add((first + i, first + j))
    return edges


def judge(accesses, first, within, reads_from, order):
    """Whether this execution is allowed.  @reads_from: read -> write or None (the initial value); @order: variable ->
    its
    writes, oldest first.
    """
    count = len(accesses)
    place = {write: i for writes in order.values() for i, write in enumerate(writes)}
    same_place, external, atomic = set(), set(within), True
    for a, b in itertools.combinations(range(count), 2):
        if accesses[a].thread == accesses[b].thread and accesses[a].variable == accesses[b].variable != "":
            same_place.add((a, b))
    communication = set()
    for writes in order.values():
        communication |= set(itertools.combinations(writes, 2))
    for read, write in reads_from.items():
        if write is not None:
            communication.add((write, read))
        newer = [w for w in order.get(accesses[read].variable, ()) if write is None or place[w] > place[write]]
        communication |= {(read, w) for w in newer if w != read}
        half = accesses[read]
        if half.pair:  # its store directly follows the write that it read
            own = [w for w in newer if (accesses[w].thread, accesses[w].pair) == (half.thread, half.pair)]
            atomic &= [place[w] for w in own] == [0 if write is None else place[write] + 1]
    external |= {(a, b) for a, b in communication if accesses[a].thread != accesses[b].thread}
    return atomic and not is_cyclic(same_place | communication, count) and not is_cyclic(external, first)


def heavy_edges(traces_, starts, total):
    """Each choice of the points at which a heavy fence reaches the other threads: edges, and the number of nodes."""
    calls = [(t, i) for t, trace in enumerate(traces_) for i, a in enumerate(trace) if "heavy" in a.orders]
    reached = [(call, t) for call in calls for t in range(len(traces_)) if t != call[0]]
    for places in itertools.product(*[range(len(traces_[t]) + 1) for _, t in reached]):
        edges, node = set(), total
        for ((caller, at), t), place in zip(reached, places):
            for i in range(len(traces_[t])):
                edges.add((starts[t] + i, node) if i < place else (node, starts[t] + i))
            for i in range(len(traces_[caller])):
                if i != at:
                    edges.add((starts[caller] + i, node) if i < at else (node, starts[caller] + i))
            node += 1
        yield edges, node


@dataclasses.dataclass
class Program:
    initial: dict
    threads: list
    forbidden: list  # functions of (registers, final values)


def branches_of(events, trace):
    """For each access: indices of the reads that decide whether it happens."""
    deciding, out, readers = set(), [], {}
    events = iter(events)
    event = next(events, None)
    for i, access in enumerate(trace):
        while event is not None and event.kind == "only":
            deciding |= {readers[event.register]}
            event = next(events, None)
        out.append(frozenset(deciding))
        if event is not None and access.reads and event.register:
            readers[event.register] = i
        last_of_event = i + 1 == len(trace) or not belongs_together(access, trace[i + 1])
        if last_of_event:
            event = next(events, None)
    return out


def belongs_together(access, following):
    """Whether these are halves of an update, or an update and the fence after it."""
    if access.pair and following.pair == access.pair:
        return True
    return "behind" in following.orders


def outcomes(program):
    """Forbidden outcomes that the model allows: (number of the condition, registers)."""
    values = possible_values(program)
    ways = [traces(events, t, values) for t, events in enumerate(program.threads)]
    for combination in itertools.product(*ways):
        registers = {k: v for _, found in combination for k, v in found.items()}
        wanted = [i for i, condition in enumerate(program.forbidden) if condition(registers, None)]
        if wanted:
            yield from ((i, registers) for i in allowed(program, combination, registers, wanted))


def allowed(program, combination, registers, wanted):
    trace_list = [trace for trace, _ in combination]
    starts = list(itertools.accumulate([0] + [len(trace) for trace in trace_list[:-1]]))
    accesses = [access for trace in trace_list for access in trace]
    within = set()
    for t, trace in enumerate(trace_list):
        within |= orders_within(trace, starts[t], branches_of(program.threads[t], trace))
    writes = {}
    for i, access in enumerate(accesses):
        if not access.reads and access.variable:
            writes.setdefault(access.variable, []).append(i)
    choices, reads = [], []
    for i, access in enumerate(accesses):
        if access.reads:
            from_ = [w for w in writes.get(access.variable, ()) if accesses[w].value == access.value]
            from_ += [None] if program.initial[access.variable] == access.value else []
            reads.append(i)
            choices.append(from_)
    found = set()
    heavy = list(heavy_edges(trace_list, starts, len(accesses)))
    for sources in itertools.product(*choices):
        for order in itertools.product(*[list(itertools.permutations(w)) for w in writes.values()]):
            order = dict(zip(writes, order))
            final = {n: accesses[order[n][-1]].value if n in order else v for n, v in program.initial.items()}
            open_ = [i for i in wanted if i not in found and program.forbidden[i](registers, final)]
            if open_ and any(judge(accesses, nodes, within | edges, dict(zip(reads, sources)), order)
                             for edges, nodes in heavy):
                found |= set(open_)
    return found
