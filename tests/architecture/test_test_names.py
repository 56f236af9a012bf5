"""What a test is called is printed and kept: it holds no key, and is the same in every process."""

import secrets

import pytest
from stellar_sdk import Keypair

from support.parameter_names import pytest_make_parametrize_id


@pytest.mark.parametrize(
    "value",
    [
        Keypair.random().secret,
        " " + Keypair.random().secret.lower(),
        Keypair.random().public_key.encode(),
        f"Bearer fbx_live_{secrets.token_hex(20)}",
        '{"url-safe": "' + secrets.token_urlsafe(64) + '"}',
        "x" * 200_000 + "7",
    ],
)
def test_no_test_is_named_after_what_may_be_random(
    request: pytest.FixtureRequest, value: str | bytes
) -> None:
    assert request.node.callspec.id in {f"value{number}" for number in range(6)}
    assert pytest_make_parametrize_id(request.config, value, "key") == "key"


@pytest.mark.parametrize("value", ["", "a plain sentence", "facilitator/send_payment_again", 7])
def test_a_plain_value_is_shown(request: pytest.FixtureRequest, value: object) -> None:
    assert request.node.callspec.id == str(value)
