"""The journal is read for what the ledger refuses, and its absence changes nothing."""

import json
from types import SimpleNamespace
from typing import Any, cast

import pytest
from stellar_sdk import Keypair, StrKey

from farebox.facilitator.identity import PaymentIdentity
from farebox.facilitator.settlement import Settlement
from farebox.facilitator.settling.verify_known import KnownVerifier
from farebox.facilitator.verification.verdict import Accepted, Rejected
from farebox.facilitator.verification.verify import Verifier
from farebox.kernel.addresses import Address
from farebox.kernel.caller import OwnerId
from farebox.kernel.networks import Network
from farebox.stellar.simulation_slots import Requester
from farebox.storage.faults import DatabaseUnavailable
from farebox.x402.payment import Payment
from farebox.x402.reasons import Reason
from farebox.x402.wire import read_payment
from support.payments import Draft

PAYER = Keypair.random()
DRAFT = Draft(
    network=Network.TESTNET,
    asset=StrKey.encode_contract(bytes([7]) * 32),
    payer=PAYER.public_key,
    signers=(PAYER,),
    pay_to=Keypair.random().public_key,
    expires_at_ledger=900,
)


class Judging:
    """A verifier that has nothing against the payment but what the ledger says."""

    def __init__(self, verdict: object) -> None:
        self._verdict = verdict

    def examine(self, payment: Payment) -> Any:
        return SimpleNamespace(payer=Address(PAYER.public_key), entry=SimpleNamespace(nonce=5))

    async def judge(self, transfer: object, requester: Requester, *, caller: OwnerId | None) -> Any:
        return self._verdict


class Journal:
    """Counts its look-ups; away."""

    def __init__(self) -> None:
        self.finds = 0

    async def find(self, identity: PaymentIdentity) -> Settlement | None:
        self.finds += 1
        raise DatabaseUnavailable("away")


async def verified(verdict: object) -> tuple[object, int]:
    journal = Journal()
    verifier = KnownVerifier(cast("Verifier", Judging(verdict)), journal)
    payment = read_payment(_encoded())
    assert isinstance(payment, Payment)
    return await verifier.verify(payment), journal.finds


def _encoded() -> bytes:
    return json.dumps(DRAFT.request()).encode()


async def test_an_accepted_payment_costs_no_look_up() -> None:
    accepted = object.__new__(Accepted)
    assert await verified(accepted) == (accepted, 0)


@pytest.mark.parametrize("reason", [Reason.NETWORK_UNAVAILABLE, Reason.SPONSOR_STOPPED])
async def test_what_the_ledger_did_not_refuse_costs_no_look_up(reason: Reason) -> None:
    assert await verified(Rejected(reason)) == (Rejected(reason), 0)


@pytest.mark.parametrize("reason", [Reason.SIMULATION_FAILED, Reason.EXPIRED])
async def test_a_failing_look_up_changes_nothing(reason: Reason) -> None:
    assert await verified(Rejected(reason)) == (Rejected(reason), 1)
