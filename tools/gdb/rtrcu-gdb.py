# SPDX-License-Identifier: MIT OR Apache-2.0
"""gdb commands for the library: `rtrcu gp`, `rtrcu threads`, `rtrcu callbacks`, and printers of its public structs.

They read the block that docs/inspect.md describes, so they work on live processes and core files, stripped or not.  gdb
loads this file if it is installed with the library; otherwise use: source rtrcu-gdb.py
"""

import struct

import gdb
import gdb.printing

NOTE_INSIDE = 0x7269
KINDS = ("normal", "expedited")
NESTING, ONLINE = 0xFFFFF, 0x100000
MOST_LEAVES, SLOTS, MOST_TASKS = 32768, 32, 4096


def memory(address, count):
    """Returns bytes of the program's memory, or None."""
    try:
        return bytes(gdb.selected_inferior().read_memory(address, count))
    except gdb.MemoryError:
        return None


def number(address, count=8):
    data = memory(address, count) if address else None
    return int.from_bytes(data, "little") if data else 0


def text(address, most=48):
    found = b""
    while address and len(found) < most:
        byte = memory(address + len(found), 1)
        if not byte or byte == b"\0":
            break
        found += byte
    return found.decode(errors="replace")


def objects():
    """Returns the addresses at which files are mapped from their beginning, and their names."""
    found = {}
    for line in gdb.execute("info proc mappings", to_string=True).splitlines():
        words = line.split()
        if len(words) >= 5 and words[0].startswith("0x") and words[3] == "0x0" and words[-1].startswith("/"):
            found.setdefault(int(words[0], 16), words[-1])
    return found


def notes(base):
    """Yields name, type, address and contents of each note of the object that is mapped at an address."""
    head = memory(base, 64)
    if not head or head[:5] != b"\x7fELF\x02":
        return
    at, size, count = struct.unpack_from("<Q", head, 32)[0], *struct.unpack_from("<HH", head, 54)
    segments = [struct.unpack_from("<IIQQQQQQ", memory(base + at + i * size, size) or bytes(56)) for i in range(count)]
    loads = [segment for segment in segments if segment[0] == 1 and segment[2] < 4096]
    linked = (loads[0][3] - loads[0][2]) & ~4095 if loads else 0
    for segment in segments:
        data = memory(base - linked + segment[3], segment[6]) if segment[0] == 4 else None
        place = 0
        while data and place + 12 <= len(data):
            name_size, size, kind = struct.unpack_from("<III", data, place)
            start = place + 12 + (name_size + 3 & ~3)
            name, where = data[place + 12 : place + 12 + name_size], base - linked + segment[3] + start
            yield name, kind, where, data[start:][:size]
            place = start + (size + 3 & ~3)


class Block:
    """The fields that one copy of the library describes to other processes."""

    def __init__(self, address, name):
        self.object = name
        head = memory(address, 128)
        if not head or head[:8] != b"rtrcu-in":
            raise gdb.GdbError(f"{name}: the process has not finished loading the library")
        self.version, _, size, tables = struct.unpack_from("<IIII", head, 8)
        if self.version != 1:
            raise gdb.GdbError(f"{name}: a block of version {self.version}; these commands read version 1")
        self.first, self.seq_first, self.seq_step = struct.unpack_from("<QQQ", head, 88)
        self.library = head[112:128].split(b"\0")[0].decode()
        self.fields = {}
        for i in range(tables):
            self.add_table(struct.unpack_from("<Q", head, 24 + 8 * i)[0], size)

    def add_table(self, address, size):
        first, count = number(address), number(address + 8)
        data = memory(first, count * size) or b""
        for place in range(0, len(data), size):
            name = data[place : place + 32].split(b"\0")[0].decode()
            self.fields[name] = struct.unpack_from("<IIII", data, place + 32)

    def at(self, base, name, index=0):
        """Returns the address of a field; 0: this library does not describe the field."""
        if not base or name not in self.fields:
            return 0
        return base + self.fields[name][0] + index * self.fields[name][2]

    def word(self, base, name, index=0):
        return number(self.at(base, name, index), min(self.fields.get(name, (0, 8))[1], 8))

    def domains(self):
        at = number(self.first)
        while at:
            if self.word(at, "domain.initialized"):
                yield at
            at = self.word(at, "domain.next")

    def name_of(self, domain):
        return text(self.word(domain, "domain.name")) or ("native" if domain == number(self.first) else hex(domain))


