"""The demo as a person runs it: a process of its own, read and ended from outside."""

import json
import os
import re
import select
import shlex
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from support.command import start_farebox

START_S: Final = 120  # the machine may be busy; the demo itself says how long it took
END_S: Final = 30


@dataclass
class RunningDemo:
    """A demo that keeps serving after its payment."""

    process: subprocess.Popen[str]
    figures: dict[str, Any]
    story: str
    children: dict[int, int] = field(default_factory=dict)  # process id: a descriptor of it

    def lines_to_try(self) -> list[str]:
        """The commands it printed, as they stand."""
        return re.findall(r"^  ((?:curl|farebox) .*)$", self.story, re.MULTILINE)

    def option(self, name: str, network: str) -> str:
        """The value of an option in the printed line that pays on `network`."""
        line = next(each for each in self.lines_to_try() if f"pay {network}" in _short(each))
        return line.split(f"{name} ")[1].split()[0]

    @property
    def paid_url(self) -> str:
        """The URL of the paid resource."""
        return self.lines_to_try()[0].removeprefix("curl -i ")

    def ask(self, path: str, body: object = None) -> dict[str, Any]:
        """Read about plans with the printed line's key, or send a body."""
        line = next(each for each in self.lines_to_try() if each.endswith("/v1/automations"))
        *_, header, url = shlex.split(line)
        name, _, value = Path(header.removeprefix("@")).read_text().strip().partition(": ")
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url + path, data, {name: value})
        with urllib.request.urlopen(request, timeout=END_S) as answer:
            found: dict[str, Any] = json.load(answer)
        return found

    @property
    def folder(self) -> Path:
        """The folder of its files."""
        return Path(self.option("--wallet", "testnet")).parent

    def watch_children(self) -> None:
        """Open a descriptor of each process it has started."""
        for pid in children_of(self.process.pid):
            self.children[pid] = os.pidfd_open(pid)

    def end(self, number: int) -> int:
        """Send a signal; return the exit code once every process it started has ended."""
        self.process.send_signal(number)
        code = self.process.wait(END_S)
        for pid, descriptor in self.children.items():
            readable, _, _ = select.select([descriptor], [], [], END_S)
            assert readable, f"process {pid} outlived the demo"
            os.close(descriptor)
        self.children.clear()
        return code


def _short(line: str) -> str:
    """`farebox pay http://… --network testnet …` as `pay testnet`."""
    words = line.split()
    named = words.index("--network") + 1 if "--network" in words else 0
    return f"{words[1]} {words[named]}"


def children_of(pid: int) -> list[int]:
    """The processes a process started."""
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(each) for each in found]


@contextmanager
def running_demo(folder: Path) -> Iterator[RunningDemo]:
    """Run a demo that has paid and keeps serving; end it with this context."""
    errors = folder / "demo.err"
    with start_farebox("demo", settings={}, errors=errors) as process:
        try:
            assert process.stdout is not None
            readable, _, _ = select.select([process.stdout], [], [], START_S)
            assert readable, errors.read_text()
            first = process.stdout.readline()
            assert first, errors.read_text()
            demo = RunningDemo(process, json.loads(first), errors.read_text())
            demo.watch_children()
            yield demo
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                process.wait(END_S)
