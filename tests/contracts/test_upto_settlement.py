"""The draft of `upto` on the real host: the payer signs once, the captor says how much."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import pytest
from stellar_sdk import Address, Keypair, scval, xdr
from stellar_sdk.auth import authorize_entry
from stellar_sdk.operation import Operation

from support.automation_ledger import AutomationLedger, Entry, automation_ledger
from support.promises import promise
from support.running_devnet import TESTNET

MOST: Final = 500
NONCE: Final = bytes(31) + b"\x01"


@dataclass(frozen=True, slots=True)
class Grant:
    """What a payer grants a captor."""

    ledger: AutomationLedger
    upto: str
    payer: Keypair
    captor: Keypair
    pay_to: str
    expiration_ledger: int
    nonce: bytes = NONCE

    def value(self) -> xdr.SCVal:
        now = self.ledger.now
        return scval.to_struct(
            {
                "asset": scval.to_address(self.ledger.native),
                "captor": scval.to_address(self.captor.public_key),
                "context": scval.to_bytes(bytes(32)),
                "expiration_ledger": scval.to_uint32(self.expiration_ledger),
                "max_amount": scval.to_int128(MOST),
                "nonce": scval.to_bytes(self.nonce),
                "not_after": scval.to_uint64(now + 300),
                "not_before": scval.to_uint64(now - 300),
                "pay_to": scval.to_address(self.pay_to),
                "payer": scval.to_address(self.payer.public_key),
            }
        )

    def capture(self, amount: int, *, captor: Keypair | None = None) -> Operation:
        """A capture whose maximum the payer signed: what was used is not in its entry."""
        value, usage = self.value(), scval.to_bytes(bytes(32))
        args = [value, scval.to_int128(amount), usage]
        return self.ledger.signed(self.upto, "capture", args, self.signer(captor))

    def signer(self, captor_key: Keypair | None = None) -> "Signer":
        """Payer and captor; the captor's key may be another's."""
        return Signer(self.ledger, self.payer, self.captor, captor_key or self.captor)

    def status(self) -> str:
        """How the grant ended, as its contract says."""
        parties = [scval.to_address(each.public_key) for each in (self.payer, self.captor)]
        found = self.ledger.read(self.upto, "status", *parties, scval.to_bytes(self.nonce))
        return scval.from_symbol(scval.from_vec(found)[0])


@dataclass(frozen=True, slots=True)
class Signer:
    """Signs the captor's entry with a key that may be another's."""

    ledger: AutomationLedger
    payer: Keypair
    captor: Keypair
    captor_key: Keypair

    def __call__(self, entry: Entry) -> Entry:
        credentials = entry.credentials.address or entry.credentials.address_v2
        assert credentials is not None, "nobody's authority comes from the transaction"
        who = Address.from_xdr_sc_address(credentials.address).address
        key = self.captor_key if who == self.captor.public_key else self.payer
        return authorize_entry(entry, key, self.ledger.sequence + 20, TESTNET)


@pytest.fixture(scope="module")
def ledger() -> Iterator[AutomationLedger]:
    with automation_ledger() as running:
        yield running


@pytest.fixture(scope="module")
def deployed(ledger: AutomationLedger) -> tuple[str, str]:
    """The contract, and one that is paid."""
    keeper = ledger.deploy("keeper", scval.to_bool(True), scval.to_uint64(0))
    return ledger.deploy("upto_settlement"), keeper


@pytest.fixture
def grant(ledger: AutomationLedger, deployed: tuple[str, str]) -> Grant:
    """A grant of a payer and a captor of its own."""
    upto, pay_to = deployed
    return Grant(ledger, upto, ledger.account(), ledger.account(), pay_to, ledger.sequence + 50)


@promise("upto:captures-at-most-what-was-authorized")
@pytest.mark.parametrize("amount", [0, 120, MOST])
def test_grant_is_captured_once(grant: Grant, amount: int) -> None:
    ledger = grant.ledger
    held, paid = (
        ledger.balance(ledger.native, each) for each in (grant.payer.public_key, grant.pay_to)
    )
    captured = ledger.land(grant.capture(amount))
    assert scval.from_int128(captured) == amount
    assert ledger.balance(ledger.native, grant.pay_to) == paid + amount
    assert ledger.balance(ledger.native, grant.payer.public_key) == held - amount
    assert ledger.balance(ledger.native, grant.upto) == 0
    spender = [scval.to_address(each) for each in (grant.payer.public_key, grant.upto)]
    assert scval.from_int128(ledger.read(ledger.native, "allowance", *spender)) == 0
    assert grant.status() == "Captured"
    assert "#5" in ledger.refusal(grant.capture(amount))


@promise("upto:captures-at-most-what-was-authorized")
def test_capture_by_another_captor_or_outside_of_the_grant_is_refused(grant: Grant) -> None:
    ledger = grant.ledger
    for amount in (MOST + 1, -1):
        assert "#4" in ledger.refusal(grant.capture(amount))
    assert "Error(Auth" in ledger.refusal(grant.capture(1, captor=Keypair.random()))
    assert grant.status() == "Open"


def test_capture_after_the_last_ledger_is_refused(grant: Grant) -> None:
    over = replace(grant, expiration_ledger=grant.ledger.sequence - 1)
    assert "#2" in grant.ledger.refusal(over.capture(1))


def test_cancelled_grant_is_not_captured(grant: Grant) -> None:
    ledger, value = grant.ledger, [grant.value()]
    ledger.land(ledger.signed(grant.upto, "cancel", value, grant.signer()))
    assert grant.status() == "Cancelled"
    assert "#6" in grant.ledger.refusal(grant.capture(1))


def test_void_grant_is_not_captured(grant: Grant) -> None:
    parties = [scval.to_address(each.public_key) for each in (grant.payer, grant.captor)]
    args = [*parties, scval.to_bytes(grant.nonce)]
    ledger = grant.ledger
    stranger = Signer(ledger, grant.payer, grant.captor, Keypair.random())
    assert "Error(Auth" in ledger.refusal(ledger.signed(grant.upto, "void", args, stranger))
    ledger.land(ledger.signed(grant.upto, "void", args, grant.signer()))
    assert grant.status() == "Voided"
    assert "#7" in ledger.refusal(grant.capture(1))
