"""The id of a test is printed and kept: it has no secret in it and is the same in every process."""

import secrets

import pytest
from stellar_sdk import Keypair

from support.parameter_names import pytest_make_parametrize_id

RANDOM = (
    Keypair.random().secret,
    " " + Keypair.random().secret.lower(),
    Keypair.random().public_key.encode(),
    f"Bearer fbx_live_{secrets.token_hex(20)}",
    '{"url-safe": "' + secrets.token_urlsafe(64) + '"}',
    "x" * 200_000 + "7",
)
PLAIN = ("", "a plain sentence", "facilitator/send_payment_again", 7)


@pytest.mark.parametrize("value", [RANDOM[0]])
def test_test_id_is_a_number_when_its_value_may_be_random(
    request: pytest.FixtureRequest, value: str
) -> None:
    assert request.node.callspec.id == "value", value
    named = [pytest_make_parametrize_id(request.config, each, "key") for each in RANDOM]
    assert named == ["key"] * len(RANDOM)


@pytest.mark.parametrize("value", [PLAIN[1]])
def test_test_id_shows_a_plain_value(request: pytest.FixtureRequest, value: object) -> None:
    assert request.node.callspec.id == value
    named = [pytest_make_parametrize_id(request.config, each, "key") for each in PLAIN]
    assert named == [None] * len(PLAIN), "pytest shows it as it is"
