"""Builds of the service that must fail: each has one defect of commit 82b18cf."""

from collections.abc import Sequence
from typing import Final

from prove.broken_build import Build, End
from prove.nodes_case import NodesCase, NodesOutcome
from prove.nodes_faults import NodeKind
from prove.run_cases import Control

NodesControl = Control[NodesCase, NodesOutcome]

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
