"""`make prove PROOF=all`: every proof of the service in turn; all have 75 minutes at most.

That of mutations is none of them: it judges the tests, and takes more than an hour.

QUICK=1 runs the short form of each. The last line names the proofs that failed; exit code 0 when
none did.
"""

import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from testing.machine import say
from testing.module_run import run_target
from testing.report import run_and_report

LONGEST_S: Final = 75 * 60.0  # of all of them; a proof that has not ended by then has failed
_OF_ONE_CASE: Final = ("CASE", "KIND")
_RESULTS: Final = {0: "holds", 1: "FAILED", 2: "could not run"}


@dataclass(frozen=True, slots=True)
class SizedProof:
    """A proof, and the settings that shorten it for this run."""

    name: str
    size: Mapping[str, str]
    counted: str = "cases"  # the figure that counts its cases


PROOFS: Final = (  # minutes on two quiet cores
    SizedProof("settlement", {"SEEDS": "1"}),  # 7
    SizedProof("database", {"SEEDS": "2"}),  # 3
    SizedProof("catalog", {"SEEDS": "4"}),  # 2
    SizedProof("nodes", {"SEEDS": "6"}),  # 3
    SizedProof("auth", {"SEEDS": "4"}),  # 2
    SizedProof("delivery", {"SEEDS": "2"}),  # 7
    SizedProof("automation", {"QUICK": "1"}),  # 2
    SizedProof("limits", {"SEEDS": "2"}),  # 2
    SizedProof("limits_fair", {"SEEDS": "2"}, counted="requests"),  # 1
    SizedProof("neighbours", {"QUICK": "1"}),  # 3
    SizedProof("hostile", {"SEEDS": "1"}, counted="seeds"),  # 2
    SizedProof("queries", {"COUNT": "10000"}, counted="asked"),  # 1
    SizedProof("mcp", {"COUNT": "20000"}, counted="sent"),  # 2
    SizedProof("soak", {"SOAK_MINUTES": "3"}, counted="payments"),  # 4
)


@dataclass(frozen=True, slots=True)
class ProofResult:
    """The exit code of a proof and the figures of its last line; empty when it printed none."""

    proof: SizedProof
    code: int
    seconds: float
    figures: Mapping[str, object]

    @property
    def cases(self) -> object:
        """The number of cases; a dash when the figures lack it."""
        return self.figures.get(self.proof.counted, "-")

    @property
    def result(self) -> str:
        """The result in a word or two."""
        return _RESULTS.get(self.code, "broken off")


async def prove(is_quick: bool) -> tuple[bool, dict[str, object]]:
    """Run every proof; return whether all hold, and the result of each."""
    began = time.monotonic()
    results = []
    for number, proof in enumerate(PROOFS, 1):
        say(f"{proof.name} ({number} of {len(PROOFS)})")
        left_s = began + LONGEST_S - time.monotonic()
        results.append(await run_proof(proof, is_quick=is_quick, within_s=left_s))
        say(f"{proof.name}: {results[-1].result} after {results[-1].seconds:.0f} s")
    print(table_of(results), file=sys.stderr, flush=True)
    return not failed_of(results), {
        "failed": failed_of(results),
        "seconds": round(time.monotonic() - began),
        "proofs": {
            each.proof.name: {
                "cases": each.cases,
                "seconds": round(each.seconds),
                "result": each.result,
            }
            for each in results
        },
    }


async def run_proof(proof: SizedProof, *, is_quick: bool, within_s: float) -> ProofResult:
    """Run one proof in a process of its own; stop it after `within_s` seconds."""
    ended = await run_target(
        (sys.executable, "-m", f"prove.{proof.name}"),
        environment_of(proof, os.environ, is_quick=is_quick),
        within_s=within_s,
    )
    if ended.is_late:
        say(f"{proof.name} takes too long")
    return ProofResult(proof, ended.code, ended.seconds, ended.figures)


def environment_of(
    proof: SizedProof, environment: Mapping[str, str], *, is_quick: bool
) -> dict[str, str]:
    """Return this process's environment with the size of the proof; QUICK=1 sets no size."""
    kept = {name: value for name, value in environment.items() if name not in _OF_ONE_CASE}
    return kept if is_quick else {**kept, **proof.size}


def failed_of(results: Sequence[ProofResult]) -> list[str]:
    """Name the proofs that do not hold or could not run."""
    return [each.proof.name for each in results if each.code != 0]


def table_of(results: Sequence[ProofResult]) -> str:
    """Render one line for each proof: name, cases, seconds, result."""
    rows = [("proof", "cases", "seconds", "result")]
    rows += [(e.proof.name, str(e.cases), f"{e.seconds:.0f}", e.result) for e in results]
    return "\n".join(f"{a:<12}{b:>8}{c:>9}  {d}" for a, b, c, d in rows)


if __name__ == "__main__":
    sys.exit(run_and_report(prove))
