"""The operator's signing accounts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stellar_sdk import Keypair

from farebox.kernel.secret import Secret
from farebox.stellar.signers import BadSigner, parse_secret_seed, read_signers

RELAYER, PAYMASTER = Keypair.random(), Keypair.random()


def seed(pair: Keypair) -> Secret[str]:
    return Secret(pair.secret)


def test_signer_has_the_address_and_signature_of_the_sdk() -> None:
    signers = read_signers(seed(RELAYER), None)
    assert signers.relayer.address == RELAYER.public_key
    assert signers.relayer.sign(b"\1" * 32) == RELAYER.sign(b"\1" * 32)
    assert signers.addresses == {RELAYER.public_key}


def test_signers_have_the_paymaster_address_when_there_is_one() -> None:
    signers = read_signers(seed(RELAYER), seed(PAYMASTER))
    assert signers.addresses == {RELAYER.public_key, PAYMASTER.public_key}


def test_signers_refuse_one_account_as_relayer_and_paymaster() -> None:
    with pytest.raises(BadSigner, match="two accounts"):
        read_signers(seed(RELAYER), seed(RELAYER))


@pytest.mark.parametrize(
    "text",
    [
        "",
        pytest.param(RELAYER.public_key, id="address"),
        pytest.param(RELAYER.secret[:-1], id="too short"),
        pytest.param(RELAYER.secret + "A", id="too long"),
        pytest.param(RELAYER.secret.lower(), id="small letters"),
        pytest.param(" " + RELAYER.secret[1:], id="space"),
        pytest.param(
            RELAYER.secret[:-1] + ("A" if RELAYER.secret[-1] != "A" else "B"), id="checksum"
        ),
        "S" * 56,
        "=" * 56,
        "A" * 50 + "======",
        "É" * 56,
    ],
)
def test_invalid_seed_is_refused_without_repeating_it(text: str) -> None:
    assert parse_secret_seed(text) is None
    for role, pair in (("relayer", (text, None)), ("paymaster", (RELAYER.secret, text))):
        first, second = pair
        with pytest.raises(BadSigner, match=role) as caught:
            read_signers(Secret(first), None if second is None else Secret(second))
        assert not text or text not in str(caught.value)


@given(st.text(max_size=60))
def test_parse_secret_seed_raises_for_no_text(text: str) -> None:
    assert parse_secret_seed(text) is None


def test_repr_of_signers_hides_the_keys() -> None:
    signers = read_signers(seed(RELAYER), seed(PAYMASTER))
    shown = f"{signers} {signers!r} {signers.relayer}"
    for pair in (RELAYER, PAYMASTER):
        assert pair.secret not in shown
        assert pair.raw_secret_key().hex() not in shown
        assert str(pair.raw_secret_key())[2:-1] not in shown


def test_sign_refuses_anything_but_a_hash() -> None:
    with pytest.raises(ValueError, match="32-byte"):
        read_signers(seed(RELAYER), None).relayer.sign(b"a message")
