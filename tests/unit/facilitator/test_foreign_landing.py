"""Searches for a foreign landing prove no absence for ledgers that the response does not cover."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from stellar_sdk import Keypair, StrKey

from farebox.facilitator.journal.foreign_landing import (
    ForeignLandingSearch,
    LandingSearchFailed,
    SpentAuthorization,
)
from farebox.facilitator.settlement import PaymentIdentity, SettlementState
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits, Stroops
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.rpc import (
    LandedEnvelope,
    LedgerEntries,
    LedgerEntry,
    LedgerStatus,
    NodeHealth,
    NoEnvelope,
    RpcUnavailable,
    TransactionFound,
    TransfersFound,
    TransferWindow,
)
from farebox.stellar.transfer_envelope import read_landed_call
from farebox.submission.fate import Dead
from farebox.x402.reasons import Reason
from support.claims import claim, signed_envelope
from support.envelopes import call_operation, sealed, transaction
from support.fake_rpc import FakeRpc
from support.manual_clock import START, ManualClock
from support.payments import Draft
from support.status_resolvers import status_resolver

PAYER, SENDER = Keypair.random(), Keypair.random()
DRAFT = Draft(
    asset=StrKey.encode_contract(bytes([7]) * 32),
    network=Network.TESTNET,
    payer=PAYER.public_key,
    signers=(PAYER,),
    pay_to=Keypair.random().public_key,
    expires_at_ledger=900,
)
IDENTITY = PaymentIdentity(Network.TESTNET, Address(PAYER.public_key), DRAFT.nonce)
SPENT = SpentAuthorization(
    IDENTITY, Address(DRAFT.asset), Address(DRAFT.pay_to), BaseUnits(DRAFT.amount)
)
OPERATION = call_operation(DRAFT.call(), (DRAFT.entry(),))
ENVELOPE = sealed(transaction([OPERATION], source=SENDER.public_key, sequence=5)).to_xdr_bytes()
_CALL = read_landed_call(ENVELOPE)
assert _CALL is not None
HASH = _CALL.hash(Network.TESTNET.id).hex()
LANDED = LandedEnvelope(ENVELOPE, START)


class Nobody:
    """No account of ours."""

    addresses: frozenset[Address] = frozenset()


@dataclass
class Node(FakeRpc):
    """Answers as of `ledger`; the nonce was used in ledger 105 where `is_used`."""

    ledger: int = 120
    oldest: int = 1
    is_used: bool = False
    hashes: tuple[str, ...] = ()
    envelope: LandedEnvelope | NoEnvelope = LANDED
    refusal: int | None = None
    holds: range = range(10**6)  # the ledgers with the transfers
    searched: list[TransferWindow] = field(default_factory=list)

    async def ledger_entries(self, keys: Sequence[bytes]) -> LedgerEntries:
        used = (LedgerEntry(keys[0], b"", 900, 105),) if self.is_used else ()
        return LedgerEntries(used, self.ledger)

    async def transfers(self, window: TransferWindow, *, limit: int) -> TransfersFound:
        if self.refusal is not None:
            raise RpcUnavailable(
                Network.TESTNET, "refused", certainly_not_sent=False, code=self.refusal
            )
        self.searched.append(window)
        ledgers = range(window.first_ledger, window.last_ledger + 1)
        is_there = any(ledger in self.holds for ledger in ledgers)
        return TransfersFound(self.hashes[:limit] if is_there else (), self.ledger)

    async def landed_envelope(self, tx_hash: str) -> LandedEnvelope | NoEnvelope:
        return self.envelope

    async def health(self) -> NodeHealth:
        return NodeHealth(self.ledger, START, self.oldest, START)


def landings(node: Node) -> ForeignLandingSearch:
    return ForeignLandingSearch(node, Nobody())


async def failure(node: Node, *, first: int = 101, last: int = 110) -> LandingSearchFailed:
    with pytest.raises(LandingSearchFailed) as failed:
        await landings(node).find_in_ledgers(SPENT, first=first, last=last)
    return failed.value


async def test_unused_nonce_proves_absence_only_as_of_the_requested_ledger() -> None:
    node = Node(ledger=109)
    with pytest.raises(LandingSearchFailed):
        await landings(node).find_by_nonce(SPENT, as_of_ledger=110)
    node.ledger = 110
    assert await landings(node).find_by_nonce(SPENT, as_of_ledger=110) is None


async def test_used_nonce_leads_to_its_transaction_at_any_ledger() -> None:
    node = Node(ledger=105, is_used=True, hashes=(HASH,))
    found = await landings(node).find_by_nonce(SPENT, as_of_ledger=110)
    assert found is not None
    assert (found.tx_hash.hex(), found.ledger) == (HASH, 105)


@pytest.mark.parametrize(
    "changes",
    [{"amount": DRAFT.amount - 1}, {"pay_to": Keypair.random().public_key}],
    ids=["amount", "recipient"],
)
async def test_transfer_of_another_kind_with_the_nonce_is_no_landing(
    changes: dict[str, Any],
) -> None:
    other = DRAFT.but(nonce=DRAFT.nonce, **changes)
    operation = call_operation(other.call(), (other.entry(),))
    envelope = sealed(transaction([operation], source=SENDER.public_key, sequence=5)).to_xdr_bytes()
    call = read_landed_call(envelope)
    assert call is not None
    hashes = (call.hash(Network.TESTNET.id).hex(),)
    node = Node(ledger=110, is_used=True, hashes=hashes, envelope=LandedEnvelope(envelope, START))
    assert await landings(node).find_by_nonce(SPENT, as_of_ledger=110) is None


async def test_search_proves_no_absence_when_it_ends_before_the_window() -> None:
    assert not (await failure(Node(ledger=109))).is_beyond_history
    assert await landings(Node(ledger=110)).find_in_ledgers(SPENT, first=101, last=110) is None
    early = Node(ledger=106, hashes=(HASH,))
    found = await landings(early).find_in_ledgers(SPENT, first=101, last=110)
    assert found is not None


async def test_event_of_an_unknown_transaction_proves_no_absence() -> None:
    node = Node(hashes=(HASH,), envelope=NoEnvelope(is_unknown=True))
    assert not (await failure(node)).is_beyond_history
    node.envelope = NoEnvelope(is_unknown=False)
    assert await landings(node).find_in_ledgers(SPENT, first=101, last=110) is None


@pytest.mark.parametrize("code", [-32600, -32602])
async def test_refusal_is_beyond_history_only_when_the_history_begins_later(code: int) -> None:
    assert (await failure(Node(refusal=code, oldest=102))).is_beyond_history
    assert not (await failure(Node(refusal=code, oldest=101))).is_beyond_history
    behind = Node(refusal=code, oldest=102, ledger=109)
    assert not (await failure(behind)).is_beyond_history


@pytest.mark.parametrize("code", [-32603, -32001, -32003, -32098, -32601])
async def test_other_refusals_are_never_beyond_history(code: int) -> None:
    assert not (await failure(Node(refusal=code, oldest=102))).is_beyond_history


SENT = signed_envelope(tx_hash=bytes.fromhex(HASH), envelope=Secret(ENVELOPE), max_time=START)
CLAIM = claim(
    identity=IDENTITY,
    asset=SPENT.asset,
    amount=BaseUnits(DRAFT.amount),
    pay_to=SPENT.pay_to,
    expires_at_ledger=900,
)
REFUSED = TransactionFound(
    "07" * 32, LedgerStatus.FAILED, 110, START, "txFAILED", "TRAPPED", Stroops(100), ()
)


@pytest.mark.parametrize("is_used", [True, False])
async def test_envelope_found_on_the_ledger_is_never_dead(is_used: bool) -> None:
    node = Node(is_used=is_used, hashes=(HASH,))
    conclusions = status_resolver(landings(node), ManualClock())
    assert await conclusions.resolve(Dead(110), CLAIM, SENT) is None
    node.is_used, node.hashes = False, ()
    ended = await conclusions.resolve(Dead(110), CLAIM, SENT)
    assert ended is not None
    assert ended.state is SettlementState.DEAD


@pytest.mark.parametrize("fate", [Dead(110), REFUSED])
async def test_foreign_landing_is_found_by_its_transfer_when_its_nonce_entry_is_gone(
    fate: Dead | TransactionFound,
) -> None:
    """Control: without the transfers of the ledgers, the entry alone says the nonce is unused."""
    ours = replace(SENT, tx_hash=bytes([9]) * 32)
    gone = Node(hashes=(HASH,))
    assert await landings(gone).find_by_nonce(SPENT, as_of_ledger=110) is None
    ended = await status_resolver(landings(gone), ManualClock()).resolve(fate, CLAIM, ours)
    assert ended is not None
    assert (ended.reason, ended.landed_hash) == (Reason.FOREIGN_LANDING, bytes.fromhex(HASH))
    assert ended.landed_at == START


async def test_foreign_landing_is_found_by_its_nonce_outside_the_ledgers_searched() -> None:
    """Control: the ledgers that are searched begin after the one that the nonce names."""
    node = Node(ledger=1_020, is_used=True, hashes=(HASH,))
    node.holds = range(105, 106)
    ours = replace(SENT, tx_hash=bytes([9]) * 32, sent_after_ledger=1_000)
    late = replace(REFUSED, ledger=1_010)
    assert await landings(node).find_in_ledgers(SPENT, first=976, last=1_010) is None
    ended = await status_resolver(landings(node), ManualClock()).resolve(late, CLAIM, ours)
    assert ended is not None
    assert ended.landed_hash == bytes.fromhex(HASH)


@pytest.mark.parametrize(("cadence_s", "first"), [(5.0, 976), (1.0, 880), (6.5, 976), (None, 1)])
async def test_search_begins_two_minutes_before_the_envelope(
    cadence_s: float | None, first: int
) -> None:
    """A payment judged by a node twelve ledgers behind may wait that long before it is sent."""
    node = Node(ledger=1_020)
    late = replace(SENT, sent_after_ledger=1_000)
    conclusions = status_resolver(landings(node), ManualClock(), cadence_s=cadence_s)
    assert await conclusions.resolve(Dead(1_010), CLAIM, late) is not None
    assert [(each.first_ledger, each.last_ledger) for each in node.searched] == [(first, 1_010)]
