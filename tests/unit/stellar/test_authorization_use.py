"""The ledger alone shows whether an authorization was used, may be used, or never will be."""

import base64
import dataclasses
from itertools import pairwise
from typing import Any

import pytest
from stellar_sdk import Keypair

from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from farebox.stellar.authorization_use import (
    AuthorizedTransfer,
    TransferLanded,
    TransferOpen,
    TransferVoid,
    find_use,
    read_authorized_transfer,
    shows_use,
)
from farebox.stellar.known_tokens import USDC
from farebox.stellar.rpc import LedgerStatus, RpcUnavailable
from support.buyer_ledger import BuyerNode, landing
from support.offers import SELLER
from support.payments import Draft

SIGNED, LAST = 1000, 1060
PAYER = Keypair.random()
DRAFT = Draft(
    Network.TESTNET,
    USDC[Network.TESTNET].contract,
    PAYER.public_key,
    (PAYER,),
    SELLER,
    expires_at_ledger=LAST,
)
ENVELOPE = DRAFT.envelope().to_xdr()


def transfer_of(draft: Draft) -> AuthorizedTransfer:
    read = read_authorized_transfer(base64.b64decode(draft.envelope().to_xdr()), draft.network)
    assert read is not None
    return read


TRANSFER = transfer_of(DRAFT)
LANDING = landing(TRANSFER, ENVELOPE, 1010)


async def use(node: BuyerNode) -> TransferLanded | TransferOpen | TransferVoid:
    return await find_use(node, TRANSFER, first_ledger=SIGNED)


def test_transfer_is_read_from_an_envelope_that_its_payer_authorizes() -> None:
    assert (TRANSFER.payer, TRANSFER.nonce) == (DRAFT.payer, DRAFT.nonce)
    assert TRANSFER.expires_at_ledger == LAST
    other = DRAFT.but(amount=DRAFT.amount + 1).entry()
    for refused in (DRAFT.envelope(other), DRAFT.without_entries()):
        assert read_authorized_transfer(refused.to_xdr_bytes(), DRAFT.network) is None
    assert read_authorized_transfer(b"no envelope", DRAFT.network) is None


@pytest.mark.parametrize("latest", [1010, LAST, LAST + 1, LAST + 5000])
async def test_landed_transfer_is_found_before_and_after_the_expiry(latest: int) -> None:
    entry = 1010 if latest <= LAST else None  # the nonce's entry ends with the authorization
    node = BuyerNode(latest=latest, used_in=entry, landed=[LANDING])
    assert await use(node) == TransferLanded(LANDING.tx_hash)
    assert await shows_use(node, TRANSFER, LANDING.tx_hash)


@pytest.mark.parametrize("latest", [SIGNED, LAST])
async def test_unused_authorization_is_open_until_its_last_ledger_has_passed(latest: int) -> None:
    assert await use(BuyerNode(latest=latest)) == TransferOpen(latest)
    assert await use(BuyerNode(latest=LAST + 1)) == TransferVoid(LAST + 1)


async def test_history_that_begins_after_the_signature_proves_no_absence() -> None:
    node = BuyerNode(latest=LAST + 1, oldest=SIGNED + 1)
    assert await use(node) == TransferOpen(LAST + 1)


async def test_used_nonce_without_its_transaction_is_open_and_used() -> None:
    assert await use(BuyerNode(latest=1020, used_in=1010)) == TransferOpen(1020, is_used=True)


@pytest.mark.parametrize(
    "changed",
    [
        landing(TRANSFER, DRAFT.but(nonce=DRAFT.nonce ^ 1).envelope().to_xdr(), 1010),
        landing(dataclasses.replace(TRANSFER, payer=Address(SELLER)), ENVELOPE, 1010),
        dataclasses.replace(LANDING, status=LedgerStatus.FAILED),
        dataclasses.replace(LANDING, events=()),
        dataclasses.replace(LANDING, events=("garbled",)),
    ],
    ids=["another nonce", "another payer's event", "failed", "no event", "garbled event"],
)
async def test_transaction_that_is_not_this_payment_counts_for_nothing(changed: Any) -> None:
    node = BuyerNode(latest=LAST + 1, landed=[changed])
    assert await use(node) == TransferVoid(LAST + 1)
    assert not await shows_use(node, TRANSFER, changed.tx_hash)


async def test_transaction_with_the_entry_proves_nothing_while_the_nonce_is_unused() -> None:
    node = BuyerNode(latest=1020, landed=[LANDING])  # an entry that a transaction did not use
    assert await use(node) == TransferOpen(1020)
    assert not await shows_use(node, TRANSFER, LANDING.tx_hash)
    assert not await shows_use(BuyerNode(latest=LAST + 1), TRANSFER, "ab" * 32)


async def test_busy_ledgers_are_searched_in_parts_and_a_full_one_proves_nothing() -> None:
    others = [
        landing(transfer_of(other), other.envelope().to_xdr(), SIGNED + number)
        for number, other in enumerate(DRAFT.but() for _ in range(4))
    ]
    node = BuyerNode(latest=LAST + 1, landed=[*others, LANDING], events=100)
    assert await use(node) == TransferLanded(LANDING.tx_hash)
    assert max(each.last_ledger for each in node.windows) == LAST
    node.landed.remove(LANDING)
    assert await use(node) == TransferVoid(LAST + 1)
    node.events = 200
    assert await use(node) == TransferOpen(LAST + 1)


async def test_long_life_is_searched_in_windows_that_a_node_scans() -> None:
    node = BuyerNode(latest=30_000)
    assert await find_use(
        node, dataclasses.replace(TRANSFER, expires_at_ledger=20_000), first_ledger=SIGNED
    ) == TransferVoid(30_000)
    assert all(each.last_ledger - each.first_ledger < 5_000 for each in node.windows)
    covered = sorted((each.first_ledger, each.last_ledger) for each in node.windows)
    assert (covered[0][0], covered[-1][1]) == (SIGNED, 20_000)
    assert all(later[0] == early[1] + 1 for early, later in pairwise(covered))


async def test_node_without_an_answer_is_an_outage() -> None:
    with pytest.raises(RpcUnavailable):
        await use(BuyerNode(is_away=True))
