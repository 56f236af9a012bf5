import base64
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stellar_sdk import Keypair

from farebox.app.redaction import is_secret_key, redact, redact_event, redact_text
from farebox.kernel.secret import MASK, Secret

SEED = Keypair.random().secret
XDR = base64.b64encode(b"\0\0\0\2" + os.urandom(60)).decode()
HASH = "ab" * 32
ACCOUNT = Keypair.random().public_key


@pytest.mark.parametrize(
    "planted",
    [
        pytest.param(SEED, id="seed"),
        pytest.param(XDR, id="xdr"),
        pytest.param(XDR.replace("+", "-").replace("/", "_"), id="url-safe xdr"),
        "Bearer abc.def-ghi",
        "bearer  tok_123456",
        "fbx_live_abcdefgh",
        "https://rpc.test/v1/key123?token=x",
        "postgresql://user:password@db/farebox",
        "PostgreSQL://user:password@db/farebox",
        "HTTPS://rpc.test/v1/key123",
        "eyJ4NDAyVmVyc2lvbiI6Mn0abcdefgh",
        pytest.param(base64.b64encode(os.urandom(64)).decode(), id="base64"),
        pytest.param(os.urandom(64).hex(), id="hex"),
    ],
)
def test_secret_inside_a_sentence_is_masked(planted: str) -> None:
    assert redact_text(f"it said '{planted}' and ended") == f"it said '{MASK}' and ended"


@pytest.mark.parametrize(
    "plain",
    [
        HASH,
        pytest.param(ACCOUNT, id="account"),
        "stellar:testnet",
        "/verify",
        "settlement.sent",
        "127.0.0.1:8402",
        "AAAA",
    ],
)
def test_ids_and_names_are_not_masked(plain: str) -> None:
    assert redact_text(plain) == plain


@pytest.mark.parametrize(
    "name",
    [
        "PAYMENT-SIGNATURE", "authorization", "relayer_secret", "rpc_url", "transaction_xdr",
        "X-API-Key", "envelope", "Set-Cookie", "x-payment", "seed",
    ],
)  # fmt: skip
def test_field_is_masked_by_its_name_alone(name: str) -> None:
    assert is_secret_key(name)
    assert redact_event(None, "info", {name: "short"}) == {name: MASK}


def test_nested_secrets_are_masked() -> None:
    event = {
        "headers_seen": ["host", f"Bearer {SEED}"],
        "detail": {"authorization": "x", "note": SEED, "raw": b"bytes", "wrapped": Secret("s")},
        "error": ValueError(f"cannot read {XDR}"),
        "count": 3,
    }
    assert redact(event) == {
        "headers_seen": ["host", MASK],
        "detail": {"authorization": MASK, "note": MASK, "raw": MASK, "wrapped": MASK},
        "error": f"cannot read {MASK}",
        "count": 3,
    }


def test_value_nested_too_deeply_is_masked() -> None:
    deep: object = "x"
    for _ in range(50):
        deep = [deep]
    assert MASK in str(redact(deep))


@given(
    planted=st.sampled_from([SEED, XDR]), before=st.text(max_size=20), after=st.text(max_size=20)
)
def test_secret_is_masked_in_any_surrounding_text(planted: str, before: str, after: str) -> None:
    assert planted not in redact_text(f"{before} {planted} {after}")
