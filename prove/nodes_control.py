"""Builds of the service that must fail: each has one defect of commit 82b18cf."""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Final

from prove.broken_build import Ends, sources_with_ends
from prove.nodes_case import Case
from prove.nodes_faults import Kind


class Control(StrEnum):
    """The defect of a build."""

    CURSOR = "it continues from any cursor of a node"
    SIMULATION = "it treats every error of a simulation as a verdict"
    ABSENCE = "it treats one absence as proof, and a failed search as complete"
    CLOCK = "it reads the whole newest ledger, 4 MiB at most"


CASES: Final[Mapping[Control, tuple[Case, ...]]] = {  # a build must fail one of its cases
    Control.CURSOR: (Case(1, Kind.CURSOR),),
    Control.SIMULATION: (Case(1, Kind.SIMULATION),),
    Control.ABSENCE: (Case(1, Kind.TORN), Case(2, Kind.TORN), Case(1, Kind.TORN_SEARCH)),
    Control.CLOCK: (Case(1, Kind.LARGE),),
}

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
_ENDS: Final[Mapping[Control, Ends]] = {
    Control.CURSOR: {"submission/watch.py": ("class LedgerWatcher:", _WATCH)},
    Control.SIMULATION: {"stellar/simulation.py": ("def classify_simulation_error(", _SIMULATION)},
    Control.ABSENCE: {
        "submission/fate.py": ("class Absences:", _ABSENCES),
        "facilitator/journal/status_resolver.py": ("class StatusResolver:", _CONCLUSIONS),
    },
    Control.CLOCK: {"stellar/soroban_rpc.py": ("class SorobanRpc(ABC):", _CLOCK)},
}


def broken_sources(folder: Path, control: Control) -> Path:
    """Write a copy of the sources with one defect.

    Raises:
        RunFailed: the sources lack the text that the control replaces.
    """
    return sources_with_ends(folder, _ENDS[control])