def blocks():
    found = {}
    for base, name in objects().items():
        for owner, kind, address, contents in notes(base):
            if owner == b"rtrcu\0" and kind == NOTE_INSIDE and len(contents) >= 16:
                block = address + 8 + struct.unpack_from("<q", contents, 8)[0]
                found.setdefault(block, name)
    if not found:
        raise gdb.GdbError("this program does not run the library, or has not been started")
    return [Block(block, name) for block, name in found.items()]


class Domain:
    """A domain, with its grace-period machines and its slots."""

    def __init__(self, block, address):
        self.block, self.address, self.name = block, address, block.name_of(address)
        self.machines = [block.at(block.at(address, "domain.gp"), "gp.machine", kind) for kind in range(2)]
        self.seqs = [block.word(machine, "machine.seq") for machine in self.machines]
        self.running = [seq % block.seq_step != 0 for seq in self.seqs]
        registry = block.at(address, "domain.registry")
        leaves = min(block.word(registry, "registry.leaf_count"), MOST_LEAVES)
        self.leaves = [block.word(registry, "registry.leaf", i) for i in range(leaves)]

    def owing(self, leaf_index, kind):
        """Returns the slots of a leaf for which grace periods of this kind wait, as bits; bit 32: parked tasks."""
        block = self.block
        nodes = block.word(block.at(self.address, "domain.gp"), "gp.leaf_node")
        word = block.word(nodes + leaf_index * block.fields["gp.leaf_node"][2], "node.word", kind)
        same = word >> 34 == (self.seqs[kind] // block.seq_step) & 0x3FFFFFFF
        return word if self.running[kind] and same else 0

    def slots(self):
        """Yields leaf, slot, record and callback slot of every slot, and whether its thread is registered."""
        block = self.block
        for index, leaf in enumerate(self.leaves):
            registered = block.word(leaf, "leaf.registered")
            for slot in range(SLOTS):
                record = block.at(leaf, "leaf.record", slot)
                queue = block.at(block.word(leaf, "leaf.callback"), "callback.slot", slot)
                yield index, slot, record, queue, bool(registered >> slot & 1)

    def tasks(self):
        """Yields the name of each parked task, and whether a grace period waits for it."""
        block = self.block
        for index, leaf in enumerate(self.leaves):
            part = block.word(leaf, "leaf.parked")
            waited = [bool(self.owing(index, kind) >> 32 & 1) for kind in range(2)]
            bounds = [self.signed(block.word(part, "parked.boundary_position", kind)) for kind in range(2)]
            for task in self.links(block.at(part, "parked.tasks")):
                position = self.signed(block.word(task, "task.position"))
                yield task, [waited[kind] and position >= bounds[kind] for kind in range(2)]
            for slot in range(SLOTS):
                for task in self.links(block.at(block.at(part, "parked.slot", slot), "parked_slot.tasks")):
                    yield task, [False, False]

    @staticmethod
    def signed(value):
        return value - (1 << 64) if value >> 63 else value

    def links(self, head):
        at, count = self.block.word(head, "link.next"), 0
        while at and at != head and count < MOST_TASKS:
            yield at - self.block.fields["task.link"][0]
            at, count = self.block.word(at, "link.next"), count + 1


def every_domain():
    for block in blocks():
        for address in block.domains():
            yield Domain(block, address)


def code(address):
    """Returns the name of a code address as gdb prints it: function and offset."""
    return gdb.execute(f"info symbol {address:#x}", to_string=True).split(" in section")[0].strip() if address else ""


def thread_of(thread_id):
    for thread in gdb.selected_inferior().threads():
        if thread.ptid[1] == thread_id:
            return f'{thread.num} "{thread.name or ""}"'
    return "-"


class Rtrcu(gdb.Command):
    """Show the state of the rtrcu library: rtrcu gp, rtrcu threads, rtrcu callbacks."""

    def __init__(self):
        super().__init__("rtrcu", gdb.COMMAND_STATUS, prefix=True)


class RtrcuGp(gdb.Command):
    """Grace periods of each domain: the current grace period and its holdouts."""

    def __init__(self):
        super().__init__("rtrcu gp", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        for domain in every_domain():
            print(f"domain {domain.name} ({domain.block.object}, library {domain.block.library})")
            for kind, machine in enumerate(domain.machines):
                self.say(domain, kind, machine)

    @staticmethod
    def say(domain, kind, machine):
        block = domain.block
        count = (domain.seqs[kind] - block.seq_first) % (1 << 64) // block.seq_step
        done = block.word(machine, "machine.completed")
        longest = block.word(machine, "machine.ns_max")
        state = f"number {count} is under way" if domain.running[kind] else "none is under way"
        print(f"  {KINDS[kind]}: {state}; {done} ended, the longest {longest / 1000:.1f} us")
        for index, slot, record, _, registered in domain.slots():
            if registered and domain.owing(index, kind) >> slot & 1:
                thread_id = block.word(record, "record.thread_id")
                print(f"    waits for thread {thread_id} (gdb's {thread_of(thread_id)})")
        for task, waited in domain.tasks():
            if waited[kind]:
                print(f'    waits for the parked task "{text(block.word(task, "task.name"))}"')


class RtrcuThreads(gdb.Command):
    """Threads that are registered with the library: their words, and the grace periods that wait for them."""

    def __init__(self):
        super().__init__("rtrcu threads", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        for domain in every_domain():
            print(f"domain {domain.name}")
            print("  thread    gdb's                  nesting  online  waited for  section began at")
            for index, slot, record, _, registered in domain.slots():
                if registered:
                    self.say(domain, index, slot, record)

    @staticmethod
    def say(domain, index, slot, record):
        block = domain.block
        own = block.word(record, "record.self")
        thread_id, word = block.word(record, "record.thread_id"), block.word(own, "thread.word")
        waited = [KINDS[kind] for kind in range(2) if domain.owing(index, kind) >> slot & 1]
        began = code(block.word(own, "thread.entered")) if word & NESTING else ""
        online = "yes" if word & ONLINE else "-"
        line = f"  {thread_id:<8}  {thread_of(thread_id):<21}  {word & NESTING:<7}  {online:<6}"
        print(f"{line}  {' '.join(waited) or '-':<10}  {began}".rstrip())


class RtrcuCallbacks(gdb.Command):
    """Callbacks that have not returned, by the thread that queued them, with the thread that runs each."""

    def __init__(self):
        super().__init__("rtrcu callbacks", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        for domain in every_domain():
            block, none = domain.block, True
            print(f"domain {domain.name}")
            for _, _, record, queue, _ in domain.slots():
                freed = block.word(queue, "slot.free_queued") - block.word(queue, "slot.free_done")
                called = block.word(queue, "slot.queued") - block.word(queue, "slot.invoked")
                if freed == 0 and called == 0:
                    continue
                none = False
                thread_id, invoker = block.word(record, "record.thread_id"), block.word(queue, "slot.invoker")
                ready = "some are ready" if block.word(queue, "slot.ready") else "none is ready"
                print(f"  thread {thread_id}: {called} callbacks, {freed} frees; {ready}")
                if invoker:
                    print(f"    thread {invoker} runs them: {code(block.word(queue, 'slot.function'))}")
            if none:
                print("  none")


class HeadPrinter:
    """Prints a struct rcu_head: the function that will be called."""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        func = int(self.value["func"])
        if 0 < func <= 4096:
            return f"{{rcu_head: free() of what begins {func - 1} bytes before}}"
        return f"{{rcu_head: {code(func) or 'not queued'}, next {int(self.value['next']):#x}}}"


class ThreadPrinter:
    """Prints a struct rtrcu_thread: the meaning of its word."""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        word = int(self.value["word"])
        flags = {0x80: "no request", 0x20: "request pending", 0x40: "not registered"}
        discipline = ", online" if word & ONLINE else ""
        return f"{{rtrcu_thread: nesting {word & NESTING}{discipline}, {flags.get(word >> 24, hex(word >> 24))}}}"


class TaskPrinter:
    """Prints a struct rcu_task: its name, and the list that contains it."""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        places = ("not listed", "on a thread's list", "on a leaf's list", "counted")
        where, name = int(self.value["where"]), text(int(self.value["name"]))
        place = places[where] if where < len(places) else "?"
        return f'{{rcu_task "{name}": {place}, nesting {int(self.value["nesting"])}}}'


def printers():
    collection = gdb.printing.RegexpCollectionPrettyPrinter("rtrcu")
    collection.add_printer("rcu_head", "^rcu_head$", HeadPrinter)
    collection.add_printer("rtrcu_thread", "^rtrcu_thread$", ThreadPrinter)
    collection.add_printer("rcu_task", "^rcu_task$", TaskPrinter)
    return collection


for command in (Rtrcu, RtrcuGp, RtrcuThreads, RtrcuCallbacks):
    command()
gdb.printing.register_pretty_printer(None, printers(), replace=True)
