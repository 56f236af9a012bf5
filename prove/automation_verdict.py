"""Compares runs on the ledger, in the rows and in the envelopes that reached the node."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import combinations
from typing import Any, Final

from prove.automation_plans import ProvenPlan, count_runs
from prove.automation_sessions import RUNS
from prove.environment import Environment
from prove.outcome import Finding, findings_of
from prove.run_envelopes import (
    NOT_TAKEN,
    Delivery,
    LandedEnvelope,
    RunEnvelope,
    read_landed,
)
from testing.automation_payments import EARLIER, PRICE

_NO_RUN: Final = "no run"


class RunViolation(StrEnum):
    """A wrong treatment of a run."""

    REUSED = "authorizations_reused"
    DOUBLED = "runs_doubled"
    UNRESOLVED = "runs_unresolved"
    CREDITS_OFF = "credits_off"


RunFinding = Finding[RunViolation]


@dataclass(frozen=True, slots=True)
class CaseRows:
    """The rows of a case, the ledger, and what reached the node."""

    runs: Sequence[Mapping[str, Any]]
    plans: Mapping[str, Mapping[str, Any]]
    attempts: Sequence[Mapping[str, Any]]
    landed: Sequence[LandedEnvelope]
    deliveries: Sequence[Delivery]
    sums: Mapping[str, int]
    credits: Sequence[Mapping[str, Any]]  # rows of the ledger of paid runs
    tallies: Mapping[str, int]  # how often the target of each plan ran
    _run_of: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for each in self.attempts:
            self._run_of[each["inner_hash"].hex()] = each["run_id"]

    def run_of(self, envelope: RunEnvelope) -> str | None:
        """The run for which the service made the envelope; None for a stranger's."""
        return self._run_of.get(envelope.inner_hash)

    def happened(self, plan: ProvenPlan, run: Mapping[str, Any]) -> list[LandedEnvelope]:
        """The successes on the ledger that are this run, whoever sent them.

        They use an authorization of the run: one that is known before, or one that reached the node
        in an envelope of the run.
        """
        used = {
            nonce
            for each in self.deliveries
            if self.run_of(each.envelope) == run["id"]
            for nonce in each.envelope.nonces
        }
        if plan.account is not None and run["run_index"] in plan.nonces:
            used.add((plan.account, plan.nonces[run["run_index"]]))
        return [
            each
            for each in self.landed
            if each.is_success
            and (
                self.run_of(each.envelope) == run["id"] or not used.isdisjoint(each.envelope.nonces)
            )
        ]


async def read_rows(
    environment: Environment, plans: Sequence[ProvenPlan], deliveries: Sequence[Delivery]
) -> CaseRows:
    """Read what the verdict needs, without any proxy."""
    runs = await environment.query("SELECT * FROM automation_runs ORDER BY run_index")
    proposals = await environment.query("SELECT * FROM automation_proposals")
    credited = await environment.query("SELECT owner, kind, amount, proposal_id FROM run_credits")
    attempts = await environment.query(
        "SELECT run_id, number, inner_hash, tx_hash, outcome, error_code, fee_charged, envelope"
        " FROM automation_attempts ORDER BY run_id, number"
    )
    (sums,) = await environment.query(
        """
        SELECT (SELECT coalesce(sum(running), 0)::bigint FROM automation_owners) AS running,
               (SELECT count(*) FROM automation_channels WHERE run_id IS NOT NULL) AS channels_kept,
               (SELECT count(*) FROM automation_leases) AS leases,
               (SELECT coalesce(sum(stroops), 0)::bigint FROM automation_spend
                WHERE scope = 'total') AS spent,
               (SELECT coalesce(sum(stroops), 0)::bigint FROM automation_spend
                WHERE scope = 'owner') AS spent_by_owners,
               (SELECT coalesce(sum(fee_charged), 0)::bigint FROM automation_runs) AS charged,
               (SELECT count(*) FROM automation_presigned WHERE state = 'ready') AS entries_ready
        """
    )
    return CaseRows(
        runs=[dict(row) for row in runs],
        plans={row["id"]: dict(row) for row in proposals},
        attempts=[dict(row) for row in attempts],
        landed=await read_landed(environment),
        deliveries=deliveries,
        sums=dict(sums),
        credits=[dict(row) for row in credited],
        tallies={plan.id: await count_runs(environment, plan.tally) for plan in plans},
    )


