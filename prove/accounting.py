"""Judges many payments together, and the sums of journal and budgets by the ledger's balances."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from farebox.buyer.holdings import read_holdings
from farebox.kernel.addresses import Address
from farebox.kernel.secret import Secret
from farebox.stellar.rpc_http import HttpSorobanRpc
from farebox.stellar.signers import read_signers
from prove.caller import Caller
from prove.environment import AMOUNT, Environment
from prove.outcome import findings_of
from prove.payment_check import (
    PaymentFinding,
    SettlementViolation,
    group_by_payment,
    is_answer_cut,
    judge,
    read_ledger,
    read_row,
    wait_until_final,
)
from prove.world import NETWORK

_CONFIRMED: Final = "SELECT count(*) AS n FROM settlements WHERE state = 'confirmed'"
_CHARGED: Final = "SELECT coalesce(sum(fee_charged), 0)::bigint AS n FROM settlements"


@dataclass(frozen=True, slots=True)
class Balances:
    """The balances of relayer and payee at one time."""

    relayer: int  # stroops
    payee: int  # base units


def _relayer(environment: Environment) -> Address:
    return read_signers(environment.world.prepared.relayer, None).relayer.address


async def read_balances(environment: Environment) -> Balances:
    """Read the balances of relayer and payee."""
    payee = environment.world.prepared.scene.payees[0].address
    async with HttpSorobanRpc(NETWORK, Secret(environment.devnet.rpc_url)) as node:
        relayer = await node.account(_relayer(environment))
        held = await read_holdings(node, NETWORK, payee)
    return Balances(relayer.balance if relayer is not None else 0, held.usdc or 0)


async def audit_balances(environment: Environment, before: Balances) -> list[PaymentFinding]:
    """Find every sum that does not match, once all payments have a final state."""
    now = await read_balances(environment)
    confirmed = int((await environment.query(_CONFIRMED))[0]["n"])
    charged = int((await environment.query(_CHARGED))[0]["n"])
    differences = []
    if now.payee - before.payee != confirmed * AMOUNT:
        got = (now.payee - before.payee) // AMOUNT
        differences.append(f"the payee received {got} payments and {confirmed} are confirmed")
    if before.relayer - now.relayer != charged:
        paid = before.relayer - now.relayer
        differences.append(f"the relayer paid {paid} stroops and the rows say {charged}")
    differences += [
        f"budget {drift.scope} {drift.name}: counter {drift.counted}, rows {drift.summed}"
        for drift in await environment.budget_drift()
    ]
    return findings_of({SettlementViolation.LOST: differences})


@dataclass(frozen=True, slots=True)
class Verdict:
    """The findings, the successes that were cut off, and the confirmed payments."""

    findings: list[PaymentFinding]
    answer_cut: int
    settled: int


async def judge_all(
    environment: Environment, callers: Sequence[Caller], before: Balances, *, until: float
) -> Verdict:
    """Judge every payment and all sums; payments have until `until` (the loop's time)."""
    are_final = [await wait_until_final(environment, each.payment, until=until) for each in callers]
    by_payment = group_by_payment(await read_ledger(environment))
    findings: list[PaymentFinding] = []
    cut = confirmed = 0
    for caller, is_final in zip(callers, are_final, strict=True):
        own = by_payment[caller.payment.payer, caller.payment.nonce]
        row = await read_row(environment, caller.payment)
        findings += judge(own, row, caller.answers, is_final=is_final)
        cut += is_answer_cut(row, caller.answers)
        confirmed += row is not None and row.state == "confirmed"
    return Verdict(findings + await audit_balances(environment, before), cut, confirmed)
