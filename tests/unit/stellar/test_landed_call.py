"""What is read of a transaction that somebody landed: by whom, authorized how, under which hash."""

import base64

import pytest
from stellar_sdk import Address as SdkAddress
from stellar_sdk import (
    FeeBumpTransactionEnvelope,
    Keypair,
    StrKey,
    TransactionEnvelope,
    scval,
    xdr,
)

from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from farebox.stellar.rpc import LandedEnvelope, NoEnvelope, TransfersFound, TransferWindow
from farebox.stellar.rpc_answers import Garbled
from farebox.stellar.transfer_envelope import LandedCall, read_landed_call
from farebox.stellar.transfer_search import (
    EnvelopeBody,
    EventSeen,
    EventsFoundBody,
    envelope_answer,
    events_answer,
    nonce_key,
    transfer_search,
)
from support.calls import address, address_value, invoke
from support.envelopes import call_operation, fee_bumped, sealed, transaction
from support.payments import Draft

NET = Network.TESTNET
PAYER, SENDER, BUMPER = Keypair.random(), Keypair.random(), Keypair.random()
ASSET = StrKey.encode_contract(bytes([7]) * 32)
DRAFT = Draft(
    network=NET,
    asset=ASSET,
    payer=PAYER.public_key,
    signers=(PAYER,),
    pay_to=Keypair.random().public_key,
    expires_at_ledger=900,
)


def landed(*, call: xdr.InvokeContractArgs | None = None) -> xdr.TransactionEnvelope:
    """A stranger's own transaction around the payer's entry."""
    operation = call_operation(call or DRAFT.call(), (DRAFT.entry(),))
    conditions = xdr.Preconditions(
        xdr.PreconditionType.PRECOND_TIME,
        xdr.TimeBounds(xdr.TimePoint(xdr.Uint64(0)), xdr.TimePoint(xdr.Uint64(1_800_000_000))),
    )
    tx = transaction([operation], source=SENDER.public_key, sequence=77, conditions=conditions)
    return sealed(tx)


def read(envelope: xdr.TransactionEnvelope) -> LandedCall:
    call = read_landed_call(envelope.to_xdr_bytes())
    assert call is not None
    return call


def test_a_plain_transaction_is_read_with_its_hash() -> None:
    envelope = landed()
    call = read(envelope)
    assert (call.source, call.fee_source) == (SENDER.public_key, SENDER.public_key)
    assert (call.sequence, call.max_time) == (77, 1_800_000_000)
    assert [(each.address, each.nonce) for each in call.entries] == [
        (PAYER.public_key, DRAFT.nonce)
    ]
    known = TransactionEnvelope.from_xdr(envelope.to_xdr(), NET.passphrase)
    assert call.hash(NET.id) == known.hash()
    assert call.inner_hash(NET.id) is None


def test_a_fee_bump_is_read_with_both_hashes() -> None:
    envelope = fee_bumped(landed(), BUMPER.public_key)
    call = read(envelope)
    assert (call.source, call.fee_source) == (SENDER.public_key, BUMPER.public_key)
    known = FeeBumpTransactionEnvelope.from_xdr(envelope.to_xdr(), NET.passphrase)
    assert call.hash(NET.id) == known.hash()
    assert call.inner_hash(NET.id) == read(landed()).hash(NET.id)


def test_the_entry_is_found_under_another_contracts_call() -> None:
    router = invoke(address(StrKey.encode_contract(bytes([9]) * 32)), "swap", address_value(ASSET))
    assert read(landed(call=router)).entries[0].nonce == DRAFT.nonce


@pytest.mark.parametrize("raw", [b"", b"\0\0\0\2", b"\0\0\0\5", bytes(200), b"\xff" * 64])
def test_other_bytes_are_no_landed_call(raw: bytes) -> None:
    assert read_landed_call(raw) is None


def test_bytes_after_the_envelope_or_missing_from_it_are_refused() -> None:
    raw = fee_bumped(landed(), BUMPER.public_key).to_xdr_bytes()
    assert read_landed_call(raw) is not None
    assert all(read_landed_call(raw[:end]) is None for end in range(0, len(raw), 4))
    assert read_landed_call(raw + bytes(4)) is None
    assert read_landed_call(raw + bytes(200_000)) is None


@pytest.mark.parametrize("who", [PAYER.public_key, ASSET], ids=["account", "contract"])
@pytest.mark.parametrize("nonce", [0, -1, 2**63 - 1, -(2**63)])
def test_the_key_of_a_nonce_is_the_networks_own(who: str, nonce: int) -> None:
    key = xdr.LedgerKey(
        xdr.LedgerEntryType.CONTRACT_DATA,
        contract_data=xdr.LedgerKeyContractData(
            SdkAddress(who).to_xdr_sc_address(),
            xdr.SCVal(
                xdr.SCValType.SCV_LEDGER_KEY_NONCE, nonce_key=xdr.SCNonceKey(xdr.Int64(nonce))
            ),
            xdr.ContractDataDurability.TEMPORARY,
        ),
    )
    assert nonce_key(Address(who), nonce) == key.to_xdr_bytes()


def test_a_search_names_the_token_both_parties_and_the_ledgers() -> None:
    window = TransferWindow(Address(ASSET), Address(DRAFT.payer), Address(DRAFT.pay_to), 5, 9)
    topics = [
        scval.to_symbol("transfer").to_xdr(),
        scval.to_address(DRAFT.payer).to_xdr(),
        scval.to_address(DRAFT.pay_to).to_xdr(),
    ]
    assert transfer_search(window, limit=3) == {
        "startLedger": 5,
        "endLedger": 10,
        "filters": [
            {"type": "contract", "contractIds": [ASSET], "topics": [topics, [*topics, "*"]]}
        ],
        "pagination": {"limit": 3},
    }


def test_events_name_each_transaction_once() -> None:
    one, two = "ab" * 32, "cd" * 32
    body = EventsFoundBody(9, [EventSeen(one), EventSeen(two), EventSeen(one)])
    assert events_answer(body) == TransfersFound((one, two), 9)
    assert events_answer(EventsFoundBody(9)) == TransfersFound((), 9)


@pytest.mark.parametrize("text", ["", "ab", "AB" * 32, "zz" * 32])
def test_an_event_of_no_transaction_is_garbled(text: str) -> None:
    with pytest.raises(Garbled):
        events_answer(EventsFoundBody(9, [EventSeen(text)]))


def test_only_a_transaction_that_succeeded_has_an_envelope() -> None:
    text = base64.b64encode(b"raw").decode()
    assert envelope_answer(EnvelopeBody("SUCCESS", text)) == LandedEnvelope(b"raw")
    assert envelope_answer(EnvelopeBody("FAILED", text)) == NoEnvelope(is_unknown=False)
    assert envelope_answer(EnvelopeBody("NOT_FOUND")) == NoEnvelope(is_unknown=True)
    for wrong in (None, "AA=A", "%%%"):
        with pytest.raises(Garbled):
            envelope_answer(EnvelopeBody("SUCCESS", wrong))
