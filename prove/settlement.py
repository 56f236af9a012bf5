"""`make prove PROOF=settlement`: no settlement is lost or doubled, at any crash point.

SEEDS=20 for the whole proof, QUICK=1 for two minutes; SEED=n CASE=k repeats one case.
"""

import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from prove.boundaries import (
    all_of,
    background_labels,
    record_each,
    tell_boundaries,
    usual_boundaries,
)
from prove.broken_build import Build, Change
from prove.case import (
    UNDISTURBED,
    Boundaries,
    CallerBehaviour,
    CrashCase,
    Topology,
    cases_of,
    short_sweep,
    sweep,
)
from prove.crash import (
    CrashOutcome,
    Loop,
    LoopOutcome,
    loop_of,
    record,
    record_idle,
    run_case,
    run_loop,
    run_until_reached,
)
from prove.interceptor import Boundary, CrashTiming
from prove.ledger_closer import Landing
from prove.outcome import are_none, count_unreached, count_violations, name_failing, slowest_s
from prove.payment_check import COMPARED
from prove.run_cases import (
    Control,
    Wanted,
    are_controls_caught,
    check_any,
    read_wanted,
    run_cases,
)
from prove.world import World, open_world
from testing.machine import scratch_folder, subfolder
from testing.report import run_and_report

_WORKERS: Final = 6
MOST_CONNECTIONS: Final = 20  # of a process, by the default settings
_QUICK_EVERY: Final = 19
_LABELS: Final = 20  # of calls that were not reached, in the figures
_CONTROL_AT: Final = Boundary("rpc sendTransaction", 1)
SettlementControl = Control[CrashCase, CrashOutcome]


async def boundaries_of(world: World) -> Boundaries:
    """Record the call boundaries of settlements without faults, for each topology."""
    idle = await record_idle(world)
    recorded = await record_each(Topology, partial(record, world))
    background = background_labels(idle, recorded[Topology.ONE])
    return {
        topology: usual_boundaries(each, background, label=topology)
        for topology, each in recorded.items()
    }


def plan_cases(boundaries: Boundaries, wanted: Wanted) -> list[CrashCase | Loop]:
    """Plan the cases of a run, or the case that SEED and CASE name; CASE=0 is the crash loop."""

    def quick() -> list[CrashCase]:
        return short_sweep(boundaries, every=_QUICK_EVERY)

    cases = wanted.numbered(partial(cases_of, boundaries), quick=quick)
    loops = wanted.numbered(lambda seed: [loop_of(seed)], quick=lambda: [loop_of(1)])
    return [*cases, *loops]


async def prove(is_quick: bool) -> tuple[bool, dict[str, object]]:
    """Run the proof; return whether it holds, and its figures."""
    wanted = read_wanted(is_quick)
    with scratch_folder("fbx-prove-") as folder:
        async with open_world(subfolder(folder, "real"), workers=_WORKERS) as world:
            boundaries = await boundaries_of(world)
            tell_boundaries(all_of(boundaries))
            cases = plan_cases(boundaries, wanted)
            check_any(cases)
            outcomes = await run_cases(cases, partial(run_either, world), workers=_WORKERS)
            caught = wanted.is_replay or await are_controls_caught(
                world, folder, controls_of(boundaries), run_case
            )
    figures = figures_of(outcomes) | {"boundaries": len(all_of(boundaries)), "seeds": wanted.seeds}
    figures["seconds"] = wanted.seconds
    wanted.conclude(figures, outcomes, is_caught=caught)
    is_modest = all(each.connections_max <= MOST_CONNECTIONS for each in outcomes)
    return are_none(figures, COMPARED) and is_modest and caught, figures


async def run_either(world: World, case: CrashCase | Loop) -> CrashOutcome | LoopOutcome:
    """Run a case of either kind."""
    if isinstance(case, Loop):
        return await run_loop(world, case)
    return await run_until_reached(world, case)


