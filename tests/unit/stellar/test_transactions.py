"""The operator's transactions: what they take from the client's envelope, and what is their own."""

import base64

import pytest
from nacl.signing import SigningKey
from stellar_sdk import Keypair, xdr

from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from farebox.kernel.secret import MASK, Secret
from farebox.stellar.transactions import (
    SignedTransaction,
    UnsignedTransaction,
    build_settlement,
    fee_bump,
    sign,
    simulation_envelope,
)
from farebox.stellar.transfer_envelope import TransferEnvelope, read_transfer_envelope
from support.raw_envelopes import ONE, SOURCE, raw_envelope, u32
from support.sdk_ledger_keys import resource_data

RELAYER = Keypair.from_raw_ed25519_seed(b"\x51" * 32)
SOURCE_ADDRESS = Address(RELAYER.public_key)
KEY = Secret(SigningKey(RELAYER.raw_secret_key()))
RESOURCES = resource_data(read_only=[], read_write=[], fee=23_000)
CLUTTERED = raw_envelope(
    memo=ONE + u32(4) + b"memo",
    preconditions=ONE + (5).to_bytes(8, "big") + (6).to_bytes(8, "big"),
    operation_source=ONE + SOURCE,
    resources=ONE + resource_data(read_only=[], read_write=[], fee=9_999_999).to_xdr_bytes(),
    signatures=ONE + b"hint" + u32(64) + b"\x77" * 64,
)


def _read(raw: bytes) -> TransferEnvelope:
    read = read_transfer_envelope(raw)
    assert isinstance(read, TransferEnvelope)
    return read


def _settlement(raw: bytes, **changes: int) -> UnsignedTransaction:
    numbers = {"sequence": 7, "fee": 30_000, "max_time": 1_900_000_000} | changes
    return build_settlement(
        _read(raw), source=SOURCE_ADDRESS, soroban_data=RESOURCES.to_xdr_bytes(), **numbers
    )


def _signed(raw: bytes) -> SignedTransaction:
    return sign(_settlement(raw), KEY, Network.TESTNET.id)


def test_settlement_contains_nothing_of_the_clients_envelope_but_the_call() -> None:
    clean, cluttered = _settlement(raw_envelope()), _settlement(CLUTTERED)
    assert clean == cluttered
    simulated = [
        simulation_envelope(_read(raw), source=SOURCE_ADDRESS, sequence=7)
        for raw in (raw_envelope(), CLUTTERED)
    ]
    assert simulated[0] == simulated[1]


def test_settlement_has_the_operators_source_sequence_fee_bounds_and_resources() -> None:
    held = xdr.TransactionEnvelope.from_xdr(_signed(CLUTTERED).envelope_base64.reveal()).v1
    assert held is not None
    tx = held.tx
    assert tx.source_account.ed25519 == xdr.Uint256(RELAYER.raw_public_key())
    assert (tx.fee.uint32, tx.seq_num.sequence_number.int64) == (30_000, 7)
    assert tx.cond.time_bounds is not None
    assert tx.cond.time_bounds.min_time.time_point.uint64 == 0
    assert tx.cond.time_bounds.max_time.time_point.uint64 == 1_900_000_000
    assert tx.memo.type == xdr.MemoType.MEMO_NONE
    assert tx.operations[0].source_account is None
    assert tx.ext.soroban_data == RESOURCES
    assert [len(one.signature.signature) for one in held.signatures] == [64]


def test_settlement_keeps_authorization_entries_byte_for_byte() -> None:
    raw = raw_envelope()
    (entry,) = _read(raw).entries
    assert entry.raw in base64.b64decode(_signed(raw).envelope_base64.reveal())


def test_signing_depends_on_the_network() -> None:
    unsigned = _settlement(raw_envelope())
    testnet, pubnet = (sign(unsigned, KEY, network.id) for network in Network)
    assert testnet.hash != pubnet.hash
    assert testnet.envelope_base64.reveal() != pubnet.envelope_base64.reveal()


def test_signing_twice_gives_the_same_envelope() -> None:
    first, second = _signed(raw_envelope()), _signed(raw_envelope())
    assert first.hash == second.hash
    assert first.envelope_base64.reveal() == second.envelope_base64.reveal()


def test_repr_of_a_transaction_hides_its_envelope() -> None:
    signed = _signed(raw_envelope())
    assert signed.envelope_base64.reveal() not in repr(signed)
    assert MASK in repr(signed)
    assert repr(_settlement(raw_envelope())) == "UnsignedTransaction()"


def test_fee_bump_has_the_inner_envelope_and_both_hashes() -> None:
    inner = _signed(raw_envelope())
    outer = fee_bump(
        inner, fee_source=SOURCE_ADDRESS, fee=60_000, key=KEY, network_id=Network.TESTNET.id
    )
    assert outer.inner_hash == inner.hash
    assert outer.hash != inner.hash
    inner_bytes = base64.b64decode(inner.envelope_base64.reveal())
    outer_bytes = base64.b64decode(outer.envelope_base64.reveal())
    assert inner_bytes in outer_bytes
    assert outer.size_bytes == len(outer_bytes) == len(inner_bytes) + 4 + 36 + 8 + 4 + 76


@pytest.mark.parametrize(
    "changes", [{"fee": 2**32}, {"fee": -1}, {"sequence": 2**63}, {"max_time": -1}]
)
def test_settlement_raises_when_a_number_does_not_fit(changes: dict[str, int]) -> None:
    with pytest.raises(OverflowError):
        _settlement(raw_envelope(), **changes)
