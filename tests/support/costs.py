"""What a test costs: seconds of the clock and of processors, by folder, module and fixture.

`--costs=FOLDER` writes one line for each test and each fixture; `python tests/support/costs.py
FOLDER` prints the tables. Processor seconds are those of the worker and of every process below it.
"""

import argparse
import json
import os
import time
from collections import defaultdict
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import IO, Any, Final

import pytest

_TICKS: Final = os.sysconf("SC_CLK_TCK")
_DEAREST: Final = 20


Times = dict[
    int, tuple[float, float]
]  # by process: its own seconds, those of children it waited for


def read_times(pid: int) -> Times:
    """Return the processor seconds of a process and of every process below it."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        children = [int(n) for task in tasks for n in (task / "children").read_text().split()]
    except OSError:  # it has ended
        return {}
    user, system, waited_user, waited_system = (
        int(each) / _TICKS for each in text.rpartition(")")[2].split()[11:15]
    )
    times = {pid: (user + system, waited_user + waited_system)}
    for child in children:
        times |= read_times(child)
    return times


def processor_seconds(before: Times, after: Times) -> float:
    """Return what was used between two readings, by processes that have ended as well.

    The time of a process that ends goes to the one that waits for it, if that is one of these.
    """
    own, waited = 0.0, 0.0
    for pid, (own_s, waited_s) in after.items():
        own_before, waited_before = before.get(pid, (0.0, 0.0))
        own += own_s - own_before
        waited += waited_s - waited_before
    waited -= sum(sum(times) for pid, times in before.items() if pid not in after)
    return own + max(0.0, waited)


class CostRecorder:
    """Writes the costs of the tests of one worker."""

    def __init__(self, out: IO[str]) -> None:
        self._out = out
        self._last: Times = {}

    def read(self) -> Times:
        """Read the worker and every process below it.

        The kernel's list of children may miss some while another one ends: those that were there
        at the last reading are read by their ids.
        """
        times = read_times(os.getpid())
        for pid in self._last.keys() - times.keys():
            times |= read_times(pid)
        self._last = times
        return times

    def _record(self, kind: str, name: str, began: tuple[float, Times]) -> None:
        cost = {
            "kind": kind,
            "name": name,
            "seconds": round(time.monotonic() - began[0], 3),
            "processor": round(processor_seconds(began[1], self.read()), 3),
        }
        self._out.write(json.dumps(cost) + "\n")
        self._out.flush()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Record a test with its fixtures."""
        began = time.monotonic(), self.read()
        result = yield
        self._record("test", item.nodeid, began)
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any]
    ) -> Generator[None, object, object]:
        """Record the setup of a fixture that is made for more than one test."""
        began = time.monotonic(), self.read()
        result = yield
        if fixturedef.scope != "function":
            self._record("fixture", f"{fixturedef.baseid}::{fixturedef.argname}", began)
        return result


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take the folder that the costs are written to."""
    parser.addoption("--costs", metavar="FOLDER", type=Path, help="write what each test costs")


def pytest_configure(config: pytest.Config) -> None:
    """Record where it was asked for; with workers each has a file of its own."""
    folder: Path | None = config.getoption("--costs")
    if folder is None:
        return
    folder.mkdir(parents=True, exist_ok=True)
    worker = getattr(config, "workerinput", {}).get("workerid", "main")
    out = (folder / f"{worker}.jsonl").open("w")
    config.add_cleanup(out.close)
    config.pluginmanager.register(CostRecorder(out), "farebox-costs")


def folder_of(name: str) -> str:
    """Return the first two folders below `tests` of a test."""
    return "/".join(name.partition("::")[0].split("/")[1:-1][:2]) or "tests"


def sum_costs(lines: Iterable[str]) -> dict[str, dict[str, list[float]]]:
    """Sum the costs; each table has seconds, processor seconds and the count by name."""
    tables: dict[str, dict[str, list[float]]] = {
        each: defaultdict(lambda: [0.0, 0.0, 0.0]) for each in ("folder", "module", "fixture")
    }
    for line in lines:
        cost = json.loads(line)
        name = cost["name"]
        module = name.partition("::")[0]
        names = {"folder": folder_of(name), "module": module}
        for table, key in names.items() if cost["kind"] == "test" else [("fixture", name)]:
            sums = tables[table][key]
            for i, value in enumerate((cost["seconds"], cost["processor"], 1.0)):
                sums[i] += value
    return tables


def format_costs(tables: dict[str, dict[str, list[float]]]) -> str:
    """Format the tables in Markdown, the dearest first."""
    lines: list[str] = []
    for title, rows in tables.items():
        lines += [f"| {title} | seconds | processor | waiting | count |", "|---|---|---|---|---|"]
        dearest = sorted(rows.items(), key=lambda each: -each[1][0])
        for name, (seconds, processor, count) in dearest[: None if title == "folder" else _DEAREST]:
            waiting = max(0.0, seconds - processor)
            lines.append(
                f"| {name} | {seconds:.1f} | {processor:.1f} | {waiting:.1f} | {count:.0f} |"
            )
        if title == "folder":
            seconds, processor, count = (sum(each[i] for each in rows.values()) for i in range(3))
            lines.append(f"| all | {seconds:.1f} | {processor:.1f} | | {count:.0f} |")
        lines.append("")
    return "\n".join(lines)


def main() -> None:
    """Print the tables of a folder."""
    parser = argparse.ArgumentParser(description="Print what the tests of a run cost.")
    parser.add_argument("folder", type=Path, help="where --costs wrote to")
    files = sorted(parser.parse_args().folder.glob("*.jsonl"))
    print(format_costs(sum_costs(line for each in files for line in each.read_text().splitlines())))


if __name__ == "__main__":
    main()