def figures_of(outcomes: Sequence[CrashOutcome | LoopOutcome]) -> dict[str, object]:
    """Count the results of a run."""
    kills = [each for each in outcomes if isinstance(each, CrashOutcome)]
    return {
        "cases": len(outcomes),
        **count_violations(outcomes, COMPARED),
        "answer_cut": sum(each.answer_cut for each in outcomes),
        "played_again": sum(each.plays - 1 for each in kills),
        **count_unreached(kills, most=_LABELS),
        "connections_max": max((each.connections_max for each in outcomes), default=0),
        "crash_loops": len(outcomes) - len(kills),
        "failing": name_failing(outcomes),
        "slowest_case_s": slowest_s(kills),
    }


_COMPOSITION: Final = "app/services.py"
_MADE: Final = "SettlementJournal("
_IMPORTED: Final = "from farebox.facilitator.journal.journal import SettlementJournal\n"
_WRITE_BEHIND: Final = '''
"""The journal with its write-ahead removed: for the control of a proof, never served."""

from farebox.facilitator.journal.journal import SettlementJournal
from farebox.facilitator.settlement import Recording


class WriteBehindJournal(SettlementJournal):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._kept = {}

    async def record_sending(self, claim, sent, *, epoch=0):
        self._kept[sent.tx_hash] = (claim, sent, epoch)
        return Recording.WRITTEN

    async def record_submitted(self, tx_hash):
        await self._write(tx_hash)
        return await super().record_submitted(tx_hash)

    async def record_final(self, tx_hash, final):
        await self._write(tx_hash)
        return await super().record_final(tx_hash, final)

    async def withdraw(self, identity, tx_hash, *, claim_id):
        await self._write(tx_hash)
        return await super().withdraw(identity, tx_hash, claim_id=claim_id)

    async def _write(self, tx_hash):
        kept = self._kept.pop(tx_hash, None)
        if kept is not None:
            claim, sent, epoch = kept
            await super().record_sending(claim, sent, epoch=epoch)
'''


_SENDER: Final = "facilitator/settling/send_payment.py"
_ENDED: Final = "if not await self._journal.record_final(sent.tx_hash, final):"
_IGNORED: Final = "if await self._journal.record_final(sent.tx_hash, final) is None:"
_LEFT: Final = "if known.may_be_replaced(fate, now=self._clock.now()):"
_NOT_LEFT: Final = "if known.may_be_replaced(fate, now=known.ends_by):"
# it records an envelope only once a node accepted it
CARELESS: Final = Build(
    changes=(
        Change(
            _COMPOSITION,
            _IMPORTED,
            _IMPORTED + "from farebox.facilitator.journal.write_behind import WriteBehindJournal\n",
        ),
        Change(_COMPOSITION, _MADE, "WriteBehindJournal("),
    ),
    added={"facilitator/journal/write_behind.py": _WRITE_BEHIND},
)
# it ends a payment whose dead envelope another process may replace, and does not check whether it
# made the final transition
DEAF: Final = Build(changes=(Change(_SENDER, _ENDED, _IGNORED), Change(_SENDER, _LEFT, _NOT_LEFT)))


def controls_of(boundaries: Boundaries) -> list[SettlementControl]:
    """Plan the cases of both builds.

    One records an envelope only after sending it; the other answers the fate of an envelope that
    another replica has replaced.
    """
    # without a repeated request, which would find the transaction
    around_sending = [
        replace(case, behaviour=CallerBehaviour.GIVES_UP)
        for case in sweep(boundaries)
        if (case.boundary, case.timing, case.landing)
        == (_CONTROL_AT, CrashTiming.AFTER, Landing.LANDS)
    ]
    return [
        Control("careless", around_sending, CARELESS, _are_any_failed),
        Control("deaf", [UNDISTURBED] * _WORKERS, DEAF, _are_any_failed),
    ]


def _are_any_failed(outcomes: Sequence[CrashOutcome]) -> bool:
    return any(each.is_failed for each in outcomes)


if __name__ == "__main__":
    sys.exit(run_and_report(prove))