def judge_case(plans: Sequence[ProvenPlan], rows: CaseRows, paymaster: str) -> list[RunFinding]:
    """Find every violation of a case that has ended."""
    kinds = {
        RunViolation.UNRESOLVED: _find_unresolved(plans, rows),
        RunViolation.DOUBLED: _find_doubled(plans, rows),
        RunViolation.REUSED: _find_reused(plans, rows),
        RunViolation.CREDITS_OFF: _find_credits_off(plans, rows, paymaster),
    }
    return findings_of(kinds)


def _runs_of(plan: ProvenPlan, rows: CaseRows) -> list[Mapping[str, Any]]:
    return [each for each in rows.runs if each["proposal_id"] == plan.id]


def _find_unresolved(plans: Sequence[ProvenPlan], rows: CaseRows) -> Iterator[str]:
    for plan in plans:
        runs, row = _runs_of(plan, rows), rows.plans[plan.id]
        if len(runs) != RUNS:
            yield f"{plan.id} has {len(runs)} runs"
        others = [run for run in runs if run["state"] != "succeeded"]
        for run in others:
            yield f"run {run['run_index']} is {run['state']} ({run['error_code']})"
        if row["status"] != "completed":
            yield f"{plan.id} is {row['status']} ({row['status_reason']})"
    kept = {name: rows.sums[name] for name in ("running", "channels_kept", "leases")}
    if any(kept.values()):
        yield f"something is still held: {kept}"
    open_attempts = [each for each in rows.attempts if each["envelope"] is not None]
    if open_attempts:
        yield f"{len(open_attempts)} envelopes are kept"


def _find_doubled(plans: Sequence[ProvenPlan], rows: CaseRows) -> Iterator[str]:
    for plan in plans:
        runs = _runs_of(plan, rows)
        for run in runs:
            happened = rows.happened(plan, run)
            if len(happened) > 1:
                yield f"run {run['run_index']} happened {len(happened)} times"
        calls = [each for each in rows.landed if each.is_success and _is_of(plan, each.envelope)]
        succeeded = sum(run["state"] == "succeeded" for run in runs)
        if len(calls) > succeeded:
            yield f"{plan.function} landed {len(calls)} times for {succeeded} successful runs"
        if rows.tallies[plan.id] > succeeded:
            yield f"the target counts {rows.tallies[plan.id]} of {succeeded} successful runs"


def _is_of(plan: ProvenPlan, envelope: RunEnvelope) -> bool:
    if (envelope.contract, envelope.function) != (plan.target, plan.function):
        return False
    return plan.account is None or any(account == plan.account for account, _ in envelope.nonces)


def _find_reused(plans: Sequence[ProvenPlan], rows: CaseRows) -> Iterator[str]:
    """Authorizations that could be used twice.

    An envelope is one as well: a run gets another only once the earlier one can land no more.
    """
    by_run: dict[str, list[Delivery]] = defaultdict(list)
    for each in rows.deliveries:
        by_run[rows.run_of(each.envelope) or _NO_RUN].append(each)
    if _NO_RUN in by_run:
        yield "an envelope reached the node before its row was written"
    yield from _find_shared_nonces(by_run)
    for run, deliveries in by_run.items():
        yield from _find_open_pairs(run, deliveries, rows.landed)
    if rows.sums["entries_ready"]:
        yield f"{rows.sums['entries_ready']} entries of runs that happened are kept"


def _find_shared_nonces(by_run: Mapping[str, Sequence[Delivery]]) -> Iterator[str]:
    """Runs with several authorizations, and authorizations of several runs."""
    runs_of: dict[tuple[str, int], set[str]] = defaultdict(set)
    for run, deliveries in by_run.items():
        nonces = {each.envelope.nonces for each in deliveries}
        if len(nonces) > 1:
            yield f"{run} has {len(nonces)} authorizations"
        for nonce in {nonce for each in nonces for nonce in each}:
            runs_of[nonce].add(run)
    for nonce, runs in runs_of.items():
        if len(runs) > 1:
            yield f"the authorization {nonce} is that of {len(runs)} runs"


