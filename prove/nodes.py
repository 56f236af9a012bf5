"""`make prove PROOF=nodes`: no valid payment is refused, failed, doubled or lost by a faulty node.

SEEDS=20 for the whole proof, QUICK=1 for less than a minute; SEED=n KIND=lag repeats one case.
"""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from prove.broken_build import Build, End
from prove.nodes_case import RECOVERED_MS, NodesCase, NodesOutcome, run_case
from prove.nodes_faults import NodeKind
from prove.outcome import are_none, count_violations
from prove.run_cases import (
    Control,
    Played,
    Wanted,
    open_builds,
    play_beside_controls,
    read_wanted,
    run_named,
    tell,
)
from prove.seller_verdict import NODE_VIOLATIONS
from prove.world import World, open_world
from testing.machine import say, scratch_folder, subfolder
from testing.report import run_and_report

CASES: Final = 300
_WORLDS: Final = 3
_WORKERS_PER_WORLD: Final = 3
_CONTROL_ROUNDS: Final = 4
_LATER_SEEDS: Final = 10
NodesControl = Control[NodesCase, NodesOutcome]
NodesPlayed = Played[NodesCase, NodesOutcome]


def plan_cases(wanted: Wanted) -> list[NodesCase]:
    """Plan every kind under every seed, or the one case that SEED and KIND name."""
    kinds = wanted.of_kinds(NodeKind)
    return [NodesCase(seed, each) for seed in wanted.played_seeds for each in kinds]


async def prove(is_quick: bool) -> tuple[bool, dict[str, object]]:
    """Run the proof; return whether it holds, and its figures."""
    wanted = read_wanted(is_quick, named_by="KIND")
    cases = plan_cases(wanted)
    with scratch_folder("fbx-prove-") as folder:
        async with open_worlds(folder, 1 if wanted.is_replay else _WORLDS) as worlds:
            played = await play(worlds, folder, cases, () if wanted.is_replay else CONTROLS)
    figures, caught = figures_of(played.outcomes), played.are_controls_caught
    if wanted.is_replay:
        say(", ".join(played.outcomes[0].answers))
    else:
        figures["control_caught"] = caught
    return holds(figures) and caught and (wanted.is_part or len(cases) >= CASES), figures


@asynccontextmanager
async def open_worlds(folder: Path, count: int = _WORLDS) -> AsyncIterator[list[World]]:
    """Open worlds with a database server each, enough for three concurrent cases."""
    async with AsyncExitStack() as opened:
        folders = [subfolder(folder, f"world-{number}") for number in range(count)]
        opening_worlds = (opened.enter_async_context(open_world(each)) for each in folders)
        yield list(await asyncio.gather(*opening_worlds))


async def play(
    worlds: Sequence[World],
    folder: Path,
    cases: Sequence[NodesCase],
    controls: Sequence[NodesControl],
) -> NodesPlayed:
    """Run every case, and those of every control with its build, a few at a time in each world."""
    free_worlds: asyncio.Queue[World] = asyncio.Queue()
    for world in [*worlds] * _WORKERS_PER_WORLD:
        free_worlds.put_nowait(world)
    async with open_builds(folder, controls) as builds:

        async def run(case: NodesCase, control: NodesControl | None) -> NodesOutcome:
            world = await free_worlds.get()
            build = world.fork_server if control is None else builds[control.name]
            try:
                return await _run_one(replace(world, fork_server=build), case, control)
            finally:
                free_worlds.put_nowait(world)

        workers = free_worlds.qsize()
        played = await play_beside_controls(cases, controls, run, workers=workers)
        for control in controls:
            for case in _later_cases(control):
                if not played.is_caught(control.name):
                    played.controls[control.name][1].append(await run(case, control))
    return played


def _later_cases(control: NodesControl) -> list[NodesCase]:
    """Plan cases for a control that its first ones missed: a defect shows by chance."""
    return [
        replace(case, seed=case.seed + _LATER_SEEDS * turn)
        for turn in range(1, _CONTROL_ROUNDS)
        for case in control.cases
    ]


async def _run_one(world: World, case: NodesCase, control: NodesControl | None) -> NodesOutcome:
    began = time.monotonic()
    outcome = await run_named(case, run_case(world, case))
    result = "FAILED" if outcome.is_failed else "passed"
    named = f"{control} " if control is not None else ""
    tell(f"{named}{result} in {time.monotonic() - began:.0f} s: {outcome}")
    return outcome


