"""The search for transfers: nonce keys, the request, and the responses of a node."""

import base64
from datetime import UTC, datetime

import pytest
from stellar_sdk import Address as SdkAddress
from stellar_sdk import Keypair, StrKey, scval, xdr

from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from farebox.stellar.rpc import LandedEnvelope, NoEnvelope, TransfersFound, TransferWindow
from farebox.stellar.rpc_responses import MalformedResponse
from farebox.stellar.transfer_search import (
    EnvelopeBody,
    EventSeen,
    EventsFoundBody,
    nonce_key,
    read_envelope_response,
    read_transfers,
    transfer_search,
)
from support.payments import Draft

NET, PAYER = Network.TESTNET, Keypair.random()
ASSET = StrKey.encode_contract(bytes([7]) * 32)
DRAFT = Draft(
    network=NET,
    asset=ASSET,
    payer=PAYER.public_key,
    signers=(PAYER,),
    pay_to=Keypair.random().public_key,
    expires_at_ledger=900,
)


@pytest.mark.parametrize("who", [PAYER.public_key, ASSET], ids=["account", "contract"])
@pytest.mark.parametrize("nonce", [0, -1, 2**63 - 1, -(2**63)])
def test_nonce_key_matches_the_sdk(who: str, nonce: int) -> None:
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


def test_transfer_search_names_the_token_both_parties_and_the_ledgers() -> None:
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


def test_read_transfers_names_each_transaction_once() -> None:
    one, two = "ab" * 32, "cd" * 32
    body = EventsFoundBody(9, [EventSeen(one), EventSeen(two), EventSeen(one)])
    assert read_transfers(body) == TransfersFound((one, two), 9)
    assert read_transfers(EventsFoundBody(9)) == TransfersFound((), 9)


@pytest.mark.parametrize("text", ["", "ab", "AB" * 32, "zz" * 32])
def test_event_with_an_invalid_transaction_hash_is_malformed(text: str) -> None:
    with pytest.raises(MalformedResponse):
        read_transfers(EventsFoundBody(9, [EventSeen(text)]))


def test_envelope_is_read_only_of_a_successful_transaction() -> None:
    text = base64.b64encode(b"raw").decode()
    landed = LandedEnvelope(b"raw", datetime.fromtimestamp(1_700_000_000, UTC))
    assert read_envelope_response(EnvelopeBody("SUCCESS", text, "1700000000")) == landed
    assert read_envelope_response(EnvelopeBody("FAILED", text)) == NoEnvelope(is_unknown=False)
    assert read_envelope_response(EnvelopeBody("NOT_FOUND")) == NoEnvelope(is_unknown=True)
    for wrong in (None, "AA=A", "%%%"):
        with pytest.raises(MalformedResponse):
            read_envelope_response(EnvelopeBody("SUCCESS", wrong, "1700000000"))
    for wrong in (None, "", "soon"):
        with pytest.raises(MalformedResponse):
            read_envelope_response(EnvelopeBody("SUCCESS", text, wrong))