def _find_open_pairs(
    run: str, deliveries: Sequence[Delivery], landed: Sequence[LandedEnvelope]
) -> Iterator[str]:
    firsts: dict[str, Delivery] = {}
    for each in deliveries:
        firsts.setdefault(each.envelope.inner_hash, each)
    for earlier, later in combinations(firsts.values(), 2):
        hash_ = earlier.envelope.inner_hash
        statuses = [each.status for each in deliveries if each.envelope.inner_hash == hash_]
        was_taken = any(status not in NOT_TAKEN for status in statuses)
        is_over = earlier.envelope.max_time < later.closed_at or any(
            each.envelope.inner_hash == hash_ and each.ledger <= later.ledger for each in landed
        )
        if was_taken and not is_over:
            yield f"{run} got another envelope while one could land"


def _find_credits_off(plans: Sequence[ProvenPlan], rows: CaseRows, paymaster: str) -> Iterator[str]:
    """Counters, receipts and fees that differ from the ledger."""
    for plan in plans:
        runs, row = _runs_of(plan, rows), rows.plans[plan.id]
        happened = 0
        for run in runs:
            on_ledger = rows.happened(plan, run)
            happened += bool(on_ledger)
            if bool(on_ledger) != (run["state"] == "succeeded"):
                yield f"run {run['run_index']} is {run['state']}, on the ledger {len(on_ledger)}"
            yield from _find_wrong_executor(run, on_ledger, rows)
        counters = ("runs_consumed", "runs_succeeded", "auths_used")
        counted = {name: row[name] for name in counters if row[name] != happened}
        if counted:
            yield f"{happened} runs happened and the plan counts {counted}"
        if rows.tallies[plan.id] < happened:
            yield f"{happened} runs happened and the target counts {rows.tallies[plan.id]}"
        yield from _find_wrong_credits(plan, row, rows.credits, happened)
    paid = sum(e.fee_charged for e in rows.landed if e.envelope.fee_source == paymaster)
    booked = {name: rows.sums[name] for name in ("spent", "spent_by_owners", "charged")}
    if set(booked.values()) != {paid}:
        yield f"the paymaster paid {paid} and the rows say {booked}"


def _find_wrong_credits(
    plan: ProvenPlan,
    row: Mapping[str, Any],
    credits_: Sequence[Mapping[str, Any]],
    happened: int,
) -> Iterator[str]:
    """Each run that happened takes one run that was paid for, and no other run does.

    What the owner had and bought is, less these runs, what is left of it. A free plan has no rows.
    """
    own = [each for each in credits_ if each["owner"] == row["owner"]]
    if not plan.is_paid:
        if own or row["runs_credited"] != RUNS:
            yield f"a free plan has {row['runs_credited']} runs and {len(own)} rows of credits"
        return
    sums = {
        kind: int(sum(each["amount"] for each in own if each["kind"] == kind)) // PRICE
        for kind in ("grant", "purchase", "consume", "return")
    }
    if (sums["grant"], sums["purchase"]) != (EARLIER, RUNS - EARLIER):
        yield f"runs were bought twice or lost: {sums}"
    if row["runs_credited"] != -sums["consume"] - sums["return"]:
        yield f"{row['runs_credited']} runs are credited to the plan, the ledger says {sums}"
    if sum(sums.values()) != RUNS - happened:
        yield f"{happened} runs of {RUNS} happened, the owner's balance is {sum(sums.values())}"


def _find_wrong_executor(
    run: Mapping[str, Any], happened: Sequence[LandedEnvelope], rows: CaseRows
) -> Iterator[str]:
    if len(happened) != 1 or run["state"] != "succeeded":
        return
    is_ours = rows.run_of(happened[0].envelope) == run["id"]
    expected = "service" if is_ours else "third_party"
    if run["executed_by"] != expected or not run["receipt"]:
        yield f"run {run['run_index']} was executed by {run['executed_by']}, not {expected}"