def figures_of(outcomes: Sequence[NodesOutcome]) -> dict[str, object]:
    """Sum up all outcomes."""
    return {
        **count_violations(outcomes, NODE_VIOLATIONS),
        "recovered_ms_max": max(each.recovered_ms for each in outcomes),
        "cases": len(outcomes),
    }


def holds(figures: Mapping[str, object]) -> bool:
    """Whether there is no finding and every replica recovered in time."""
    recovered_ms = int(str(figures["recovered_ms_max"]))
    return are_none(figures, NODE_VIOLATIONS) and recovered_ms <= RECOVERED_MS


_WATCH: Final = """

class CursorKeepingWatcher(LedgerWatcher):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._cursor = ""

    async def fate(self, sent, *, until):
        if not self._watched:
            self._listed_to, self._cursor = sent.sent_after_ledger - 1, ""
        return await super().fate(sent, until=until)

    async def look(self):
        by_hash = {text: each for each in self._watched.values() for text in each.sent.hashes()}
        limit = self._page.limit
        page = await self._rpc.transactions(
            frozenset(by_hash), from_ledger=self._listed_to + 1, cursor=self._cursor, limit=limit
        )
        self._ledgers.report(page.absence.latest_ledger, page.absence.latest_close_at)
        for found in page.found:
            watched = by_hash.get(found.hash) or by_hash.get(found.inner_hash or "")
            if watched is not None:
                self._resolve(watched, found)
        self._cursor = page.cursor or self._cursor


LedgerWatcher = CursorKeepingWatcher
"""
_SIMULATION: Final = """

def classify_simulation_error(text):
    return SimulationErrorKind.VERDICT
"""
_ABSENCES: Final = """

class FirstAbsence(Absences):
    def confirm(self, sent, fate):
        return fate


Absences = FirstAbsence
"""
_CONCLUSIONS: Final = """

class HastyStatusResolver(StatusResolver):
    async def resolve(self, fate, payment, sent):
        return await super().resolve(fate, payment, sent) or derive_status(fate, payment)


StatusResolver = HastyStatusResolver
"""
_CLOCK: Final = """

class LedgerBody(msgspec.Struct, rename="camel"):
    sequence: int
    close_time: str


async def latest_whole_ledger(self):
    from datetime import UTC, datetime

    return await self.call(
        RpcCall(
            "getLatestLedger",
            msgspec.json.Decoder(JsonRpcResponse[LedgerBody]),
            lambda body: LatestLedger(
                body.sequence, datetime.fromtimestamp(int(body.close_time), UTC)
            ),
            lambda latest: latest.sequence,
            max_bytes=4 * _MIB,
        )
    )


SorobanRpc.latest_ledger = latest_whole_ledger
"""


def _is_any_failed(outcomes: Sequence[NodesOutcome]) -> bool:
    return any(each.is_failed for each in outcomes)


# each has one defect of commit 82b18cf
CONTROLS: Final[tuple[NodesControl, ...]] = (
    Control(
        "cursor",
        (NodesCase(1, NodeKind.CURSOR),),
        Build((End("submission/watch.py", "class LedgerWatcher:", _WATCH),)),
        _is_any_failed,
        "it continues from any cursor of a node",
    ),
    Control(
        "simulation",
        (NodesCase(1, NodeKind.SIMULATION),),
        Build((End("stellar/simulation.py", "def classify_simulation_error(", _SIMULATION),)),
        _is_any_failed,
        "it treats every error of a simulation as a verdict",
    ),
    Control(
        "absence",
        (
            NodesCase(1, NodeKind.TORN),
            NodesCase(2, NodeKind.TORN),
            NodesCase(1, NodeKind.TORN_SEARCH),
        ),
        Build(
            (
                End("submission/fate.py", "class Absences:", _ABSENCES),
                End(
                    "facilitator/journal/status_resolver.py",
                    "class StatusResolver:",
                    _CONCLUSIONS,
                ),
            )
        ),
        _is_any_failed,
        "it treats one absence as proof, and a failed search as complete",
    ),
    Control(
        "clock",
        (NodesCase(1, NodeKind.LARGE),),
        Build((End("stellar/soroban_rpc.py", "class SorobanRpc(ABC):", _CLOCK),)),
        _is_any_failed,
        "it reads the whole newest ledger, 4 MiB at most",
    ),
)


if __name__ == "__main__":
    sys.exit(run_and_report(prove))
