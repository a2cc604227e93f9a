# SPDX-License-Identifier: MIT OR Apache-2.0
"""The program that the tests look into."""

import subprocess


class Subject:
    """The program, up to the point where its updater waits; @threads: the ids by name."""

    def __init__(self, path, *arguments):
        command = [path, *arguments]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid, self.threads = self.process.pid, {}
        for line in self.process.stdout:
            words = line.split()
            if words[0] == "thread":
                self.threads[words[1]] = int(words[2])
            if words[0] == "ready":
                break

    def end(self):
        self.process.stdin.close()
        self.process.wait(timeout=60)
