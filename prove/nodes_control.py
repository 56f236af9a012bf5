"""Builds of the service that must fail: each has one defect of commit 82b18cf.

A build is a copy of the sources in which a module ends with a class or a function that stands in
for its own.
"""

import shutil
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Final

from e2e.machine import ROOT, RunFailed
from prove.nodes_case import Case
from prove.nodes_faults import Kind


class Control(StrEnum):
    """The defect of a build."""

    CURSOR = "it goes on from whatever cursor a node gave"
    SIMULATION = "it takes every error of a simulation for a verdict"
    ABSENCE = "it takes one absence for a proof, and any failure of the search for its end"
    CLOCK = "it reads the newest ledger whole, 4 MiB at most"


CASES: Final[Mapping[Control, tuple[Case, ...]]] = {  # a build must fail one of its cases
    Control.CURSOR: (Case(1, Kind.CURSOR),),
    Control.SIMULATION: (Case(1, Kind.SIMULATION),),
    Control.ABSENCE: (Case(1, Kind.TORN), Case(2, Kind.TORN)),
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
        page = await self._rpc.transactions(
            frozenset(by_hash), from_ledger=self._listed_to + 1, cursor=self._cursor, limit=_PAGE
        )
        self._ledgers.heard(page.absence.latest_ledger, page.absence.latest_close_at)
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

class HastyConclusions(Conclusions):
    async def ending(self, fate, payment, sent):
        return await super().ending(fate, payment, sent) or ending_of(fate, payment)


Conclusions = HastyConclusions
"""
_CLOCK: Final = """

_MAX_ANSWER_BYTES["getLatestLedger"] = 4 * _MIB


class LedgerBody(msgspec.Struct, rename="camel"):
    sequence: int
    close_time: str


class WholeLedgerRpc(HttpSorobanRpc):
    async def latest_ledger(self):
        from datetime import UTC, datetime

        body = await self._call(msgspec.json.Decoder(Reply[LedgerBody]), "getLatestLedger")
        return LatestLedger(body.sequence, datetime.fromtimestamp(int(body.close_time), UTC))


HttpSorobanRpc = WholeLedgerRpc
"""
_ENDS: Final[Mapping[Control, Mapping[str, tuple[str, str]]]] = {
    Control.CURSOR: {"submission/watch.py": ("class LedgerWatcher:", _WATCH)},
    Control.SIMULATION: {
        "stellar/simulation_error.py": ("def classify_simulation_error(", _SIMULATION)
    },
    Control.ABSENCE: {
        "submission/absences.py": ("class Absences:", _ABSENCES),
        "facilitator/journal/conclude.py": ("class Conclusions:", _CONCLUSIONS),
    },
    Control.CLOCK: {"stellar/rpc_http.py": ("class HttpSorobanRpc:", _CLOCK)},
}


def broken_sources(folder: Path, control: Control) -> Path:
    """A copy of the sources with one defect.

    Raises:
        RunFailed: the sources are no longer as the control expects them.
    """
    sources = folder / "src"
    shutil.copytree(ROOT / "src", sources, ignore=shutil.ignore_patterns("__pycache__"))
    for name, (replaced, end) in _ENDS[control].items():
        module = sources / "farebox" / name
        text = module.read_text() if module.is_file() else ""
        if text.count(replaced) != 1:
            raise RunFailed(f"the control does not fit {name} any more")
        module.write_text(text + end)
    return sources
