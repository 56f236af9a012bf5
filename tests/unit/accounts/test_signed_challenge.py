"""Only a challenge of the form that the service issues is read."""

import base64
import hashlib
from datetime import UTC, datetime
from typing import Final

import pytest
from stellar_sdk import (
    Asset,
    Keypair,
    ManageData,
    MuxedAccount,
    Operation,
    Payment,
    TransactionBuilder,
    TransactionEnvelope,
)

from farebox.accounts.account_web_auth import make_challenge
from farebox.accounts.signed_challenge import MAX_BYTES, MAX_SIGNATURES, read_signed_challenge
from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from support.challenges import (
    CLIENT,
    DOMAIN,
    NONCE,
    SERVER,
    TERMS,
    challenge_by_hand,
    honest_operations,
)

OTHER = Keypair.random()
MUXED_SERVER = MuxedAccount(SERVER.public_key, 1).account_muxed or ""


def _is_read(envelope: TransactionEnvelope) -> bool:
    return read_signed_challenge(envelope.to_xdr(), TERMS) is not None


def test_issued_challenge_is_read_as_the_public_sdk_reads_it() -> None:
    now = datetime(2026, 11, 21, 12, 0, 0, 999_999, tzinfo=UTC)
    made = make_challenge(TERMS, Secret(SERVER.secret), Address(CLIENT.public_key), now=now)
    assert made.expires_at == datetime(2026, 11, 21, 12, 5, tzinfo=UTC)
    envelope = TransactionEnvelope.from_xdr(made.transaction, Network.TESTNET.passphrase)
    envelope.sign(CLIENT)
    read = read_signed_challenge(envelope.to_xdr(), TERMS)
    assert read is not None
    assert read.digest == made.digest == envelope.hash()
    assert read.address == CLIENT.public_key
    bounds = envelope.transaction.preconditions
    assert bounds is not None
    assert bounds.time_bounds is not None
    assert (read.min_time, read.max_time) == (
        bounds.time_bounds.min_time,
        bounds.time_bounds.max_time,
    )
    assert read.max_time - read.min_time == 300
    assert read.max_time == made.expires_at.timestamp()
    signed = [(each.signature_hint, each.signature) for each in envelope.signatures]
    assert list(read.signatures) == signed
    assert SERVER.secret not in repr(made)
    again = make_challenge(TERMS, Secret(SERVER.secret), Address(CLIENT.public_key), now=now)
    assert again.digest != made.digest, "each challenge has a nonce of its own"


def test_handmade_challenge_is_read_when_it_has_our_form() -> None:
    assert _is_read(challenge_by_hand(SERVER, CLIENT))
    assert _is_read(challenge_by_hand(SERVER, *(Keypair.random() for _ in range(19))))


HONEST, NAMING = honest_operations()


def _asking(
    name: str, nonce: str | bytes | None, source: str | MuxedAccount | None
) -> list[Operation]:
    return [ManageData(name, nonce, source=source), NAMING]


def _naming(domain: str, source: str) -> list[Operation]:
    return [HONEST, ManageData("web_auth_domain", domain, source=source)]


OPERATIONS: Final[dict[str, list[Operation]]] = {
    "no operation": [],
    "one operation": [HONEST],
    "another order": [NAMING, HONEST],
    "a client domain": [
        HONEST,
        NAMING,
        ManageData("client_domain", "wallet.example", source=OTHER.public_key),
    ],
    "a payment": [HONEST, Payment(OTHER.public_key, Asset.native(), "1", source=SERVER.public_key)],
    "a muxed account": _asking(f"{DOMAIN} auth", NONCE, MuxedAccount(CLIENT.public_key, 7)),
    "an account that is the transaction's": _asking(f"{DOMAIN} auth", NONCE, None),
    "another home domain": _asking("elsewhere.example auth", NONCE, CLIENT.public_key),
    "another web-auth domain": _naming("elsewhere.example", SERVER.public_key),
    "no nonce": _asking(f"{DOMAIN} auth", None, CLIENT.public_key),
    "a short nonce": _asking(f"{DOMAIN} auth", NONCE[:-1], CLIENT.public_key),
    "a domain named by another account": _naming(DOMAIN, OTHER.public_key),
}
OTHERS: Final = {
    "a sequence number": challenge_by_hand(SERVER, sequence=1),
    "another source": challenge_by_hand(OTHER, source=OTHER.public_key),
    "a muxed source": challenge_by_hand(SERVER, source=MUXED_SERVER),
    "no time bounds": challenge_by_hand(SERVER, bounds=None),
    "no end": challenge_by_hand(SERVER, bounds=(1_000, 0)),
    "preconditions": challenge_by_hand(SERVER, change=lambda b: b.set_ledger_bounds(1, 2)),
    "a memo of a number": challenge_by_hand(SERVER, change=lambda b: b.add_id_memo(1)),
    "a memo of text": challenge_by_hand(SERVER, change=lambda b: b.add_text_memo("x")),
    **{name: challenge_by_hand(SERVER, operations=each) for name, each in OPERATIONS.items()},
}


@pytest.mark.parametrize("envelope", OTHERS.values(), ids=OTHERS)
def test_other_transaction_is_not_read_as_a_challenge(envelope: TransactionEnvelope) -> None:
    assert not _is_read(envelope)


def test_other_envelopes_and_encodings_are_not_read_as_a_challenge() -> None:
    honest = challenge_by_hand(SERVER, CLIENT)
    text, raw = honest.to_xdr(), honest.to_xdr_object().to_xdr_bytes()
    bump = TransactionBuilder.build_fee_bump_transaction(
        OTHER, 200, honest, Network.TESTNET.passphrase
    )
    bump.sign(OTHER)
    old = base64.b64encode(b"\0\0\0\0" + raw[8:]).decode()  # version 0: a bare key, no kind
    unsigned = challenge_by_hand().to_xdr_object().to_xdr_bytes()[:-4]
    one = raw[len(unsigned) + 4 :][:72]
    for count, is_read in ((MAX_SIGNATURES, True), (MAX_SIGNATURES + 1, False)):
        signed = unsigned + count.to_bytes(4, "big") + one * count
        read = read_signed_challenge(base64.b64encode(signed).decode(), TERMS)
        assert (read is not None) is is_read
    for other in (
        bump.to_xdr(),
        old,
        base64.b64encode(raw + b"\0\0\0\0").decode(),
        base64.b64encode(raw[:-4]).decode(),
        base64.b64encode(raw + bytes(MAX_BYTES)).decode(),
        text + "\n",
        " " + text,
        text.rstrip("="),
        text.replace("A", "_", 1),
        "",
        "AAAA",
        "é" * 40,
        "A" * 1_000_000,
    ):
        assert read_signed_challenge(other, TERMS) is None, other[:40]


def test_challenge_digest_is_bound_to_its_network() -> None:
    read = read_signed_challenge(challenge_by_hand(SERVER).to_xdr(), TERMS)
    assert read is not None
    body = challenge_by_hand(SERVER).to_xdr_object().v1
    assert body is not None
    tagged = Network.TESTNET.id + b"\0\0\0\2" + body.tx.to_xdr_bytes()
    assert read.digest == hashlib.sha256(tagged).digest()
