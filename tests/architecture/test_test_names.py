"""The id of a test is printed and kept: it has no secret in it and is the same in every process."""

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
def test_test_id_is_a_number_when_its_value_may_be_random(
    request: pytest.FixtureRequest, value: str | bytes
) -> None:
    assert request.node.callspec.id in {f"value{number}" for number in range(6)}
    assert pytest_make_parametrize_id(request.config, value, "key") == "key"


@pytest.mark.parametrize("value", ["", "a plain sentence", "facilitator/send_payment_again", 7])
def test_test_id_shows_a_plain_value(request: pytest.FixtureRequest, value: object) -> None:
    assert request.node.callspec.id == str(value)
