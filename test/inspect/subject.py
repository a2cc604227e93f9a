# SPDX-License-Identifier: MIT OR Apache-2.0
"""The program that the tests inspect."""

import os
import subprocess


class Subject:
    """The program, up to the point where its updater waits; @threads: the ids by name; @taken: what the library
    took from the reader, its slow paths, system calls and waits for locks."""

    def __init__(self, path, *arguments, environment=None, before=()):
        command = [*before, path, *arguments]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ | (environment or {})
        )
        self.pid, self.threads = self.process.pid, {}
        self.taken = []
        for line in self.process.stdout:
            words = line.split()
            if words[0] == "thread":
                self.threads[words[1]] = int(words[2])
            if words[0].startswith("thread_"):
                self.taken.append(int(words[1]))
            if words[0] == "ready":
                break

    def ask(self):
        """Sends the program a line; returns the words of its answer."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().split()

    def end(self):
        self.process.stdin.close()
        self.process.wait(timeout=60)
