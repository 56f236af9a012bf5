"""A signed challenge decodes as in the SDK, and no changed one is accepted."""

import base64
import time

from hypothesis import given, settings
from hypothesis import strategies as st
from stellar_sdk import Keypair, TransactionEnvelope
from stellar_sdk.sep.ed25519_public_key_signer import Ed25519PublicKeySigner
from stellar_sdk.sep.exceptions import InvalidSep10ChallengeError
from stellar_sdk.sep.stellar_web_authentication import verify_challenge_transaction_threshold

from farebox.accounts.account_signers import AccountSigners, SignatureVerdict, judge_signatures
from farebox.accounts.signed_challenge import read_signed_challenge
from farebox.kernel.addresses import Address, raw_key
from support.challenges import CLIENT, DOMAIN, SERVER, TERMS, challenge_by_hand
from support.damaged_bytes import damaged
from support.examples import examples

KEYS = [CLIENT, *(Keypair.from_raw_ed25519_seed(bytes([n]) * 32) for n in (2, 3, 4, 9))]
NOW = int(time.time())
HONEST = challenge_by_hand(SERVER, CLIENT, bounds=(NOW, NOW + 3_000))
DIGEST = HONEST.hash()
RAW = HONEST.to_xdr_object().to_xdr_bytes()


def _text(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def _passes(text: str) -> bool:
    """Judge the text as a sign-in does: is it the issued challenge, signed by the account?"""
    read = read_signed_challenge(text, TERMS)
    if read is None or read.digest != DIGEST:
        return False
    verdict = judge_signatures(
        read.digest,
        read.signatures,
        server=TERMS.server,
        signers=AccountSigners({raw_key(read.address): 1}, 0),
    )
    return verdict is SignatureVerdict.SUFFICIENT


@settings(max_examples=examples(300), deadline=None)
@given(damaged(st.just(RAW)))
def test_changed_challenge_is_refused_and_decodes_as_in_the_sdk(raw: bytes) -> None:
    assert not _passes(_text(raw)) or raw == RAW
    read = read_signed_challenge(_text(raw), TERMS)
    if read is None:
        return
    envelope = TransactionEnvelope.from_xdr(_text(raw), TERMS.network.passphrase)
    assert envelope.to_xdr_object().to_xdr_bytes() == raw
    assert envelope.hash() == read.digest
    source = envelope.transaction.operations[0].source
    assert source is not None
    assert source.account_id == read.address
    signatures = [(each.signature_hint, each.signature) for each in envelope.signatures]
    assert list(read.signatures) == signatures


def test_signed_challenge_with_one_changed_bit_is_refused() -> None:
    assert _passes(_text(RAW))
    for at in range(len(RAW) * 8):
        raw = bytearray(RAW)
        raw[at // 8] ^= 1 << at % 8
        assert not _passes(_text(bytes(raw))), at


@settings(max_examples=examples(100), deadline=None)
@given(
    signing=st.lists(st.sampled_from(KEYS), max_size=6),
    weights=st.dictionaries(st.sampled_from(KEYS), st.integers(0, 3), max_size=5),
    medium=st.integers(0, 6),
)
def test_accepted_challenge_is_accepted_by_the_sdk(
    signing: list[Keypair], weights: dict[Keypair, int], medium: int
) -> None:
    """And the reverse, except for keys of weight 0, which the SDK accepts when medium is 0."""
    envelope = TransactionEnvelope.from_xdr(
        challenge_by_hand(SERVER, bounds=(NOW, NOW + 3_000)).to_xdr(), TERMS.network.passphrase
    )
    digest = envelope.hash()
    envelope.signatures.extend(key.sign_decorated(digest) for key in signing)
    heavy = {key: weight for key, weight in weights.items() if weight > 0}
    signers = {raw_key(Address(key.public_key)): weight for key, weight in heavy.items()}
    read = read_signed_challenge(envelope.to_xdr(), TERMS)
    assert read is not None
    verdict = judge_signatures(
        digest, read.signatures, server=TERMS.server, signers=AccountSigners(signers, medium)
    )
    assert (verdict is SignatureVerdict.SUFFICIENT) == _sdk_accepts(
        envelope.to_xdr(), heavy, medium
    )


def _sdk_accepts(text: str, weights: dict[Keypair, int], medium: int) -> bool:
    signers = [
        Ed25519PublicKeySigner(key.public_key, weight)
        for key, weight in weights.items()
        if key.public_key != SERVER.public_key  # the SDK's own guard compares other things
    ]
    try:
        verify_challenge_transaction_threshold(
            text, SERVER.public_key, DOMAIN, DOMAIN, TERMS.network.passphrase, medium, signers
        )
    except InvalidSep10ChallengeError:
        return False
    return True
