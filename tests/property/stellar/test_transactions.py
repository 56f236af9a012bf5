"""Transactions built from slices equal those that the SDK builds from values, byte for byte."""

from hypothesis import given, settings
from hypothesis import strategies as st
from nacl.signing import SigningKey
from stellar_sdk import FeeBumpTransactionEnvelope, Keypair, TransactionEnvelope, xdr

from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.transactions import (
    SignedTransaction,
    build_settlement,
    fee_bump,
    sign,
    simulation_envelope,
    transaction_hash,
)
from farebox.stellar.transfer_envelope import TransferEnvelope, read_transfer_envelope
from support.envelope_strategies import signed_payments
from support.examples import examples
from support.sdk_envelopes import NO_MEMO, call_operation, envelope, muxed_source
from support.sdk_ledger_keys import resource_datas
from support.sdk_values import uint32, uint64

RELAYER = Keypair.from_raw_ed25519_seed(b"\x51" * 32)
PAYMASTER = Keypair.from_raw_ed25519_seed(b"\x52" * 32)
SEQUENCES = st.integers(0, 2**63 - 1)
NETWORKS = st.sampled_from(Network)


def _key(pair: Keypair) -> Secret[SigningKey]:
    return Secret(SigningKey(pair.raw_secret_key()))


def _read(original: xdr.TransactionEnvelope) -> TransferEnvelope:
    read = read_transfer_envelope(original.to_xdr_bytes())
    assert isinstance(read, TransferEnvelope)
    return read


def _call_of(original: xdr.TransactionEnvelope) -> xdr.Operation:
    assert original.v1 is not None
    invoke = original.v1.tx.operations[0].body.invoke_host_function_op
    assert invoke is not None
    assert invoke.host_function.invoke_contract is not None
    return call_operation(invoke.host_function.invoke_contract, invoke.auth)


def _bounds(low: int, high: int) -> xdr.Preconditions:
    held = xdr.TimeBounds(xdr.TimePoint(xdr.Uint64(low)), xdr.TimePoint(xdr.Uint64(high)))
    return xdr.Preconditions(xdr.PreconditionType.PRECOND_TIME, time_bounds=held)


@st.composite
def _settlements(
    draw: st.DrawFn,
) -> tuple[Network, SignedTransaction, bytes, xdr.TransactionEnvelope]:
    """A built and signed settlement, its hash before signing, and the SDK's unsigned equivalent."""
    original = draw(signed_payments)
    network, resources = draw(NETWORKS), draw(resource_datas)
    sequence, fee = draw(SEQUENCES), draw(uint32)
    min_time, max_time = sorted((draw(uint64), draw(uint64)))
    ours = build_settlement(
        _read(original),
        source=Address(RELAYER.public_key),
        sequence=sequence,
        fee=fee,
        min_time=min_time,
        max_time=max_time,
        soroban_data=resources.to_xdr_bytes(),
    )
    theirs = envelope(
        _call_of(original),
        source=muxed_source(RELAYER.raw_public_key()),
        fee=fee,
        sequence=sequence,
        preconditions=_bounds(min_time, max_time),
        memo=NO_MEMO,
        resources=resources,
    )
    digest = transaction_hash(ours, network.id)
    return network, sign(ours, _key(RELAYER), network.id), digest, theirs


@settings(max_examples=examples(100), deadline=None)
@given(_settlements(), st.integers(2**34, 2**62))
def test_settlement_and_its_fee_bump_equal_the_sdks_in_hash_signature_and_bytes(
    settlement: tuple[Network, SignedTransaction, bytes, xdr.TransactionEnvelope], fee: int
) -> None:
    network, ours, digest, unsigned = settlement
    theirs = TransactionEnvelope.from_xdr(unsigned.to_xdr(), network.passphrase)
    theirs.sign(RELAYER)
    assert ours.hash == theirs.hash_hex()
    assert digest == theirs.hash()
    assert ours.envelope_base64.reveal() == theirs.to_xdr()
    assert ours.size_bytes == len(theirs.to_xdr_object().to_xdr_bytes())
    assert ours.inner_hash is None
    _assert_fee_bump_equals_the_sdks(network, ours, fee)


def _assert_fee_bump_equals_the_sdks(network: Network, inner: SignedTransaction, fee: int) -> None:
    ours = fee_bump(
        inner,
        fee_source=Address(PAYMASTER.public_key),
        fee=fee,
        key=_key(PAYMASTER),
        network_id=network.id,
    )
    held = xdr.TransactionEnvelope.from_xdr(inner.envelope_base64.reveal())
    bumped = xdr.FeeBumpTransaction(
        muxed_source(PAYMASTER.raw_public_key()),
        xdr.Int64(fee),
        xdr.FeeBumpTransactionInnerTx(xdr.EnvelopeType.ENVELOPE_TYPE_TX, held.v1),
        xdr.FeeBumpTransactionExt(0),
    )
    unsigned = xdr.TransactionEnvelope(
        xdr.EnvelopeType.ENVELOPE_TYPE_TX_FEE_BUMP,
        fee_bump=xdr.FeeBumpTransactionEnvelope(bumped, []),
    )
    theirs = FeeBumpTransactionEnvelope.from_xdr(unsigned.to_xdr(), network.passphrase)
    theirs.sign(PAYMASTER)
    assert ours.hash == theirs.hash_hex()
    assert ours.inner_hash == inner.hash
    assert ours.envelope_base64.reveal() == theirs.to_xdr()
    assert ours.size_bytes == len(theirs.to_xdr_object().to_xdr_bytes())


@settings(max_examples=examples(50), deadline=None)
@given(signed_payments, SEQUENCES)
def test_simulation_envelope_has_the_call_with_our_source_only(
    original: xdr.TransactionEnvelope, sequence: int
) -> None:
    ours = simulation_envelope(
        _read(original), source=Address(RELAYER.public_key), sequence=sequence
    )
    source = muxed_source(RELAYER.raw_public_key())
    assert ours == envelope(_call_of(original), source=source, sequence=sequence).to_xdr()
