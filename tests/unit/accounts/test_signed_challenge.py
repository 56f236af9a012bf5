"""Only a challenge of the form that the service issues is read."""

import base64
import hashlib
from datetime import UTC, datetime

import pytest
from stellar_sdk import (
    Asset,
    Keypair,
    ManageData,
    MuxedAccount,
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


@pytest.mark.parametrize(
    "envelope",
    [
        pytest.param(challenge_by_hand(SERVER, sequence=1), id="a sequence number"),
        pytest.param(challenge_by_hand(OTHER, source=OTHER.public_key), id="another source"),
        pytest.param(
            challenge_by_hand(
                SERVER, source=MuxedAccount(SERVER.public_key, 1).account_muxed or ""
            ),
            id="a muxed source",
        ),
        pytest.param(challenge_by_hand(SERVER, bounds=None), id="no time bounds"),
        pytest.param(challenge_by_hand(SERVER, bounds=(1_000, 0)), id="no end"),
        pytest.param(
            challenge_by_hand(SERVER, change=lambda b: b.set_ledger_bounds(1, 2)),
            id="further preconditions",
        ),
        pytest.param(
            challenge_by_hand(SERVER, change=lambda b: b.add_id_memo(1)), id="a memo of a number"
        ),
        pytest.param(
            challenge_by_hand(SERVER, change=lambda b: b.add_text_memo("x")), id="a memo of text"
        ),
        pytest.param(challenge_by_hand(SERVER, operations=[]), id="no operation"),
        pytest.param(
            challenge_by_hand(SERVER, operations=honest_operations()[:1]), id="one operation"
        ),
        pytest.param(
            challenge_by_hand(SERVER, operations=honest_operations()[::-1]), id="another order"
        ),
        pytest.param(
            challenge_by_hand(
                SERVER,
                operations=[
                    *honest_operations(),
                    ManageData("client_domain", "wallet.example", source=OTHER.public_key),
                ],
            ),
            id="a client domain",
        ),
        pytest.param(
            challenge_by_hand(
                SERVER,
                operations=[
                    honest_operations()[0],
                    Payment(OTHER.public_key, Asset.native(), "1", source=SERVER.public_key),
                ],
            ),
            id="a payment",
        ),
        pytest.param(
            challenge_by_hand(
                SERVER,
                operations=[
                    ManageData(
                        f"{DOMAIN} auth",
                        NONCE,
                        source=MuxedAccount(CLIENT.public_key, 7),
                    ),
                    honest_operations()[1],
                ],
            ),
            id="a muxed account",
        ),
        pytest.param(
            challenge_by_hand(
                SERVER, operations=[ManageData(f"{DOMAIN} auth", NONCE), honest_operations()[1]]
            ),
            id="an account that is the transaction's",
        ),
        pytest.param(
            challenge_by_hand(
                SERVER,
                operations=[
                    ManageData("elsewhere.example auth", NONCE, source=CLIENT.public_key),
                    honest_operations()[1],
                ],
            ),
            id="another home domain",
        ),
        pytest.param(
            challenge_by_hand(
                SERVER,
                operations=[
                    honest_operations()[0],
                    ManageData("web_auth_domain", "elsewhere.example", source=SERVER.public_key),
                ],
            ),
            id="another web-auth domain",
        ),
        pytest.param(
            challenge_by_hand(
                SERVER,
                operations=[
                    ManageData(f"{DOMAIN} auth", None, source=CLIENT.public_key),
                    honest_operations()[1],
                ],
            ),
            id="no nonce",
        ),
        pytest.param(
            challenge_by_hand(
                SERVER,
                operations=[
                    ManageData(f"{DOMAIN} auth", NONCE[:-1], source=CLIENT.public_key),
                    honest_operations()[1],
                ],
            ),
            id="a short nonce",
        ),
        pytest.param(
            challenge_by_hand(
                SERVER,
                operations=[
                    honest_operations()[0],
                    ManageData("web_auth_domain", DOMAIN, source=OTHER.public_key),
                ],
            ),
            id="a domain named by another account",
        ),
    ],
)
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
