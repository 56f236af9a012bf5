"""A look-up for a foreign landing says nothing of ledgers that its answer does not cover."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import uuid4

import pytest
from stellar_sdk import Keypair, StrKey

from farebox.facilitator.identity import PaymentIdentity
from farebox.facilitator.journal.conclude import Conclusions
from farebox.facilitator.journal.foreign import Authorization, ForeignLandings, LookUpFailed
from farebox.facilitator.settlement import Claim, SettlementState
from farebox.kernel.addresses import Address, account_address
from farebox.kernel.amounts import BaseUnits, Stroops
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.rpc import (
    LandedEnvelope,
    LedgerEntries,
    LedgerEntry,
    NodeHealth,
    NoEnvelope,
    RpcUnavailable,
    TransfersFound,
    TransferWindow,
)
from farebox.stellar.transfer_envelope import read_landed_call
from farebox.submission.fate import Dead, SentEnvelope
from support.envelopes import call_operation, sealed, transaction
from support.manual_clock import START, ManualClock
from support.payments import Draft

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
SPENT = Authorization(IDENTITY, Address(DRAFT.asset), Address(DRAFT.pay_to))
OPERATION = call_operation(DRAFT.call(), (DRAFT.entry(),))
ENVELOPE = sealed(transaction([OPERATION], source=SENDER.public_key, sequence=5)).to_xdr_bytes()
_CALL = read_landed_call(ENVELOPE)
assert _CALL is not None
HASH = _CALL.hash(Network.TESTNET.id).hex()


class Nobody:
    """No account of ours."""

    addresses: frozenset[Address] = frozenset()


@dataclass
class Node:
    """Answers as of `ledger`; the nonce was used in ledger 105 where `is_used`."""

    ledger: int = 120
    oldest: int = 1
    is_used: bool = False
    hashes: tuple[str, ...] = ()
    envelope: LandedEnvelope | NoEnvelope = field(default_factory=lambda: LandedEnvelope(ENVELOPE))
    refusal: int | None = None

    async def ledger_entries(self, keys: Sequence[bytes]) -> LedgerEntries:
        used = (LedgerEntry(keys[0], b"", 900, 105),) if self.is_used else ()
        return LedgerEntries(used, self.ledger)

    async def transfers(self, window: TransferWindow, *, limit: int) -> TransfersFound:
        if self.refusal is not None:
            raise RpcUnavailable(
                Network.TESTNET, "refused", certainly_not_sent=False, code=self.refusal
            )
        return TransfersFound(self.hashes[:limit], self.ledger)

    async def landed_envelope(self, tx_hash: str) -> LandedEnvelope | NoEnvelope:
        return self.envelope

    async def health(self) -> NodeHealth:
        return NodeHealth(self.ledger, START, self.oldest, START)


def landings(node: Node) -> ForeignLandings:
    return ForeignLandings(node, Nobody())


async def failure(node: Node, *, first: int = 101, last: int = 110) -> LookUpFailed:
    with pytest.raises(LookUpFailed) as failed:
        await landings(node).between(SPENT, first_ledger=first, last_ledger=last)
    return failed.value


async def test_an_unused_nonce_counts_only_as_of_the_ledger_asked_for() -> None:
    node = Node(ledger=109)
    with pytest.raises(LookUpFailed):
        await landings(node).of_used_nonce(SPENT, as_of_ledger=110)
    node.ledger = 110
    assert await landings(node).of_used_nonce(SPENT, as_of_ledger=110) is None


async def test_a_used_nonce_leads_to_the_transaction_whatever_the_ledger() -> None:
    node = Node(ledger=105, is_used=True, hashes=(HASH,))
    found = await landings(node).of_used_nonce(SPENT, as_of_ledger=110)
    assert found is not None
    assert (found.tx_hash.hex(), found.ledger) == (HASH, 105)


async def test_a_search_that_ends_before_the_window_finds_what_is_there_and_excludes_nothing() -> (
    None
):
    assert not (await failure(Node(ledger=109))).is_forgotten
    assert (
        await landings(Node(ledger=110)).between(SPENT, first_ledger=101, last_ledger=110) is None
    )
    early = Node(ledger=106, hashes=(HASH,))
    found = await landings(early).between(SPENT, first_ledger=101, last_ledger=110)
    assert found is not None


async def test_an_event_whose_transaction_the_node_does_not_know_is_no_absence() -> None:
    node = Node(hashes=(HASH,), envelope=NoEnvelope(is_unknown=True))
    assert not (await failure(node)).is_forgotten
    node.envelope = NoEnvelope(is_unknown=False)
    assert await landings(node).between(SPENT, first_ledger=101, last_ledger=110) is None


@pytest.mark.parametrize("code", [-32600, -32602])
async def test_a_refusal_ends_a_search_only_where_the_history_begins_later(code: int) -> None:
    assert (await failure(Node(refusal=code, oldest=102))).is_forgotten
    assert not (await failure(Node(refusal=code, oldest=101))).is_forgotten
    behind = Node(refusal=code, oldest=102, ledger=109)
    assert not (await failure(behind)).is_forgotten


@pytest.mark.parametrize("code", [-32603, -32001, -32003, -32098, -32601])
async def test_no_other_refusal_ends_a_search(code: int) -> None:
    assert not (await failure(Node(refusal=code, oldest=102))).is_forgotten


async def test_an_envelope_found_on_the_ledger_is_never_dead() -> None:
    sent = SentEnvelope(
        tx_hash=bytes.fromhex(HASH),
        inner_hash=None,
        envelope=Secret(ENVELOPE),
        source=account_address(bytes([3]) * 32),
        source_sequence=7,
        max_time=START,
        fee_limit=Stroops(30_000),
        sent_after_ledger=100,
    )
    terms = (Address(DRAFT.asset), BaseUnits(DRAFT.amount), Address(DRAFT.pay_to))
    claim = Claim(IDENTITY, uuid4(), bytes(32), *terms, 900, START, 60)
    node = Node(is_used=True, hashes=(HASH,))
    conclusions = Conclusions(landings(node), ManualClock())
    assert await conclusions.ending(Dead(110), claim, sent) is None
    node.is_used = False
    ended = await conclusions.ending(Dead(110), claim, sent)
    assert ended is not None
    assert ended.state is SettlementState.DEAD
